"""How far a stream is behind its source: the port, and the sum over partitions for metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from pyspark.sql import SparkSession

__all__ = ["LagMeter", "MeasuresLag", "PartitionLag", "lag_summary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLag:
    """The lag of one partition or shard behind the batch that was committed.

    ``records`` are those that are not read yet; ``seconds`` is the age of the oldest of them, 0 where there is none. None:
    not known.
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
    """A :class:`~penstock.spark.sources.port.StreamSource` that can tell its lag."""

    def open_lag(self, spark: SparkSession) -> LagMeter:
        """Return a meter, which connects when it measures."""
        ...


def lag_summary(lags: Sequence[PartitionLag]) -> dict[str, Any]:
    """Return the lag as JSON: ``records`` (the sum), ``seconds`` (the largest), ``partitions`` by topic; {} if empty."""
    if not lags:
        return {}
    partitions: dict[str, dict[str, Mapping[str, float | None]]] = {}
    for each in lags:
        partitions.setdefault(each.topic, {})[each.partition] = {"records": each.records, "seconds": each.seconds}
    records = [each.records for each in lags if each.records is not None]
    seconds = [each.seconds for each in lags if each.seconds is not None]
    return {
        "records": sum(records) if records else None,
        "seconds": max(seconds) if seconds else None,
        "partitions": partitions,
    }
