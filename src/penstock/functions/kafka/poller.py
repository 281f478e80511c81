"""One poller of a Kafka mapping: a consumer of the mapping's group and its batch dispatcher, in one thread.

Offsets are committed after their records are finished, never before; the group gets the records of a poller that dies.
Partitions move between pollers without stopping the others (cooperative-sticky): when a partition is revoked, the current
invocation ends first, and its offsets are committed before the next owner reads.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from penstock.client.broker import FINAL, NO_TOPIC, broker_problem
from penstock.errors import AccessDenied, EnvironmentProblem, InvalidInput, LimitExceeded, PenstockError
from penstock.functions.delivery.dispatcher import DispatcherFactory
from penstock.functions.kafka.decoding import Decoder, Undecodable
from penstock.functions.kafka.event import TIMESTAMP_TYPES, kafka_record, partition_name
from penstock.functions.kafka.starts import starting_offsets
from penstock.functions.mapping_metrics import MappingMetrics
from penstock.functions.model import EventSourceMapping, KafkaSource
from penstock.functions.records import Progress, Record
from penstock.retries import BROKER_OFFSETS, SCHEMA_REGISTRY, Backoff, RetryStopped, call_with_retries

__all__ = ["KafkaPoller"]

_DOING = "read"
_IDLE = 0.2  # seconds that a read waits if nothing is due
_HOLD = 3.0  # seconds for which a full dispatcher delays the consumer before its partitions are paused


class KafkaPoller:
    """Reads the topic of ``mapping`` into a batch dispatcher until stopped. ``report`` gets human-readable lines.

    ``config`` are librdkafka's settings to reach the cluster, ``timeout`` is the function's, in seconds.
    """

    def __init__(
        self,
        mapping: EventSourceMapping,
        config: Mapping[str, Any],
        make_dispatcher: DispatcherFactory,
        metrics: MappingMetrics,
        *,
        timeout: int,
        decoder: Decoder | None,
        report: Callable[[str], None],
    ) -> None:
        assert isinstance(mapping.source, KafkaSource)
        self._mapping = mapping
        self._topic = mapping.source.topic
        self._metrics = metrics
        self._decoder = decoder
        self._report = report
        self._brokers = str(config["bootstrap.servers"])
        self._dispatcher = make_dispatcher(self._on_done)
        self._progress: dict[str, Progress] = {}
        self._partitions: dict[str, int] = {}
        self._commits: dict[int, int] = {}
        self._fetched: deque[Message] = deque()
        self._registry_backoff = Backoff(SCHEMA_REGISTRY)
        self._full_since: float | None = None
        self._paused = False
        self._fatal: KafkaError | None = None
        self._said_missing = False
        self._said_uncommitted = False
        self._stop = threading.Event()
        try:
            self._consumer = Consumer(
                {
                    **config,
                    "group.id": mapping.group,
                    "enable.auto.commit": False,
                    "enable.auto.offset.store": False,
                    # Only for offsets that retention has removed: a new group's start is resolved at the assignment.
                    "auto.offset.reset": "earliest",
                    "partition.assignment.strategy": "cooperative-sticky",
                    # For how long a killed poller's partitions wait for the next one.
                    "session.timeout.ms": 10_000,
                    # The consumer is polled while the function runs, except while a revoked partition waits for it.
                    "max.poll.interval.ms": max(300_000, (timeout + 60) * 1000),
                    "topic.metadata.refresh.interval.ms": 3_000,
                    "allow.auto.create.topics": False,
                    "enable.partition.eof": True,
                    "error_cb": self._on_error,
                    "log_level": 0,
                }
            )
        except KafkaException as error:
            raise InvalidInput(f"The Kafka client refuses its settings: {error.args[0].str()}") from None

    def stop(self) -> None:
        """Make :meth:`run` return after the current invocation."""
        self._stop.set()

    def run(self) -> None:
        """Poll until stopped, in the calling thread. Raises the :class:`PenstockError` that ends it before."""
        try:
            self._consumer.subscribe(
                [self._topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
            )
            while not (self._stop.is_set() and self._dispatcher.finished):
                self._poll_once()
        except KafkaException as error:
            raise broker_problem(error.args[0], self._brokers, self._topic, doing=_DOING) from error
        finally:
            self._end()

    def _end(self) -> None:
        self._dispatcher.close()
        try:
            self._commit()
            self._consumer.close()
        except (KafkaException, RuntimeError) as error:
            self._report(f"The consumer of topic {self._topic} did not leave its group cleanly: {error}")

    def _poll_once(self) -> None:
        if self._stop.is_set():
            self._dispatcher.stop()
            self._fetched.clear()
        self._dispatcher.advance()
        self._offer_fetched()
        if self._dispatcher.busy:
            self._dispatcher.wait()
        self._read()
        self._commit()
        if self._fatal is not None:
            raise broker_problem(self._fatal, self._brokers, self._topic, doing=_DOING)

    def _read(self) -> None:
        """Read records while the dispatcher has room; if it has none for long, only stay in the group."""
        now = time.monotonic()
        if self._dispatcher.full or self._fetched or self._stop.is_set():
            self._full_since = self._full_since or now
            if not self._paused and now - self._full_since > _HOLD:
                self._pause(True)
            if self._paused:
                self._take(self._consumer.poll(0.0 if self._dispatcher.busy else _IDLE))
            elif not self._dispatcher.busy:
                # A full dispatcher that is not busy starts its batch next; one that waits for the registry does not.
                time.sleep(min(_IDLE, 0.02))
            return
        self._full_since = None
        if self._paused:
            self._pause(False)
        due = self._dispatcher.due_in
        wait = 0.0 if self._dispatcher.busy else _IDLE if due is None else min(_IDLE, due)
        first = self._consumer.poll(wait)
        if first is None:
            return
        self._take(first)
        for message in self._consumer.consume(min(self._mapping.batch_size, 1000), 0):
            self._take(message)
        self._offer_fetched()

    def _pause(self, pause: bool) -> None:
        partitions = self._consumer.assignment()
        (self._consumer.pause if pause else self._consumer.resume)(partitions)
        self._paused = pause

    def _take(self, message: Message | None) -> None:
        if message is None:
            return
        error = message.error()
        if error is None:
            self._said_missing = False
            self._fetched.append(message)
        elif error.code() in NO_TOPIC:
            if not self._said_missing:
                self._said_missing = True
                self._report(f"Topic {self._topic} does not exist at {self._brokers} yet; waiting for it.")
        elif error.code() in FINAL:
            raise broker_problem(error, self._brokers, self._topic, doing=_DOING)
        elif error.code() == KafkaError._PARTITION_EOF:
            self._fetched.append(message)
        else:
            self._report(f"Topic {self._topic}: {error.str()}")

    def _offer_fetched(self) -> None:
        """Decode fetched records and offer them to the dispatcher; wait if the schema registry does not answer."""
        while self._fetched and not self._registry_backoff.left:
            message = self._fetched[0]
            name = partition_name(self._topic, message.partition() or 0)
            progress = self._progress.get(name)
            if progress is None:
                # Of a partition that was revoked meanwhile.
                self._fetched.popleft()
                continue
            if message.error() is not None:
                self._fetched.popleft()
                self._reach_end(name, progress, (message.offset() or 0) - 1)
                continue
            try:
                record, problem = self._record(message)
            except (EnvironmentProblem, AccessDenied, LimitExceeded) as error:
                self._registry_backoff.failed()
                self._report(f"{error} Records of topic {self._topic} wait for it.")
                return
            self._registry_backoff.succeeded()
            self._fetched.popleft()
            progress.begin(record.position)
            self._dispatcher.offer(record, problem)

    def _reach_end(self, name: str, progress: Progress, position: int) -> None:
        """Record that a partition has no records up to ``position``: transaction markers may follow its last record.

        Otherwise the group would seem to lag for ever.
        """
        if position >= 0 and (progress.last is None or position > progress.last):
            progress.begin(position)
            reached = progress.finish([position])
            if reached is not None:
                self._commits[self._partitions[name]] = reached + 1

    def _record(self, message: Message) -> tuple[Record, tuple[str, str] | None]:
        stamp: tuple[int, int] = message.timestamp()
        key, value = message.key(), message.value()
        headers = _headers(message)
        parts: dict[str, Any] = {
            "topic": self._topic,
            "partition": message.partition() or 0,
            "offset": message.offset() or 0,
            "timestamp_ms": stamp[1],
            "timestamp_type": TIMESTAMP_TYPES[stamp[0]],
            "key": key.encode() if isinstance(key, str) else key,
            "value": value.encode() if isinstance(value, str) else value,
            "headers": headers,
        }
        if self._decoder is None:
            return kafka_record(**parts), None
        shown = dict(parts)
        try:
            for part in self._decoder.parts:
                name = part.lower()
                if parts[name] is not None:
                    decoded = self._decoder.decode(parts[name], headers, part)
                    shown |= {name: decoded.data, f"{name}_schema": decoded.schema, f"{name}_view": decoded.view}
        except Undecodable as error:
            return kafka_record(**parts), (error.condition, str(error))
        return kafka_record(**shown), None

    def _on_done(self, records: Sequence[Record]) -> None:
        by_partition: dict[str, list[int]] = {}
        for record in records:
            by_partition.setdefault(record.partition, []).append(record.position)
        for name, positions in by_partition.items():
            progress = self._progress.get(name)
            reached = progress.finish(positions) if progress is not None else None
            if reached is not None:
                self._commits[self._partitions[name]] = reached + 1

    def _commit(self) -> None:
        """Commit finished records. If that fails they are committed later, or read again by the next owner."""
        if not self._commits:
            return
        offsets = [TopicPartition(self._topic, number, offset) for number, offset in self._commits.items()]
        try:
            results = self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            if not self._said_uncommitted:
                self._said_uncommitted = True
                self._report(
                    f"Offsets of topic {self._topic} were not committed; the commit is retried: {error.args[0].str()}"
                )
            return
        self._said_uncommitted = False
        for result in results or []:
            if result.error is None:
                self._commits.pop(result.partition, None)

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        starts = self._starts_after_all(consumer, partitions) if partitions else []
        for topic_partition in starts:
            name = partition_name(self._topic, topic_partition.partition)
            self._progress[name] = Progress()
            self._partitions[name] = topic_partition.partition
        consumer.incremental_assign(starts)
        if self._paused and starts:
            consumer.pause(starts)

    def _starts_after_all(self, consumer: Consumer, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Return the offsets to begin at, retried until the broker answers: an assignment is not repeated."""

        def problem(error: Exception) -> PenstockError:
            return broker_problem(error.args[0], self._brokers, self._topic, doing=_DOING)

        try:
            return call_with_retries(
                lambda: starting_offsets(consumer, self._topic, partitions, self._mapping, self._report),
                BROKER_OFFSETS,
                when=lambda error: isinstance(error, KafkaException) and error.args[0].code() not in FINAL,
                on_retry=lambda error, *_: self._report(f"{problem(error)} The request for the offsets is retried."),
                stop=self._stop,
            )
        except RetryStopped:
            return []
        except KafkaException as error:
            raise problem(error) from error

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._release(partitions)
        self._commit()
        self._forget(partitions)
        consumer.incremental_unassign(partitions)

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # Another poller has them already: records finished since then are delivered twice.
        self._release(partitions)
        self._forget(partitions)
        consumer.incremental_unassign(partitions)

    def _release(self, partitions: list[TopicPartition]) -> None:
        released = {partition.partition for partition in partitions}
        self._fetched = deque(message for message in self._fetched if message.partition() not in released)
        self._dispatcher.release(frozenset(partition_name(self._topic, partition.partition) for partition in partitions))

    def _forget(self, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            name = partition_name(self._topic, partition.partition)
            self._progress.pop(name, None)
            self._partitions.pop(name, None)
            self._commits.pop(partition.partition, None)

    def _on_error(self, error: KafkaError) -> None:
        if error.code() in FINAL:
            self._fatal = error


def _headers(message: Message) -> list[tuple[str, bytes | None]]:
    pairs: Any = message.headers() or []
    return [(str(pair[0]), pair[1].encode() if isinstance(pair[1], str) else pair[1]) for pair in pairs]
