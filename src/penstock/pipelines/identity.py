"""What of a declaration must stay for a pipeline to go on where it was, and what a change of it means.

The runner keeps :func:`identity` in the ledger, and compares it at the next start, before anything is read or written.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.pipelines.model import Pipeline
from penstock.pipelines.sources.kafka import KafkaSource
from penstock.pipelines.transforms import DeduplicateStep, WindowStep

__all__ = ["Change", "changes", "identity"]

_TARGET = ("location", "table", "topic", "stream", "connection", "database")
_NEW = "Undo the change, or give the pipeline a new name and checkpoint: it then begins at the source's declared start."


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between the declaration that ran before and the present one.

    ``resumes``: the pipeline can go on, and ``meaning`` says from when the change counts. Otherwise ``meaning`` says why
    not, and ``remedy`` what to do.
    """

    setting: str
    before: str
    after: str
    resumes: bool
    meaning: str
    remedy: str | None = None

    def __str__(self) -> str:
        text = f"{self.setting} was {self.before} and is {self.after}: {self.meaning}"
        return f"{text} {self.remedy}" if self.remedy else text


def identity(pipeline: Pipeline) -> dict[str, Any]:
    """Return what matters of a declaration, as JSON without secrets."""
    return {
        "checkpoint": pipeline.checkpoint,
        "source": _source(pipeline),
        "sinks": {sink.name: _sink(sink) for sink in pipeline.sinks},
        "dead_letters": pipeline.dead_letters.location,
        "state": _state(pipeline),
    }


def _source(pipeline: Pipeline) -> dict[str, Any]:
    source = pipeline.source
    if isinstance(source, KafkaSource):
        partitions = {topic: list(numbers) for topic, numbers in source.assign.items()}
        return {
            "kind": source.kind,
            "brokers": source.brokers,
            "topics": sorted(source.topics),
            "pattern": source.topic_pattern,
            "assign": partitions,
        }
    return {"kind": source.kind, "name": source.topic}


def _sink(sink: Any) -> dict[str, Any]:
    target = {name: value for name in _TARGET if isinstance(value := getattr(sink, name, None), str)}
    return {
        "kind": sink.kind,
        "target": target,
        "partition_by": list(getattr(sink, "partition_by", ())),
        "mode": sink.mode,
        "keys": list(sink.keys),
    }


def _state(pipeline: Pipeline) -> dict[str, Any]:
    """Return the steps that keep rows from batch to batch, by name."""
    state: dict[str, Any] = {}
    for step in pipeline.transform.steps:
        if isinstance(step, DeduplicateStep):
            state[step.name] = {"kind": step.kind, "keys": list(step.keys), "time": step.time}
        elif isinstance(step, WindowStep):
            shape = {"size": step.size, "slide": step.slide, "by": list(step.by), "aggregates": dict(step.aggregates)}
            state[step.name] = {"kind": step.kind, "time": step.time, **shape}
    return state


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Change]:
    """Return what differs between two identities, what cannot resume first."""
    parts = [
        *_of_checkpoint(before.get("checkpoint"), now["checkpoint"]),
        *_of_source(before.get("source", {}), now["source"]),
        *_of_sinks(before.get("sinks", {}), now["sinks"]),
        *_of_state(before.get("state", {}), now["state"]),
    ]
    if before.get("dead_letters", now["dead_letters"]) != now["dead_letters"]:
        meaning = "earlier dead letters stay where they are."
        parts.append(Change("dead_letters.location", before["dead_letters"], now["dead_letters"], True, meaning))
    return sorted(parts, key=lambda change: change.resumes)


def _of_checkpoint(before: str | None, now: str) -> list[Change]:
    if before is None or before == now:
        return []
    meaning = "a new checkpoint begins at the ledger's last offsets with --resume-from-ledger, and is refused without it."
    return [Change("checkpoint", before, now, True, meaning)]


def _of_source(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Change]:
    if not before or before == now:
        return []
    if before["kind"] != now["kind"]:
        why = "the checkpoint's offsets are of the other kind of source."
        return [Change("the kind of source", before["kind"], now["kind"], False, why, _NEW)]
    if now["kind"] != "kafka":
        why = "the checkpoint's positions are of the other stream."
        return [Change(f"source.{now['kind']}", str(before["name"]), str(now["name"]), False, why, _NEW)]
    parts = []
    if before["brokers"] != now["brokers"]:
        meaning = "the offsets go on to count, so it must be the same Kafka cluster."
        parts.append(Change("source.kafka.brokers", before["brokers"], now["brokers"], True, meaning))
    return [*parts, *_of_topics(before, now)]


