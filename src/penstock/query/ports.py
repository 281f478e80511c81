"""The ports of statements: the catalog that resolves names, and the sink that takes results."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from penstock.catalog.model import Database, Partition, Table
from penstock.lake.permitted import FileAccess, TableKey
from penstock.lakeformation.decisions import TableAccess
from penstock.sql.spark_query import SparkQuery, SparkRows
from penstock.statements.data_catalogs import CATALOG_NAME

__all__ = [
    "CATALOG_NAME",
    "CatalogAccess",
    "CatalogChanges",
    "CatalogReader",
    "ClusterEngine",
    "Publication",
    "ResultSink",
    "StatementCatalog",
    "StatementHost",
]


class CatalogReader(Protocol):
    """The catalog's reading side. Raises :class:`penstock.errors.NotFound` for what does not exist."""

    def databases(self) -> Sequence[Database]:
        """Return all databases."""
        ...

    def database(self, name: str) -> Database:
        """One database."""
        ...

    def tables(self, database: str) -> Sequence[Table]:
        """Return all tables of a database."""
        ...

    def table(self, database: str, name: str) -> Table:
        """One table."""
        ...

    def partitions(self, database: str, table: str, expression: str | None = None) -> Sequence[Partition]:
        """Return the table's partitions, only those that match Glue's ``expression`` if there is one."""
        ...


class CatalogChanges(Protocol):
    """The catalog's changing side, by the names and shapes of Glue's operations (the API's reference has both)."""

    def change(self, operation: str, request: Mapping[str, Any], /) -> Mapping[str, Any]:
        """Carry out an operation such as ``CreateTable`` and return its response.

        Raises the catalog's own errors: NotFound, AlreadyExists, ConcurrentModification and InvalidInput of
        :mod:`penstock.errors`.
        """
        ...


Publication = tuple[str, str]
"""A file that a statement made (its path in the statement's folder), and the ``s3://`` name of the object it becomes."""


class StatementCatalog(CatalogReader, FileAccess, Protocol):
    """The catalog as the caller of a statement may read it."""

    def is_named(self, name: str) -> bool:
        """Return whether ``name``, in any case, is AwsDataCatalog or a data catalog that stands for it."""
        ...

    def visible_tables(self, database: str) -> Sequence[Table]:
        """Return the tables of a database; none if the caller may not list them."""
        ...

    def reading(self, database: str, table: str, columns: Sequence[str]) -> TableAccess | None:
        """Return which columns and rows of a table with ``columns`` may be selected; None if all may be."""
        ...

    def hides_columns(self) -> bool:
        """Return whether there may be columns that the catalog does not show to the caller."""
        ...

    def visible_columns(self, database: str, table: str, columns: Sequence[str]) -> Collection[str] | None:
        """Return which columns of a table with ``columns`` the catalog shows to the caller; None for all."""
        ...

    def check_writing(self, database: str, table: str, permissions: Sequence[str]) -> None:
        """Raise an error unless the caller has Lake Formation's ``permissions`` (INSERT, DELETE) on a table."""
        ...


class StatementHost(StatementCatalog, CatalogChanges, Protocol):
    """What a statement can do outside its process, each as its caller may: all else is denied to it.

    ``change`` takes Athena's CreatePreparedStatement, GetPreparedStatement and DeletePreparedStatement, too, in the
    statement's work group.
    """

    def compute(self, query: SparkQuery, /) -> SparkRows:
        """Let Spark SQL compute a query, whose rows are in a file of the statement's folder then.

        Raises :class:`penstock.sql.errors.StatementError`.
        """
        ...

    def publish(self, files: Sequence[Publication], table: TableKey | None = None) -> None:
        """Store files of ``table`` as objects, in the given order: all, or none."""
        ...

    def remove(self, uris: Sequence[str], table: TableKey | None = None) -> None:
        """Remove objects of ``table`` from the lake; one that does not exist is not an error."""
        ...


class ClusterEngine(Protocol):
    """Spark SQL, for the statements of one account."""

    def compute(self, query: SparkQuery, file: Path, stop: Callable[[], bool], /) -> SparkRows:
        """As :meth:`StatementHost.compute`, with the rows in ``file``; ends soon after ``stop`` returns True.

        Raises :class:`penstock.sql.errors.StatementError`.
        """
        ...

    def close(self) -> None:
        """End what runs, and its processes."""
        ...


class CatalogAccess(FileAccess, Protocol):
    """Authorizes what a statement reads of the catalog and the lake, on behalf of its caller."""

    def check(self, operation: str, request: Mapping[str, Any], /) -> None:
        """Raise :class:`penstock.errors.AccessDenied` unless the caller may call Glue's ``operation`` with ``request``."""
        ...

    def created(self, database: str, table: str | None, /) -> None:
        """Give the caller, who has made a database or table, its creator's permissions in Lake Formation."""
        ...

    def check_athena(self, operation: str, request: Mapping[str, Any], /) -> None:
        """Raise :class:`penstock.errors.AccessDenied` unless the caller may call Athena's ``operation``."""
        ...

    def is_visible(self, operation: str, item: Mapping[str, Any], /) -> bool:
        """Return whether Glue's ``operation``, GetDatabases or GetTables, may show ``item`` (Glue's shape) to the caller."""
        ...

    def reading(self, database: str, table: str, columns: Sequence[str], /) -> TableAccess | None:
        """As :meth:`StatementCatalog.reading`."""
        ...

    def hides_columns(self) -> bool:
        """As :meth:`StatementCatalog.hides_columns`."""
        ...

    def visible_columns(self, database: str, table: str, columns: Sequence[str], /) -> Collection[str] | None:
        """As :meth:`StatementCatalog.visible_columns`."""
        ...

    def check_writing(self, database: str, table: str, permissions: Sequence[str], /) -> None:
        """Raise :class:`penstock.errors.AccessDenied` unless the caller has Lake Formation's ``permissions`` on a table."""
        ...


class ResultSink(Protocol):
    """Where results are stored and read: objects under ``s3://`` names, visible only when complete."""

    def check(self, location: str) -> None:
        """Raise :class:`penstock.errors.InvalidInput` if results cannot be written under ``location``."""
        ...

    def put(self, uri: str, file: Path) -> None:
        """Store the file's bytes as the object ``uri``, completely or not at all."""
        ...

    def take(self, files: Sequence[tuple[str, Path]]) -> None:
        """Store files as objects, each as :meth:`put` does and in order. Afterwards the files may be gone."""
        ...

    def remove(self, uri: str) -> None:
        """Remove the object ``uri``; it is not an error if there is none."""
        ...

    def open(self, uri: str, offset: int = 0) -> BinaryIO:
        """Open the object's bytes from ``offset`` on. Raises :class:`penstock.errors.NotFound` if it is gone."""
        ...
