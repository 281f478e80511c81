"""The catalog in SQL: one row a database, table, archived version and partition, bodies as JSON.

What a table's partitions mostly share, their storage but for its location, is kept beside each one's body: it is parsed
once a read, however many rows have it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, case, delete, func, insert, select, tuple_, update
from sqlalchemy import Table as SqlTable
from sqlalchemy.exc import IntegrityError

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
from penstock.catalog.partitions.keys import PartitionValues, partition_key, split_key
from penstock.catalog.store import TableChange, keys_changed
from penstock.store.sql.catalog.codec import (
    SharedStorage,
    dump_database,
    dump_partition,
    dump_shared,
    dump_table,
    load_database,
    load_partition,
    load_table,
)
from penstock.store.sql.catalog.details import (
    change_details,
    database_details,
    load_body,
    partition_details,
    read_details,
    table_details,
)
from penstock.store.sql.catalog.partition_index import add_keys, remove_keys
from penstock.store.sql.catalog.partition_search import find_keys
from penstock.store.sql.catalog.tables import databases, partitions, tables, versions
from penstock.store.sql.database import Database as SqlDatabase
from penstock.store.sql.database import among

__all__ = ["SqlCatalogStore"]

_CHUNK = 500


class SqlCatalogStore:
    """A :class:`~penstock.catalog.store.CatalogStore` over SQL."""

    def __init__(self, database: SqlDatabase) -> None:
        self._sql = database

    def create_database(self, database: Database, *, limit: int) -> None:
        with self._sql.write() as connection:
            if self._has_database(connection, database.name):
                raise DatabaseExists(database.name)
            if _count(connection, databases) >= limit:
                raise CatalogFull("databases", limit)
            connection.execute(insert(databases).values(name=database.name, body=dump_database(database)))

    def change_database(self, name: str, change: Callable[[Database], Database]) -> None:
        with self._sql.write() as connection:
            where = databases.c.name == name
            row = connection.execute(select(databases.c.body).where(where)).one_or_none()
            if row is None:
                raise DatabaseNotFound(name)
            changed = change(load_database(row.body))
            connection.execute(update(databases).where(where).values(body=dump_database(changed)))

    def delete_database(self, name: str, *, empty: bool = False) -> None:
        with self._sql.write() as connection:
            if empty:
                # A writer who adds a table needs this row, too, and waits.
                connection.execute(select(databases.c.name).where(databases.c.name == name).with_for_update())
                if _count(connection, tables, tables.c.database == name):
                    raise DatabaseInUse(name)
            if connection.execute(delete(databases).where(databases.c.name == name)).rowcount == 0:
                raise DatabaseNotFound(name)

    def database(self, name: str) -> Database | None:
        with self._sql.read() as connection:
            row = connection.execute(select(databases.c.body).where(databases.c.name == name)).one_or_none()
            return load_database(row.body) if row else None

    def list_databases(self, *, after: str | None, limit: int) -> Sequence[Database]:
        query = select(databases.c.body).order_by(databases.c.name).limit(limit)
        if after is not None:
            query = query.where(databases.c.name > after)
        with self._sql.read() as connection:
            return [load_database(row.body) for row in connection.execute(query)]

    def create_table(self, table: Table, *, limit: int, indexes: Mapping[str, Body] | None = None) -> None:
        with self._sql.write() as connection:
            self._create_table(connection, table, limit)
            if indexes:
                owner = self._row(connection, table.database, table.name).id
                change_details(connection, table_details, owner, DetailKind.INDEX, lambda _none: indexes)

    def replace_table(self, table: Table, *, expected: str | None, archive: bool, limit: int) -> Table:
        with self._sql.write() as connection:
            return self._replace_table(connection, table, expected, archive=archive, limit=limit)

    def delete_table(self, database: str, name: str) -> None:
        with self._sql.write() as connection:
            self._delete_table(connection, database, name, None)

    def change_tables(self, changes: Sequence[TableChange], *, tables: int, versions: int, archive: bool) -> Sequence[Table]:
        stored: list[Table] = []
        with self._sql.write() as connection:
            # All writers lock rows in this order, so that none waits for another that waits for it.
            for change in sorted(changes, key=lambda table_change: (table_change.database, table_change.name)):
                if change.table is None:
                    self._delete_table(connection, change.database, change.name, change.expected)
                elif change.expected is None:
                    self._create_table(connection, change.table, tables)
                    stored.append(change.table)
                else:
                    replaced = self._replace_table(
                        connection, change.table, change.expected, archive=archive, limit=versions
                    )
                    stored.append(replaced)
        return stored

    def _create_table(self, connection: Connection, table: Table, limit: int) -> None:
        row = {"database": table.database, "name": table.name, "version": 0, "body": dump_table(table)}
        if not self._has_database(connection, table.database):
            raise DatabaseNotFound(table.database)
        if _count(connection, tables, tables.c.database == table.database) >= limit:
            raise CatalogFull(f"tables in database {table.database}", limit)
        try:
            connection.execute(insert(tables).values(row))
        except IntegrityError:
            raise TableExists(table.database, table.name) from None

    def _replace_table(
        self, connection: Connection, table: Table, expected: str | None, *, archive: bool, limit: int
    ) -> Table:
        row = self._row(connection, table.database, table.name, lock=True)
        current = load_table(row.body, row.version)
        if expected is not None and expected != current.version_id:
            raise StaleTable(table.database, table.name, expected, current.version_id)
        if len(table.partition_keys) != len(current.partition_keys):
            self._refuse_partitions(connection, row.id, current)
        check_keys(table, read_details(connection, table_details, row.id, DetailKind.INDEX))
        if archive:
            if _count(connection, versions, versions.c.table_id == row.id) >= limit:
                raise CatalogFull(f"versions of table {table.database}.{table.name}", limit)
            connection.execute(insert(versions).values(table_id=row.id, version=row.version, body=row.body))
        stored = replace(table, version_id=str(row.version + 1), create_time=current.create_time)
        connection.execute(
            update(tables).where(tables.c.id == row.id).values(version=row.version + 1, body=dump_table(stored))
        )
        return stored

    def _delete_table(self, connection: Connection, database: str, name: str, expected: str | None) -> None:
        row = self._row(connection, database, name, lock=True)
        if expected is not None and expected != str(row.version):
            raise StaleTable(database, name, expected, str(row.version))
        connection.execute(delete(tables).where(tables.c.id == row.id))

    def table(self, database: str, name: str, version: str | None = None) -> Table | None:
        with self._sql.read() as connection:
            row = self._find(connection, database, name)
            if row is None or version in {None, str(row.version)}:
                return load_table(row.body, row.version) if row else None
            if version is None or not _is_version(version):
                return None
            archived = connection.execute(
                select(versions).where(versions.c.table_id == row.id, versions.c.version == int(version))
            ).one_or_none()
            return load_table(archived.body, archived.version) if archived else None

    def list_tables(self, database: str, *, after: str | None, limit: int) -> Sequence[Table]:
        query = select(tables).where(tables.c.database == database).order_by(tables.c.name).limit(limit)
        if after is not None:
            query = query.where(tables.c.name > after)
        with self._sql.read() as connection:
            return [load_table(row.body, row.version) for row in connection.execute(query)]

    def list_table_versions(self, database: str, name: str, *, before: int | None, limit: int) -> Sequence[Table]:
        with self._sql.read() as connection:
            row = self._find(connection, database, name)
            if row is None:
                return []
            query = select(versions).where(versions.c.table_id == row.id).order_by(versions.c.version.desc()).limit(limit)
            if before is not None:
                query = query.where(versions.c.version < before)
            listed = [load_table(item.body, item.version) for item in connection.execute(query)]
            if before is None or row.version < before:
                listed.insert(0, load_table(row.body, row.version))
            return listed[:limit]

    def delete_table_version(self, database: str, name: str, version: str) -> bool:
        with self._sql.write() as connection:
            row = self._row(connection, database, name)
            if not _is_version(version):
                return False
            where = (versions.c.table_id == row.id, versions.c.version == int(version))
            return connection.execute(delete(versions).where(*where)).rowcount > 0

    def create_partitions(self, partitions: Sequence[Partition]) -> Sequence[PartitionValues]:
        return self._put(partitions, existing=False)

    def replace_partitions(self, partitions: Sequence[Partition]) -> Sequence[PartitionValues]:
        return self._put(partitions, existing=True)

    def delete_partitions(self, database: str, table: str, values: Sequence[PartitionValues]) -> Sequence[PartitionValues]:
        with self._sql.write() as connection:
            table_id = self._row(connection, database, table, lock=True).id
            present = _present_keys(connection, table_id, [partition_key(entry) for entry in values])
            for chunk in _chunks(sorted(present)):
                connection.execute(
                    delete(partitions).where(partitions.c.table_id == table_id, among(connection, partitions.c.key, chunk))
                )
            remove_keys(connection, table_id, sorted(present))
            return [entry for entry in values if partition_key(entry) not in present]

    def partitions_of(self, database: str, table: str, values: Sequence[PartitionValues]) -> Sequence[Partition]:
        with self._sql.read() as connection:
            owner = self._find(connection, database, table)
            if owner is None:
                return []
            shared = SharedStorage()
            rows = _rows_of(connection, owner.id, [partition_key(entry) for entry in values])
            return [load_partition(database, table, row, shared) for row in rows]

    def list_partitions(
        self, database: str, table: str, *, after: str | None, limit: int | None, matching: PartitionFilter | None = None
    ) -> Sequence[Partition]:
        with self._sql.read() as connection:
            owner = self._find(connection, database, table)
            if owner is None:
                return []
            rows: Iterable[_PartitionRow | Row[Any]]
            if matching is None:
                where = [partitions.c.table_id == owner.id]
                if after is not None:
                    where.append(partitions.c.key > after)
                rows = connection.execute(select(partitions).where(*where).order_by(partitions.c.key).limit(limit))
            else:
                keys = find_keys(connection, owner.id, after=after, matching=matching)
                rows = _rows_of(connection, owner.id, list(islice(keys, limit)))
            shared = SharedStorage()
            return [load_partition(database, table, row, shared) for row in rows]

    def list_values(
        self, database: str, table: str, *, after: str | None, limit: int | None, matching: PartitionFilter | None = None
    ) -> Sequence[PartitionValues]:
        with self._sql.read() as connection:
            owner = self._find(connection, database, table)
            if owner is None:
                return []
            return [split_key(key) for key in islice(find_keys(connection, owner.id, after=after, matching=matching), limit)]

    def details(self, home: Home, kind: DetailKind) -> Mapping[str, Body]:
        with self._sql.read() as connection:
            return read_details(connection, *self._owner(connection, home), kind)

    def change_details(self, home: Home, kind: DetailKind, change: Change) -> None:
        with self._sql.write() as connection:
            change_details(connection, *self._owner(connection, home), kind, change)

    def list_details(
        self, kind: DetailKind, *, database: str | None, after: Sequence[str] | None, limit: int
    ) -> Sequence[tuple[str, str, Body]]:
        rows = database_details.c
        query = select(database_details).where(rows.kind == kind).order_by(rows.owner, rows.name).limit(limit)
        if database is not None:
            query = query.where(rows.owner == database)
        if after is not None:
            query = query.where(tuple_(rows.owner, rows.name) > tuple_(*after))
        with self._sql.read() as connection:
            return [(row.owner, row.name, load_body(row.body)) for row in connection.execute(query)]

    def _owner(self, connection: Connection, home: Home) -> tuple[SqlTable, object]:
        """The rows that a home's details are in, and its key there."""
        if home.table is None:
            if not self._has_database(connection, home.database):
                raise DatabaseNotFound(home.database)
            return database_details, home.database
        table_id = self._row(connection, home.database, home.table).id
        if home.values is None:
            return table_details, table_id
        partition = next(_rows_of(connection, table_id, [partition_key(home.values)]), None)
        if partition is None:
            raise PartitionNotFound(home.database, home.table, home.values)
        return partition_details, partition.id

    def _put(self, rows: Sequence[Partition], *, existing: bool) -> Sequence[PartitionValues]:
        if not rows:
            return []
        with self._sql.write() as connection:
            table_id = self._row(connection, rows[0].database, rows[0].table, lock=True).id
            keyed = {partition_key(partition.values): partition for partition in rows}
            if existing:
                present = self._replace(connection, table_id, keyed)
            else:
                present = _present_keys(connection, table_id, list(keyed))
                fresh = [_partition_row(table_id, key, partition) for key, partition in keyed.items() if key not in present]
                if fresh:
                    connection.execute(insert(partitions), fresh)
                    add_keys(connection, table_id, [row["key"] for row in fresh])
            return [tuple(partition.values) for key, partition in keyed.items() if (key in present) is not existing]

    def _replace(self, connection: Connection, table_id: int, keyed: Mapping[str, Partition]) -> set[str]:
        shared = SharedStorage()
        present: set[str] = set()
        for row in list(_rows_of(connection, table_id, list(keyed))):
            present.add(row.key)
            old = load_partition("", "", row, shared)
            changed = _partition_row(table_id, row.key, replace(keyed[row.key], create_time=old.create_time))
            connection.execute(update(partitions).where(partitions.c.id == row.id).values(changed))
        return present

    def _has_database(self, connection: Connection, name: str) -> bool:
        return connection.execute(select(databases.c.name).where(databases.c.name == name)).first() is not None

    def _find(self, connection: Connection, database: str, name: str, *, lock: bool = False) -> Row[Any] | None:
        query = select(tables).where(tables.c.database == database, tables.c.name == name)
        return connection.execute(query.with_for_update() if lock else query).one_or_none()

    def _row(self, connection: Connection, database: str, name: str, *, lock: bool = False) -> Row[Any]:
        row = self._find(connection, database, name, lock=lock)
        if row is None:
            raise TableNotFound(database, name) if self._has_database(connection, database) else DatabaseNotFound(database)
        return row

    def _refuse_partitions(self, connection: Connection, table_id: int, table: Table) -> None:
        if connection.execute(select(partitions.c.id).where(partitions.c.table_id == table_id).limit(1)).first():
            raise keys_changed(table)


