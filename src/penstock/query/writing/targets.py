"""Tables that statements write to: whether a place is free, and the catalog's requests for their partitions."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.catalog.model import Table
from penstock.errors import InvalidInput, NotFound
from penstock.lake.locations import LakePaths
from penstock.lake.partitions import HIVE_DEFAULT_PARTITION, partition_path
from penstock.query.ddl.requests import chunks, storage_request
from penstock.query.ports import StatementHost
from penstock.query.task import CatalogChange
from penstock.query.writing.files import Columns
from penstock.query.writing.partitioned import WrittenFile
from penstock.sql.errors import StatementError
from penstock.sql.hive_types import parse_hive_type
from penstock.sql.statements.names import TableName

__all__ = ["check_empty", "columns_of", "existing", "new_partitions", "partition_changes"]

_CHUNK = 100  # partitions in one request, Glue's limit


def columns_of(pairs: Sequence[tuple[str, str]]) -> Columns:
    """Return names and parsed types."""
    return [(name, parse_hive_type(type_)) for name, type_ in pairs]


def existing(host: StatementHost, database: str, name: TableName) -> Table | None:
    """Return the table of this name, if there is one."""
    try:
        return host.table(database, name.name)
    except NotFound:
        return None


def check_empty(lake: LakePaths, location: str) -> None:
    """Raise :class:`StatementError` unless no object is below ``location``."""
    try:
        folder = lake.listable(location)
    except InvalidInput as error:
        raise StatementError("INVALID_TABLE_PROPERTY", error.message, remedy=error.remedy) from error
    try:
        lake.check_bucket(location)
    except InvalidInput as error:
        raise StatementError("HIVE_FILESYSTEM_ERROR", error.message, remedy=error.remedy) from error
    for _, _, names in os.walk(folder):
        if names:
            raise StatementError(
                "HIVE_PATH_ALREADY_EXISTS",
                f"Target directory for table already exists and is not empty: {location}",
                remedy="Remove its objects, or name another location.",
            )


def new_partitions(host: StatementHost, table: Table, files: Sequence[WrittenFile]) -> Sequence[tuple[str, ...]]:
    """Return the values, as the catalog has them, of partitions that files were written for and that are not registered."""
    written = dict.fromkeys(tuple(value or HIVE_DEFAULT_PARTITION for value in file.values) for file in files)
    if not written:
        return []
    registered = {tuple(partition.values) for partition in host.partitions(table.database, table.name)}
    return [values for values in written if values not in registered]


def partition_changes(
    database: str, table: str, storage: Mapping[str, Any], keys: Sequence[str], values: Sequence[tuple[str, ...]]
) -> Sequence[CatalogChange]:
    """Return the requests that register partitions at their folders below the table's location."""
    root = str(storage["Location"]).rstrip("/")

    def entry(partition: tuple[str, ...]) -> Mapping[str, Any]:
        plain = [None if value == HIVE_DEFAULT_PARTITION else value for value in partition]
        location = f"{root}/{partition_path(keys, plain)}"
        return {"Values": list(partition), "StorageDescriptor": {**storage, "Location": location}, "Parameters": {}}

    return [
        (
            "BatchCreatePartition",
            {"DatabaseName": database, "TableName": table, "PartitionInputList": [entry(item) for item in part]},
        )
        for part in chunks(list(values), _CHUNK)
    ]


def storage_of(table: Table) -> Mapping[str, Any]:
    """Return the catalog's request of the table's storage."""
    return storage_request(table.storage)
