"""Runs a Kafka mapping: pollers of one consumer group, whose number follows the lag."""

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec, TopicMetadata

from penstock.client.broker import FINAL, NO_TOPIC, broker_problem
from penstock.errors import EnvironmentProblem
from penstock.functions.kafka.poller import KafkaPoller
from penstock.functions.mapping_metrics import MappingMetrics
from penstock.functions.model import EventSourceMapping, KafkaSource
from penstock.functions.thread_group import ThreadGroup

__all__ = ["GroupOffsets", "KafkaMapping", "target_pollers"]

_CALL = 10.0  # seconds; the timeout of a call of the broker
_BATCHES = 10  # the lag per poller above which another one starts
_TICK = 0.2  # seconds
_LOW_LOOKS = 3  # checks in a row with a low lag before a poller ends


def target_pollers(lag: int, *, batch_size: int, now: int, bounds: tuple[int, int], partitions: int, low_looks: int) -> int:
    """Return the number of pollers for a ``lag`` (records), with ``now`` running and ``bounds`` of their number.

    It grows at once with the lag, up to ``partitions``. It falls by one after three checks in a row (``low_looks``) in which
    one poller less was enough.
    """
    least, most = bounds[0], max(bounds[0], min(bounds[1], partitions))
    pollers = max(least, min(most, math.ceil(lag / (batch_size * _BATCHES))))
    if pollers >= now:
        return pollers
    return max(least, now - 1) if low_looks >= _LOW_LOOKS or now > most else now


class GroupOffsets:
    """Reads a group's offsets without joining it. Each call raises the errors of :func:`broker_problem`."""

    def __init__(self, config: Mapping[str, Any], group: str, topic: str) -> None:
        self._topic = topic
        self._brokers = str(config["bootstrap.servers"])
        self._refusal: KafkaError | None = None
        quiet = {**config, "log_level": 0, "error_cb": self._on_error}
        self._admin = AdminClient(quiet)
        self._consumer = Consumer({**quiet, "group.id": group, "enable.auto.commit": False})

    def partitions(self) -> list[int]:
        """Return the topic's partitions; empty if it does not exist yet."""
        with self._explained():
            about = self._metadata()
            if about.error is None:
                return sorted(about.partitions)
            if about.error.code() in NO_TOPIC:
                return []
            raise KafkaException(about.error)

    def _metadata(self) -> TopicMetadata:
        """Return the topic's metadata, by short calls, because a refused login is seen only between them."""
        deadline = time.monotonic() + _CALL
        while True:
            try:
                about: TopicMetadata = self._consumer.list_topics(self._topic, timeout=1.0).topics[self._topic]
                return about
            except KafkaException:
                self._consumer.poll(0)
                if self._refusal is not None or time.monotonic() > deadline:
                    raise

    def ends(self) -> dict[int, int]:
        """Return the end offset of each partition."""
        latest = OffsetSpec.latest()
        latest_of = {TopicPartition(self._topic, number): latest for number in self.partitions()}
        if not latest_of:
            return {}
        with self._explained():
            answers = self._admin.list_offsets(latest_of, request_timeout=_CALL)
            return {answer.partition: future.result().offset for answer, future in answers.items()}

    def committed(self, partitions: Iterable[int]) -> dict[int, int]:
        """Return the group's committed offsets of ``partitions``."""
        places = [TopicPartition(self._topic, partition) for partition in partitions]
        if not places:
            return {}
        with self._explained():
            committed = self._consumer.committed(places, timeout=_CALL)
            return {
                topic_partition.partition: topic_partition.offset
                for topic_partition in committed
                if topic_partition.offset >= 0
            }

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except KafkaException as error:
            # A refused login looks like a broker that does not answer; the callback got the reason.
            self._consumer.poll(0)
            raise broker_problem(self._refusal or error.args[0], self._brokers, self._topic, doing="read") from None

    def _on_error(self, error: KafkaError) -> None:
        if error.code() in FINAL:
            self._refusal = error


class KafkaMapping:
    """Runs the pollers of one mapping. ``make_poller`` makes one; the lag is checked every ``scale_seconds``.

    With ``once`` it ends when the group has committed the offsets that the topic had at the start.
    """

    def __init__(
        self,
        mapping: EventSourceMapping,
        config: Mapping[str, Any],
        make_poller: Callable[[], KafkaPoller],
        metrics: MappingMetrics,
        *,
        report: Callable[[str], None],
        once: bool = False,
        scale_seconds: float = 5.0,
    ) -> None:
        assert isinstance(mapping.source, KafkaSource)
        self._mapping = mapping
        self._source = mapping.source
        self._config = config
        self._make_poller = make_poller
        self._metrics = metrics
        self._report = report
        self._once = once
        self._scale_seconds = scale_seconds
        self._low_looks = 0  # checks in a row with a lag for which one poller less is enough
        self._stop = threading.Event()

    def stop(self) -> None:
        """Make :meth:`run` end cleanly."""
        self._stop.set()

    def run(self) -> None:
        """Poll until :meth:`stop`. Raises the error of a poller that ended by itself."""
        group = GroupOffsets(self._config, self._mapping.group, self._source.topic)
        with closing(group), ThreadGroup[KafkaPoller]("poller") as pollers:
            # Before anything is started, so that a wrong broker or login is reported at once.
            ends = group.ends()
            if self._once and not ends:
                raise EnvironmentProblem(
                    f"Topic {self._source.topic} does not exist at {self._config['bootstrap.servers']}.",
                    remedy="Create it, or run without --once to wait for it.",
                )
            for _ in range(self._source.pollers[0]):
                pollers.start(self._make_poller())
            self._supervise(group, pollers, ends)

    def _supervise(self, group: GroupOffsets, pollers: ThreadGroup[KafkaPoller], ends: dict[int, int]) -> None:
        looked, silent = time.monotonic(), False
        while not self._stop.wait(_TICK):
            pollers.check()
            try:
                if self._once and _reached(group.committed(ends), ends):
                    return
                if time.monotonic() - looked >= self._scale_seconds:
                    looked = time.monotonic()
                    self._scale(group, pollers)
                silent = False
            except EnvironmentProblem as error:
                # The pollers' client reconnects by itself.
                if not silent:
                    self._report(f"{error} The pollers wait for it.")
                silent = True

    def _scale(self, group: GroupOffsets, pollers: ThreadGroup[KafkaPoller]) -> None:
        """Check the lag once, and start or end pollers accordingly."""
        highs = group.ends()
        committed = group.committed(highs)
        lag = sum(max(0, high - committed.get(number, high)) for number, high in highs.items())
        self._metrics.lag(lag)
        size, now = self._mapping.batch_size, len(pollers)
        self._low_looks = self._low_looks + 1 if lag <= size * _BATCHES * (now - 1) else 0
        target = target_pollers(
            lag, batch_size=size, now=now, bounds=self._source.pollers, partitions=len(highs), low_looks=self._low_looks
        )
        if target != now:
            self._report(f"{self._source.title}: {lag:,} records behind, {now} pollers become {target}.")
            self._low_looks = 0
        while len(pollers) < target:
            pollers.start(self._make_poller())
        while len(pollers) > target:
            pollers.stop_newest()


def _reached(committed: Mapping[int, int], ends: Mapping[int, int]) -> bool:
    return all(committed.get(number, 0) >= end for number, end in ends.items())
