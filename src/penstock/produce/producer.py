"""An idempotent producer of registered records that counts every acknowledgement.

A record that the broker did not acknowledge is reported, never dropped silently. ``timeout_seconds`` bounds every wait.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import Producer as KafkaProducer

from penstock.client.broker import FINAL, NO_TOPIC, BrokerSettings, broker_problem
from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.schema.version import SchemaVersion
from penstock.serdes.avro.codec import AvroSchemas
from penstock.serdes.codec import MessageWriter, message_writer
from penstock.serdes.errors import SerdeError, UnreadableSchema
from penstock.serdes.frame import Compression

__all__ = ["Producer", "Report"]

_KEPT_FAILURES = 10
_POLL_EVERY = 500  # records between two polls of delivery reports
_TOPIC_SECONDS = 10.0  # a broker that creates topics needs a few seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Counts of records. ``seconds`` since the producer was made; ``errors`` are the first few errors, as text."""

    produced: int
    acknowledged: int
    failed: int
    seconds: float
    errors: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every record was acknowledged."""
        return self.produced == self.acknowledged

    @property
    def rate(self) -> float:
        """Acknowledged records per second."""
        return self.acknowledged / self.seconds if self.seconds > 0 else 0.0


class Producer:
    """Sends records to one topic. For one thread; use as a context manager or call :meth:`flush` at the end.

    ``version`` is the schema version to write with until a record names another. The constructor connects. It raises
    :class:`EnvironmentProblem` if no broker answers or the topic does not exist, and
    :class:`~penstock.errors.AccessDenied` if the login is refused, each within ``broker.timeout_seconds``.
    """

    def __init__(
        self,
        broker: BrokerSettings,
        topic: str,
        version: SchemaVersion,
        *,
        compression: Compression = Compression.NONE,
        ignore_unknown_fields: bool = False,
    ) -> None:
        self.topic = topic
        self._broker = broker
        self._compression = compression
        self._ignore_unknown = ignore_unknown_fields
        self._schemas = AvroSchemas()
        self._writers: dict[UUID, MessageWriter] = {}
        self._default = self._writer(version)
        self._produced = self._acknowledged = self._failed = 0
        self._failures: list[str] = []
        self._client_error: KafkaError | None = None
        self._since_poll = 0
        config = broker.client_config() | {
            "enable.idempotence": True,
            "acks": "all",
            "linger.ms": 20,
            "batch.size": 512 * 1024,
            "queue.buffering.max.messages": 200_000,
            "queue.buffering.max.kbytes": 128 * 1024,
            "message.timeout.ms": int(broker.timeout_seconds * 1000),
            "error_cb": self._on_error,
            # Errors reach the user through error_cb and delivery reports; librdkafka would print them again.
            "log_level": 0,
            **broker.extra,
        }
        try:
            self._kafka = KafkaProducer(config)
        except KafkaException as error:
            raise InvalidInput(f"The Kafka client refuses its settings: {error.args[0].str()}") from None
        self._connect()
        self._started = time.monotonic()

    def __enter__(self) -> "Producer":
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    @property
    def progress(self) -> Report:
        """The counts so far."""
        return Report(
            produced=self._produced,
            acknowledged=self._acknowledged,
            failed=self._failed,
            seconds=time.monotonic() - self._started,
            errors=tuple(self._failures),
        )

    def send(
        self,
        record: Any,
        *,
        key: str | bytes | None = None,
        schema_version: SchemaVersion | None = None,
        timestamp_ms: int = 0,
    ) -> None:
        """Queue one record, written with ``schema_version`` if given. Blocks while the queue is full.

        ``None`` is a tombstone. Raises :class:`SerdeError` for a record that does not fit its schema (nothing is sent), and
        :class:`EnvironmentProblem` if the queue stays full for the timeout.
        """
        writer = self._default if schema_version is None else self._writer(schema_version)
        try:
            value = None if record is None else writer(record)
        except SerdeError as error:
            raise error.at(self.topic) from error.__cause__
        self.send_raw(value, key=key, timestamp_ms=timestamp_ms)

    def send_raw(
        self,
        value: bytes | None,
        *,
        key: str | bytes | None = None,
        timestamp_ms: int = 0,
        acknowledged: Callable[[Message], None] | None = None,
    ) -> None:
        """Queue bytes unchanged, for records that are damaged on purpose or framed elsewhere.

        ``acknowledged`` is called with the message, which has its partition and offset, when the broker acknowledged it.
        """
        deadline = 0.0
        report = self._on_delivery if acknowledged is None else self._reporting(acknowledged)
        while True:
            try:
                self._kafka.produce(self.topic, value, key, on_delivery=report, timestamp=timestamp_ms)
                break
            except BufferError:
                now = time.monotonic()
                deadline = deadline or now + self._broker.timeout_seconds
                if now > deadline:
                    raise self._stalled() from None
                self._kafka.poll(0.1)
            except KafkaException as error:
                raise broker_problem(error.args[0], self._broker.brokers, self.topic) from None
        self._produced += 1
        self._since_poll += 1
        if self._since_poll >= _POLL_EVERY:
            self._since_poll = 0
            self._kafka.poll(0)

    def poll(self, seconds: float = 0.0) -> None:
        """Handle delivery reports for at most ``seconds``; for callers that pause between records."""
        self._kafka.poll(seconds)

    def flush(self) -> Report:
        """Wait until every record is acknowledged or has failed, each within the timeout. Return the counts."""
        # message.timeout.ms ends every wait; the second half is for the last reports to arrive.
        deadline = time.monotonic() + 1.5 * self._broker.timeout_seconds
        while (remaining := deadline - time.monotonic()) > 0 and self._kafka.flush(min(remaining, 1.0)) > 0:
            pass
        return self.progress

    def _writer(self, version: SchemaVersion) -> MessageWriter:
        writer = self._writers.get(version.id)
        if writer is None:
            if version.data_format != "AVRO":
                raise UnreadableSchema(
                    f"Schema {version.registry_name}/{version.schema_name} is {version.data_format}; only AVRO is served."
                )
            writer = self._writers[version.id] = message_writer(
                version.id,
                self._schemas.parse(version.definition),
                compression=self._compression,
                ignore_unknown=self._ignore_unknown,
            )
        return writer

    def _connect(self) -> None:
        timeout = self._broker.timeout_seconds
        deadline = time.monotonic() + timeout
        topic_deadline = time.monotonic() + min(timeout, _TOPIC_SECONDS)
        while True:
            error = self._topic_error(max(0.1, min(1.0, deadline - time.monotonic())))
            if error is None:
                return
            self._kafka.poll(0)
            client_error = self._client_error
            refused = client_error is not None and client_error.code() in FINAL
            waiting_for_topic = error.code() in NO_TOPIC
            if refused or time.monotonic() > (topic_deadline if waiting_for_topic else deadline) or error.code() in FINAL:
                worst = client_error if client_error is not None and not waiting_for_topic else error
                raise broker_problem(worst, self._broker.brokers, self.topic)
            if waiting_for_topic:
                self._kafka.poll(0.2)

    def _topic_error(self, seconds: float) -> KafkaError | None:
        try:
            topics = self._kafka.list_topics(self.topic, timeout=seconds)
        except KafkaException as error:
            problem: KafkaError = error.args[0]
            return problem
        missing: KafkaError | None = topics.topics[self.topic].error
        return missing

    def _on_error(self, error: KafkaError) -> None:
        # The reason (refused login, TLS) comes before "all brokers down", which must not hide it.
        if self._client_error is None or self._client_error.code() not in FINAL:
            self._client_error = error

    def _reporting(self, acknowledged: Callable[[Message], None]) -> Callable[[KafkaError | None, Message], None]:
        def report(error: KafkaError | None, message: Message) -> None:
            self._on_delivery(error, message)
            if error is None:
                acknowledged(message)

        return report

    def _on_delivery(self, error: KafkaError | None, _message: Message) -> None:
        if error is None:
            self._acknowledged += 1
            return
        self._failed += 1
        if len(self._failures) < _KEPT_FAILURES:
            self._failures.append(error.str())

    def _stalled(self) -> EnvironmentProblem:
        return EnvironmentProblem(
            f"The broker at {self._broker.brokers} took no record for {self._broker.timeout_seconds:.0f} s: "
            f"{self._acknowledged} of {self._produced} are acknowledged.",
            remedy="Check the broker's health and disk space.",
        )
