"""A declared stream of Kinesis in a run, on the data source of this package."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from penstock.client.connection import translated_errors
from penstock.lake.ledger import Batch
from penstock.pipelines.sources.kinesis import KinesisSource
from penstock.spark.sources.kinesis.options import plain_options
from penstock.spark.sources.kinesis.source import FORMAT, KinesisDataSource
from penstock.spark.sources.port import RECORD_COLUMNS, LagMeter, PartitionLag

__all__ = ["IteratorAge", "KinesisStream", "source_options"]

_NAMES = {
    "region": "region",
    "endpoint": "endpointUrl",
    "role": "awsSTSRoleARN",
    "role_session_name": "awsSTSSessionName",
    "sts_endpoint": "awsSTSEndpoint",
    "max_records_per_shard": "maxFetchRecordsPerShard",
    "max_fetch_ms": "maxFetchTimeInMs",
    "describe_shard_interval": "describeShardInterval",
    "num_retries": "numRetries",
    "retry_interval_ms": "retryIntervalMs",
    "max_retry_interval_ms": "maxRetryIntervalMs",
    "max_inline_bytes": "maxInlineBytes",
    "prefetch_location": "prefetchLocation",
}


class KinesisStream:
    """One Kinesis source in one run; a :class:`~penstock.spark.sources.port.StreamSource`."""

    def __init__(self, source: KinesisSource) -> None:
        self._source = source

    @property
    def description(self) -> str:
        """Return the stream, for messages."""
        return self._source.description

    @property
    def available_now(self) -> bool:
        """Return False: Spark 4.1 does not pass the checkpoint's position to a Python source with that trigger."""
        return False

    def check(self) -> None:
        """Describe the stream. Raises :class:`NotFound`, :class:`AccessDenied` or :class:`EnvironmentProblem`."""
        stream = plain_options(source_options(self._source)).stream
        client = stream.client()
        with translated_errors(client, self.description):
            client.describe_stream_summary(**stream.named.arguments)

    def read(self, spark: SparkSession, *, starting: str | None) -> DataFrame:
        """Return the records as RECORD_COLUMNS, with ``sequence``; ``partition`` is the number in the shard's id.

        ``sequence`` is SEQUENCE_NUMBER, and SEQUENCE_NUMBER/INDEX for a record of an aggregated one, with six digits: both
        are in the shard's order as strings, too.
        """
        spark.dataSource.register(KinesisDataSource)
        options = source_options(self._source, starting=starting)
        records = spark.readStream.format(FORMAT).options(**options).load()
        index = F.col("subSequenceNumber")
        columns = {
            "key": F.col("partitionKey").cast("binary"),
            "value": F.col("data"),
            "topic": F.col("streamName"),
            "partition": F.regexp_extract("shardId", r"(\d+)$", 1),
            "offset": F.lit(None),
            "timestamp": F.col("approximateArrivalTimestamp"),
        }
        parts = F.concat_ws("/", "sequenceNumber", F.lpad(index.cast("string"), 6, "0"))
        sequence = F.when(index.isNull(), F.col("sequenceNumber")).otherwise(parts)
        types = RECORD_COLUMNS.items()
        return records.select(
            *(columns[name].cast(type_name).alias(name) for name, type_name in types), sequence.alias("sequence")
        )

    def open_lag(self, spark: SparkSession) -> LagMeter:  # noqa: ARG002 - the port's
        """See :class:`~penstock.spark.sources.port.MeasuresLag`."""
        return IteratorAge(self._source.topic)

    def count(self, batch: Batch) -> int:
        """Return how many records the planner found in a batch."""
        return sum(position.get("records", 0) for _, position in _advanced(batch))

    def lost(self, batch: Batch, records: int) -> list[str]:
        """Return sentences about records that expired before they were read, if data loss is accepted."""
        if self._source.fail_on_data_loss:
            return []
        start, end = json.loads(batch.start), json.loads(batch.end)
        sentences = [
            f"shard {shard} of stream {self._source.topic} expired before it was read to its end"
            for shard, position in start.items()
            if shard not in end and not position.get("ended")
        ]
        missing = self.count(batch) - records
        if missing > 0:
            sentences.append(f"{missing:,} records expired before they were read again")
        return sentences


def source_options(source: KinesisSource, *, starting: str | None = None) -> dict[str, str]:
    """Return the options of the data source; ``starting`` are positions that replace the declared start."""
    options = {option: str(getattr(source, name)) for name, option in _NAMES.items() if getattr(source, name) is not None}
    if source.consumer is not None:
        options["fanoutConsumerARN" if source.consumer.startswith("arn:") else "fanoutConsumerName"] = source.consumer
    options["streamARN" if source.stream.startswith("arn:") else "streamName"] = source.stream
    return {
        **options,
        "startingPosition": starting or source.starting_position,
        "failOnDataLoss": str(source.fail_on_data_loss).lower(),
    }


class IteratorAge:
    """A :class:`~penstock.spark.sources.port.LagMeter` of the iterator ages that the planner has put into the positions."""

    def __init__(self, stream: str) -> None:
        self._stream = stream

    def measure(self, end: str) -> Sequence[PartitionLag]:
        """Return by shard how far the last record read was behind the tip when the batch was planned.

        Kinesis tells no number of unread records: it is 0 at the tip, and not known elsewhere.
        """
        lags = []
        for shard, position in sorted(json.loads(end).items()):
            behind = 0 if position.get("ended") else int(position.get("behindMs", 0))
            lags.append(
                PartitionLag(
                    topic=self._stream, partition=shard, records=None if behind else 0, seconds=round(behind / 1000, 3)
                )
            )
        return lags

    def close(self) -> None:
        """Do nothing: there is no connection."""


def _advanced(batch: Batch) -> list[tuple[str, Mapping[str, Any]]]:
    start, end = json.loads(batch.start), json.loads(batch.end)
    return [
        (shard, position)
        for shard, position in end.items()
        if position.get("after") is not None and position["after"] != start.get(shard, {}).get("after")
    ]
