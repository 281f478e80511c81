"""What the behaviour suite of sinks needs of each kind: a writer for a new table, and a look at what the table has."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from penstock.pipelines.sinks.settings import WriteMode
from penstock.spark.sinks.port import SinkBatch, SinkWriter

__all__ = ["CHANGES", "COLUMNS", "QUERY", "SinkTarget", "batch", "numbered"]

COLUMNS = "id bigint, name string, _partition int, _offset bigint"
CHANGES = "id bigint, name string, op string, _partition int, _offset bigint"
QUERY = "0123456789abcdef0123456789abcdef"


class SinkTarget(ABC):
    """A table (or topic) of one test. Its rows have ``id``, the key, and ``name``."""

    modes: ClassVar[Sequence[WriteMode]] = ("append", "upsert", "cdc")
    exactly_once: ClassVar[bool] = True

    @abstractmethod
    def writer(self, mode: WriteMode = "append") -> SinkWriter:
        """A new writer for the target, as after a restart. Keys are ``id``; in mode cdc ``op`` deletes where it is ``d``."""

    @abstractmethod
    def rows(self) -> list[tuple[int, str | None]]:
        """Id and name of each row that a reader finds, sorted; all copies of a row that was written twice."""

    @abstractmethod
    def interrupted(self, writer: SinkWriter, batch: SinkBatch) -> None:
        """Publish, and break off in the middle as a kill does: after some rows, before the end."""

    @abstractmethod
    def unreachable(self) -> Sequence[tuple[SinkWriter, str]]:
        """Writers whose ``check`` fails (wrong login, no server, no table), and what the message says."""


def batch(spark: SparkSession, rows: Sequence[tuple[Any, ...]], number: int = 0, columns: str = COLUMNS) -> SinkBatch:
    """A batch of ``rows``; as the runner makes it from staged files."""
    frame = spark.createDataFrame(rows, columns)
    kept = [field for field in frame.schema.fields if not field.name.startswith("_")]
    return SinkBatch(
        pipeline="shop",
        sink="sink",
        query=QUERY,
        number=number,
        end=json.dumps({"orders": {"0": number}}),
        rows=frame,
        columns=StructType(kept),
        count=len(rows),
    )


def numbered(first: int, count: int) -> list[tuple[int, str, int, int]]:
    """Rows with consecutive ids, at consecutive offsets."""
    return [(number, f"n{number}", 0, number) for number in range(first, first + count)]
