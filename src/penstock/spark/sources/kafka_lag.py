"""The lag of a Kafka stream, by its own consumer in Spark's JVM: end offsets, and the time of the next record."""

import json
import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pyspark.sql import SparkSession

from penstock.spark.sources.port import PartitionLag

__all__ = ["KafkaLag"]

_log = logging.getLogger(__name__)

_BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
_AGES_EVERY = 1.0  # seconds: the age of unread records costs a fetch
_AGES_OF = 64  # partitions, those that are the most behind
_AFTER_FAILURE = 30.0
_POLL_MS = 500
_END = re.compile(r"([\w.-]+)-(\d+)=(\d+)")


class KafkaLag:
    """A :class:`~penstock.spark.sources.port.LagMeter` over the options ``kafka.*`` of Spark's source.

    End offsets are those at the time of the call. Ages are measured at most once a second, for the 64 partitions that are
    the most behind; between, they grow with the clock, and are not known where the partition was read further.
    """

    def __init__(self, spark: SparkSession, options: Mapping[str, str], *, clock: Callable[[], float] = time.time) -> None:
        self._jvm: Any = spark._jvm
        self._options = {name.removeprefix("kafka."): value for name, value in options.items() if name.startswith("kafka.")}
        self._clock = clock
        self._consumer: Any = None
        self._partitions: dict[tuple[str, int], Any] = {}
        self._oldest: dict[tuple[str, int], tuple[int, float]] = {}  # next offset, time of its record
        self._next_ages = self._next_try = 0.0

    def measure(self, end: str) -> Sequence[PartitionLag]:
        """See :class:`~penstock.spark.sources.port.LagMeter`."""
        now = self._clock()
        if now < self._next_try:
            return ()
        read = {(topic, int(part)): int(at) for topic, parts in json.loads(end).items() for part, at in parts.items()}
        try:
            ends = self._ends(read)
            behind = {where: max(0, last - read[where]) for where, last in ends.items() if where in read}
            self._measure_ages(read, behind, now)
        except Exception as error:  # noqa: BLE001 - of the broker, or of the JVM; the batch is committed in any case
            _log.debug("the lag cannot be measured: %s", error)
            self._next_try = now + _AFTER_FAILURE
            self.close()
            return ()
        return [
            PartitionLag(topic=where[0], partition=str(where[1]), records=count, seconds=self._age(where, read, count, now))
            for where, count in sorted(behind.items())
        ]

    def close(self) -> None:
        """See :class:`~penstock.spark.sources.port.LagMeter`."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            with suppress(Exception):
                consumer.close(self._jvm.java.time.Duration.ofMillis(0))

    def _age(self, where: tuple[str, int], read: Mapping[tuple[str, int], int], behind: int, now: float) -> float | None:
        if not behind:
            return 0.0
        oldest = self._oldest.get(where)
        # What was read past since the measurement makes it void.
        return round(max(0.0, now - oldest[1]), 3) if oldest is not None and oldest[0] == read[where] else None

    def _ends(self, read: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
        if self._consumer is None:
            self._consumer = self._open()
        if not self._partitions.keys() >= read.keys():
            make = self._jvm.org.apache.kafka.common.TopicPartition
            self._partitions |= {where: make(*where) for where in read if where not in self._partitions}
        partitions = self._jvm.java.util.ArrayList()
        for where in read:
            partitions.add(self._partitions[where])
        # One call for the whole map: {orders-0=120, orders-1=98}.
        text = self._consumer.endOffsets(partitions).toString()
        return {(topic, int(part)): int(offset) for topic, part, offset in _END.findall(text)}

    def _measure_ages(self, read: Mapping[tuple[str, int], int], behind: Mapping[tuple[str, int], int], now: float) -> None:
        """Read the next record of the partitions that are behind."""
        lagging = sorted((where for where, count in behind.items() if count), key=lambda where: -behind[where])[:_AGES_OF]
        stale = [where for where in lagging if self._oldest.get(where, (-1, 0.0))[0] != read[where]]
        if not stale or now < self._next_ages:
            return
        self._next_ages = now + _AGES_EVERY
        partitions = self._jvm.java.util.ArrayList()
        for where in stale:
            partitions.add(self._partitions[where])
        self._consumer.assign(partitions)
        for where in stale:
            self._consumer.seek(self._partitions[where], read[where])
        deadline, waiting = time.monotonic() + _POLL_MS / 1000, set(stale)
        while waiting and time.monotonic() < deadline:
            polled = self._consumer.poll(self._jvm.java.time.Duration.ofMillis(_POLL_MS // 5))
            for where in list(waiting):
                records = polled.records(self._partitions[where])
                if not records.isEmpty():
                    self._oldest[where] = (read[where], records.get(0).timestamp() / 1000)
                    waiting.discard(where)

    def _open(self) -> Any:
        settings = self._jvm.java.util.HashMap()
        for name, value in self._options.items():
            settings.put(name, value)
        own = {
            "key.deserializer": _BYTES,
            "value.deserializer": _BYTES,
            "enable.auto.commit": "false",
            # The first records of a partition are enough; Kafka returns one batch at least.
            "max.partition.fetch.bytes": "1",
            "max.poll.records": "1000",
            "fetch.max.wait.ms": "50",
            # The batch is committed, and the next one waits for the answer.
            "default.api.timeout.ms": "3000",
            "request.timeout.ms": "3000",
        }
        for name, value in own.items():
            settings.put(name, value)
        return self._jvm.org.apache.kafka.clients.consumer.KafkaConsumer(settings)
