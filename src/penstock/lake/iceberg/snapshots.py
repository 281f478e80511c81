"""The updates of a table's snapshots, branches and tags. Source: Iceberg table specification, "Snapshots" and "Refs"."""

from dataclasses import dataclass, field
from typing import Any

from penstock.lake.iceberg.documents import Document, integer, member, optional_integer, optional_text, text
from penstock.lake.iceberg.errors import BadDocument, RequirementFailed
from penstock.lake.iceberg.table_metadata import FORMAT_VERSION, MAIN, now_ms

__all__ = ["Changes", "add_snapshot", "finish_snapshots", "remove_ref", "remove_snapshots", "set_ref"]

_RETENTION = ("max-ref-age-ms", "max-snapshot-age-ms", "min-snapshots-to-keep")


@dataclass(slots=True)
class Changes:
    """What the updates of one commit have added so far."""

    schema: int | None = None
    spec: int | None = None
    order: int | None = None
    snapshots: set[int] = field(default_factory=set)
    made_current: list[int] = field(default_factory=list)
    updated: int | None = None
    """The time of the change by the snapshot that made it, in milliseconds since 1970."""


def add_snapshot(table: dict[str, Any], update: Document, changes: Changes) -> None:
    """Add a snapshot. Raises :class:`RequirementFailed` if another one was committed before it."""
    snapshot = dict(member(update, "snapshot", "add-snapshot"))
    number = integer(snapshot, "snapshot-id", "the snapshot")
    changed = integer(snapshot, "timestamp-ms", "the snapshot")
    sequence = optional_integer(snapshot, "sequence-number", "the snapshot") or 0
    if not table["schemas"] or not table["partition-specs"] or not table["sort-orders"]:
        raise BadDocument("Attempting to add a snapshot before a schema, a partition spec and a sort order are added")
    if any(item.get("snapshot-id") == number for item in table["snapshots"]):
        raise BadDocument(f"Snapshot already exists for id: {number}")
    if optional_text(snapshot, "manifest-list", "the snapshot") is None and not snapshot.get("manifests"):
        raise BadDocument("The snapshot has no manifest list.")
    version, last = table[FORMAT_VERSION], table["last-sequence-number"]
    if version >= 2 and sequence <= last and snapshot.get("parent-snapshot-id") is not None:
        raise RequirementFailed(
            f"Cannot add snapshot with sequence number {sequence} older than last sequence number {last}"
        )
    if version >= 3:
        _count_rows(table, snapshot)
    table["snapshots"].append(snapshot)
    table["last-updated-ms"] = changes.updated = changed
    if version >= 2:
        table["last-sequence-number"] = sequence
    changes.snapshots.add(number)


def _count_rows(table: dict[str, Any], snapshot: Document) -> None:
    first, added = (optional_integer(snapshot, name, "the snapshot") for name in ("first-row-id", "added-rows"))
    if first is None or added is None or added < 0:
        raise BadDocument("Cannot add a snapshot without first-row-id and added-rows to a table of format version 3.")
    if first < table["next-row-id"]:
        raise RequirementFailed(
            f"Cannot add a snapshot, first-row-id is behind table next-row-id: {first} < {table['next-row-id']}"
        )
    table["next-row-id"] += added


def set_ref(table: dict[str, Any], update: Document, changes: Changes) -> None:
    """Create a branch or a tag, or move it to another snapshot."""
    name = text(update, "ref-name", "set-snapshot-ref")
    ref_type = text(update, "type", "set-snapshot-ref")
    number = integer(update, "snapshot-id", "set-snapshot-ref")
    ref: dict[str, Any] = {"snapshot-id": number, "type": ref_type}
    if ref_type not in {"branch", "tag"} or (name == MAIN and ref_type != "branch"):
        raise BadDocument(f"The ref '{name[:100]}' cannot be of type '{ref_type[:50]}'.")
    for member_name in _RETENTION:
        value = optional_integer(update, member_name, "set-snapshot-ref")
        if value is not None:
            if value <= 0 or (ref_type == "tag" and member_name != "max-ref-age-ms"):
                raise BadDocument(f"'{member_name}' of the {ref_type} '{name[:100]}' cannot be {value}.")
            ref[member_name] = value
    snapshot = next((item for item in table["snapshots"] if item.get("snapshot-id") == number), None)
    if snapshot is None:
        raise BadDocument(f"Cannot set {name[:100]} to unknown snapshot: {number}")
    if table["refs"].get(name) == ref:
        return
    if number in changes.snapshots:
        table["last-updated-ms"] = changes.updated = snapshot["timestamp-ms"]
    table["refs"] = {**table["refs"], name: ref}
    if name == MAIN:
        if changes.updated is None:
            table["last-updated-ms"] = changes.updated = now_ms()
        table["current-snapshot-id"] = number
        table["snapshot-log"].append({"snapshot-id": number, "timestamp-ms": changes.updated})
        changes.made_current.append(number)


def remove_ref(table: dict[str, Any], update: Document, _changes: Changes) -> None:
    """Remove a branch or a tag, if it exists."""
    name = text(update, "ref-name", "remove-snapshot-ref")
    if name == MAIN:
        table["current-snapshot-id"] = None
    table["refs"] = {item: ref for item, ref in table["refs"].items() if item != name}


def remove_snapshots(table: dict[str, Any], update: Document, _changes: Changes) -> None:
    """Remove snapshots with their statistics, and the refs that point to them."""
    ids = update.get("snapshot-ids")
    if not isinstance(ids, list) or not all(isinstance(id_, int) for id_ in ids):
        raise BadDocument("'snapshot-ids' is not a list of integers.")
    removed = set(ids) & {snapshot.get("snapshot-id") for snapshot in table["snapshots"]}
    for name in ("snapshots", "statistics", "partition-statistics"):
        table[name] = [item for item in table[name] if item.get("snapshot-id") not in removed]
    table["refs"] = {name: ref for name, ref in table["refs"].items() if ref.get("snapshot-id") not in removed}
    if table["current-snapshot-id"] in removed:
        table["current-snapshot-id"] = None


def finish_snapshots(table: dict[str, Any], changes: Changes) -> None:
    """Make the snapshot log consistent with the snapshots.

    The log has no snapshot that was added and replaced within one commit, and nothing before a removed snapshot: a log with
    a gap would give wrong answers about the past.
    """
    passing = {item for item in changes.made_current if item in changes.snapshots} - {table["current-snapshot-id"]}
    known = {snapshot["snapshot-id"] for snapshot in table["snapshots"]}
    log: list[Document] = []
    for entry in table["snapshot-log"]:
        number = entry.get("snapshot-id")
        if number in passing:
            continue
        if number in known:
            log.append(entry)
        else:
            log = []
    table["snapshot-log"] = log
