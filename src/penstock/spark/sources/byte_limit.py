"""A limit of a batch's bytes for sources that only have one of records: by the bytes of records of earlier batches.

Spark asks a source for a limit once, when a query starts. The limit of the running query is then changed for the next batch,
in the stream's own thread, between two batches (``MicroBatchExecution.uniqueSources`` of Spark 4.1).
"""

import logging
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.functions import coalesce, count, length, lit
from pyspark.sql.functions import sum as total

__all__ = ["ASSUMED_BYTES", "ByteLimit", "RecordEstimate"]

_log = logging.getLogger(__name__)

ASSUMED_BYTES = 1024
"""Bytes of a record, until a batch has been read."""

_WEIGHT = 0.5  # of the last batch


class RecordEstimate:
    """The number of records that hold ``max_bytes``, at most ``max_records``."""

    def __init__(self, max_bytes: int, max_records: int | None = None) -> None:
        self._max_bytes = max_bytes
        self._max_records = max_records
        self._record_bytes: float | None = None

    @property
    def records(self) -> int:
        """Records of the next batch, at least one."""
        count = int(self._max_bytes / (self._record_bytes or ASSUMED_BYTES))
        return max(1, count if self._max_records is None else min(count, self._max_records))

    def add(self, size: int, records: int) -> None:
        """Count a batch: ``size`` bytes of keys and values in ``records`` records."""
        if not records or not size:
            return
        mean = size / records
        before = self._record_bytes
        # Where records grow, the next batch follows at once, so that it does not exceed the limit twice.
        self._record_bytes = mean if before is None or mean > before else _WEIGHT * mean + (1 - _WEIGHT) * before


class ByteLimit:
    """Counts the bytes of a run's batches, and limits the next one."""

    def __init__(self, spark: SparkSession, query: str, estimate: RecordEstimate) -> None:
        """``query`` is the name of the streaming query."""
        self._spark = spark
        self._query = query
        self._estimate = estimate
        self._limit: int | None = None

    def watched(self, records: DataFrame) -> tuple[DataFrame, Observation]:
        """Return the records, and what counts their bytes in the pass that reads them."""
        counted = Observation()
        size = coalesce(length("value"), lit(0)) + coalesce(length("key"), lit(0))
        return records.observe(counted, total(size).alias("bytes"), count(lit(1)).alias("records")), counted

    def taken(self, counted: Observation) -> int | None:
        """Return the bytes of the batch, None if it was not read (a replay), and limit the next one."""
        observation: Any = counted._jo
        if not observation.future().isCompleted():
            return None
        counts = counted.get
        size = int(counts["bytes"] or 0)
        self._estimate.add(size, int(counts["records"]))
        if self._estimate.records != self._limit:
            self._limit = self._estimate.records
            self._apply(self._limit)
        return size

    def _apply(self, records: int) -> None:
        try:
            query: Any = next(query for query in self._spark.streams.active if query.name == self._query)
            execution = query._jsq.streamingQuery()
            limit = self._spark._jvm.org.apache.spark.sql.connector.read.streaming.ReadLimit.maxRows(records)  # type: ignore[union-attr]
            sources = execution.uniqueSources()
            getattr(execution, "uniqueSources_$eq")(sources.updated(sources.keys().head(), limit))
        except Exception as error:  # noqa: BLE001 - internals of Spark; the first limit holds
            _log.warning("the batches' limit stays at the first estimate, %d records: %s", records, error)
