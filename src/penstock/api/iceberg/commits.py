"""Commits: new metadata files in the lake, then one compare-and-set of all their tables in the catalog.

A commit reads the table, checks the client's requirements, applies its updates, writes a metadata file that nothing refers
to yet, and makes the table refer to it if the table is still at the version that was read. If another commit was first,
here or through Glue's UpdateTable, all of it is repeated on the new state: the requirements decide whether it still holds.
"""

import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock.api.iceberg.call import Call
from penstock.api.iceberg.errors import CommitFailed, CommitStateUnknown
from penstock.api.iceberg.lookup import Loaded, check_location, default_location, kind_of, load
from penstock.catalog.errors import StaleTable, TableExists
from penstock.catalog.model import TableInput
from penstock.catalog.tables import TableWrite
from penstock.errors import AlreadyExists, InvalidInput, PenstockError
from penstock.lake.iceberg.documents import Document, optional_text
from penstock.lake.iceberg.errors import RequirementFailed
from penstock.lake.iceberg.glue_tables import table_input
from penstock.lake.iceberg.requirements import check_requirements, is_create
from penstock.lake.iceberg.table_metadata import (
    FORMAT_VERSION,
    blank_table,
    read_table,
    version_of,
    written,
)
from penstock.lake.iceberg.updates import apply_updates

__all__ = ["Change", "Plan", "commit", "create_plan", "publish"]

_log = logging.getLogger("penstock.server")
_ATTEMPTS = 5
_ALL_ROWS = ("INSERT", "DELETE")
# Lake Formation's permissions by what a snapshot does (Iceberg's table specification, "Snapshots"): others need both.
_ROWS: Mapping[Any, Sequence[str]] = {"append": ("INSERT",), "delete": ("DELETE",)}
_DELETE_AFTER_COMMIT = "write.metadata.delete-after-commit.enabled"


@dataclass(frozen=True, slots=True)
class Change:
    """One table's part of a commit, as the client sent it."""

    database: str
    name: str
    requirements: Sequence[Document]
    updates: Sequence[Document]


@dataclass(frozen=True, slots=True)
class Plan:
    """A change that is ready to be published: what the catalog will say, and the new file. None: nothing changes."""

    write: TableWrite | None
    result: Loaded
    dropped: Sequence[str] = ()
    """Metadata files that are not needed after the commit."""


def commit(call: Call, changes: Sequence[Change]) -> list[Loaded]:
    """Commit all changes or none, and return the resulting documents, in order.

    Raises :class:`RequirementFailed`, :class:`CommitFailed`, :class:`NoSuchTable`, :class:`BadDocument` and
    :class:`CommitStateUnknown`.
    """
    if len({(change.database, change.name) for change in changes}) != len(changes):
        raise InvalidInput("A transaction changes each table at most once.")
    for change in changes:
        _check_access(call, change)
    try:
        return publish(call, [partial(_plan, call, change) for change in changes])
    except TableExists as error:
        raise RequirementFailed(f"Requirement failed: {error.message}") from None


def publish(call: Call, planners: Sequence[Callable[[], Plan]]) -> list[Loaded]:
    """Write what ``planners`` return to the catalog, all together; plan again if a table was changed meanwhile."""
    for attempt in range(_ATTEMPTS):
        plans = _planned(call, planners)
        writes = [plan.write for plan in plans if plan.write is not None]
        try:
            call.tables.change_tables(writes, skip_archive=True)
        except StaleTable:
            _discard(call, plans)
            if attempt == _ATTEMPTS - 1:
                raise CommitFailed("The table was changed by others at each attempt.", remedy="Try again.") from None
        except PenstockError:
            _discard(call, plans)
            raise
        except Exception as error:
            _log.exception("the outcome of a commit is not known")
            raise CommitStateUnknown(
                "The catalog's store failed during the commit, which may have been made or not.",
                remedy="Load the table to find out.",
            ) from error
        else:
            call.tell_lake(writes)
            _remove(call, [location for plan in plans for location in plan.dropped])
            return [plan.result for plan in plans]
    raise AssertionError("unreachable")


