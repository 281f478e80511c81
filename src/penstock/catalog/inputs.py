"""Inputs of the catalog: definitions without the version, times and database that the catalog adds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from penstock.catalog.model import Column, Database, Partition, StorageDescriptor, Table

__all__ = ["DatabaseInput", "PartitionInput", "TableInput"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseInput:
    """Glue's DatabaseInput. ``extra``: see :mod:`penstock.catalog.model`."""

    name: str
    description: str | None = None
    location_uri: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, object] = field(default_factory=dict)

    def resolve(self, create_time: datetime) -> Database:
        """Return the database that the catalog stores, with its name in lower case, as in Glue."""
        return Database(
            name=self.name.lower(),
            description=self.description,
            location_uri=self.location_uri,
            parameters=self.parameters,
            create_time=create_time,
            extra=self.extra,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInput:
    """Glue's TableInput. If ``storage.schema_reference`` is set, ``storage.columns`` are the schema's."""

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
    def of(cls, table: Table) -> "TableInput":
        """Return the input that ``table`` results from; change it with :func:`dataclasses.replace` for an update."""
        return cls(
            name=table.name,
            storage=table.storage,
            partition_keys=table.partition_keys,
            table_type=table.table_type,
            description=table.description,
            owner=table.owner,
            parameters=table.parameters,
            view_original_text=table.view_original_text,
            view_expanded_text=table.view_expanded_text,
            last_access_time=table.last_access_time,
            last_analyzed_time=table.last_analyzed_time,
            retention=table.retention,
            extra=table.extra,
        )

    def resolve(self, database: str, *, create_time: datetime, update_time: datetime) -> Table:
        """Return version 0 of the table in ``database``; the store numbers it. Columns from a schema are not stored."""
        storage = replace(self.storage, columns=()) if self.storage.schema_reference else self.storage
        return Table(
            database=database.lower(),
            name=self.name.lower(),
            version_id="0",
            storage=storage,
            partition_keys=self.partition_keys,
            table_type=self.table_type,
            description=self.description,
            owner=self.owner,
            parameters=self.parameters,
            view_original_text=self.view_original_text,
            view_expanded_text=self.view_expanded_text,
            create_time=create_time,
            update_time=update_time,
            last_access_time=self.last_access_time,
            last_analyzed_time=self.last_analyzed_time,
            retention=self.retention,
            extra=self.extra,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionInput:
    """Glue's PartitionInput; ``values`` in the order of the table's partition keys."""

    values: Sequence[str] = ()
    storage: StorageDescriptor = field(default_factory=StorageDescriptor)
    parameters: Mapping[str, str] = field(default_factory=dict)
    last_access_time: datetime | None = None
    last_analyzed_time: datetime | None = None
    extra: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, partition: Partition) -> "PartitionInput":
        """Return the input that ``partition`` results from."""
        return cls(
            values=partition.values,
            storage=partition.storage,
            parameters=partition.parameters,
            last_access_time=partition.last_access_time,
            last_analyzed_time=partition.last_analyzed_time,
            extra=partition.extra,
        )

    def resolve(self, table: Table, create_time: datetime) -> Partition:
        """Return the partition of ``table`` that the catalog stores."""
        return Partition(
            database=table.database,
            table=table.name,
            values=tuple(self.values),
            storage=self.storage,
            parameters=self.parameters,
            create_time=create_time,
            last_access_time=self.last_access_time,
            last_analyzed_time=self.last_analyzed_time,
            extra=self.extra,
        )