def _partition_row(table_id: int, key: str, partition: Partition) -> dict[str, Any]:
    return {"table_id": table_id, "key": key, "shared": dump_shared(partition.storage), "body": dump_partition(partition)}


class _PartitionRow(NamedTuple):
    id: int
    key: str
    shared: str
    body: str


def _rows_of(connection: Connection, table_id: int, keys: Sequence[str]) -> Iterator[_PartitionRow]:
    """Rows of these keys, a query for some hundreds of them, in the order of the chunks."""
    columns = partitions.c
    shared: ColumnElement[str | None] = columns.shared
    if connection.dialect.name != "sqlite":
        # Most rows have the text of the one before: to send it with each takes longer than to find them.
        shared = case((func.lag(columns.shared).over(order_by=columns.key) == columns.shared, None), else_=columns.shared)
    for chunk in _chunks(keys):
        query = select(columns.id, columns.key, shared.label("shared"), columns.body).where(
            columns.table_id == table_id, among(connection, columns.key, chunk)
        )
        last = ""
        for row in connection.execute(query.order_by(columns.key)).all():
            last = last if row.shared is None else row.shared
            yield _PartitionRow(row.id, row.key, last, row.body)


def _present_keys(connection: Connection, table_id: int, keys: Sequence[str]) -> set[str]:
    present: set[str] = set()
    for chunk in _chunks(keys):
        query = select(partitions.c.key).where(partitions.c.table_id == table_id, among(connection, partitions.c.key, chunk))
        present.update(connection.execute(query).scalars())
    return present


def _chunks(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), _CHUNK):
        yield keys[start : start + _CHUNK]


def _count(connection: Connection, table: SqlTable, *where: Any) -> int:
    return connection.execute(select(func.count()).select_from(table).where(*where)).scalar_one()


def _is_version(text: str) -> bool:
    # Longer ones would overflow the column and cannot exist.
    return text.isascii() and text.isdecimal() and len(text) <= 9
