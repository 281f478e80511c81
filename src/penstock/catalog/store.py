"""The port of the catalog's store: rows in, rows out; each call is one transaction.

Names are in lower case. A store raises the errors of :mod:`penstock.catalog.errors` that its methods name; the services
check all else. Lists are sorted by key, ascending unless documented otherwise, and start after ``after``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from penstock.catalog.details import Body, Change, DetailKind, Home
from penstock.catalog.model import Database, Partition, Table
from penstock.catalog.partitions.filters import PartitionFilter
from penstock.catalog.partitions.keys import PartitionValues
from penstock.errors import InvalidInput

__all__ = ["CatalogLimits", "CatalogStore", "TableChange", "keys_changed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogLimits:
    """The limits of one catalog; the defaults are Glue's quotas (General Reference, AWS Glue endpoints and quotas)."""

    databases: int = 10_000
    tables_per_database: int = 200_000
    versions_per_table: int = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TableChange:
    """One of several changes of tables that are made together or not at all.

    Without ``expected``, ``table`` is created. With it, the table of that name, whose version has to be ``expected``, is
    replaced by ``table``, or removed if ``table`` is None.
    """

    database: str
    name: str
    table: Table | None
    expected: str | None = None


def keys_changed(table: Table) -> InvalidInput:
    """Return the error for a new number of partition keys of a table that has partitions."""
    return InvalidInput(
        f"Table {table.database}.{table.name} has partitions: the number of its partition keys cannot change.",
        remedy="Delete the partitions first, or create another table.",
    )


class CatalogStore(Protocol):
    """Databases, tables with their versions, and partitions."""

    def create_database(self, database: Database, *, limit: int) -> None:
        """Add a database. Raises DatabaseExists, or CatalogFull at ``limit`` databases."""

    def change_database(self, name: str, change: Callable[[Database], Database]) -> None:
        """Replace the database by the value that ``change`` returns; the name does not change. Raises DatabaseNotFound.

        If ``change`` raises, the database does not change.
        """

    def delete_database(self, name: str, *, empty: bool = False) -> None:
        """Remove the database with its tables and details. Raises DatabaseNotFound, with ``empty`` also DatabaseInUse."""

    def database(self, name: str) -> Database | None:
        """Return the database, or None."""

    def list_databases(self, *, after: str | None, limit: int) -> Sequence[Database]:
        """Return up to ``limit`` databases by name."""

    def create_table(self, table: Table, *, limit: int, indexes: Mapping[str, Body] | None = None) -> None:
        """Add the table as version 0, with its partition indexes by name.

        Raises DatabaseNotFound, TableExists, or CatalogFull at ``limit`` tables of the database.
        """

    def replace_table(self, table: Table, *, expected: str | None, archive: bool, limit: int) -> Table:
        """Make ``table`` the next version and return it with its number; ``create_time`` is the first version's.

        ``expected`` is the version it must replace, None for any; ``archive`` keeps the replaced version, at most ``limit``
        of them. Raises TableNotFound, StaleTable, CatalogFull, and InvalidInput if the table has partitions and the number
        of partition keys changes, or if a key of a partition index is removed.
        """

    def change_tables(self, changes: Sequence[TableChange], *, tables: int, versions: int, archive: bool) -> Sequence[Table]:
        """Make all changes in one transaction, or none; return the created and replaced tables as they are stored.

        ``tables`` and ``versions`` are the limits of :meth:`create_table` and :meth:`replace_table`, whose errors are
        raised, too; a removed table that is no longer at its version raises StaleTable.
        """

    def delete_table(self, database: str, name: str) -> None:
        """Remove the table with its versions and partitions. Raises DatabaseNotFound, TableNotFound."""

    def table(self, database: str, name: str, version: str | None = None) -> Table | None:
        """Return the table, current or at ``version``, or None."""

    def list_tables(self, database: str, *, after: str | None, limit: int) -> Sequence[Table]:
        """Return up to ``limit`` tables by name, at their current versions; none for an unknown database."""

    def list_table_versions(self, database: str, name: str, *, before: int | None, limit: int) -> Sequence[Table]:
        """Return up to ``limit`` versions, newest first, older than ``before``."""

    def delete_table_version(self, database: str, name: str, version: str) -> bool:
        """Remove an archived version; return False if there is none. The current version is not archived and stays."""

    def create_partitions(self, partitions: Sequence[Partition]) -> Sequence[PartitionValues]:
        """Add the new ones, all of one table; return the values that existed before. Raises TableNotFound."""

    def replace_partitions(self, partitions: Sequence[Partition]) -> Sequence[PartitionValues]:
        """Replace partitions of one table except ``create_time``; return the missing values. Raises TableNotFound."""

    def delete_partitions(self, database: str, table: str, values: Sequence[PartitionValues]) -> Sequence[PartitionValues]:
        """Remove partitions; return the missing values. Raises TableNotFound."""

    def partitions_of(self, database: str, table: str, values: Sequence[PartitionValues]) -> Sequence[Partition]:
        """Return the partitions of ``values`` that exist, in any order."""

    def list_partitions(
        self, database: str, table: str, *, after: str | None, limit: int | None, matching: PartitionFilter | None = None
    ) -> Sequence[Partition]:
        """Return up to ``limit`` (None: all) partitions that ``matching`` matches, by their keys.

        The key is :func:`~penstock.catalog.partitions.keys.partition_key`; ``after`` is one.
        """

    def list_values(
        self, database: str, table: str, *, after: str | None, limit: int | None, matching: PartitionFilter | None = None
    ) -> Sequence[PartitionValues]:
        """Return the values of the partitions that :meth:`list_partitions` returns."""

    def details(self, home: Home, kind: DetailKind) -> Mapping[str, Body]:
        """Return the details of ``home``, sorted by name. Raises DatabaseNotFound, TableNotFound, PartitionNotFound."""

    def change_details(self, home: Home, kind: DetailKind, change: Change) -> None:
        """Replace the details by the mapping that ``change`` returns. Raises what :meth:`details` raises."""

    def list_details(
        self, kind: DetailKind, *, database: str | None, after: Sequence[str] | None, limit: int
    ) -> Sequence[tuple[str, str, Body]]:
        """Return up to ``limit`` details of ``database``, or of all databases: database, name and body, by the two names.

        The list starts after the pair of names ``after``.
        """
