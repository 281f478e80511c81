"""A batch dispatcher with a function that the test answers for: what is done, discarded, kept and given back, and when."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock.functions.delivery.dispatcher import BatchDispatcher
from penstock.functions.delivery.steps import Discard
from penstock.functions.environment import Result
from penstock.functions.errors import DestinationUnavailable
from penstock.functions.kafka.event import KafkaOrigin, kafka_record
from penstock.functions.mapping_metrics import MappingMetrics
from penstock.functions.model import EventSourceMapping, FailurePolicy, KafkaSource
from penstock.functions.patterns import compile_pattern
from penstock.functions.records import Record
from penstock.retries import RetryPolicy


class FakeEnvironment:
    """Holds an event until the test answers."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.result: Result | None = None
        self.busy = False

    def begin(self, event: bytes) -> str:
        assert not self.busy
        self.busy, self.result = True, None
        self.events.append(json.loads(event))
        return "id"

    def poll(self, wait: float = 0.0) -> Result | None:
        if self.result is not None:
            self.busy = False
        return self.result

    def answer(self, error: str | None = None) -> None:
        self.result = Result(request_id="id", error={"errorType": error} if error else None)

    def close(self) -> None:
        self.busy = False


class FakeDestination:
    """Accepts discards once a test enables it."""

    def __init__(self) -> None:
        self.works = True
        self.taken: list[Discard] = []

    def put(self, discard: Discard) -> None:
        if not self.works:
            raise DestinationUnavailable("no room")
        self.taken.append(discard)

    def close(self) -> None:
        pass


class World:
    """A dispatcher and what surrounds it."""

    def __init__(self, folder: Path, **mapping: Any) -> None:
        self.environment = FakeEnvironment()
        self.destination = FakeDestination()
        self.metrics_file = folder / "metrics.jsonl"
        self.metrics = MappingMetrics("id", self.metrics_file)
        self.done: list[int] = []
        self.reported: list[str] = []
        source = KafkaSource(topic="t", brokers="b:9092")
        given = {
            "batch_size": 2,
            "window": 0.0,
            "policy": FailurePolicy(retries=0, backoff=RetryPolicy(pauses=(0.0,))),
            **mapping,
        }
        self.dispatcher = BatchDispatcher(
            EventSourceMapping(source=source, function_name="f", **given),
            KafkaOrigin(bootstrap_servers="b:9092"),
            self.environment,  # type: ignore[arg-type]
            self.metrics,
            destination=self.destination,
            on_done=self._on_done,
            report=self.reported.append,
        )

    def _on_done(self, records: Sequence[Record]) -> None:
        self.done += [record.position for record in records]

    def offer(self, *positions: int, partition: int = 0, value: bytes = b"v") -> None:
        for position in positions:
            self.dispatcher.offer(
                kafka_record(
                    topic="t",
                    partition=partition,
                    offset=position,
                    timestamp_ms=0,
                    timestamp_type="CREATE_TIME",
                    key=None,
                    value=value,
                )
            )

    def answer(self, error: str | None = None) -> None:
        self.environment.answer(error)
        self.dispatcher.advance()

    @property
    def in_hand(self) -> list[int]:
        """The offsets of the last event."""
        return [item["offset"] for group in self.environment.events[-1]["records"].values() for item in group]

    def holds(self) -> bool:
        """Whether the counts add up, once nothing is in hand."""
        totals = self.metrics.totals()
        ends = ("FilteredOutEventCount", "DeliveredEventCount", "DroppedEventCount", "ReleasedEventCount")
        return totals["PolledEventCount"] == sum(totals[name] for name in ends)


@pytest.fixture
def world(tmp_path: Path) -> Callable[..., World]:
    return lambda **mapping: World(tmp_path, **mapping)


def test_a_batch_is_settled_after_its_success_and_not_before(world: Any) -> None:
    here = world()
    here.offer(1, 2, 3)
    here.dispatcher.advance()
    assert here.in_hand == [1, 2]
    assert here.done == []
    here.answer()
    assert here.done == [1, 2]
    assert here.in_hand == [3]
    here.answer()
    assert here.done == [1, 2, 3]
    assert not here.dispatcher.busy
    assert here.holds()


