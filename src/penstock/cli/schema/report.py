"""The report of ``penstock schema check``, as human-readable text and as JSON for CI."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from penstock.client.check import CheckedDefinition
from penstock.errors import PenstockError
from penstock.schema.compatibility import Conflict

if TYPE_CHECKING:
    from penstock.produce.trial import Breakage, Trial

__all__ = ["error_json", "report_json", "report_text"]


def report_json(checked: CheckedDefinition, trial: "Trial | None", rules: str) -> dict[str, Any]:
    """Return the report. ``result``: compatible or incompatible; ``conflicts``: version, direction, path, rule, sides."""
    fine = checked.accepted and not (trial is not None and trial.broken)
    return {
        "result": "compatible" if fine else "incompatible",
        "registry": checked.registry,
        "schema": checked.name,
        "registered": checked.schema is not None,
        "same_as_version": checked.same_as,
        "data_format": checked.parsed.data_format,
        "mode": checked.verdict.mode.value,
        "rules": rules,
        "checked_versions": list(checked.verdict.checked),
        "refusal": checked.refusal,
        "conflicts": [conflict.to_json() for conflict in checked.verdict.conflicts],
        "topic": None if trial is None else trial.to_json(),
    }


def error_json(problem: PenstockError) -> dict[str, Any]:
    """Return the report of a check that failed."""
    return {"result": "error", "message": problem.message, "remedy": problem.remedy}


def report_text(file: str, checked: CheckedDefinition, trial: "Trial | None") -> str:
    """Return the report as lines of text."""
    lines = [_headline(file, checked), *_conflicts(checked.verdict.conflicts)]
    if trial is not None:
        lines += _trial(trial)
    return "\n".join(lines)


def _headline(file: str, checked: CheckedDefinition) -> str:
    name, mode = f"{checked.registry}/{checked.name}", checked.verdict.mode
    if checked.schema is None:
        return (
            f"{file} is a valid {checked.parsed.data_format} definition; {name} is not registered, so nothing was compared."
        )
    if checked.same_as is not None:
        return f"{file} is version {checked.same_as} of {name} already."
    if checked.refusal is not None:
        return f"{file} would be refused as a version of {name}. {checked.refusal}"
    verdict = "compatible" if checked.accepted else "INCOMPATIBLE"
    numbers = ", ".join(map(str, checked.verdict.checked))
    versions = f"version{'s' if len(checked.verdict.checked) > 1 else ''} {numbers}" if numbers else "no version"
    return f"{file} is {verdict} with {name} under {mode} (compared with {versions})."


def _conflicts(conflicts: Iterable[Conflict]) -> Iterator[str]:
    for (number, direction), group in groupby(conflicts, key=lambda item: (item.version, item.direction)):
        backward = direction == "BACKWARD"
        yield ""
        yield (
            f"The new definition cannot read data of version {number}:"
            if backward
            else f"Version {number} cannot read data of the new definition:"
        )
        sides = ("new", f"version {number}") if backward else (f"version {number}", "new")
        for conflict in group:
            incompatibility = conflict.incompatibility
            yield f"  {incompatibility.rule} at {incompatibility.path}"
            yield f"    reader ({sides[0]}): {incompatibility.reader}"
            yield f"    writer ({sides[1]}): {incompatibility.writer}"
            yield f"    {incompatibility.message}"


def _trial(trial: "Trial") -> Iterator[str]:
    yield ""
    broken, unreadable = (sum(item.count for item in items) for items in (trial.broken, trial.unreadable))
    yield (
        f"Topic {trial.topic}, last {trial.records} records of {trial.partitions} partitions: {trial.readable} readable "
        f"with the new definition, {broken} broken by it, {unreadable} unreadable with their own schema too, "
        f"{trial.tombstones} tombstones."
    )
    if trial.broken:
        yield "Broken by the new definition:"
        yield from _breakages(trial.broken)
    if trial.unreadable:
        yield "Unreadable with their own schema too:"
        yield from _breakages(trial.unreadable)


def _breakages(items: "Iterable[Breakage]") -> Iterator[str]:
    for breakage in items:
        yield f"  {breakage.count} written with {breakage.writer}: {breakage.reason}: {breakage.message}"
        for partition, places in groupby(breakage.places, key=lambda place: place[0]):
            offsets = ", ".join(str(offset) for _, offset in places)
            yield f"    partition {partition}, offset {offsets}"
        if breakage.count > len(breakage.places):
            yield f"    and {breakage.count - len(breakage.places)} more"
