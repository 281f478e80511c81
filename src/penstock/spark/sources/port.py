"""The port of sources: records as a streaming DataFrame with the same columns for every kind of source."""

from collections.abc import Mapping
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from penstock.lake.ledger import Batch

__all__ = ["METADATA", "OPTIONAL_COLUMNS", "RECORD_COLUMNS", "StreamSource", "shown_metadata"]

RECORD_COLUMNS: Mapping[str, str] = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
}
"""Columns (name to type) of the records of every source. ``topic`` is the topic, stream or file; ``offset`` may be null."""

OPTIONAL_COLUMNS: Mapping[str, str] = {
    "headers": "array<struct<key:string,value:binary>>",
    "sequence": "string",
}
"""Further columns that a source may have: Kafka's headers, Kinesis's sequence number."""

METADATA: Mapping[str, str] = {
    "topic": "_topic",
    "partition": "_partition",
    "offset": "_offset",
    "timestamp": "_timestamp",
    "key": "_key",
    "headers": "_headers",
    "sequence": "_sequence",
    "_version": "_schema_version",
}
"""The records' columns in the view ``records`` beside the reader's fields; they are not in the table unless renamed."""


def shown_metadata(records: DataFrame) -> dict[str, str]:
    """Return the part of :data:`METADATA` whose columns ``records`` has, with ``_version``, which decoding adds."""
    return {name: shown for name, shown in METADATA.items() if name in records.columns or name == "_version"}


class StreamSource(Protocol):
    """One declared source in one run."""

    @property
    def description(self) -> str:
        """Return the source in a few words, for messages."""
        ...

    @property
    def available_now(self) -> bool:
        """Return whether Spark's trigger AvailableNow reads this source right; otherwise the runner ends it at its tip."""
        ...

    def check(self) -> None:
        """Reach the source. Raises :class:`EnvironmentProblem` or :class:`AccessDenied`, long before Spark would."""
        ...

    def read(self, spark: SparkSession, *, starting: str | None) -> DataFrame:
        """Return the stream's records as :data:`RECORD_COLUMNS`; ``starting`` are offsets instead of the declared ones."""
        ...

    def count(self, batch: Batch) -> int:
        """Return how many records a batch has at most, from its offsets."""
        ...

    def lost(self, batch: Batch, records: int) -> list[str]:
        """Return sentences about records between a batch's offsets that were not read, of ``records`` read ones."""
        ...
