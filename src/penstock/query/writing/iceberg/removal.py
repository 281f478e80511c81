"""DROP TABLE and VACUUM of Iceberg tables, by which files leave the lake.

Sources: Athena user guide, "DROP TABLE" (it removes the table's files, too), "VACUUM"; Iceberg table specification,
"Snapshots", "Manifest Lists", "Snapshot Retention Policy". VACUUM keeps what a statement that runs may still read: snapshots
that were current within its time limit, and files that are younger than a day.
"""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot

from penstock.catalog.model import Table
from penstock.errors import NotFound
from penstock.lake.iceberg.table_metadata import MAIN
from penstock.lake.permitted import DELETE_OBJECT
from penstock.query.engine.context import ExecutionContext
from penstock.query.tables.iceberg.lake_io import LakeIO
from penstock.query.tables.iceberg.planning import manifests_of, read_entries
from penstock.query.tables.iceberg.state import IcebergState, load
from penstock.query.task import Outcome
from penstock.query.writing.iceberg.commits import TableChanges, Updates, check_writable
from penstock.query.writing.iceberg.definitions import outcome
from penstock.sql.errors import StatementError
from penstock.sql.statements.model import DropTable, Vacuum

__all__ = ["drop_table", "vacuum"]

_AGE = ("history.expire.max-snapshot-age-ms", 5 * 24 * 3_600_000)
_KEPT = ("history.expire.min-snapshots-to-keep", 1)
_REF_AGE = "history.expire.max-ref-age-ms"
_ORPHAN_AGE = 24 * 3_600.0  # seconds; who writes a file commits it within a day
_GRACE = 60.0  # seconds
_FOLDERS = ("data", "metadata")


def drop_table(context: ExecutionContext, statement: DropTable, table: Table) -> Outcome:
    """Remove the catalog's entry, then the files that the metadata refers to and that are below the table's location.

    A table whose metadata cannot be read leaves the catalog, and its files stay. Raises :class:`StatementError`.
    """
    files: set[str] = set()
    try:
        opened = context.lake.of(table)
        state = load(table, opened)
        if state.metadata.properties.get("gc.enabled", "true").lower() != "false":
            referenced = _snapshot_files(state.metadata.snapshots, LakeIO(opened))
            own = f"{state.metadata.location.rstrip('/')}/"
            files = {
                metadata_file
                for metadata_file in (*referenced, *_metadata_files(state, state.metadata))
                if metadata_file.startswith(own)
            }
    except (StatementError, OSError, ValueError):
        files = set()
    key = (table.database, table.name)
    if files:
        context.host.check_files(DELETE_OBJECT, sorted(files), key)
    try:
        context.host.change("DeleteTable", {"DatabaseName": table.database, "Name": table.name})
    except NotFound:
        if not statement.if_exists:
            raise StatementError("TABLE_NOT_FOUND", f"Table '{table.database}.{table.name}' does not exist") from None
    if files:
        context.host.remove(sorted(files), key)
    return outcome(context)


def vacuum(context: ExecutionContext, _statement: Vacuum, table: Table) -> Outcome:
    """Expire snapshots by the table's properties, then remove files. Raises :class:`StatementError`."""
    changes = TableChanges(context, table)
    check_writable(changes.state)
    if changes.state.metadata.properties.get("gc.enabled", "true").lower() == "false":
        raise StatementError("NOT_SUPPORTED", f"The property gc.enabled of '{changes.state.name}' forbids VACUUM.")
    before = changes.state
    recent = context.task.settings.timeout_seconds + _GRACE

    def updates(state: IcebergState) -> Updates:
        return _expired(state.metadata, now=int(time.time() * 1000), recent=int(recent * 1000))

    if updates(before):
        changes.commit_again(updates)
    after = changes.state
    used = _snapshot_files(after.metadata.snapshots, changes.io) | _metadata_files(after, after.metadata)
    # By path, because writers name the same file by s3://, s3a:// and s3n://.
    live = {changes.io.path(name) for name in used}
    remaining = {snapshot.snapshot_id for snapshot in after.metadata.snapshots}
    gone = [snapshot for snapshot in before.metadata.snapshots if snapshot.snapshot_id not in remaining]
    own = f"{after.metadata.location.rstrip('/')}/"
    expired = _snapshot_files(gone, changes.io)
    unused = {name for name in expired if name.startswith(own) and changes.io.path(name) not in live}
    unused |= _orphans(context, after, live)
    if unused:
        context.host.remove(sorted(unused), changes.opened.table)
    return outcome(context)


