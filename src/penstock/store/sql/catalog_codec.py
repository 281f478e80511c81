"""Catalog values to the JSON that the SQL store keeps, and back."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import Row

from penstock.catalog.model import Column, Database, Partition, SchemaReference, SerDeInfo, StorageDescriptor, Table
from penstock.catalog.store import split_key

__all__ = [
    "ColumnsCache",
    "dump_columns",
    "dump_database",
    "dump_partition",
    "dump_table",
    "load_database",
    "load_partition",
    "load_table",
]


class ColumnsCache:
    """Column lists by their JSON text, for one read: partitions that share a text share the parsed tuple."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Column, ...]] = {}

    def load(self, text: str) -> tuple[Column, ...]:
        """The columns in ``text``."""
        columns = self._known.get(text)
        if columns is None:
            columns = self._known[text] = _columns(orjson.loads(text))
        return columns


def dump_columns(columns: Sequence[Column]) -> str:
    """A list of columns."""
    return orjson.dumps(list(columns)).decode()


def dump_database(database: Database) -> str:
    """A database."""
    return orjson.dumps(database).decode()


def load_database(text: str) -> Database:
    """The inverse of :func:`dump_database`."""
    fields = orjson.loads(text)
    return Database(**{**fields, "create_time": datetime.fromisoformat(fields["create_time"])})


def dump_table(table: Table) -> str:
    """A table."""
    return orjson.dumps(table, default=list).decode()


def load_table(text: str, version: int) -> Table:
    """The inverse of :func:`dump_table`, at ``version``."""
    fields = _times(orjson.loads(text))
    fields["version_id"] = str(version)
    fields["storage"] = _storage(fields["storage"])
    fields["partition_keys"] = _columns(fields["partition_keys"])
    return Table(**fields)


def dump_partition(partition: Partition) -> str:
    """A partition without what its row holds in other columns: its table, values and storage columns."""
    storage = {name: getattr(partition.storage, name) for name in StorageDescriptor.__slots__ if name != "columns"}
    body = {name: getattr(partition, name) for name in Partition.__slots__ if name not in {"database", "table", "values"}}
    return orjson.dumps({**body, "storage": storage}).decode()


def load_partition(database: str, table: str, row: Row[Any], cache: ColumnsCache) -> Partition:
    """The inverse of :func:`dump_partition` for a row with ``key``, ``columns`` and ``body``."""
    fields = _times(orjson.loads(row.body))
    fields["storage"] = _storage({**fields["storage"], "columns": ()}, cache.load(row.columns))
    return Partition(database=database, table=table, values=split_key(row.key), **fields)


def _columns(found: Sequence[dict[str, Any]]) -> tuple[Column, ...]:
    return tuple(Column(**each) for each in found)


def _storage(fields: dict[str, Any], columns: tuple[Column, ...] | None = None) -> StorageDescriptor:
    fields["columns"] = _columns(fields["columns"]) if columns is None else columns
    if fields["serde_info"] is not None:
        fields["serde_info"] = SerDeInfo(**fields["serde_info"])
    if fields["schema_reference"] is not None:
        fields["schema_reference"] = SchemaReference(**fields["schema_reference"])
    return StorageDescriptor(**fields)


def _times(fields: dict[str, Any]) -> dict[str, Any]:
    for name in ("create_time", "update_time", "last_access_time", "last_analyzed_time"):
        if fields.get(name) is not None:
            fields[name] = datetime.fromisoformat(fields[name])
    return fields