def _planned(call: Call, planners: Sequence[Callable[[], Plan]]) -> list[Plan]:
    """Return the plans of all; if one fails, the files of those before it are removed."""
    plans: list[Plan] = []
    try:
        for planner in planners:
            plans.append(planner())
    except Exception:
        _discard(call, plans)
        raise
    return plans


def _check_access(call: Call, change: Change) -> None:
    table = {"DatabaseName": change.database, "TableInput": {"Name": change.name}}
    if is_create(change.requirements):
        call.access.check("CreateTable", table)
        return
    call.access.check("UpdateTable", table)
    for update in change.updates:
        if update.get("action") == "add-snapshot":
            summary = (update.get("snapshot") or {}).get("summary") or {}
            call.access.check_writing(change.database, change.name, _ROWS.get(summary.get("operation"), _ALL_ROWS))


def _plan(call: Call, change: Change) -> Plan:
    if is_create(change.requirements):
        return _plan_create(call, change)
    table, loaded = load(call, change.database, change.name)
    base = read_table(loaded.document)
    check_requirements(change.requirements, base)
    changed = apply_updates(base, change.updates, metadata_location=loaded.location)
    if changed is None:
        return Plan(None, loaded)
    if changed["location"] != base["location"]:
        check_location(call, change.database, change.name, changed["location"], new=False)
    document, location = _written(call, (change.database, change.name), changed, loaded.location)
    write = TableWrite(
        database=change.database,
        name=change.name,
        definition=table_input(change.name, changed, location, table),
        version=table.version_id,
    )
    dropped = _removable(call, (change.database, change.name), _dropped(base, changed))
    return Plan(write, Loaded(location, document), dropped)


def _plan_create(call: Call, change: Change) -> Plan:
    entity_type = kind_of(call, change.database, change.name)
    if entity_type not in {None, "Table"}:
        raise AlreadyExists(f"{entity_type} with same name already exists: {change.database}.{change.name}")
    check_requirements(change.requirements, None if entity_type is None else {})
    upgrade = next((update for update in change.updates if update.get("action") == "upgrade-format-version"), {})
    version = version_of(upgrade.get(FORMAT_VERSION, 2))
    moved = next((update for update in change.updates if update.get("action") == "set-location"), {})
    location = optional_text(moved, "location", "set-location")
    base = blank_table(location or default_location(call, change.database, change.name), version)
    created = apply_updates(base, change.updates, metadata_location=None)
    assert created is not None
    return create_plan(call, change.database, change.name, created)


def create_plan(call: Call, database: str, name: str, table: dict[str, Any]) -> Plan:
    """Return the plan that creates a table with the metadata ``table``, whose file it writes."""
    call.tables.database(database)
    check_location(call, database, name, table["location"], new=True)
    document, location = _written(call, (database, name), table, None)
    new_table: TableInput = table_input(name, table, location, None)
    return Plan(TableWrite(database=database, name=name, definition=new_table), Loaded(location, document))


def _written(call: Call, key: tuple[str, str], table: dict[str, Any], previous: str | None) -> tuple[dict[str, Any], str]:
    """Write the metadata file of the table ``key``; return the document and the file's location."""
    document = written(table)
    return document, call.files.write_as(call.access, key, document, previous=previous)


def _dropped(base: Document, changed: Document) -> list[str]:
    """Return the metadata files that the log lost, if the table's properties say that they are removed."""
    if changed["properties"].get(_DELETE_AFTER_COMMIT, "").lower() != "true":
        return []
    retained = {entry.get("metadata-file") for entry in changed["metadata-log"]}
    return [entry["metadata-file"] for entry in base["metadata-log"] if entry.get("metadata-file") not in retained]


def _removable(call: Call, key: tuple[str, str], locations: Sequence[str]) -> list[str]:
    """Return those files that the caller may remove: who writes a table's metadata chooses what its log names."""
    removable = []
    for location in locations:
        with contextlib.suppress(PenstockError):
            call.access.check_files("s3:DeleteObject", [location], key)
            removable.append(location)
    return removable


def _discard(call: Call, plans: Sequence[Plan]) -> None:
    """Remove the files of plans that were not published."""
    _remove(call, [plan.result.location for plan in plans if plan.write is not None])


def _remove(call: Call, locations: Sequence[str]) -> None:
    for location in locations:
        with contextlib.suppress(OSError, PenstockError):
            call.files.remove(location)