def _expired(metadata: TableMetadata, *, now: int, recent: int) -> Updates:
    """Return the updates that remove what the retention policy does not keep."""
    properties = metadata.properties
    by_id = {snapshot.snapshot_id: snapshot for snapshot in metadata.snapshots}
    refs = {name: ref for name, ref in metadata.refs.items() if name == MAIN or not _is_old(ref, by_id, properties, now)}
    live: set[int] = set()
    for ref in refs.values():
        live.add(ref.snapshot_id)
        if ref.snapshot_ref_type is SnapshotRefType.BRANCH:
            live |= _of_branch(ref, by_id, properties, now)
    live |= _recently_current(metadata, since=now - recent)
    oldest = now - int(properties.get(_AGE[0], str(_AGE[1])))
    reachable = {ancestor for ref in refs.values() for ancestor in _ancestors(ref.snapshot_id, by_id)}
    # A snapshot that no branch leads to is kept until it is old enough: it may be published soon.
    live |= {
        snapshot.snapshot_id
        for snapshot in metadata.snapshots
        if snapshot.snapshot_id not in reachable and snapshot.timestamp_ms >= oldest
    }
    updates: list[Mapping[str, Any]] = [
        {"action": "remove-snapshot-ref", "ref-name": name} for name in metadata.refs if name not in refs
    ]
    expired = [number for number in by_id if number not in live]
    return [*updates, {"action": "remove-snapshots", "snapshot-ids": expired}] if expired else updates


def _is_old(ref: SnapshotRef, snapshots: Mapping[int, Snapshot], properties: Mapping[str, str], now: int) -> bool:
    age = ref.max_ref_age_ms or (int(properties[_REF_AGE]) if _REF_AGE in properties else None)
    snapshot = snapshots.get(ref.snapshot_id)
    return snapshot is None or (age is not None and now - snapshot.timestamp_ms > age)


def _of_branch(ref: SnapshotRef, snapshots: Mapping[int, Snapshot], properties: Mapping[str, str], now: int) -> set[int]:
    fewest = ref.min_snapshots_to_keep or int(properties.get(_KEPT[0], str(_KEPT[1])))
    age = ref.max_snapshot_age_ms or int(properties.get(_AGE[0], str(_AGE[1])))
    line = list(_ancestors(ref.snapshot_id, snapshots))
    return {number for at, number in enumerate(line) if at < fewest or snapshots[number].timestamp_ms >= now - age}


def _ancestors(snapshot_id: int | None, snapshots: Mapping[int, Snapshot]) -> Iterable[int]:
    while snapshot_id is not None and snapshot_id in snapshots:
        yield snapshot_id
        snapshot_id = snapshots[snapshot_id].parent_snapshot_id


def _recently_current(metadata: TableMetadata, *, since: int) -> set[int]:
    """Return the snapshots that a statement which runs now may have started with."""
    log = metadata.snapshot_log
    ends = [snapshot_log_entry.timestamp_ms for snapshot_log_entry in log[1:]]
    return {snapshot_log_entry.snapshot_id for snapshot_log_entry, end in zip(log, ends, strict=False) if end >= since}


def _orphans(context: ExecutionContext, state: IcebergState, live: set[Path]) -> set[str]:
    """Return old files in the table's folders that nothing refers to."""
    age = int(state.metadata.properties.get(_AGE[0], str(_AGE[1]))) / 1_000
    before = time.time() - max(age, _ORPHAN_AGE)
    opened, orphans = context.lake.of(state.table), set()
    for folder in _FOLDERS:
        root = opened.listable(f"{state.metadata.location.rstrip('/')}/{folder}")
        for path in root.rglob("*") if root.is_dir() else ():
            if path.is_file() and not path.is_symlink() and path.stat().st_mtime < before and path not in live:
                orphans.add(opened.lake.uri(path))
    return orphans


def _snapshot_files(snapshots: Iterable[Snapshot], io: LakeIO) -> set[str]:
    """Return the locations of the snapshots' manifest lists, manifests, data files and delete files."""
    files: set[str] = set()
    for snapshot in snapshots:
        files.add(snapshot.manifest_list)
        for manifest in manifests_of(snapshot, io):
            if manifest.manifest_path not in files:
                files.add(manifest.manifest_path)
                files.update(entry.data_file.file_path for entry in read_entries(manifest, io, live=False))
    return files


def _metadata_files(state: IcebergState, metadata: TableMetadata) -> set[str]:
    """Return the locations of the metadata file, of earlier ones in its log, and of statistics."""
    files = {state.location, *(metadata_log_entry.metadata_file for metadata_log_entry in metadata.metadata_log)}
    for statistic in (*metadata.statistics, *metadata.partition_statistics):
        files.add(statistic.statistics_path)
    return files
