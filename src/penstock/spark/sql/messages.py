"""What Spark SQL's process and its owner tell each other. It needs no pyspark."""

from pathlib import Path

from penstock.children.frames import Bounds
from penstock.children.messages import Message
from penstock.settings.spark_sql import SparkSqlSettings
from penstock.sql.spark_query import SparkQuery, SparkRows

__all__ = ["ANSWERS", "REQUESTS", "Answer", "Cancel", "Compute", "Computed", "Failed", "Open", "Request"]

REQUESTS, ANSWERS = Bounds(head=(1 << 32) - 1), Bounds(head=64 << 20)
"""Bytes of a message: the owner is trusted and bounds what it sends, the process is not."""


class Open(Message, frozen=True):
    """The first message: ``files`` is the parent of the folders that rows are written to."""

    settings: SparkSqlSettings
    lake: Path
    log: Path
    files: Path


class Compute(Message, frozen=True):
    """Compute a query, with its rows in ``file`` (Arrow's file format)."""

    number: int
    query: SparkQuery
    file: Path


class Cancel(Message, frozen=True):
    """End the query of this number."""

    number: int


class Computed(Message, frozen=True):
    """The query is done."""

    number: int
    rows: SparkRows


class Failed(Message, frozen=True):
    """The query failed, with one of Athena's codes; ``ending`` if the process ends because it has lost its JVM."""

    number: int
    code: str
    message: str
    ending: bool = False


Request = Compute | Cancel
Answer = Computed | Failed
