"""What statements need from outside: the catalog to resolve names, and a place that takes results."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from penstock.catalog.model import Database, Partition, Table

__all__ = ["CATALOG_NAME", "CatalogAccess", "CatalogReader", "ResultSink"]

CATALOG_NAME = "AwsDataCatalog"


class CatalogReader(Protocol):
    """The catalog's reading side. What does not exist raises :class:`penstock.errors.NotFound`."""

    def databases(self) -> Sequence[Database]:
        """All databases."""
        ...

    def database(self, name: str) -> Database:
        """One database."""
        ...

    def tables(self, database: str) -> Sequence[Table]:
        """All tables of a database."""
        ...

    def table(self, database: str, name: str) -> Table:
        """One table."""
        ...

    def partitions(self, database: str, table: str, expression: str | None = None) -> Sequence[Partition]:
        """The table's partitions, those that fulfil Glue's ``expression`` where one is given."""
        ...


class CatalogAccess(Protocol):
    """Authorizes what a statement reads of the catalog, on behalf of its caller."""

    def check(self, operation: str, request: Mapping[str, Any], /) -> None:
        """Raise :class:`penstock.errors.AccessDenied` unless the caller may call Glue's ``operation`` with ``request``."""
        ...

    def is_visible(self, operation: str, item: Mapping[str, Any], /) -> bool:
        """Whether Glue's ``operation``, GetDatabases or GetTables, may list ``item`` for the caller, in Glue's shape."""
        ...


class ResultSink(Protocol):
    """Where results go and come from: objects under ``s3://`` names, visible whole or not at all."""

    def check(self, location: str) -> None:
        """Raise :class:`penstock.errors.InvalidInput` where results cannot be written under ``location``."""
        ...

    def put(self, uri: str, file: Path) -> None:
        """Store the file's bytes as the object ``uri``, whole or not at all."""
        ...

    def open(self, uri: str, offset: int = 0) -> BinaryIO:
        """The object's bytes from ``offset`` on; :class:`penstock.errors.NotFound` where it is gone."""
        ...
