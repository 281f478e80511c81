"""Catalog values to the JSON that the SQL store keeps, and back."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson

from penstock.catalog.model import Column, Database, Partition, SchemaReference, SerDeInfo, StorageDescriptor, Table
from penstock.catalog.partitions.keys import split_key

__all__ = [
    "ColumnsCache",
    "SharedStorage",
    "dump_columns",
    "dump_database",
    "dump_partition",
    "dump_shared",
    "dump_table",
    "load_database",
    "load_partition",
    "load_table",
]

_ELSEWHERE = {"database", "table", "values", "storage"}


class ColumnsCache:
    """Column lists by their JSON text, for one read: rows that share a text share the parsed tuple."""

    def __init__(self) -> None:
        self._columns: dict[str, tuple[Column, ...]] = {}

    def load(self, text: str) -> tuple[Column, ...]:
        """The columns in ``text``."""
        columns = self._columns.get(text)
        if columns is None:
            columns = self._columns[text] = _columns(orjson.loads(text))
        return columns


class SharedStorage:
    """Storage descriptors by their shared text, for one read; each text is parsed once."""

    def __init__(self) -> None:
        self._fields: dict[str, dict[str, Any]] = {}

    def load(self, text: str, location: str | None) -> StorageDescriptor:
        """The descriptor in ``text``, at ``location``."""
        fields = self._fields.get(text)
        if fields is None:
            fields = self._fields[text] = _storage_fields(orjson.loads(text))
        return StorageDescriptor(**fields, location=location)


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
    fields["storage"] = StorageDescriptor(**_storage_fields(fields["storage"]))
    fields["partition_keys"] = _columns(fields["partition_keys"])
    return Table(**fields)


def dump_shared(storage: StorageDescriptor) -> str:
    """What partitions of a table mostly share: the storage descriptor but for its location."""
    return orjson.dumps(
        {name: getattr(storage, name) for name in StorageDescriptor.__slots__ if name != "location"}
    ).decode()


def dump_partition(partition: Partition) -> str:
    """What is a partition's own: location, parameters, times, extra."""
    body = {name: getattr(partition, name) for name in Partition.__dataclass_fields__ if name not in _ELSEWHERE}
    return orjson.dumps({**body, "location": partition.storage.location}).decode()


def load_partition(database: str, table: str, row: Any, shared: SharedStorage) -> Partition:
    """The inverse of :func:`dump_partition` and :func:`dump_shared` for a row with ``key``, ``shared`` and ``body``."""
    fields = _times(orjson.loads(row.body))
    storage = shared.load(row.shared, fields.pop("location"))
    return Partition(database=database, table=table, values=split_key(row.key), storage=storage, **fields)


def _columns(stored: Sequence[dict[str, Any]]) -> tuple[Column, ...]:
    return tuple(Column(**entry) for entry in stored)


def _storage_fields(fields: dict[str, Any]) -> dict[str, Any]:
    fields["columns"] = _columns(fields["columns"])
    if fields["serde_info"] is not None:
        fields["serde_info"] = SerDeInfo(**fields["serde_info"])
    if fields["schema_reference"] is not None:
        fields["schema_reference"] = SchemaReference(**fields["schema_reference"])
    return fields


def _times(fields: dict[str, Any]) -> dict[str, Any]:
    for name in ("create_time", "update_time", "last_access_time", "last_analyzed_time"):
        if fields.get(name) is not None:
            fields[name] = datetime.fromisoformat(fields[name])
    return fields