def _of_topics(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Change]:
    old, new = _subscription(before), _subscription(now)
    if old == new:
        return []
    if before["pattern"] or now["pattern"]:
        meaning = "new topics begin at their first record; one that is no longer read stops the stream as data loss."
        return [Change("source.kafka topics", _shown(old), _shown(new), True, meaning)]
    removed = old - new
    if removed:
        why = f"the checkpoint has offsets of {_shown(removed)}, whose unread records would not be read."
        remedy = (
            f"Name {_shown(removed)} again (a topic without new records costs nothing), or give a new name and checkpoint."
        )
        return [Change("source.kafka topics", _shown(old), _shown(new), False, why, remedy)]
    meaning = f"{_shown(new - old)} begins at the first record."
    return [Change("source.kafka topics", _shown(old), _shown(new), True, meaning)]


def _subscription(source: Mapping[str, Any]) -> set[str]:
    if source["pattern"]:
        return {f"like {source['pattern']}"}
    if source["assign"]:
        return {f"{topic}/{number}" for topic, numbers in source["assign"].items() for number in numbers}
    return set(source["topics"])


def _shown(names: set[str]) -> str:
    return ", ".join(sorted(names))


def _of_sinks(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Change]:
    parts = []
    removed = {name: sink for name, sink in before.items() if name not in now}
    for name, sink in now.items():
        if name in before:
            parts += _of_sink(name, before[name], sink)
            continue
        renamed = next((old for old, item in removed.items() if item["target"] == sink["target"]), None)
        if renamed is not None:
            removed.pop(renamed)
            why = "the name marks in the sink which batches it has, so the open batch could be written twice."
            parts.append(Change("the sink's name", renamed, name, False, why, f"Keep the name {renamed}."))
        else:
            meaning = "it gets the rows from the next batch on."
            parts.append(Change(f"sink {name}", "not there", _target(sink), True, meaning))
    meaning = "it gets no more rows, and keeps those it has."
    return [*parts, *(Change(f"sink {name}", _target(sink), "not there", True, meaning) for name, sink in removed.items())]


def _of_sink(name: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Change]:
    if before["kind"] != now["kind"]:
        why = "what the other kind of sink has of the open batch cannot be told."
        remedy = "Give the new sink another name."
        return [Change(f"the kind of sink {name}", before["kind"], now["kind"], False, why, remedy)]
    if before["target"] != now["target"]:
        meaning = "rows go there from the next batch on; earlier ones stay where they are."
        return [Change(f"sink {name}", _target(before), _target(now), True, meaning)]
    parts = []
    if before["partition_by"] != now["partition_by"]:
        old, new = (", ".join(entry["partition_by"]) or "no column" for entry in (before, now))
        if now["kind"] in {"parquet", "delta"}:
            why = "the table's files and its partitions in the catalog are by the former columns."
            remedy = "Undo it, or give the sink another location and table."
            parts.append(Change(f"partition_by of sink {name}", old, new, False, why, remedy))
        else:
            parts.append(Change(f"partition_by of sink {name}", old, new, True, "new files follow it."))
    for setting in ("mode", "keys"):
        if before[setting] != now[setting]:
            meaning = "it counts from the next batch on; rows that are there are not changed."
            old, new = (str(entry[setting]) for entry in (before, now))
            parts.append(Change(f"{setting} of sink {name}", old, new, True, meaning))
    return parts


def _target(sink: Mapping[str, Any]) -> str:
    return " ".join([sink["kind"], *map(str, sink["target"].values())])


def _of_state(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Change]:
    parts = []
    for name, step in now.items():
        if name not in before:
            meaning = "it knows no row of earlier batches."
            parts.append(Change(f"step {name}", "not there", step["kind"], True, meaning))
        elif before[name] != step:
            differing = [member for member in step if before[name].get(member) != step[member]]
            old, new = (
                ", ".join(f"{member} {source.get(member)}" for member in differing) for source in (before[name], step)
            )
            why = "the rows that it keeps from batch to batch are by the former ones."
            remedy = "Undo it, or give the step another name: it then knows no row of earlier batches."
            parts.append(Change(f"step {name}", old, new, False, why, remedy))
    for name, step in before.items():
        if name not in now:
            meaning = "what it kept from batch to batch is not used; rows that wait in it are not written."
            parts.append(Change(f"step {name}", step["kind"], "not there", True, meaning))
    return parts
