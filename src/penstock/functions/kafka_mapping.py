"""A Kafka mapping at work: pollers of one consumer group, as many as the lag asks for."""

import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from penstock.client.broker import NO_TOPIC, broker_problem
from penstock.functions.account import Account
from penstock.functions.crew import Crew
from penstock.functions.kafka_poller import KafkaPoller
from penstock.functions.model import KafkaSource, SourceMapping

__all__ = ["GroupWatch", "KafkaMapping", "wanted_pollers"]

_CALL = 10.0  # seconds for a call of the broker
_BATCHES = 10  # that a poller may be behind before another one helps
_CALM = 3  # looks in a row at little lag before a poller ends


def wanted_pollers(lag: int, *, batch_size: int, now: int, bounds: tuple[int, int], partitions: int, calm: int) -> int:
    """How many pollers there should be for a ``lag`` (records), with ``now`` at work and ``bounds`` on their number.

    More at once where the lag asks for them, never more than ``partitions``; one less where the lag has been below what
    the fewer could do for ``calm`` looks.
    """
    least, most = bounds[0], max(bounds[0], min(bounds[1], partitions))
    wanted = max(least, min(most, math.ceil(lag / (batch_size * _BATCHES))))
    if wanted >= now:
        return wanted
    return max(least, now - 1) if calm >= _CALM or now > most else now


class GroupWatch:
    """Reads a group's offsets without being in it."""

    def __init__(self, config: Mapping[str, Any], group: str, topic: str) -> None:
        self._topic = topic
        self._brokers = str(config["bootstrap.servers"])
        quiet = {**config, "log_level": 0}
        self._admin = AdminClient(quiet)
        self._consumer = Consumer({**quiet, "group.id": group, "enable.auto.commit": False})

    def partitions(self) -> list[int]:
        """The topic's partitions; none where it does not exist yet. Raises where no broker answers."""
        try:
            about = self._consumer.list_topics(self._topic, timeout=_CALL).topics[self._topic]
        except KafkaException as error:
            raise broker_problem(error.args[0], self._brokers, self._topic, doing="read") from None
        if about.error is not None:
            if about.error.code() in NO_TOPIC:
                return []
            raise broker_problem(about.error, self._brokers, self._topic, doing="read")
        return sorted(about.partitions)

    def ends(self) -> dict[int, int]:
        """The offset behind the last record of each partition."""
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked = {TopicPartition(self._topic, number): latest for number in self.partitions()}
        if not asked:
            return {}
        try:
            answers = self._admin.list_offsets(asked, request_timeout=_CALL)
            return {each.partition: future.result().offset for each, future in answers.items()}
        except KafkaException as error:
            raise broker_problem(error.args[0], self._brokers, self._topic, doing="read") from None

    def committed(self, partitions: list[int]) -> dict[int, int]:
        """What the group has committed of ``partitions``."""
        try:
            found = self._consumer.committed([TopicPartition(self._topic, each) for each in partitions], timeout=_CALL)
        except KafkaException as error:
            raise broker_problem(error.args[0], self._brokers, self._topic, doing="read") from None
        return {each.partition: each.offset for each in found if each.offset >= 0}

    def close(self) -> None:
        """Let go of the connections."""
        self._consumer.close()


class KafkaMapping:
    """Runs the pollers of one mapping. ``make_poller`` makes one; ``scale_seconds`` lie between two looks at the lag.

    With ``once`` it ends when the group has committed what the topic held at the start.
    """

    def __init__(
        self,
        mapping: SourceMapping,
        config: Mapping[str, Any],
        make_poller: Callable[[], KafkaPoller],
        account: Account,
        *,
        say: Callable[[str], None],
        once: bool = False,
        scale_seconds: float = 5.0,
    ) -> None:
        assert isinstance(mapping.source, KafkaSource)
        self._mapping = mapping
        self._source = mapping.source
        self._config = config
        self._make_poller = make_poller
        self._account = account
        self._say = say
        self._once = once
        self._scale_seconds = scale_seconds

    def run(self, stop: threading.Event) -> None:
        """Poll until ``stop`` is set, then end in good order. Raises the problem of a poller that ended by itself."""
        watch = GroupWatch(self._config, self._mapping.group, self._source.topic)
        crew: Crew[KafkaPoller] = Crew("poller")
        try:
            ends = watch.ends() if self._once else {}
            for _ in range(self._source.pollers[0]):
                crew.start(self._make_poller())
            self._supervise(watch, crew, ends, stop)
        finally:
            crew.stop()
            watch.close()
        crew.check()

    def _supervise(self, watch: GroupWatch, crew: Crew[KafkaPoller], ends: dict[int, int], stop: threading.Event) -> None:
        calm, looked = 0, time.monotonic()
        while not stop.wait(0.2):
            crew.check()
            if self._once and _reached(watch.committed(list(ends)), ends):
                return
            if time.monotonic() - looked < self._scale_seconds:
                continue
            looked = time.monotonic()
            highs = watch.ends()
            committed = watch.committed(list(highs))
            lag = sum(max(0, high - committed.get(number, high)) for number, high in highs.items())
            self._account.lag(lag)
            calm = calm + 1 if lag <= self._mapping.batch_size * max(1, len(crew) - 1) else 0
            wanted = wanted_pollers(
                lag,
                batch_size=self._mapping.batch_size,
                now=len(crew),
                bounds=self._source.pollers,
                partitions=len(highs),
                calm=calm,
            )
            if wanted != len(crew):
                self._say(f"{self._source.title}: {lag:,} records behind, {len(crew)} pollers become {wanted}.")
                calm = 0
            while len(crew) < wanted:
                crew.start(self._make_poller())
            while len(crew) > wanted:
                crew.end_one()


def _reached(committed: Mapping[int, int], ends: Mapping[int, int]) -> bool:
    return all(committed.get(number, 0) >= end for number, end in ends.items())
