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
from penstock.spark.sources.lag import LagMeter
from penstock.spark.sources.port import RECORD_COLUMNS

__all__ = ["KafkaStream", "byte_estimate", "check_source", "kafka_options"]

_NUMBERS = {
    "max_offsets_per_trigger": "maxOffsetsPerTrigger",
    "min_partitions": "minPartitions",
    "poll_timeout_ms": "kafkaConsumer.pollTimeoutMs",
    "num_retries": "fetchOffset.numRetries",
    "retry_interval_ms": "fetchOffset.retryIntervalMs",
}


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
        options = kafka_options(self._source, self._fetch_secret, starting=starting)
        columns = [*RECORD_COLUMNS, *(["headers"] if self._source.include_headers else [])]
        return spark.readStream.format("kafka").options(**options).load().select(*columns)

    def byte_limit(self, spark: SparkSession, query: str) -> ByteLimit | None:
        """Return what limits the bytes of the batches of the streaming query ``query``; None without a limit."""
        limit = self._source.max_bytes_per_trigger
        return None if limit is None else ByteLimit(spark, query, byte_estimate(self._source, limit))

    def open_lag(self, spark: SparkSession) -> LagMeter:
        """See :class:`~penstock.spark.sources.lag.MeasuresLag`."""
        return KafkaLag(spark, {**connection_options(self._source, self._fetch_secret), **self._source.options})

    def count(self, batch: Batch) -> int:
        """Return the offsets between a batch's start and end: its records, or more where offsets have none."""
        return record_count(batch)

    def lost(self, batch: Batch, records: int) -> list[str]:
        """Return sentences about offsets without a record, if data loss is accepted: Spark then does not report it."""
        return [] if self._source.fail_on_data_loss else lost_offsets(batch, records)


def kafka_options(
    source: KafkaSource, fetch_secret: Callable[[str], Credentials], *, starting: str | None = None
) -> dict[str, str]:
    """Return options for Spark's ``kafka`` format. ``fetch_secret`` gets user name and password for a secret's id.

    ``starting`` replaces the declared start. The options have the password: never log them.
    """
    options = {
        **connection_options(source, fetch_secret),
        **_topics(source),
        **_starts(source, starting),
        "failOnDataLoss": str(source.fail_on_data_loss).lower(),
        # The default of 500 costs about a fifth of the read rate with small records.
        "kafka.max.poll.records": "5000",
    }
    if source.include_headers:
        options["includeHeaders"] = "true"
    for name, spark_name in _NUMBERS.items():
        number = getattr(source, name)
        if number is not None:
            options[spark_name] = str(number)
    if source.max_bytes_per_trigger is not None:
        options["maxOffsetsPerTrigger"] = str(byte_estimate(source, source.max_bytes_per_trigger).records)
    return {**options, **source.options}


def byte_estimate(source: KafkaSource, max_bytes: int) -> RecordEstimate:
    """Return the estimate of the records of a batch of ``max_bytes``, before one was read."""
    return RecordEstimate(max_bytes, source.max_offsets_per_trigger)


def _topics(source: KafkaSource) -> dict[str, str]:
    if source.topic_pattern:
        return {"subscribePattern": source.topic_pattern}
    if source.assign:
        return {"assign": json.dumps({topic: list(partitions) for topic, partitions in source.assign.items()})}
    return {"subscribe": ",".join(source.topics)}


def _starts(source: KafkaSource, starting: str | None) -> dict[str, str]:
    """Return where the stream starts; Spark's own times would override its offsets, so only one of them is given."""
    if starting is None and source.starting_timestamp is not None:
        # A partition without a later record begins at its end.
        return {
            "startingTimestamp": str(source.starting_timestamp),
            "startingOffsetsByTimestampStrategy": "latest",
        }
    if starting is None and source.starting_offsets_by_timestamp:
        times = {
            topic: {str(partition): moment for partition, moment in parts.items()}
            for topic, parts in source.starting_offsets_by_timestamp.items()
        }
        return {
            "startingOffsetsByTimestamp": json.dumps(times),
            "startingOffsetsByTimestampStrategy": "latest",
        }
    return {"startingOffsets": starting or source.starting_offsets}


def check_source(source: KafkaSource) -> None:
    """Connect to one of the brokers. Raises :class:`EnvironmentProblem` if that fails, long before Kafka's client would."""
    check_brokers(source.brokers, source.description, "source.kafka.brokers")
