"""The catalog in memory, for tests and trials."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from penstock.catalog.details import Body, Change, DetailKind, Home
from penstock.catalog.errors import (
    CatalogFull,
    DatabaseExists,
    DatabaseInUse,
    DatabaseNotFound,
    PartitionNotFound,
    StaleTable,
    TableExists,
    TableNotFound,
)
from penstock.catalog.indexes import check_keys
from penstock.catalog.model import Database, Partition, Table
from penstock.catalog.partitions.filters import PartitionFilter
from penstock.catalog.partitions.keys import PartitionValues, partition_key
from penstock.catalog.store import TableChange, keys_changed

__all__ = ["MemoryCatalogStore"]


_Details: TypeAlias = dict[DetailKind, Mapping[str, Body]]


@dataclass(slots=True)
class _Entry:
    table: Table
    archive: dict[int, Table] = field(default_factory=dict)
    partitions: dict[PartitionValues, Partition] = field(default_factory=dict)
    details: _Details = field(default_factory=dict)
    partition_details: dict[PartitionValues, _Details] = field(default_factory=dict)


class MemoryCatalogStore:
    """A :class:`~penstock.catalog.store.CatalogStore` of dictionaries behind one lock."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._databases: dict[str, Database] = {}
        self._tables: dict[str, dict[str, _Entry]] = {}
        self._details: dict[str, _Details] = {}

    def create_database(self, database: Database, *, limit: int) -> None:
        with self._lock:
            if database.name in self._databases:
                raise DatabaseExists(database.name)
            if len(self._databases) >= limit:
                raise CatalogFull("databases", limit)
            self._databases[database.name] = database
            self._tables[database.name] = {}
            self._details[database.name] = {}

    def change_database(self, name: str, change: Callable[[Database], Database]) -> None:
        with self._lock:
            old = self._databases.get(name)
            if old is None:
                raise DatabaseNotFound(name)
            self._databases[name] = change(old)

    def delete_database(self, name: str, *, empty: bool = False) -> None:
        with self._lock:
            if empty and self._tables.get(name):
                raise DatabaseInUse(name)
            if self._databases.pop(name, None) is None:
                raise DatabaseNotFound(name)
            del self._tables[name], self._details[name]

    def database(self, name: str) -> Database | None:
        with self._lock:
            return self._databases.get(name)

    def list_databases(self, *, after: str | None, limit: int) -> Sequence[Database]:
        with self._lock:
            names = sorted(name for name in self._databases if after is None or name > after)
            return [self._databases[name] for name in names[:limit]]

    def create_table(self, table: Table, *, limit: int, indexes: Mapping[str, Body] | None = None) -> None:
        with self._lock:
            tables = self._tables.get(table.database)
            if tables is None:
                raise DatabaseNotFound(table.database)
            if table.name in tables:
                raise TableExists(table.database, table.name)
            if len(tables) >= limit:
                raise CatalogFull(f"tables in database {table.database}", limit)
            details: _Details = {DetailKind.INDEX: dict(indexes or {})}
            tables[table.name] = _Entry(replace(table, version_id="0"), details=details)

    def replace_table(self, table: Table, *, expected: str | None, archive: bool, limit: int) -> Table:
        with self._lock:
            entry = self._entry(table.database, table.name)
            current = entry.table
            if expected is not None and expected != current.version_id:
                raise StaleTable(table.database, table.name, expected, current.version_id)
            if entry.partitions and len(table.partition_keys) != len(current.partition_keys):
                raise keys_changed(current)
            check_keys(table, entry.details.get(DetailKind.INDEX, {}))
            if archive:
                if len(entry.archive) >= limit:
                    raise CatalogFull(f"versions of table {table.database}.{table.name}", limit)
                entry.archive[int(current.version_id)] = current
            entry.table = replace(table, version_id=str(int(current.version_id) + 1), create_time=current.create_time)
            return entry.table

    def change_tables(self, changes: Sequence[TableChange], *, tables: int, versions: int, archive: bool) -> Sequence[Table]:
        with self._lock:
            before = {
                name: {table: replace(entry, archive=dict(entry.archive)) for table, entry in entries.items()}
                for name, entries in self._tables.items()
            }
            try:
                found = [self._change(each, tables=tables, versions=versions, archive=archive) for each in changes]
            except Exception:
                self._tables = before
                raise
            return [table for table in found if table is not None]

    def _change(self, change: TableChange, *, tables: int, versions: int, archive: bool) -> Table | None:
        if change.table is None:
            current = self._entry(change.database, change.name).table.version_id
            if change.expected is not None and change.expected != current:
                raise StaleTable(change.database, change.name, change.expected, current)
            self.delete_table(change.database, change.name)
            return None
        if change.expected is None:
            self.create_table(change.table, limit=tables)
            return change.table
        return self.replace_table(change.table, expected=change.expected, archive=archive, limit=versions)

    def delete_table(self, database: str, name: str) -> None:
        with self._lock:
            self._entry(database, name)
            del self._tables[database][name]

    def table(self, database: str, name: str, version: str | None = None) -> Table | None:
        with self._lock:
            entry = self._tables.get(database, {}).get(name)
            if entry is None or version in {None, entry.table.version_id}:
                return entry.table if entry else None
            return next((table for table in entry.archive.values() if table.version_id == version), None)

    def list_tables(self, database: str, *, after: str | None, limit: int) -> Sequence[Table]:
        with self._lock:
            tables = self._tables.get(database, {})
            names = sorted(name for name in tables if after is None or name > after)
            return [tables[name].table for name in names[:limit]]

    def list_table_versions(self, database: str, name: str, *, before: int | None, limit: int) -> Sequence[Table]:
        with self._lock:
            entry = self._tables.get(database, {}).get(name)
            if entry is None:
                return []
            versions = {**entry.archive, int(entry.table.version_id): entry.table}
            numbers = sorted((number for number in versions if before is None or number < before), reverse=True)
            return [versions[number] for number in numbers[:limit]]

    def delete_table_version(self, database: str, name: str, version: str) -> bool:
        with self._lock:
            archive = self._entry(database, name).archive
            return version.isdecimal() and archive.pop(int(version), None) is not None

    def create_partitions(self, partitions: Sequence[Partition]) -> Sequence[PartitionValues]:
        return self._put(partitions, existing=False)

    def replace_partitions(self, partitions: Sequence[Partition]) -> Sequence[PartitionValues]:
        return self._put(partitions, existing=True)

    def delete_partitions(self, database: str, table: str, values: Sequence[PartitionValues]) -> Sequence[PartitionValues]:
        with self._lock:
            entry = self._entry(database, table)
            for each in values:
                entry.partition_details.pop(each, None)
            return [each for each in values if entry.partitions.pop(each, None) is None]

    def partitions_of(self, database: str, table: str, values: Sequence[PartitionValues]) -> Sequence[Partition]:
        with self._lock:
            entry = self._tables.get(database, {}).get(table)
            return [entry.partitions[each] for each in values if each in entry.partitions] if entry else []

    def list_partitions(
        self, database: str, table: str, *, after: str | None, limit: int | None, wanted: PartitionFilter | None = None
    ) -> Sequence[Partition]:
        with self._lock:
            entry = self._tables.get(database, {}).get(table)
            keys = sorted((partition_key(values), values) for values in entry.partitions) if entry else []
            found: list[Partition] = []
            for key, values in keys:
                if limit is not None and len(found) >= limit:
                    break
                if entry and (after is None or key > after) and (wanted is None or wanted.matches(values)):
                    found.append(entry.partitions[values])
            return found

    def list_values(
        self, database: str, table: str, *, after: str | None, limit: int | None, wanted: PartitionFilter | None = None
    ) -> Sequence[PartitionValues]:
        return [
            tuple(each.values) for each in self.list_partitions(database, table, after=after, limit=limit, wanted=wanted)
        ]

    def details(self, home: Home, kind: DetailKind) -> Mapping[str, Body]:
        with self._lock:
            return dict(sorted(self._of(home).get(kind, {}).items()))

    def change_details(self, home: Home, kind: DetailKind, change: Change) -> None:
        with self._lock:
            self._of(home)[kind] = dict(change(self.details(home, kind)))

    def list_details(
        self, kind: DetailKind, *, database: str | None, after: Sequence[str] | None, limit: int
    ) -> Sequence[tuple[str, str, Body]]:
        with self._lock:
            found = [
                (owner, name, body)
                for owner, details in self._details.items()
                for name, body in details.get(kind, {}).items()
                if database in (None, owner) and (after is None or (owner, name) > tuple(after))
            ]
            return sorted(found, key=lambda each: each[:2])[:limit]

    def _of(self, home: Home) -> _Details:
        if home.table is None:
            if home.database not in self._details:
                raise DatabaseNotFound(home.database)
            return self._details[home.database]
        entry = self._entry(home.database, home.table)
        if home.values is None:
            return entry.details
        if home.values not in entry.partitions:
            raise PartitionNotFound(home.database, home.table, home.values)
        return entry.partition_details.setdefault(home.values, {})

    def _put(self, partitions: Sequence[Partition], *, existing: bool) -> Sequence[PartitionValues]:
        refused: list[PartitionValues] = []
        with self._lock:
            for partition in partitions:
                known = self._entry(partition.database, partition.table).partitions
                values = tuple(partition.values)
                old = known.get(values)
                if (old is not None) is not existing:
                    refused.append(values)
                else:
                    known[values] = replace(partition, create_time=old.create_time) if old else partition
        return refused

    def _entry(self, database: str, name: str) -> _Entry:
        if database not in self._databases:
            raise DatabaseNotFound(database)
        entry = self._tables[database].get(name)
        if entry is None:
            raise TableNotFound(database, name)
        return entry
