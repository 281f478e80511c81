"""What Spark SQL is asked to compute for a statement, and what it answers, as the messages that go to its process."""

from collections.abc import Sequence

from penstock.children.messages import Message

__all__ = ["FilesRead", "IcebergRead", "QueryRead", "Read", "SparkColumn", "SparkQuery", "SparkRows"]

SparkColumn = tuple[str, str]
"""A column's name and Spark's type of it."""


class FilesRead(Message, frozen=True):
    """A view of a table of Parquet files, absolute paths. ``partition`` has for each file its place in ``values``.

    ``base`` is the table's folder if the folders in it are named after the values of ``keys``, which Spark then reads there.
    """

    view: str
    columns: Sequence[SparkColumn]
    keys: Sequence[SparkColumn]
    files: Sequence[str]
    partition: Sequence[int]
    values: Sequence[Sequence[str | None]]
    base: str | None


class IcebergRead(Message, frozen=True):
    """A view of an Iceberg table by its ``metadata`` file, at a snapshot's id or as the metadata says."""

    view: str
    columns: Sequence[SparkColumn]
    metadata: str
    snapshot: int | None


class QueryRead(Message, frozen=True):
    """A view of another query, which has views of its own."""

    view: str
    columns: Sequence[SparkColumn]
    sql: str
    reads: "Sequence[FilesRead | IcebergRead | QueryRead]"


Read = FilesRead | IcebergRead | QueryRead


class SparkQuery(Message, frozen=True):
    """A query in Spark's SQL over views of ``reads``, with ``types`` of its columns, and at most ``limit`` bytes of rows.

    One to ``explain`` is not run.
    """

    sql: str
    reads: Sequence[Read]
    types: Sequence[str]
    limit: int
    explain: bool = False


class SparkRows(Message, frozen=True):
    """The numbers of the file's Arrow batches in the rows' ``order``, or of an explained query the ``lines`` of the plan."""

    order: Sequence[int] = ()
    lines: Sequence[str] = ()
