"""What Spark SQL reads for a query: the files that were listed for it, and not what a catalog of its own would say."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from penstock.catalog.model import Column
from penstock.query.sparksql.types import spark_type
from penstock.sql.errors import StatementError
from penstock.sql.spark_query import IcebergRead, QueryRead, Read, SparkColumn
from penstock.sql.trino_types import Type

__all__ = ["VIEWS", "OutputColumn", "RemoteQuery", "check_versions", "spark_columns", "unread"]

VIEWS = "penstock_"
"""Begins the names of Spark's views, which have no schema that keeps them apart from the names of WITH."""
OutputColumn = tuple[str, Type]
"""The name of a result's column, and Trino's type."""


@dataclass(frozen=True, slots=True)
class RemoteQuery:
    """A query in Spark's SQL over views, what each view reads, and the columns of its result."""

    sql: str
    reads: Sequence[Read]
    columns: Sequence[OutputColumn]


def spark_columns(name: str, columns: Sequence[Column], used: Callable[[Column], bool]) -> Sequence[SparkColumn]:
    """Return the columns of table ``name`` in lower case, with Spark's types, without those that Spark has no type for.

    Raises :class:`StatementError` if one of those is ``used``.
    """
    result = []
    for column in columns:
        type_ = Type.of_hive(column.type or "string")
        spark = spark_type(type_) if type_ is not None else None
        if spark is not None:
            result.append((column.name.lower(), spark))
        elif used(column):
            raise unread(name, f"column {column.name}, which is a {column.type}")
    return result


def check_versions(reads: Sequence[Read]) -> None:
    """Raise :class:`StatementError` if an Iceberg table is read at two snapshots: Spark 4.1 takes both for one."""
    versions: dict[str, int | None] = {}
    for read in _tables(reads):
        if isinstance(read, IcebergRead) and versions.setdefault(read.metadata, read.snapshot) != read.snapshot:
            raise unread(read.metadata.partition("/metadata/")[0], "two versions of one table in a query")


def _tables(reads: Sequence[Read]) -> Iterator[Read]:
    for read in reads:
        yield read
        if isinstance(read, QueryRead):
            yield from _tables(read.reads)


def unread(name: str, what: str) -> StatementError:
    """Return the error for a table that Spark SQL is not given."""
    return StatementError(
        "NOT_SUPPORTED",
        f"The engine Spark SQL does not read {what} ('{name}').",
        remedy="Run it in a work group of the other engine.",
    )
