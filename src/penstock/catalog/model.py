"""The catalog's values, field for field those of Glue's API (Database, Table, StorageDescriptor, Partition).

``extra`` has, as JSON values under AWS's names, the members that Glue stores and Penstock does not interpret.
Type strings are Hive's (``bigint``, ``struct<a:int,b:string>``, ``decimal(10,2)``), as Glue keeps them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

__all__ = ["Column", "Database", "Partition", "SchemaReference", "SerDeInfo", "StorageDescriptor", "Table"]


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
class Database:
    """A database of the catalog."""

    name: str
    description: str | None = None
    location_uri: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    create_time: datetime
    tags: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One version of a table. ``version_id`` is a counter as text, ``"0"`` for the first, as Glue numbers them."""

    database: str
    name: str
    version_id: str
    storage: StorageDescriptor
    partition_keys: Sequence[Column] = ()
    table_type: str | None = None
    description: str | None = None
    owner: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    view_original_text: str | None = None
    view_expanded_text: str | None = None
    create_time: datetime
    update_time: datetime
    last_access_time: datetime | None = None
    last_analyzed_time: datetime | None = None
    retention: int = 0
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A partition: ``values`` in the order of the table's partition keys."""

    database: str
    table: str
    values: Sequence[str]
    storage: StorageDescriptor
    parameters: Mapping[str, str] = field(default_factory=dict)
    create_time: datetime
    last_access_time: datetime | None = None
    last_analyzed_time: datetime | None = None
    extra: Mapping[str, object] = field(default_factory=dict)
