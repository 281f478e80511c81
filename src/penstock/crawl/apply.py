"""Write the result of a crawl to the catalog, under the crawler's schema change policy.

A crawler removes nothing from a table that it did not create: it only adds columns and partitions.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from penstock.catalog.errors import DatabaseExists, DatabaseNotFound, StaleTable
from penstock.catalog.indexes import PartitionIndex
from penstock.catalog.model import (
    Column,
    DatabaseInput,
    Partition,
    PartitionInput,
    SerDeInfo,
    StorageDescriptor,
    Table,
    TableInput,
)
from penstock.catalog.service import CatalogService
from penstock.crawl.access import CrawlAccess
from penstock.crawl.configuration import Configuration
from penstock.crawl.formats.classes import classes_of
from penstock.crawl.infer import FoundTable, Problems, merge_columns, table_name
from penstock.crawl.model import Crawler, Tally
from penstock.crawl.targets.port import DescribedTable, Scope
from penstock.errors import AlreadyExists

__all__ = ["MADE_BY", "Applier"]

MADE_BY = "UPDATED_BY_CRAWLER"
_DEPRECATED = "DEPRECATED_BY_CRAWLER"
_CONNECTION = "connectionName"
_ATTEMPTS = 5
_BATCH = 1_000
_INDEX = "crawler_partition_index"  # the name that Glue's crawlers use
_COUNTERS = {"ADD": "tables_created", "UPDATE": "tables_updated", "DELETE": "tables_deleted"}
_OPERATIONS = {"ADD": "CreateTable", "UPDATE": "UpdateTable", "DELETE": "DeleteTable"}
_MOST_CHANGES = 100
_STATISTICS = ("objectCount", "recordCount", "sizeKey", "averageRecordSize")


class Applier:
    """One crawl's writes. ``check`` is called between batches and raises to end the crawl.

    ``access`` decides on each change and records it; ``only`` are the tables that may be changed, None for all.
    """

    def __init__(
        self,
        catalog: CatalogService,
        crawler: Crawler,
        problems: Problems,
        *,
        now: datetime,
        check: Callable[[], None],
        access: CrawlAccess,
        tally: Tally | None = None,
        only: Sequence[str] | None = None,
    ) -> None:
        self._access = access
        self._only = None if only is None else {name.lower() for name in only}
        self._catalog = catalog
        self._crawler = crawler
        self._database = crawler.database or "default"
        self._problems = problems
        self._now = now
        self._check = check
        self._settings = Configuration.stored(crawler.configuration)
        self.tally = tally or Tally()

    def apply(self, tables: Sequence[FoundTable], targets: Sequence[str]) -> None:
        """Update the catalog from ``tables``; ``targets`` are the crawled locations."""
        stored_tables = self._tables()
        for table in tables:
            self._check()
            self._apply_table(table, stored_tables)
        locations = {table.location for table in tables}

        def is_gone(table: Table) -> bool:
            location = _location(table)
            return location not in locations and any(location.startswith(target) for target in targets)

        self._missing_tables(is_gone)

    def describe(self, tables: Sequence[DescribedTable], scopes: Sequence[Scope]) -> None:
        """Update the catalog from tables whose own systems describe them; ``scopes`` are where those are."""
        stored_tables = self._tables()
        for described in tables:
            self._check()
            table = self._attempts(stored_tables, partial(self._define, described, stored_tables))
            stored_tables[table.name] = table
        places = {(_place(described_table.place), described_table.connection) for described_table in tables}

        def is_gone(table: Table) -> bool:
            at = (_location(table), table.parameters.get(_CONNECTION))
            return at not in places and any(at[0].startswith(scope.prefix) and at[1] == scope.connection for scope in scopes)

        self._missing_tables(is_gone)

    def _define(self, described: DescribedTable, stored_tables: Mapping[str, Table]) -> Table:
        at = (_place(described.place), described.connection)
        current = next(
            (table for table in stored_tables.values() if (_location(table), table.parameters.get(_CONNECTION)) == at), None
        )
        if current is None:
            name = table_name(described.name, self._crawler.table_prefix, stored_tables)
            new = described.define(name, None)
            new = replace(new, parameters={**new.parameters, MADE_BY: self._crawler.name}, last_access_time=self._now)
            self._check_operation("CreateTable", name, new)
            table = self._catalog.create_table(self._database, new)
            self._changed("ADD", table.name)
            return table
        if not self._owns(current):
            self._problems.add(f"Table {current.name} is not of this crawler, and is left as it is.")
            return current
        return self._redefine(described, current)

    def _redefine(self, described: DescribedTable, current: Table) -> Table:
        new = described.define(current.name, current)
        if self._settings.merges:
            names = {column.name for column in new.storage.columns}
            other_columns = [column for column in current.storage.columns if column.name not in names]
            new = replace(new, storage=replace(new.storage, columns=(*new.storage.columns, *other_columns)))
        new = replace(new, parameters={key: parameter for key, parameter in new.parameters.items() if key != _DEPRECATED})
        before = TableInput.of(current)
        changed = _schema(new) != _schema(before)
        if self._crawler.policy.update == "LOG":
            if changed:
                self._problems.add(f"Table {current.name} has changed, and the policy is to leave it as it is (LOG).")
            return current
        if not changed and dict(new.parameters) == dict(before.parameters):
            return current
        self._check_operation("UpdateTable", current.name, new)
        table = self._catalog.update_table(self._database, new, version=current.version_id, skip_archive=not changed)
        if changed:
            self._changed("UPDATE", table.name)
        return table

    def _tables(self) -> dict[str, Table]:
        try:
            tables = self._catalog.tables(self._database)
        except DatabaseNotFound:
            self._access.check("CreateDatabase", {"DatabaseInput": {"Name": self._database}})
            # Another crawl may create it at the same time; a conflict on a table reads the tables again.
            with suppress(DatabaseExists):
                self._catalog.create_database(DatabaseInput(name=self._database))
            return {}
        return {table.name: table for table in tables if self._only is None or table.name in self._only}

    def _apply_table(self, inferred: FoundTable, stored_tables: dict[str, Table]) -> None:
        table = self._write_table(inferred, stored_tables)
        stored_tables[table.name] = table
        self._partitions(inferred, table)

    def _write_table(self, inferred: FoundTable, stored_tables: dict[str, Table]) -> Table:
        def write() -> Table:
            current = next((table for table in stored_tables.values() if _location(table) == inferred.location), None)
            return self._create(inferred, stored_tables) if current is None else self._update(inferred, current)

        return self._attempts(stored_tables, write)

    def _attempts(self, stored_tables: dict[str, Table], write: Callable[[], Table]) -> Table:
        """Create or update a table by ``write``; after a concurrent change, read the tables again and retry a few times."""
        for attempt in range(_ATTEMPTS):
            try:
                return write()
            except (StaleTable, AlreadyExists):
                if attempt == _ATTEMPTS - 1:
                    raise
                stored_tables.clear()
                stored_tables.update(self._tables())
        raise AssertionError("unreachable")

    def _create(self, inferred: FoundTable, stored_tables: Mapping[str, Table]) -> Table:
        assert self._only is None, "targets of the catalog exist"
        new = TableInput(
            name=table_name(inferred.location, self._crawler.table_prefix, stored_tables),
            owner="owner",
            table_type="EXTERNAL_TABLE",
            storage=_storage(inferred, self._parameters(inferred)),
            partition_keys=_typed(inferred.keys),
            parameters={**self._parameters(inferred), "EXTERNAL": "TRUE"},
            last_access_time=self._now,
        )
        self._check_operation("CreateTable", new.name, new)
        table = self._catalog.create_table(self._database, new)
        self._changed("ADD", table.name)
        return table

    def _update(self, inferred: FoundTable, current: Table) -> Table:
        own = self._owns(current)
        columns = current.storage.columns
        if current.storage.schema_reference is None:
            columns = self._columns(inferred, current, drop=own and not self._settings.merges)
        keys = self._keys(inferred, current)
        changed = tuple(columns) != tuple(current.storage.columns) or tuple(keys) != tuple(current.partition_keys)
        if changed and self._crawler.policy.update == "LOG":
            self._problems.add(f"Table {current.name} differs from its files, and the policy is to leave it as it is (LOG).")
            return current
        parameters = dict(current.parameters)
        parameters.pop(_DEPRECATED, None)
        if own and self._crawler.policy.update != "LOG":
            parameters.update(self._parameters(inferred))
        if not changed and parameters == dict(current.parameters):
            return current
        new = replace(
            TableInput.of(current),
            storage=replace(current.storage, columns=tuple(columns)),
            partition_keys=tuple(keys),
            parameters=parameters,
        )
        self._check_operation("UpdateTable", current.name, new)
        # New statistics alone do not make a new version of the table.
        table = self._catalog.update_table(self._database, new, version=current.version_id, skip_archive=not changed)
        if changed:
            self._changed("UPDATE", table.name)
        return table

    def _columns(self, inferred: FoundTable, current: Table, *, drop: bool) -> Sequence[Column]:
        keys = {key.name for key in current.partition_keys}
        fresh = [column for column in inferred.columns if column.name not in keys]
        names = {column.name for column in fresh}
        columns = [column for column in current.storage.columns if not drop or column.name in names]
        return merge_columns([(f"table {current.name}", columns), (inferred.location, fresh)], self._problems)

    def _keys(self, inferred: FoundTable, current: Table) -> Sequence[Column]:
        """Return the table's keys, with wider types if its folders have values of another type."""
        if [key.name for key in inferred.keys] != [key.name for key in current.partition_keys]:
            if not current.partition_keys and not current.storage.columns:
                return _typed(inferred.keys)
            return current.partition_keys
        pairs = zip(current.partition_keys, inferred.keys, strict=True)
        return tuple(replace(key, type=_wider_key(key.type or "string", new.type)) for key, new in pairs)

    def _partitions(self, inferred: FoundTable, table: Table) -> None:
        if [key.name for key in inferred.keys] != [key.name for key in table.partition_keys]:
            self._problems.add(
                f"The partitions of table {table.name} are not changed: its keys are "
                f"({', '.join(key.name for key in table.partition_keys)}), its folders' "
                f"({', '.join(key.name for key in inferred.keys)})."
            )
            return
        if not inferred.keys:
            return
        current = {tuple(partition.values): partition for partition in self._catalog.partitions(self._database, table.name)}
        fresh = [values for values in inferred.partitions if values not in current]
        for start in range(0, len(fresh), _BATCH):
            self._check()
            self._check_operation("BatchCreatePartition", table.name)
            batch = [self._partition(table, values, inferred.partitions[values]) for values in fresh[start : start + _BATCH]]
            failed = self._catalog.create_partitions(self._database, table.name, batch)
            self._count(partitions_added=len(batch) - len(failed))
            self._tell("BatchCreatePartition", table.name)
            for values, error in failed:
                if not isinstance(error, AlreadyExists):
                    self._problems.add(f"Partition {list(values)} of table {table.name} is not added: {error.message}")
        if not self._owns(table):
            return
        present: Sequence[Partition] = [partition for values, partition in current.items() if values in inferred.partitions]
        if self._settings.indexes and not self._catalog.indexes.list(table):
            with suppress(AlreadyExists):
                self._catalog.indexes.create(table, PartitionIndex(_INDEX, [key.name for key in table.partition_keys]))
        if self._settings.inherits:
            present = self._inherit(present, table)
        self._back_again(present)
        self._missing_partitions(
            [partition for values, partition in current.items() if values not in inferred.partitions], table
        )

    def _partition(self, table: Table, values: tuple[str, ...], location: str) -> PartitionInput:
        return PartitionInput(values=values, storage=replace(table.storage, location=location), last_access_time=self._now)

    def _inherit(self, present: Sequence[Partition], table: Table) -> Sequence[Partition]:
        """Set the table's current formats and columns on its partitions."""
        inherited = [
            replace(partition, storage=replace(table.storage, location=partition.storage.location)) for partition in present
        ]
        self._rewrite([partition for partition, old in zip(inherited, present, strict=True) if partition != old])
        return inherited

    def _back_again(self, present: Sequence[Partition]) -> None:
        back = [partition for partition in present if _DEPRECATED in partition.parameters]
        self._reparameterise(back, lambda old: {name: value for name, value in old.items() if name != _DEPRECATED})

    def _missing_partitions(self, missing: Sequence[Partition], table: Table) -> None:
        without_files = [
            partition for partition in missing if (partition.storage.location or "").startswith(_location(table))
        ]
        behavior = self._crawler.policy.delete
        if behavior == "LOG" and without_files:
            self._problems.add(
                f"{len(without_files)} partitions of table {table.name} have no files any more, and are kept (LOG)."
            )
        elif behavior == "DELETE_FROM_DATABASE":
            for start in range(0, len(without_files), _BATCH):
                self._check_operation("BatchDeletePartition", table.name)
                batch = [tuple(file.values) for file in without_files[start : start + _BATCH]]
                failed = self._catalog.delete_partitions(self._database, table.name, batch)
                self._count(partitions_deleted=len(batch) - len(failed))
                self._tell("BatchDeletePartition", table.name)
        elif behavior == "DEPRECATE_IN_DATABASE":
            fresh = [file for file in without_files if _DEPRECATED not in file.parameters]
            self._reparameterise(fresh, lambda old: {**old, _DEPRECATED: self._stamp()})

    def _reparameterise(
        self, partitions: Sequence[Partition], change: Callable[[Mapping[str, str]], Mapping[str, str]]
    ) -> None:
        self._rewrite([replace(partition, parameters=change(partition.parameters)) for partition in partitions])

    def _rewrite(self, partitions: Sequence[Partition]) -> None:
        """Replace the partitions that have the values of ``partitions``."""
        for start in range(0, len(partitions), _BATCH):
            self._check()
            batch = partitions[start : start + _BATCH]
            self._check_operation("BatchUpdatePartition", batch[0].table)
            replacements = [(partition.values, PartitionInput.of(partition)) for partition in batch]
            for values, error in self._catalog.update_partitions(self._database, batch[0].table, replacements):
                self._problems.add(f"Partition {list(values)} of table {batch[0].table} is not changed: {error.message}")

    def _missing_tables(self, is_gone: Callable[[Table], bool]) -> None:
        for table in self._catalog.tables(self._database):
            if not self._owns(table) or not is_gone(table):
                continue
            behavior = self._crawler.policy.delete
            if behavior == "LOG":
                self._problems.add(f"Table {table.name} has no files any more, and is kept (LOG).")
            elif behavior == "DELETE_FROM_DATABASE":
                self._check_operation("DeleteTable", table.name)
                self._catalog.delete_table(self._database, table.name)
                self._changed("DELETE", table.name)
            elif _DEPRECATED not in table.parameters:
                self._check_operation("UpdateTable", table.name)
                deprecated = replace(TableInput.of(table), parameters={**table.parameters, _DEPRECATED: self._stamp()})
                self._catalog.update_table(self._database, deprecated, version=table.version_id)
                self._changed("UPDATE", table.name)

    def _check_operation(self, operation: str, table: str, new: TableInput | None = None) -> None:
        """Raise if an operation on a table is denied; ``new`` is what the table is to be, for where it points to."""
        request: dict[str, Any] = {"DatabaseName": self._database, "Name": table}
        if new is not None:
            storage = {"Location": new.storage.location}
            request["TableInput"] = {"Name": table, "StorageDescriptor": storage, "Parameters": dict(new.parameters)}
        self._access.check(operation, request)

    def _owns(self, table: Table) -> bool:
        return table.parameters.get(MADE_BY) == self._crawler.name

    def _stamp(self) -> str:
        return str(int(self._now.timestamp() * 1000))

    def _parameters(self, inferred: FoundTable) -> dict[str, str]:
        values = (inferred.files, inferred.rows, inferred.size, inferred.size // inferred.rows if inferred.rows else 0)
        return {
            "classification": inferred.format.classification,
            "compressionType": inferred.format.compression,
            **dict(inferred.format.parameters),
            "typeOfData": "file",
            "CrawlerSchemaDeserializerVersion": "1.0",
            "CrawlerSchemaSerializerVersion": "1.0",
            MADE_BY: self._crawler.name,
            **{name: str(value) for name, value in zip(_STATISTICS, values, strict=True)},
        }

    def _changed(self, change: str, table: str) -> None:
        """Count a table that was added, updated or deleted, and keep its name."""
        self._count(**{_COUNTERS[change]: 1})
        self._tell(_OPERATIONS[change], table)
        if len(self.tally.changes) < _MOST_CHANGES:
            self.tally = replace(self.tally, changes=(*self.tally.changes, (change, table)))

    def _tell(self, operation: str, table: str) -> None:
        self._access.changed(operation, {"DatabaseName": self._database, "Name": table})

    def _count(self, **added: int) -> None:
        self.tally = replace(self.tally, **{name: getattr(self.tally, name) + count for name, count in added.items()})


def _storage(inferred: FoundTable, parameters: Mapping[str, str]) -> StorageDescriptor:
    classes = classes_of(inferred.format)
    serde = {"serialization.format": "1", **dict(inferred.format.serde)}
    if inferred.format.classification == "json":
        serde["paths"] = ",".join(sorted(column.name for column in inferred.columns))
    return StorageDescriptor(
        columns=inferred.columns,
        location=inferred.location,
        input_format=classes.input_format,
        output_format=classes.output_format,
        compressed=inferred.format.compression != "none",
        serde_info=SerDeInfo(serialization_library=classes.serde, parameters=serde),
        parameters={name: value for name, value in parameters.items() if name not in _STATISTICS},
        extra={"NumberOfBuckets": -1, "BucketColumns": [], "SortColumns": []},
    )


def _location(table: Table) -> str:
    location = table.storage.location or ""
    for scheme in ("s3a://", "s3n://"):
        location = location.replace(scheme, "s3://", 1) if location.startswith(scheme) else location
    return _place(location)


def _place(location: str) -> str:
    return location.rstrip("/") + "/"


def _schema(table: TableInput) -> tuple[object, ...]:
    columns = [
        (column.name, column.type, column.comment, tuple(sorted(column.parameters.items())))
        for column in table.storage.columns
    ]
    return columns, [(key.name, key.type) for key in table.partition_keys]


def _typed(keys: Sequence[Column]) -> Sequence[Column]:
    """Return ``keys``; a key whose values are all null is a string."""
    return tuple(replace(key, type=key.type or "string") for key in keys)


def _wider_key(first: str, second: str | None) -> str:
    if second is None or first == second or first not in {"int", "bigint", "date"}:
        return first
    return "bigint" if {first, second} == {"int", "bigint"} else "string"
