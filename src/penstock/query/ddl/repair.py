"""MSCK REPAIR TABLE: partitions whose folders are in the lake and which the catalog does not have."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from penstock.catalog.model import Table
from penstock.errors import InvalidInput
from penstock.lake.partitions import HIVE_DEFAULT_PARTITION, is_partition_folder, parse_partition_folder, partition_path
from penstock.query.ddl.errors import semantic_error, table_of
from penstock.query.ddl.partitions import check_values, create_partitions
from penstock.query.ddl.requests import storage_request
from penstock.query.engine.context import ExecutionContext
from penstock.query.tables.lookup import is_iceberg
from penstock.query.tables.views import VIEW_TYPE
from penstock.query.task import Outcome
from penstock.sql.errors import StatementError
from penstock.sql.statements.model import RepairTable
from penstock.statements.model import ResultColumn

__all__ = ["MAX_FOLDERS", "repair_table"]

MAX_FOLDERS = 200_000
"""How many folders one statement looks at."""


def repair_table(context: ExecutionContext, statement: RepairTable) -> Outcome:
    """Add what is missing, and report it in Hive's lines, with the partitions whose folders are gone.

    Folders count if they are named ``key=value`` after the table's keys in their order. Raises :class:`StatementError`.
    """
    table = table_of(context.host, statement.table, context.task.database)
    if table.table_type == VIEW_TYPE:
        raise semantic_error(f"{table.database}.{table.name} is a view; MSCK REPAIR TABLE is for tables.")
    if is_iceberg(table):
        raise StatementError("NOT_SUPPORTED", "MSCK REPAIR TABLE of an Iceberg table is not supported.")
    if not table.partition_keys:
        return context.text_result()
    keys = [key.name for key in table.partition_keys]
    try:
        root = context.lake.of(table).listable(table.storage.location or "")
    except InvalidInput as error:
        raise semantic_error(error.message, remedy=error.remedy) from error
    stored = {tuple(partition.values): partition for partition in context.host.partitions(table.database, table.name)}
    folders = dict(_folders(root, keys))
    location = (table.storage.location or "").rstrip("/")
    new = [values for values in folders if values not in stored]
    missing = [values for values in new if _is_valid(table, values)]
    gone = [
        values
        for values, partition in stored.items()
        if values not in folders and not _exists(context, partition.storage.location)
    ]
    requests = [
        {
            "Values": list(values),
            "StorageDescriptor": storage_request(table.storage, location=f"{location}/{folders[values]}"),
        }
        for values in missing
    ]
    existing = create_partitions(context, table, requests)
    added = [values for values in missing if list(values) not in existing]
    skipped = [f"Repair: Skipped {table.name}:{partition_path(keys, entry)}" for entry in new if entry not in missing]
    lines = [*_report(table, keys, missing, gone, added), *skipped]
    columns = [ResultColumn(name="result", type="string")] if lines else ()
    return context.text_result(columns, [[line] for line in lines])


def _is_valid(table: Table, values: Sequence[str]) -> bool:
    """Whether each value in a folder's name is of its key's type; a partition with another cannot be read."""
    try:
        check_values(table, values)
    except StatementError:
        return False
    return True


def _report(
    table: Table,
    keys: Sequence[str],
    missing: Sequence[Sequence[str]],
    gone: Sequence[Sequence[str]],
    added: Sequence[Sequence[str]],
) -> Sequence[str]:
    def named(values: Sequence[str]) -> str:
        return f"{table.name}:{partition_path(keys, values)}"

    lines = []
    if missing:
        lines.append("\t".join(["Partitions not in metastore:", *map(named, missing)]))
    if gone:
        lines.append("\t".join(["Partitions missing from filesystem:", *map(named, gone)]))
    return [*lines, *(f"Repair: Added partition to metastore {named(values)}" for values in added)]


def _folders(root: Path, keys: Sequence[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield values and relative path of each partition's folder, in order."""
    pending: list[tuple[Path, tuple[str, ...], str]] = [(root, (), "")]
    entries = 0
    while pending:
        folder, values, path = pending.pop()
        key = keys[len(values)]
        try:
            names = sorted(dir_entry.name for dir_entry in os.scandir(folder) if dir_entry.is_dir(follow_symlinks=False))
        except OSError:
            continue
        entries += len(names)
        if entries > MAX_FOLDERS:
            raise StatementError(
                "EXCEEDED_PARTITION_LIMIT",
                f"The table has more than {MAX_FOLDERS} folders; nothing was added.",
                remedy="Add partitions with ALTER TABLE ADD PARTITION, or use partition projection.",
            )
        inner = []
        for name in names:
            if not is_partition_folder(name) or name.partition("=")[0] != key:
                continue
            value = parse_partition_folder(name)[1]
            extended = (*values, HIVE_DEFAULT_PARTITION if value is None else value)
            below = f"{path}{name}/"
            if len(extended) == len(keys):
                yield extended, below.rstrip("/")
            else:
                inner.append((folder / name, extended, below))
        pending += reversed(inner)


def _exists(context: ExecutionContext, location: str | None) -> bool:
    try:
        return location is not None and context.task.lake.path(location).exists()
    except InvalidInput:
        return False
