"""The port of a kind of table: from a name in a query to a view of the engine over what the query can need.

A source is found first, because its columns decide which conditions of the query are about it; it is scanned then.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlglot import exp

from penstock.catalog.model import Partition, Table
from penstock.query.permitted_files import PermittedLake
from penstock.query.ports import StatementCatalog
from penstock.query.sparksql.reads import RemoteQuery
from penstock.sql.errors import Position, StatementError
from penstock.sql.statements.model import Select
from penstock.sql.statements.names import TableName

__all__ = [
    "SCHEMA",
    "Conditions",
    "DataFile",
    "Evaluator",
    "LakeReader",
    "Nested",
    "PlanView",
    "Scan",
    "ScanRequest",
    "TableReference",
    "TableSource",
    "hidden_columns",
    "too_many_files",
]

SCHEMA = "lake"  # the engine's schema of the scans' views

Conditions = Sequence[str]
"""Conditions on partition keys, in the engine's dialect."""


class Evaluator(Protocol):
    """What tables ask of the engine before the query runs."""

    def prune(self, table: Table, partitions: Sequence[Partition], conditions: Conditions, outer: bool, /) -> Sequence[int]:
        """Return the indexes of the partitions that meet all conditions, or of all if those cannot be evaluated.

        ``outer`` says whether an outer join may put rows of NULLs in the table's place.
        Raises :class:`penstock.sql.errors.StatementError` for a value that is not of its key's type.
        """
        ...

    def instant(self, sql: str, position: Position | None, /) -> int:
        """Return milliseconds since 1970 of an expression without columns, a timestamp or a date, in UTC.

        Raises :class:`penstock.sql.errors.StatementError`, at ``position``, for an expression of another type.
        """
        ...


@dataclass(frozen=True, slots=True)
class LakeReader:
    """What sources read: the catalog and the lake, each as the caller may read it, and the engine that evaluates."""

    catalog: StatementCatalog
    lake: PermittedLake
    engine: Evaluator
    plan_view: "PlanView"
    """Plans the query of a view within the query that reads it."""
    within: tuple[str, ...] = ()
    """The names of the views that the query is inside of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReference:
    """A table as a query names it, with its database filled in."""

    name: TableName
    version: exp.Version | None = None
    """FOR VERSION AS OF or FOR TIMESTAMP AS OF, as sqlglot parses it."""
    position: Position | None = None
    positions: bool = False
    """Whether the view also needs the file and the position of each row: a statement is to delete some of them."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of the lake, its size in bytes, and the index of its partition in the scan (-1 without partitions)."""

    path: str
    size: int
    partition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRequest:
    """What the query needs of one table."""

    view: str
    """The name of the engine's view to make, in :data:`SCHEMA`."""
    conditions: Callable[[Collection[str]], Sequence[exp.Expr]]
    """Returns conditions on the named columns (lower case) alone that every row the query can use meets.

    Columns have no qualifier in them; functions are the engine's.
    """
    outer: bool
    """Whether an outer join may put NULLs in the place of the table's rows."""
    columns: frozenset[str] | None
    """The names (lower case) that the query mentions anywhere; None if it may use every column."""
    hidden: frozenset[str] = frozenset()
    """The names (lower case) in the query that begin with ``$``: hidden columns, if the table has them."""
    max_files: int
    """How many more files the statement may read."""


class Scan(Protocol):
    """One reference to a table, ready to become a view."""

    @property
    def files(self) -> Sequence[DataFile]:
        """The files that the engine may open for it; their sizes count as scanned."""
        ...

    @property
    def partitions_read(self) -> int:
        """How many partitions are read."""
        ...

    @property
    def partitions_total(self) -> int:
        """How many partitions the catalog found by the conditions that its index takes, or the table has."""
        ...

    @property
    def route(self) -> str:
        """How the rows are read, as EXPLAIN says it: ``DuckDB, 3 Parquet files``."""
        ...

    def install(self, engine: Any) -> None:
        """Make the view in ``engine`` (a DuckDB connection that may still open any file).

        Raises :class:`penstock.sql.errors.StatementError`.
        """
        ...


def too_many_files(name: str, remedy: str) -> StatementError:
    """Return the error of a query that would read more files of the table ``name`` than a statement may."""
    return StatementError(
        "EXCEEDED_RESULT_LIMIT",
        f"The query reads more files than a query may, at '{name}'.",
        remedy=f"Restrict it to fewer partitions, or {remedy}.",
    )


def hidden_columns(scan: Scan) -> Sequence[str]:
    """Return the columns of the scan's view that ``*`` does not stand for: its attribute ``hidden``, if it has any."""
    hidden: Sequence[str] = getattr(scan, "hidden", ())
    return hidden


class Nested(Protocol):
    """The plan of a view's query: SQL of the engine over the views of its scans."""

    @property
    def sql(self) -> str:
        """The query in the engine's SQL."""
        ...

    @property
    def scans(self) -> Sequence[Scan]:
        """What it reads."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """``database.table`` of each scan."""
        ...

    @property
    def remote(self) -> RemoteQuery | None:
        """The query for Spark SQL, None if that does not run it."""
        ...


class PlanView(Protocol):
    """Plans views."""

    def __call__(self, name: str, query: Select, database: str | None, request: ScanRequest, /) -> Nested:
        """Plan the query of the view ``name`` (``database.view``), whose own names are in ``database``.

        Raises :class:`StatementError` for a view that reads itself, or is one of too many inside each other.
        """
        ...


class TableSource(Protocol):
    """One table of one kind."""

    @property
    def table(self) -> Table:
        """Its columns and partition keys, in Hive's types: the catalog's entry, or one that is made up."""
        ...

    def scan(self, request: ScanRequest) -> Scan:
        """Choose what to read. Raises :class:`penstock.sql.errors.StatementError`."""
        ...
