"""The writer of the Kafka sink, on Spark's own connector.

Kafka's transactions would need a producer that outlives Spark's tasks, so that a batch that broke off is written again as a
whole. Its records carry the batch in a header, by which readers find repeated ones.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.types import StructType

from penstock.errors import AccessDenied, DataProblem, EnvironmentProblem, NotFound, PenstockError
from penstock.pipelines.sinks.kafka import KafkaSink
from penstock.spark.kafka import Credentials, check_brokers, connection_options
from penstock.spark.quoting import quoted
from penstock.spark.sinks.changes import latest_changes, written_columns
from penstock.spark.sinks.kafka.records import records, value_columns
from penstock.spark.sinks.port import Published, SinkBatch
from penstock.spark.sinks.values import PROBLEMS, ValueSchemas, derived_avro
from penstock.spark.sources.port import METADATA

__all__ = ["PRODUCER", "KafkaWriter", "kafka_errors"]

PRODUCER: Mapping[str, str] = {
    "kafka.acks": "all",
    "kafka.enable.idempotence": "true",
    "kafka.compression.type": "lz4",
    "kafka.linger.ms": "20",
}
"""A producer's settings: acknowledged by all replicas, not repeated or reordered by its own retries."""

_ROWS_PER_TASK = 50_000
_ADMIN_SECONDS = 15

_PATTERNS: tuple[tuple[str, type[PenstockError], str, str], ...] = (
    (
        r"SaslAuthenticationException|SslAuthenticationException|TopicAuthorizationException|ClusterAuthorization",
        AccessDenied,
        "refused the login, or its right to write",
        "Check the user name and password or the secret, the SASL mechanism, and the user's rights on the topic.",
    ),
    (
        r"UnknownTopicOrPartition",
        NotFound,
        "does not exist",
        "Create it, with as many partitions as its readers need, or correct 'topic'.",
    ),
    (
        r"RecordTooLargeException|MessageSizeTooLarge",
        DataProblem,
        "refuses a record that is too large",
        "Raise max.message.bytes of the topic and kafka.max.request.size in 'options', or leave out such rows in 'sql'.",
    ),
    *PROBLEMS,
)


class KafkaWriter:
    """Implements :class:`~penstock.spark.sinks.port.SinkWriter`.

    ``fetch_secret`` gets user name and password for a secret's id; ``schemas`` None: those of the declared registry.
    """

    def __init__(
        self,
        sink: KafkaSink,
        spark: SparkSession,
        fetch_secret: Callable[[str], Credentials],
        schemas: ValueSchemas | None = None,
    ) -> None:
        self._sink = sink
        self._spark = spark
        self._fetch_secret = fetch_secret
        self._schemas = schemas or ValueSchemas(sink.value)
        self._login: dict[str, str] | None = None

    @property
    def settings(self) -> KafkaSink:
        """See :class:`~penstock.spark.sinks.port.SinkWriter`."""
        return self._sink

    def check(self) -> None:
        """See :class:`~penstock.spark.sinks.port.SinkWriter`: the topic exists, and the schema, if it is not registered."""
        sink, jvm = self._sink, self._jvm
        check_brokers(sink.brokers.brokers, f"topic {sink.topic}", "brokers of the sink")
        properties = jvm.java.util.Properties()
        for name, value in self._options.items():
            properties.setProperty(name.removeprefix("kafka."), value)
        with self._explained():
            admin = jvm.org.apache.kafka.clients.admin.Admin.create(properties)
            try:
                topics = jvm.java.util.ArrayList()
                topics.add(sink.topic)
                described = admin.describeTopics(topics).allTopicNames()
                described.get(_ADMIN_SECONDS, jvm.java.util.concurrent.TimeUnit.SECONDS)
            finally:
                admin.close(jvm.java.time.Duration.ofMillis(0))
        if sink.value.frame is not None and not sink.value.register:
            self._schemas.find()

    def table(self) -> StructType | None:
        """See :class:`~penstock.spark.sinks.port.SinkWriter`: a topic has no columns."""
        return None

    def publish(self, batch: SinkBatch) -> Published:
        """See :class:`~penstock.spark.sinks.port.SinkWriter`. A batch that is published again is written again."""
        sink = self._sink
        if batch.count == 0:
            return Published(rows=0)
        changes = sink.mode != "append"
        columns = written_columns(batch.rows.schema, sink) if changes else batch.columns
        schema = self._schemas.version(partial(self._derived, value_columns(columns, sink)))
        rows = latest_changes(batch.rows, sink) if changes else self._ordered(batch)
        with self._explained():
            messages = records(rows, columns, sink, schema, f"{batch.marker}:{batch.number}")
            writer = messages.write.format("kafka").options(**self._options, **self._producer)
            writer.option("topic", sink.topic).save()
        return Published(rows=batch.count)

    def _derived(self, columns: StructType, name: str) -> str:
        with self._explained():
            return derived_avro(self._spark, columns, name)

    def _ordered(self, batch: SinkBatch) -> DataFrame:
        """Return the rows so that those of one key are written by one task, in the source's order."""
        order = [
            name for name in (METADATA["topic"], METADATA["partition"], METADATA["offset"]) if name in batch.rows.columns
        ]
        if not self._sink.record_key or METADATA["offset"] not in order:
            return batch.rows
        tasks = min(math.ceil(batch.count / _ROWS_PER_TASK), 4 * self._spark.sparkContext.defaultParallelism)
        keys = [F.col(quoted(name)) for name in self._sink.record_key]
        return batch.rows.repartition(max(1, tasks), *keys).sortWithinPartitions(*order)

    @property
    def _jvm(self) -> Any:
        return self._spark._jvm

    @property
    def _options(self) -> dict[str, str]:
        if self._login is None:
            self._login = connection_options(self._sink.brokers, self._fetch_secret)
        return self._login

    @property
    def _producer(self) -> dict[str, str]:
        """Return the producer's settings."""
        return {**PRODUCER, "kafka.compression.type": self._sink.compression, **self._sink.options}

    def _explained(self) -> AbstractContextManager[None]:
        sink = self._sink
        return kafka_errors(f"Sink {sink.name}: topic {sink.topic} on {sink.brokers.brokers}")


@contextmanager
def kafka_errors(where: str) -> Iterator[None]:
    """Raise an error of Spark's or Kafka's in the block as one of ours, of the topic that ``where`` names."""
    try:
        yield
    except PenstockError:
        raise
    except Exception as error:
        text = str(error)
        for pattern, error_class, what, remedy in _PATTERNS:
            if re.search(pattern, text):
                line = next((name.strip() for name in text.splitlines() if re.search(pattern, name)), "")
                raise error_class(f"{where} {what}: {line[:300].rstrip('.')}.", remedy=remedy) from error
        causes = [line for line in text.splitlines() if line.startswith("Caused by: ")]
        cause = (causes or [line for line in text.splitlines() if line.strip()] or [type(error).__name__])[
            -1 if causes else 0
        ]
        raise EnvironmentProblem(
            f"{where} could not be written: {cause.removeprefix('Caused by: ')[:300].rstrip('.')}.",
            remedy="It is retried; see the broker's log.",
        ) from error
