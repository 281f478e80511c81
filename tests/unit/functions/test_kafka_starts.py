"""Where pollers of one group begin, on a broker of the test's own; the real one is in the integration tests."""

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID, TopicPartition

from penstock.functions.kafka.starts import starting_offsets

TOPIC = "readings"


class Broker:
    """One topic of two partitions, with offsets from 3 to 10, and what a group has committed."""

    def __init__(self, committed: dict[int, int] | None = None) -> None:
        self.offsets = dict(committed or {})

    def list_topics(self, topic: str, timeout: float) -> SimpleNamespace:
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions={0: None, 1: None})})

    def committed(self, places: list[Any], timeout: float) -> list[Any]:
        return [
            TopicPartition(TOPIC, place.partition, self.offsets.get(place.partition, OFFSET_INVALID)) for place in places
        ]

    def get_watermark_offsets(self, place: Any, timeout: float) -> tuple[int, int]:
        return 3, 10

    def offsets_for_times(self, places: list[Any], timeout: float) -> list[Any]:
        return [TopicPartition(TOPIC, place.partition, 7 if place.partition == 0 else -1) for place in places]

    def commit(self, offsets: list[Any], asynchronous: bool) -> None:
        assert not asynchronous
        self.offsets |= {offset.partition: offset.offset for offset in offsets}


def begin(broker: Any, number: int, start: str, said: list[Any] | None = None) -> int:
    mapping: Any = SimpleNamespace(start=start, start_at=1_000)
    (point,) = starting_offsets(
        broker, TOPIC, [TopicPartition(TOPIC, number)], mapping, ([] if said is None else said).append
    )
    return point.offset


@pytest.mark.parametrize(("start", "offsets"), [("TRIM_HORIZON", (3, 3)), ("LATEST", (10, 10)), ("AT_TIMESTAMP", (7, 10))])
def test_two_pollers_of_a_new_group_begin_at_the_starting_position(start: str, offsets: tuple[int, int]) -> None:
    broker = Broker()
    # The second one finds the first one's commits, but its partitions are not added ones.
    assert (begin(broker, 0, start), begin(broker, 1, start)) == offsets
    assert {broker.offsets[0], broker.offsets[1]} == set(offsets)


@pytest.mark.parametrize("start", ["TRIM_HORIZON", "LATEST", "AT_TIMESTAMP"])
def test_a_partition_that_was_added_is_read_from_its_beginning(start: str) -> None:
    assert begin(Broker({0: 8}), 1, start) == 3


def test_a_known_partition_continues_and_reports_lost_offsets() -> None:
    said: list[str] = []
    assert begin(Broker({0: 8}), 0, "LATEST", said) == 8
    assert begin(Broker({0: 1}), 0, "LATEST", said) == 3
    assert said == [
        f"Topic {TOPIC}, partition 0: the offsets 1 to 2 were removed by the topic's retention before they were read."
    ]
