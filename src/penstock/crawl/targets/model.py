"""Targets beside folders of files, as values, and the tables that are found in them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from penstock.catalog.inputs import TableInput
from penstock.catalog.model import Table

__all__ = [
    "CatalogTarget",
    "DeltaTarget",
    "DescribedTable",
    "DynamoTarget",
    "IcebergTarget",
    "JdbcTarget",
    "OtherTarget",
    "Scope",
    "SourceFinder",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcTarget:
    """Tables of a database. ``path`` is ``DATABASE/SCHEMA/TABLE``, where ``%`` stands for any text."""

    kind: Literal["jdbc"] = "jdbc"
    connection: str
    path: str
    exclusions: Sequence[str] = ()
    metadata: Sequence[str] = ()
    """``COMMENTS`` and ``RAWTYPES``: what is kept of each column, besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamoTarget:
    """A table of DynamoDB. ``scan_all`` None and ``scan_rate`` None are what they are to Glue: all, half of the capacity."""

    kind: Literal["dynamodb"] = "dynamodb"
    table: str
    scan_all: bool | None = None
    scan_rate: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTarget:
    """Tables of the catalog, whose folders are crawled."""

    kind: Literal["catalog"] = "catalog"
    database: str
    tables: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergTarget:
    """Folders with Iceberg tables in them, up to ``depth`` folders below."""

    kind: Literal["iceberg"] = "iceberg"
    paths: Sequence[str]
    exclusions: Sequence[str] = ()
    depth: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaTarget:
    """Folders of Delta tables."""

    kind: Literal["delta"] = "delta"
    paths: Sequence[str]


OtherTarget = JdbcTarget | DynamoTarget | CatalogTarget | IcebergTarget | DeltaTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTable:
    """A table whose own system says what it is.

    ``place`` is its location in the catalog, ``connection`` the connection that leads to it. ``define`` returns its
    definition by its name in the catalog and the table there, None if it is new.
    """

    name: str
    place: str
    connection: str | None = None
    define: Callable[[str, Table | None], TableInput]


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a target's tables are: a table of the catalog there that was not found any more is gone."""

    prefix: str
    connection: str | None = None


class SourceFinder(Protocol):
    """Finds the tables of targets outside the lake; raises :class:`PenstockError` if it cannot be reached."""

    def check(self, target: JdbcTarget | DynamoTarget) -> None:
        """Raise :class:`InvalidInput` for a target that the server may not read."""

    def find(
        self, target: JdbcTarget | DynamoTarget, check: Callable[[], None]
    ) -> tuple[Sequence[DescribedTable], Sequence[Scope]]:
        """Return the tables, and where they are; ``check`` is called often and raises to end the crawl."""
