"""The port through which the catalog keeps its state: rows in, rows out, each call one transaction.

Names arrive folded to lower case. A store raises the errors of :mod:`penstock.catalog.errors` where it says so; all else
is decided above it. Lists are by key, ascending unless said otherwise, and start behind ``after``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from penstock.catalog.details import Body, Change, DetailKind, Home
from penstock.catalog.model import Database, Partition, Table
from penstock.errors import InvalidInput

__all__ = ["Accept", "CatalogLimits", "CatalogStore", "PartitionValues", "keys_changed", "partition_key", "split_key"]

PartitionValues: TypeAlias = tuple[str, ...]
Accept: TypeAlias = Callable[[PartitionValues], bool]

_ESCAPED = re.compile("\x02[\x02\x03]")
_UNESCAPED = {"\x02\x02": "\x02", "\x02\x03": "\x01"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogLimits:
    """How much one catalog holds; the defaults are Glue's quotas (General Reference, AWS Glue endpoints and quotas)."""

    databases: int = 10_000
    tables_per_database: int = 200_000
    versions_per_table: int = 100_000


def partition_key(values: Sequence[str]) -> str:
    """One text for a partition's values, by which stores order them; no two lists of one length share it.

    The separator sorts before every printable character, so that keys sort as the lists of values do.
    """
    return "\x01".join(value.replace("\x02", "\x02\x02").replace("\x01", "\x02\x03") for value in values)


def split_key(key: str) -> PartitionValues:
    """The values that :func:`partition_key` was given."""
    if "\x02" not in key:
        return tuple(key.split("\x01"))
    return tuple(_ESCAPED.sub(lambda match: _UNESCAPED[match[0]], part) for part in key.split("\x01"))


def keys_changed(table: Table) -> InvalidInput:
    """The error for a new count of partition keys over partitions that have values for the old ones."""
    return InvalidInput(
        f"Table {table.database}.{table.name} has partitions: the number of its partition keys cannot change.",
        remedy="Delete the partitions first, or create another table.",
    )


class CatalogStore(Protocol):
    """Databases, tables with their versions, and partitions."""

    def create_database(self, database: Database, *, limit: int) -> None:
        """Add; raise DatabaseExists, or CatalogFull at ``limit`` databases."""

    def change_database(self, name: str, change: Callable[[Database], Database]) -> None:
        """Replace the database with what ``change`` makes of it, its name kept; raise DatabaseNotFound.

        What ``change`` raises leaves it as it was.
        """

    def delete_database(self, name: str) -> None:
        """Remove it with its tables and details; raise DatabaseNotFound."""

    def database(self, name: str) -> Database | None:
        """The database, or None."""

    def list_databases(self, *, after: str | None, limit: int) -> Sequence[Database]:
        """Up to ``limit`` databases by name."""

    def create_table(self, table: Table, *, limit: int, indexes: Mapping[str, Body] | None = None) -> None:
        """Add as version 0, with its partition indexes by name.

        Raises DatabaseNotFound, TableExists, or CatalogFull at ``limit`` tables of the database.
        """

    def replace_table(self, table: Table, *, expected: str | None, archive: bool, limit: int) -> Table:
        """Make ``table`` the next version and return it numbered; ``create_time`` stays the first version's.

        ``expected`` is the version it must replace, None for any; ``archive`` keeps the replaced version, at most ``limit``
        of them. Raises TableNotFound, StaleTable, CatalogFull, and InvalidInput where the number of partition keys changes
        under partitions, or a key is gone that a partition index is over.
        """

    def delete_table(self, database: str, name: str) -> None:
        """Remove it with its versions and partitions; raise DatabaseNotFound, TableNotFound."""

    def table(self, database: str, name: str, version: str | None = None) -> Table | None:
        """The table, current or at ``version``; None where there is none."""

    def list_tables(self, database: str, *, after: str | None, limit: int) -> Sequence[Table]:
        """Up to ``limit`` tables by name, at their current versions; none for an unknown database."""

    def list_table_versions(self, database: str, name: str, *, before: int | None, limit: int) -> Sequence[Table]:
        """Up to ``limit`` versions, newest first, older than ``before``."""

    def delete_table_version(self, database: str, name: str, version: str) -> bool:
        """Remove an archived version; False where there is none. The current one is not archived and stays."""

    def create_partitions(self, partitions: Sequence[Partition]) -> Sequence[PartitionValues]:
        """Add those that are new, all of one table; return the values that were there before. Raises TableNotFound."""

    def replace_partitions(self, partitions: Sequence[Partition]) -> Sequence[PartitionValues]:
        """Replace all but ``create_time``, all of one table; return the values that were missing. Raises TableNotFound."""

    def delete_partitions(self, database: str, table: str, values: Sequence[PartitionValues]) -> Sequence[PartitionValues]:
        """Remove; return the values that were missing. Raises TableNotFound."""

    def partitions_of(self, database: str, table: str, values: Sequence[PartitionValues]) -> Sequence[Partition]:
        """Those of ``values`` that exist, in any order."""

    def list_partitions(
        self, database: str, table: str, *, after: str | None, limit: int | None, accept: Accept | None = None
    ) -> Sequence[Partition]:
        """Up to ``limit`` (None: all) partitions that ``accept`` takes, by :func:`partition_key`."""

    def details(self, home: Home, kind: DetailKind) -> Mapping[str, Body]:
        """What belongs to ``home``, by name in order; raise DatabaseNotFound, TableNotFound, PartitionNotFound."""

    def change_details(self, home: Home, kind: DetailKind, change: Change) -> None:
        """Put what ``change`` makes of them in place of the details; raise as :meth:`details` does."""

    def list_details(
        self, kind: DetailKind, *, database: str | None, after: Sequence[str] | None, limit: int
    ) -> Sequence[tuple[str, str, Body]]:
        """Up to ``limit`` details of ``database``, or of all databases: database, name and body, by the two names.

        ``after`` is the pair of names that they are behind.
        """