def test_discarded_records_are_settled_once_they_are_stored(world: Any, monkeypatch: Any) -> None:
    here = world()
    here.destination.works = False
    here.offer(1, 2)
    here.dispatcher.advance()
    here.answer("ValueError")
    assert here.done == []
    assert here.dispatcher.busy
    assert "stay uncommitted" in here.reported[-1]
    here.destination.works = True
    monkeypatch.setattr("time.monotonic", lambda: 1e12)
    here.dispatcher.advance()
    assert here.done == [1, 2]
    assert [record.position for record in here.destination.taken[0].records] == [1, 2]
    assert here.metrics.totals()["OnFailureDestinationDeliveredEventCount"] == 2
    assert here.holds()


def test_a_stop_lets_the_invocation_in_hand_count_and_begins_no_other(world: Any) -> None:
    here = world()
    here.offer(1, 2, 3, 4)
    here.dispatcher.advance()
    here.dispatcher.stop()
    assert not here.dispatcher.finished
    here.answer()
    assert here.dispatcher.finished
    assert here.done == [1, 2]
    assert len(here.environment.events) == 1
    assert here.metrics.totals()["ReleasedEventCount"] == 2
    assert here.holds()


def test_a_failure_after_a_stop_is_left_to_the_next_run(world: Any) -> None:
    here = world(policy=FailurePolicy(bisect=True))
    here.offer(1, 2)
    here.dispatcher.advance()
    here.dispatcher.stop()
    here.answer("ValueError")
    assert here.dispatcher.finished
    assert here.done == []
    assert here.holds()


def test_a_partition_that_leaves_takes_its_records_along_after_the_answer(world: Any) -> None:
    here = world(batch_size=4)
    here.offer(1, 2)
    here.offer(7, 8, partition=1)
    here.dispatcher.advance()
    here.offer(3)
    here.offer(9, partition=1)
    here.environment.answer()
    here.dispatcher.release(frozenset({"t-0"}))
    assert here.done == [1, 2, 7, 8], "what the function did is done"
    here.dispatcher.advance()
    assert here.in_hand == [9]
    here.answer()
    assert here.metrics.totals()["ReleasedEventCount"] == 1
    assert here.holds()


def test_a_partition_that_leaves_after_a_failure_leaves_the_others_to_be_retried(world: Any) -> None:
    here = world(batch_size=4, policy=FailurePolicy(backoff=RetryPolicy(pauses=(0.0,))))
    here.offer(1, 2)
    here.offer(7, 8, partition=1)
    here.dispatcher.advance()
    here.environment.answer("ValueError")
    here.dispatcher.release(frozenset({"t-0"}))
    assert here.done == []
    here.dispatcher.advance()
    assert here.in_hand == [7, 8]
    here.answer()
    assert here.done == [7, 8]
    assert here.holds()


def test_filtered_records_are_settled_at_once(world: Any) -> None:
    here = world(patterns=(compile_pattern({"value": {"a": [1]}}),))
    here.offer(1, value=b'{"a": 2}')
    here.offer(2, value=b'{"a": 1}')
    assert here.done == [1]
    here.dispatcher.advance()
    assert here.in_hand == [2]
    here.answer()
    assert here.holds()


def test_a_record_that_is_too_large_for_any_event_is_discarded(world: Any) -> None:
    here = world()
    here.offer(1, value=b"x" * 5_000_000)
    here.offer(2)
    here.dispatcher.advance()
    assert here.destination.taken[0].condition == "MaximumPayloadSizeExceeded"
    assert here.done == [1]
    assert here.in_hand == [2]
    here.answer()
    assert here.holds()


def test_the_metrics_have_a_line_with_the_last_counts(world: Any) -> None:
    here = world()
    here.offer(1)
    here.dispatcher.advance()
    here.answer()
    here.metrics.close()
    last = json.loads(here.metrics_file.read_text().splitlines()[-1])
    assert (last["mapping"], last["PolledEventCount"], last["DeliveredEventCount"]) == ("id", 1, 1)
