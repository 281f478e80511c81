"""Pipelines from YAML: each section is read once; the option names of Glue and Spark are accepted."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from penstock.errors import InvalidInput
from penstock.pipelines.decode import parse_decode
from penstock.pipelines.evolution import Evolution
from penstock.pipelines.model import Accounts, DeadLetters, Drift, Pipeline, Policy, Trigger
from penstock.pipelines.sections import catalog_target, location
from penstock.pipelines.sinks.kinds import parse_sinks
from penstock.pipelines.sources.kinds import parse_source
from penstock.pipelines.transforms import parse_transform
from penstock.settings.document import Section, load_document, read_text

__all__ = ["declared", "parse_pipeline", "read_pipeline"]

_POLICIES: tuple[Policy, ...] = ("fail", "warn", "ignore")


def read_pipeline(path: Path, environment: Mapping[str, str] | None = None) -> Pipeline:
    """Return the pipeline that the YAML file ``path`` declares.

    ``environment`` has the values of ``${NAME}``; None is this process's. Raises :class:`InvalidInput` with file and line.
    """
    text = read_text(path, "pipeline")
    return parse_pipeline(
        text, origin=str(path), environment=os.environ if environment is None else environment, folder=path.parent
    )


def parse_pipeline(
    text: str, *, origin: str = "<text>", environment: Mapping[str, str], folder: Path | None = None
) -> Pipeline:
    """Return the pipeline in ``text``; relative locations are below ``folder`` (None: the working directory)."""
    top = load_document(text, origin=origin, environment=environment)
    return declared(top, (folder or Path()).absolute(), origin=origin)


def declared(top: Section, base: Path, *, origin: str) -> Pipeline:
    """Return the pipeline that the mapping ``top`` declares; relative locations are below ``base``."""
    if top.has("table") and not top.has("source"):
        raise top.fault(
            "this is the short form of a pipeline, and needs the topic's records",
            key="table",
            remedy="'penstock run' runs it; 'penstock init' writes the full form.",
        )
    name = top.required("name")
    source = parse_source(top.required_section("source"), base)
    decode = parse_decode(top.required_section("decode"))
    transform = parse_transform(top.section("transform"), base)
    sinks = parse_sinks(top, base)
    dead_letters = _dead_letters(top.required_section("dead_letters", "deadLetters"), base)
    trigger = _trigger(top)
    checkpoint = location(top, base, "checkpoint", "checkpointLocation", "checkpoint_location")
    retries = top.integer("batchMaxRetries", "batch_max_retries", maximum=100)
    drift = _drift(top.section("drift"))
    accounts = _accounts(top.section("accounts"), base)
    top.done()
    if decode.reader == "table":
        # What the tables lack is left out and reported; nothing changes them.
        frozen = Evolution(add="freeze", widen="freeze", rename="evolve")
        sinks = tuple(replace(sink, evolution=frozen) for sink in sinks)
        drift = replace(drift, on_missing_field="warn")
    try:
        return Pipeline(
            name=name,
            source=source,
            decode=decode,
            transform=transform,
            sinks=sinks,
            dead_letters=dead_letters,
            trigger=trigger,
            checkpoint=checkpoint,
            batch_max_retries=3 if retries is None else retries,
            drift=drift,
            accounts=accounts,
            origin=origin,
        )
    except InvalidInput as error:
        raise InvalidInput(f"{origin}: {error.message}", remedy=error.remedy) from None


def _dead_letters(section: Section, base: Path) -> DeadLetters:
    result = DeadLetters(
        location=location(section, base, "location", "path"), catalog=catalog_target(section.section("catalog"))
    )
    section.done()
    return result


def _trigger(top: Section) -> Trigger:
    window = top.text("windowSize", "window_size")
    section = top.section("trigger")
    if section is None:
        return Trigger() if window is None else Trigger(interval=window)
    if window is not None:
        raise top.fault("'windowSize' and 'trigger' mean the same", key="windowSize", remedy="Keep one of them.")
    interval = section.text("processingTime", "processing_time")
    once = [bool(section.boolean("availableNow", "available_now")), bool(section.boolean("once"))]
    section.done()
    if interval is not None and any(once):
        raise section.fault("a trigger is either processingTime or availableNow")
    if any(once):
        return Trigger(kind="available_now")
    return Trigger() if interval is None else Trigger(interval=interval)


def _accounts(section: Section | None, base: Path) -> Accounts:
    if section is None:
        return Accounts()
    result = Accounts(
        location=location(section, base, "location", "path") if section.has("location", "path") else None,
        catalog=catalog_target(section.section("catalog")),
    )
    section.done()
    return result


def _drift(section: Section | None) -> Drift:
    if section is None:
        return Drift()
    threshold = section.fraction("threshold", "null_jump_threshold")
    result = Drift(
        on_missing_field=section.choice(("fail", "warn"), "on_missing_field") or "fail",
        on_null_jump=section.choice(_POLICIES, "on_null_jump") or "warn",
        threshold=Drift().threshold if threshold is None else threshold,
        min_rows=section.integer("min_rows", minimum=1) or Drift().min_rows,
    )
    section.done()
    return result
