"""The format ``penstock-kinesis`` of Spark's Structured Streaming, by the Python Data Source API."""

from typing import Any

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from penstock.spark.sources.kinesis.reader import KinesisReader

__all__ = ["FORMAT", "KinesisDataSource"]

FORMAT = "penstock-kinesis"
_SCHEMA = (
    "data BINARY, streamName STRING, shardId STRING, partitionKey STRING, sequenceNumber STRING, "
    "subSequenceNumber INT, approximateArrivalTimestamp TIMESTAMP"
)


class KinesisDataSource(DataSource):
    """A stream of Kinesis: ``spark.dataSource.register(KinesisDataSource)``, then
    ``spark.readStream.format("penstock-kinesis").options(streamName=..., startingPosition=...).load()``.

    docs/pipelines/source-kinesis.md lists the options and the columns.
    """

    _planned = False

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def schema(self) -> str:
        """Return the columns of a record; ``subSequenceNumber`` counts within an aggregated record, else it is null."""
        return _SCHEMA

    def streamReader(self, schema: StructType) -> KinesisReader:  # noqa: ARG002, N802 - Spark's
        """Return the stream's planner."""
        self._planned = True
        return KinesisReader(dict(self.options))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the source itself for Spark's planner; for executors, which lack Penstock, a stand-in without options.

        Spark sends it to executors for its name in messages, after it has asked for the reader in the same process.
        """
        return (DataSource if self._planned else type(self)), (({} if self._planned else self.options),)
