"""The catalog's values, field for field those of Glue's API (Database, Table, StorageDescriptor, Partition).

``extra`` has, as JSON values under AWS's names, the members that Glue stores and Penstock does not interpret.
Type strings are Hive's (``bigint``, ``struct<a:int,b:string>``, ``decimal(10,2)``), as Glue keeps them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

__all__ = [
    "Column",
    "Database",
    "DatabaseInput",
    "Partition",
    "PartitionInput",
    "SchemaReference",
    "SerDeInfo",
    "StorageDescriptor",
    "Table",
    "TableInput",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: ``name``, Hive ``type``, ``comment`` and free ``parameters``."""

    name: str
    type: str | None = None
    comment: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaReference:
    """The registry schema that a table's columns come from: by version id, or by schema and version number."""

    schema_version_id: str | None = None
    schema_arn: str | None = None
    registry_name: str | None = None
    schema_name: str | None = None
    schema_version_number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SerDeInfo:
    """Serialisation library and its parameters."""

    name: str | None = None
    serialization_library: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageDescriptor:
    """Where and how rows are stored. ``extra``: members that are only stored (SkewedInfo, SortColumns, ...)."""

    columns: Sequence[Column] = ()
    location: str | None = None
    input_format: str | None = None
    output_format: str | None = None
    compressed: bool = False
    serde_info: SerDeInfo | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    schema_reference: SchemaReference | None = None
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseInput:
    """Glue's DatabaseInput: what callers define of a database."""

    name: str
    description: str | None = None
    location_uri: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, object] = field(default_factory=dict)

    def resolve(self, create_time: datetime) -> "Database":
        """Return the database that the catalog stores, with its name in lower case, as in Glue."""
        return Database(**_members(self, DatabaseInput) | {"name": self.name.lower()}, create_time=create_time)


@dataclass(frozen=True, slots=True, kw_only=True)
class Database(DatabaseInput):
    """A database of the catalog."""

    create_time: datetime
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInput:
    """Glue's TableInput: what callers define of a table.

    If ``storage.schema_reference`` is set, ``storage.columns`` are the schema's.
    """

    name: str
    storage: StorageDescriptor = field(default_factory=StorageDescriptor)
    partition_keys: Sequence[Column] = ()
    table_type: str | None = None
    description: str | None = None
    owner: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    view_original_text: str | None = None
    view_expanded_text: str | None = None
    last_access_time: datetime | None = None
    last_analyzed_time: datetime | None = None
    retention: int = 0
    extra: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, table: "Table") -> "TableInput":
        """Return the input that ``table`` results from; change it with :func:`dataclasses.replace` for an update."""
        return cls(**_members(table, TableInput))

    def resolve(self, database: str, *, create_time: datetime, update_time: datetime) -> "Table":
        """Return version 0 of the table in ``database``; the store numbers it. Columns from a schema are not stored."""
        storage = replace(self.storage, columns=()) if self.storage.schema_reference else self.storage
        members = _members(self, TableInput) | {"name": self.name.lower(), "storage": storage}
        return Table(**members, database=database.lower(), version_id="0", create_time=create_time, update_time=update_time)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(TableInput):
    """One version of a table. ``version_id`` is a counter as text, ``"0"`` for the first, as Glue numbers them."""

    database: str
    version_id: str
    create_time: datetime
    update_time: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionInput:
    """Glue's PartitionInput: what callers define of a partition; ``values`` in the order of the table's partition keys."""

    values: Sequence[str] = ()
    storage: StorageDescriptor = field(default_factory=StorageDescriptor)
    parameters: Mapping[str, str] = field(default_factory=dict)
    last_access_time: datetime | None = None
    last_analyzed_time: datetime | None = None
    extra: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, partition: "Partition") -> "PartitionInput":
        """Return the input that ``partition`` results from."""
        return cls(**_members(partition, PartitionInput))

    def resolve(self, table: Table, create_time: datetime) -> "Partition":
        """Return the partition of ``table`` that the catalog stores."""
        members = _members(self, PartitionInput) | {"values": tuple(self.values)}
        return Partition(**members, database=table.database, table=table.name, create_time=create_time)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition(PartitionInput):
    """A partition of a table."""

    database: str
    table: str
    create_time: datetime


def _members(definition: object, of: type[DatabaseInput | TableInput | PartitionInput]) -> dict[str, Any]:
    """Return the members of ``definition`` that an input has."""
    return {member.name: getattr(definition, member.name) for member in fields(of)}
