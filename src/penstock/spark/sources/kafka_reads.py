"""Records of Kafka by Spark's own connector: the one place that reads them, for declared pipelines and for Glue scripts.

Options: https://spark.apache.org/docs/4.1.1/streaming/structured-streaming-kafka-integration.html.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

__all__ = ["LIMITS", "KafkaReads"]

LIMITS: Mapping[str, str] = {
    "maxOffsetsPerTrigger": "maxOffsetsPerTrigger",
    "minPartitions": "minPartitions",
    "pollTimeoutMs": "kafkaConsumer.pollTimeoutMs",
    "numRetries": "fetchOffset.numRetries",
    "retryIntervalMs": "fetchOffset.retryIntervalMs",
}
"""Glue's names of numbers, which are a pipeline's too, and Spark's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaReads:
    """Topics, where they are read from, and how.

    ``login`` are the options ``kafka.*`` of brokers, login and certificates. ``topics`` is Spark's option of topics and its
    value. The start is ``starting_timestamp`` (milliseconds since 1970), ``starting_by_timestamp`` (topic to partition to
    milliseconds) or else ``starting_offsets``; ``ending_offsets`` are those of a batch read. ``limits`` are by the names of
    :data:`LIMITS`, ``further`` are passed on as they are and override the others.
    """

    login: Mapping[str, str] = field(repr=False)
    topics: tuple[str, str]
    starting_offsets: str
    starting_timestamp: int | None = None
    starting_by_timestamp: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    ending_offsets: str | None = None
    fail_on_data_loss: bool
    include_headers: bool = False
    limits: Mapping[str, int | None] = field(default_factory=dict)
    further: Mapping[str, str] = field(default_factory=dict, repr=False)

    def options(self) -> dict[str, str]:
        """Return options of Spark's ``kafka`` format. They have the password: never log them."""
        name, value = self.topics
        options = {
            **self.login,
            name: value,
            **self._start(),
            "failOnDataLoss": str(self.fail_on_data_loss).lower(),
            # The default of 500 costs about a fifth of the read rate with small records.
            "kafka.max.poll.records": "5000",
        }
        if self.ending_offsets is not None:
            options["endingOffsets"] = self.ending_offsets
        if self.include_headers:
            options["includeHeaders"] = "true"
        options |= {LIMITS[name]: str(number) for name, number in self.limits.items() if number is not None}
        return {**options, **self.further}

    def stream(self, spark: SparkSession) -> DataFrame:
        """Return the records as a stream, with Spark's columns."""
        return spark.readStream.format("kafka").options(**self.options()).load()

    def rows(self, spark: SparkSession) -> DataFrame:
        """Return the records up to ``ending_offsets``, else those that are there now, with Spark's columns."""
        return spark.read.format("kafka").options(**self.options()).load()

    def _start(self) -> dict[str, str]:
        """Return where to start; Spark's own times would override its offsets, so only one of them is given."""
        # A partition without a later record begins at its end.
        at_end = {"startingOffsetsByTimestampStrategy": "latest"}
        if self.starting_timestamp is not None:
            return {"startingTimestamp": str(self.starting_timestamp), **at_end}
        if self.starting_by_timestamp:
            times = {
                topic: {str(partition): moment for partition, moment in parts.items()}
                for topic, parts in self.starting_by_timestamp.items()
            }
            return {"startingOffsetsByTimestamp": json.dumps(times), **at_end}
        return {"startingOffsets": self.starting_offsets}
