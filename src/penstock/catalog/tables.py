"""Databases, tables and table versions, by Glue's rules."""

import heapq
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from penstock.catalog.errors import DatabaseNotFound, SchemaMissing, TableNotFound, VersionNotFound
from penstock.catalog.indexes import PartitionIndex, index_bodies
from penstock.catalog.model import Column, Database, DatabaseInput, SchemaReference, Table, TableInput
from penstock.catalog.search import name_matcher
from penstock.catalog.sizes import check_size, weigh
from penstock.catalog.store import CatalogLimits, CatalogStore, TableChange
from penstock.catalog.table_search import TableSearch
from penstock.errors import InvalidInput, PenstockError
from penstock.paging import Page, decode_token, encode_token, fitting, page
from penstock.tags import changed_tags, check_tags

__all__ = ["ColumnSource", "TableWrite", "Tables", "no_registry"]

_SCAN = 100  # tables in memory at once, only some of which match


class ColumnSource(Protocol):
    """Reads the columns of tables with a SchemaReference from the registry."""

    def __call__(self, reference: SchemaReference, /) -> Sequence[Column]:
        """Return the columns of the schema. Raises a :class:`PenstockError` if it has none or cannot be read."""


def no_registry(reference: SchemaReference, /) -> Sequence[Column]:
    """Refuse every reference: the :class:`ColumnSource` of a catalog without a registry."""
    raise InvalidInput(f"This catalog is not connected to a schema registry, so {reference} cannot be read.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWrite:
    """One of several changes that are made together: a new table without ``version``, else a change of that version.

    With ``definition`` None the table ``name`` is removed.
    """

    database: str
    name: str
    definition: TableInput | None
    version: str | None = None


class Tables:
    """Databases and tables over a :class:`CatalogStore`.

    If a table has a SchemaReference, ``columns_of`` reads its columns from the registry on every read: the registry is the
    only source of truth. ``now`` returns the time in UTC.
    """

    def __init__(
        self,
        store: CatalogStore,
        *,
        columns_of: ColumnSource = no_registry,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        limits: CatalogLimits | None = None,
    ) -> None:
        self._store = store
        self._columns_of = columns_of
        self._now = now
        self._limits = limits or CatalogLimits()

    def create_database(self, definition: DatabaseInput, *, tags: Mapping[str, str] | None = None) -> Database:
        """Add a database. Raises :class:`AlreadyExists`, :class:`LimitExceeded`, :class:`InvalidInput` for its tags."""
        check_tags(tags or {})
        database = replace(definition.resolve(self._now()), tags=dict(tags or {}))
        check_size(database)
        self._store.create_database(database, limit=self._limits.databases)
        return database

    def update_database(self, name: str, definition: DatabaseInput) -> None:
        """Replace a database's description, location and parameters, not its name. Raises :class:`NotFound`."""
        if definition.name.lower() != name.lower():
            raise InvalidInput("Database cannot be renamed.", remedy="Create one with the new name and move the tables.")
        changed = definition.resolve(self._now())
        check_size(changed)
        self._store.change_database(changed.name, lambda old: replace(changed, create_time=old.create_time, tags=old.tags))

    def change_database(self, name: str, change: Callable[[Database], Database]) -> None:
        """Replace a database by what ``change`` returns for it; no change in between is lost. Raises :class:`NotFound`."""

        def checked(old: Database) -> Database:
            new = replace(change(old), name=old.name, create_time=old.create_time)
            check_size(new)
            return new

        self._store.change_database(name.lower(), checked)

    def tags(self, name: str) -> Mapping[str, str]:
        """Return the tags of a database. Raises :class:`NotFound`."""
        return self.database(name).tags

    def change_tags(self, name: str, *, add: Mapping[str, str] | None = None, remove: Sequence[str] = ()) -> None:
        """Add or replace tags of a database, then remove some. Raises :class:`NotFound`, :class:`LimitExceeded`."""
        check_tags(add or {})
        self._store.change_database(name.lower(), lambda old: replace(old, tags=changed_tags(old.tags, add or {}, remove)))

    def delete_database(self, name: str, *, empty: bool = False) -> None:
        """Remove a database and all its contents. Raises :class:`NotFound`, with ``empty`` also :class:`DatabaseInUse`."""
        self._store.delete_database(name.lower(), empty=empty)

    def database(self, name: str) -> Database:
        """Return one database. Raises :class:`NotFound`."""
        database = self._store.database(name.lower())
        if database is None:
            raise DatabaseNotFound(name.lower())
        return database

    def databases(self) -> Sequence[Database]:
        """Return all databases by name."""
        return self._store.list_databases(after=None, limit=self._limits.databases)

    def databases_page(self, *, limit: int, token: str | None = None) -> Page[Database]:
        """Return up to ``limit`` databases by name."""

        def read(after: str | None, count: int) -> Sequence[Database]:
            return self._store.list_databases(after=after, limit=count)

        return page("databases", token, limit, read, lambda database: database.name, kind=str, weigh=weigh)

    def create_table(self, database: str, definition: TableInput, *, indexes: Sequence[PartitionIndex] = ()) -> Table:
        """Add a table.

        Raises :class:`NotFound` for the database or the referenced schema, :class:`AlreadyExists`, :class:`LimitExceeded`
        for a table that is too large (:mod:`penstock.catalog.sizes`), as an update does, and for ``indexes`` the errors of
        :meth:`PartitionIndexes.create`.
        """
        now = self._now()
        table = definition.resolve(database, create_time=now, update_time=now)
        check_size(table)
        if self._store.database(table.database) is None:
            raise DatabaseNotFound(table.database)
        filled = self._filled(table)
        bodies = index_bodies(table, indexes)
        self._store.create_table(table, limit=self._limits.tables_per_database, indexes=bodies)
        return filled

    def update_table(
        self, database: str, definition: TableInput, *, version: str | None = None, skip_archive: bool = False
    ) -> Table:
        """Make ``definition`` the table's next version, and archive the replaced one unless ``skip_archive``.

        Raises :class:`NotFound`, and :class:`ConcurrentModification` if the table is no longer at ``version``.
        """
        now = self._now()
        table = definition.resolve(database, create_time=now, update_time=now)
        check_size(table)
        filled = self._filled(table)
        stored = self._store.replace_table(
            table, expected=version, archive=not skip_archive, limit=self._limits.versions_per_table
        )
        return replace(stored, storage=filled.storage)

    def change_tables(self, writes: Sequence["TableWrite"], *, skip_archive: bool = False) -> Sequence[Table]:
        """Make all changes together, or none; return the created and replaced tables.

        Raises the errors of :meth:`create_table` and :meth:`update_table`; a removed table's version is checked, too.
        """
        now = self._now()
        changes: list[TableChange] = []
        for write in writes:
            database, name, table = write.database.lower(), write.name.lower(), None
            if write.definition is not None:
                table = write.definition.resolve(database, create_time=now, update_time=now)
                check_size(table)
            changes.append(TableChange(database=database, name=name, table=table, expected=write.version))
        return self._store.change_tables(
            changes,
            tables=self._limits.tables_per_database,
            versions=self._limits.versions_per_table,
            archive=not skip_archive,
        )

    def delete_table(self, database: str, name: str) -> None:
        """Remove a table with its versions and partitions. Raises :class:`NotFound`."""
        self._store.delete_table(database.lower(), name.lower())

    def delete_tables(self, database: str, names: Sequence[str]) -> Sequence[tuple[str, PenstockError]]:
        """Remove several; return those that could not be, with their errors. Raises :class:`NotFound` for the database."""
        self.database(database)
        failed: list[tuple[str, PenstockError]] = []
        for name in names:
            try:
                self.delete_table(database, name)
            except TableNotFound as error:
                failed.append((name, error))
        return failed

    def table(self, database: str, name: str) -> Table:
        """Return one table at its current version. Raises :class:`NotFound`, also if its schema does not exist."""
        return self._filled(self._existing(database, name))

    def tables(self, database: str) -> Sequence[Table]:
        """Return all tables of a database by name. Raises :class:`NotFound` for the database.

        A table whose referenced schema does not exist is listed without columns, so that it can be found and repaired.
        """
        home = self.database(database).name
        tables = self._store.list_tables(home, after=None, limit=self._limits.tables_per_database)
        return [self._listed(table) for table in tables]

    def tables_page(
        self, database: str, *, limit: int, token: str | None = None, expression: str | None = None
    ) -> Page[Table]:
        """Return up to ``limit`` tables, by name, whose whole name matches ``expression``. Raises :class:`NotFound`."""
        home = self.database(database).name
        listing = f"tables:{home}:{expression or ''}"
        matcher = name_matcher(expression) if expression else None

        def read(after: str | None, count: int) -> Sequence[Table]:
            page: list[Table] = []
            batch = count if matcher is None else _SCAN
            while len(page) < count:
                tables = self._store.list_tables(home, after=after, limit=batch)
                matches = matcher([table.name for table in tables]) if matcher and tables else [True] * len(tables)
                page.extend(table for table, is_match in zip(tables, matches, strict=True) if is_match)
                if len(tables) < batch:
                    break
                after = tables[-1].name
            return [self._listed(table) for table in page[:count]]

        return page(listing, token, limit, read, lambda table: table.name, kind=str, weigh=weigh)

    def search_page(self, search: TableSearch, *, limit: int, token: str | None = None) -> Page[Table]:
        """Return up to ``limit`` tables that match ``search``, in its order. Raises :class:`InvalidInput`."""
        listing = f"search:{zlib.crc32(repr(search).encode()):x}"
        after = decode_token(listing, token, str)
        last = None if after is None else tuple(after.split("\x00"))
        means = search.compile()
        # The tables are read again, one by one, because those of a whole page could fill the memory.
        keys = (search.order(table) for table in self._all_tables() if means(table))
        if last is not None:
            keys = (key for key in keys if (key < last if search.descending else key > last))
        ordered = (heapq.nlargest if search.descending else heapq.nsmallest)(limit + 1, keys)
        read = ((key, self._store.table(key[1], key[2])) for key in ordered[:limit])
        matches = ((key, self._listed(table)) for key, table in read if table is not None)
        shown = list(fitting(matches, lambda match: weigh(match[1])))
        more = bool(shown) and shown[-1][0] != ordered[-1]
        return Page(
            items=[table for _, table in shown],
            next_token=encode_token(listing, "\x00".join(shown[-1][0])) if more else None,
        )

    def _all_tables(self) -> Iterator[Table]:
        for database in self.databases():
            after = None
            while tables := self._store.list_tables(database.name, after=after, limit=_SCAN):
                yield from (self._listed(table) for table in tables)
                after = tables[-1].name

    def table_version(self, database: str, name: str, version: str | None = None) -> Table:
        """Return a table at ``version``, by default the current one. Raises :class:`NotFound`."""
        current = self._existing(database, name)
        table = self._store.table(current.database, current.name, version) if version else current
        if table is None:
            raise VersionNotFound(current.database, current.name, str(version))
        return self._filled(table)

    def table_versions_page(self, database: str, name: str, *, limit: int, token: str | None = None) -> Page[Table]:
        """Return up to ``limit`` versions, newest first. Raises :class:`NotFound`."""
        current = self._existing(database, name)
        listing = f"versions:{current.database}:{current.name}"

        def read(before: int | None, count: int) -> Sequence[Table]:
            versions = self._store.list_table_versions(current.database, current.name, before=before, limit=count)
            return [self._listed(table) for table in versions]

        return page(listing, token, limit, read, lambda table: int(table.version_id), kind=int, weigh=weigh)

    def delete_table_version(self, database: str, name: str, version: str) -> None:
        """Remove an archived version. Raises :class:`NotFound`, and :class:`InvalidInput` for the current one."""
        current = self._existing(database, name)
        if version == current.version_id:
            raise InvalidInput(
                f"Version {version} of table {current.database}.{current.name} is the current one and cannot be deleted.",
                remedy="Delete the table, or update it first.",
            )
        if not self._store.delete_table_version(current.database, current.name, version):
            raise VersionNotFound(current.database, current.name, version)

    def delete_table_versions(
        self, database: str, name: str, versions: Sequence[str]
    ) -> Sequence[tuple[str, PenstockError]]:
        """Remove several; return those that could not be, with their errors. Raises :class:`NotFound` for the table."""
        self._existing(database, name)
        failed: list[tuple[str, PenstockError]] = []
        for version in versions:
            try:
                self.delete_table_version(database, name, version)
            except (VersionNotFound, InvalidInput) as error:
                failed.append((version, error))
        return failed

    def _existing(self, database: str, name: str) -> Table:
        table = self._store.table(database.lower(), name.lower())
        if table is not None:
            return table
        self.database(database)
        raise TableNotFound(database.lower(), name.lower())

    def _filled(self, table: Table) -> Table:
        """Return ``table`` with the columns of its schema, without partition keys, which are not in the files."""
        reference = table.storage.schema_reference
        if reference is None:
            return table
        if not (reference.schema_version_id or reference.schema_arn or reference.schema_name):
            raise InvalidInput(
                f"The SchemaReference of table {table.database}.{table.name} does not name a schema.",
                remedy="Give SchemaVersionId, or both SchemaId and SchemaVersionNumber.",
            )
        try:
            columns = self._columns_of(reference)
        except PenstockError as error:
            raise SchemaMissing(table.database, table.name, _describe(reference), error.message) from error
        keys = {key.name.lower() for key in table.partition_keys}
        data = tuple(column for column in columns if column.name.lower() not in keys)
        return replace(table, storage=replace(table.storage, columns=data))

    def _listed(self, table: Table) -> Table:
        try:
            return self._filled(table)
        except SchemaMissing:
            return table


def _describe(reference: SchemaReference) -> str:
    name = reference.schema_version_id or reference.schema_arn or f"{reference.registry_name}/{reference.schema_name}"
    number = f" version {reference.schema_version_number}" if reference.schema_version_number else ""
    return f"{name}{number}"
