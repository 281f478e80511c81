"""Reads the last records of a topic without a consumer group's offsets and without waiting for new ones."""

import time
from collections.abc import Iterator, Mapping, Sequence
from uuid import uuid4

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from penstock.client.broker import FINAL, BrokerSettings, broker_problem
from penstock.errors import EnvironmentProblem, InvalidInput

__all__ = ["last_records", "spread"]

_DOING = "read"
_BATCH = 1_000


def last_records(
    broker: BrokerSettings, topic: str, count: int, *, partitions: Sequence[int] | None = None
) -> Iterator[Message]:
    """Yield at most ``count`` records, the last ones of each of ``partitions`` (default: all), spread evenly over them.

    A partition's end is the one it has now. Compaction and transactions leave gaps: then there are fewer records. Raises
    :class:`InvalidInput` for a partition that does not exist, and :class:`EnvironmentProblem` or
    :class:`~penstock.errors.AccessDenied` if the broker returns nothing for ``broker.timeout_seconds``.
    """
    tail = _Tail(broker, topic)
    try:
        yield from tail.records(count, partitions)
    finally:
        tail.close()


def spread(count: int, sizes: Mapping[int, int]) -> dict[int, int]:
    """Return how many of ``count`` records to read from each partition; large ones make up for small ones."""
    shares: dict[int, int] = {}
    remaining = count
    for index, (partition, size) in enumerate(sorted(sizes.items(), key=lambda item: (item[1], item[0]))):
        shares[partition] = min(size, remaining // (len(sizes) - index))
        remaining -= shares[partition]
    return shares


class _Tail:
    def __init__(self, broker: BrokerSettings, topic: str) -> None:
        self._broker = broker
        self._topic = topic
        self._error: KafkaError | None = None
        config = broker.client_config() | {
            # Partitions are assigned by hand: librdkafka requires a group name and does not use it.
            "group.id": f"penstock-schema-check-{uuid4().hex}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "allow.auto.create.topics": False,
            "error_cb": self._on_error,
            "log_level": 0,
        }
        try:
            self._kafka = Consumer(config)
        except KafkaException as error:
            raise InvalidInput(f"The Kafka client refuses its settings: {error.args[0].str()}") from None

    def close(self) -> None:
        self._kafka.close()

    def records(self, count: int, partitions: Sequence[int] | None) -> Iterator[Message]:
        bounds = {number: self._bounds(number) for number in self._partitions(partitions)}
        shares = spread(count, {number: end - start for number, (start, end) in bounds.items()})
        ends = {number: bounds[number][1] for number, share in shares.items() if share}
        if not ends:
            return
        self._kafka.assign([TopicPartition(self._topic, number, end - shares[number]) for number, end in ends.items()])
        heard = time.monotonic()
        while ends:
            batch = self._kafka.consume(_BATCH, 0.5)
            if batch:
                heard = time.monotonic()
            elif time.monotonic() - heard > self._broker.timeout_seconds:
                raise self._silence(f"it returned no record for {self._broker.timeout_seconds:.0f} s")
            for message in batch:
                yield from self._one(message, ends)

    def _one(self, message: Message, ends: dict[int, int]) -> Iterator[Message]:
        error, number, offset = message.error(), message.partition(), message.offset()
        if error is not None:
            if error.code() != KafkaError._PARTITION_EOF:
                raise broker_problem(error, self._broker.brokers, self._topic, doing=_DOING)
            ends.pop(number if number is not None else -1, None)
        elif number in ends and offset is not None:
            if offset < ends[number]:
                yield message
            if offset + 1 >= ends[number]:
                del ends[number]

    def _partitions(self, requested: Sequence[int] | None) -> Sequence[int]:
        existing = self._metadata()
        if requested is None:
            return existing
        missing = sorted(set(requested) - set(existing))
        if missing:
            raise InvalidInput(
                f"Topic {self._topic} has no partition {missing[0]}.",
                remedy=f"It has the partitions 0 to {len(existing) - 1}.",
            )
        return sorted(set(requested))

    def _metadata(self) -> list[int]:
        deadline = time.monotonic() + self._broker.timeout_seconds
        while True:
            try:
                topics = self._kafka.list_topics(self._topic, timeout=max(0.1, min(1.0, deadline - time.monotonic())))
            except KafkaException as error:
                problem: KafkaError = error.args[0]
            else:
                about = topics.topics[self._topic]
                if about.error is None:
                    return sorted(about.partitions)
                raise broker_problem(about.error, self._broker.brokers, self._topic, doing=_DOING)
            self._kafka.poll(0)
            if self._error is not None and self._error.code() in FINAL:
                problem = self._error
            if problem.code() in FINAL or time.monotonic() > deadline:
                raise broker_problem(problem, self._broker.brokers, self._topic, doing=_DOING)

    def _bounds(self, number: int) -> tuple[int, int]:
        try:
            watermark_offsets = self._kafka.get_watermark_offsets(
                TopicPartition(self._topic, number), timeout=self._broker.timeout_seconds
            )
        except KafkaException as error:
            raise broker_problem(error.args[0], self._broker.brokers, self._topic, doing=_DOING) from None
        if watermark_offsets is None:
            raise self._silence(f"it did not return the offsets of partition {number} in time")
        return watermark_offsets[0], watermark_offsets[1]

    def _silence(self, what: str) -> EnvironmentProblem:
        return EnvironmentProblem(
            f"The broker at {self._broker.brokers} does not answer for topic {self._topic}: {what}.",
            remedy="Check its health, or raise --timeout.",
        )

    def _on_error(self, error: KafkaError) -> None:
        if self._error is None or self._error.code() not in FINAL:
            self._error = error
