"""Kafka topics as a stream, on Spark's own connector."""

import json
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from penstock.lake.ledger import Batch
from penstock.pipelines.sources.kafka import KafkaSource
from penstock.spark.checkpoints import lost_offsets, record_count
from penstock.spark.kafka import Credentials, check_brokers, connection_options
from penstock.spark.sources.byte_limit import ByteLimit, RecordEstimate
from penstock.spark.sources.kafka_lag import KafkaLag
from penstock.spark.sources.kafka_reads import KafkaReads
from penstock.spark.sources.port import RECORD_COLUMNS, LagMeter

__all__ = ["KafkaStream", "byte_estimate", "check_source", "kafka_reads"]


class KafkaStream:
    """One Kafka source in one run; a :class:`~penstock.spark.sources.port.StreamSource`.

    ``fetch_secret`` gets user name and password for a secret's id.
    """

    def __init__(self, source: KafkaSource, fetch_secret: Callable[[str], Credentials]) -> None:
        self._source = source
        self._fetch_secret = fetch_secret

    @property
    def description(self) -> str:
        """Return the topics, for messages."""
        return self._source.description

    @property
    def available_now(self) -> bool:
        """Return True: Spark's connector fixes the end offsets at the start."""
        return True

    def check(self) -> None:
        """Connect to one of the brokers. Raises :class:`EnvironmentProblem` if that fails."""
        check_source(self._source)

    def read(self, spark: SparkSession, *, starting: str | None) -> DataFrame:
        """Return the records as RECORD_COLUMNS, with ``headers`` if they are declared."""
        columns = [*RECORD_COLUMNS, *(["headers"] if self._source.include_headers else [])]
        return kafka_reads(self._source, self._fetch_secret, starting=starting).stream(spark).select(*columns)

    def byte_limit(self, spark: SparkSession, query: str) -> ByteLimit | None:
        """Return what limits the bytes of the batches of the streaming query ``query``; None without a limit."""
        limit = self._source.max_bytes_per_trigger
        return None if limit is None else ByteLimit(spark, query, byte_estimate(self._source, limit))

    def open_lag(self, spark: SparkSession) -> LagMeter:
        """See :class:`~penstock.spark.sources.port.MeasuresLag`."""
        return KafkaLag(spark, {**connection_options(self._source, self._fetch_secret), **self._source.options})

    def count(self, batch: Batch) -> int:
        """Return the offsets between a batch's start and end: its records, or more where offsets have none."""
        return record_count(batch)

    def lost(self, batch: Batch, records: int) -> list[str]:
        """Return sentences about offsets without a record, if data loss is accepted: Spark then does not report it."""
        return [] if self._source.fail_on_data_loss else lost_offsets(batch, records)


def kafka_reads(
    source: KafkaSource, fetch_secret: Callable[[str], Credentials], *, starting: str | None = None
) -> KafkaReads:
    """Return how Spark reads a declared source. ``fetch_secret`` gets user name and password for a secret's id.

    ``starting`` are offsets that replace the declared start.
    """
    declared = starting is None
    limit = source.max_bytes_per_trigger
    return KafkaReads(
        login=connection_options(source, fetch_secret),
        topics=_topics(source),
        starting_offsets=starting or source.starting_offsets,
        starting_timestamp=source.starting_timestamp if declared else None,
        starting_by_timestamp=source.starting_offsets_by_timestamp if declared else {},
        fail_on_data_loss=source.fail_on_data_loss,
        include_headers=source.include_headers,
        limits={
            "maxOffsetsPerTrigger": byte_estimate(source, limit).records if limit else source.max_offsets_per_trigger,
            "minPartitions": source.min_partitions,
            "pollTimeoutMs": source.poll_timeout_ms,
            "numRetries": source.num_retries,
            "retryIntervalMs": source.retry_interval_ms,
        },
        further=source.options,
    )


def byte_estimate(source: KafkaSource, max_bytes: int) -> RecordEstimate:
    """Return the estimate of the records of a batch of ``max_bytes``, before one was read."""
    return RecordEstimate(max_bytes, source.max_offsets_per_trigger)


def _topics(source: KafkaSource) -> tuple[str, str]:
    if source.topic_pattern:
        return "subscribePattern", source.topic_pattern
    if source.assign:
        return "assign", json.dumps({topic: list(partitions) for topic, partitions in source.assign.items()})
    return "subscribe", ",".join(source.topics)


def check_source(source: KafkaSource) -> None:
    """Connect to one of the brokers. Raises :class:`EnvironmentProblem` if that fails, long before Kafka's client would."""
    check_brokers(source.brokers, source.description, "source.kafka.brokers")
