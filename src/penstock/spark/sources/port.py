"""The port of sources: records as a streaming DataFrame with the same columns for every kind of source, and their lag."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from pyspark.sql import DataFrame, SparkSession

from penstock.lake.ledger import Batch

__all__ = [
    "METADATA",
    "OPTIONAL_COLUMNS",
    "RECORD_COLUMNS",
    "LagMeter",
    "MeasuresLag",
    "PartitionLag",
    "StreamSource",
    "lag_summary",
    "shown_metadata",
]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLag:
    """The lag of one partition or shard behind the batch that was committed.

    ``records`` counts those that are not read yet; ``seconds`` is the age of the oldest of them, 0 where there is none. None
    means unknown.
    """

    topic: str
    partition: str
    records: int | None = None
    seconds: float | None = None


class LagMeter(Protocol):
    """Measures the lag of one run's source."""

    def measure(self, end: str) -> Sequence[PartitionLag]:
        """Return the lag of each partition behind a batch's end offsets (JSON); empty if it cannot be measured now.

        Called after each commit, so it takes milliseconds, and never raises for a source that does not answer.
        """
        ...

    def close(self) -> None:
        """End its connections."""
        ...


@runtime_checkable
class MeasuresLag(Protocol):
    """A :class:`StreamSource` that can measure its lag."""

    def open_lag(self, spark: SparkSession) -> LagMeter:
        """Return a meter, which connects when it measures."""
        ...


def lag_summary(lags: Sequence[PartitionLag]) -> dict[str, Any]:
    """Return the lag as JSON: ``records`` (the sum), ``seconds`` (the largest), ``partitions`` by topic; {} if empty."""
    if not lags:
        return {}
    partitions: dict[str, dict[str, Mapping[str, float | None]]] = {}
    for lag in lags:
        partitions.setdefault(lag.topic, {})[lag.partition] = {"records": lag.records, "seconds": lag.seconds}
    records = [lag.records for lag in lags if lag.records is not None]
    seconds = [lag.seconds for lag in lags if lag.seconds is not None]
    return {
        "records": sum(records) if records else None,
        "seconds": max(seconds) if seconds else None,
        "partitions": partitions,
    }
