"""Short statements do not wait for long ones: two classes of places, and queries that begin again."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from penstock.query.execution.children import ChildPool
from penstock.query.execution.process import StatementProcess
from penstock.query.execution.scheduler import StatementScheduler
from penstock.query.service import QueryService, StatementRequest
from penstock.query.settings import QuerySettings
from penstock.retries import wait_until
from tests.unit.query.lake_of_flights import Lake, finished, service_over
from tests.unit.query.test_query_children import ENDLESS


@dataclass(eq=False)
class Job:
    """Runs until it is released or preempted."""

    restartable: bool = True
    running_for: float = 0.0
    started: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    preempted: int = 0
    lowered: int = 0
    runs: int = 0

    def lower_priority(self) -> None:
        self.lowered += 1

    def preempt(self) -> None:
        self.preempted += 1
        self.released.set()

    def work(self) -> bool:
        self.runs += 1
        self.started.set()
        before = self.preempted
        assert self.released.wait(10)
        self.released.clear()
        return self.preempted == before

    def end(self) -> None:
        self.started.clear()
        self.released.set()


@contextmanager
def scheduler(workers: int) -> Iterator[StatementScheduler[Job]]:
    made: StatementScheduler[Job] = StatementScheduler(workers, Job.work)
    yield made
    made.close()


def test_a_long_statement_goes_on_in_a_place_for_long_ones_if_one_is_free() -> None:
    with scheduler(1) as places:
        long, short = Job(), Job()
        places.submit(long)
        assert long.started.wait(5)
        places.submit(short)
        places.make_room()
        assert not short.started.is_set(), "a short statement keeps its place"
        long.running_for = 2.0
        places.make_room()
        assert short.started.wait(5)
        assert (long.preempted, long.runs) == (0, 1)
        short.end()
        long.end()


def test_a_long_statement_lets_short_ones_go_first() -> None:
    with scheduler(2) as places:
        long, short = Job(), Job()
        places.submit(long)
        assert long.started.wait(5)
        long.running_for = 0.3
        places.make_room()
        assert long.lowered == 0, "nothing else runs"
        places.submit(short)
        assert short.started.wait(5)
        places.make_room()
        assert (long.lowered, short.lowered) == (1, 0)
        short.end()
        long.end()


def test_a_statement_moves_to_a_place_for_long_ones_before_it_would_be_preempted() -> None:
    with scheduler(1) as places:
        long, short = Job(), Job()
        places.submit(long)
        assert long.started.wait(5)
        places.submit(short)
        long.running_for = 0.3
        places.make_room()
        assert short.started.wait(5)
        assert (long.preempted, long.lowered) == (0, 1)
        short.end()
        long.end()


def test_a_query_begins_again_where_all_places_are_taken_and_a_change_does_not() -> None:
    with scheduler(1) as places:
        first, change, query, short = Job(), Job(restartable=False), Job(), Job()
        for job in (first, change):
            places.submit(job)
            places.make_room()
            assert job.started.wait(5)
            job.running_for = 10.0
        places.submit(short)
        places.make_room()
        assert change.preempted == 0
        assert not short.started.is_set()
        change.end()
        assert short.started.wait(5)
        places.submit(query)
        short.end()
        assert query.started.wait(5)
        again = Job()
        places.submit(again)
        query.running_for = 10.0
        places.make_room()
        assert again.started.wait(5)
        query.started.clear()
        assert query.preempted == 1
        first.end()
        assert query.started.wait(5), "it runs again when a place for long ones is free"
        assert query.runs == 2
        query.end()
        again.end()


def test_a_query_that_gave_way_takes_a_place_that_no_other_needs() -> None:
    with scheduler(1) as places:
        long, slow, short = Job(), Job(), Job()
        places.submit(long)
        assert long.started.wait(5)
        long.running_for = 10.0
        places.submit(slow)
        places.make_room()
        assert slow.started.wait(5)
        slow.started.clear()
        slow.running_for = 10.0
        places.submit(short)
        places.make_room()
        assert short.started.wait(5)
        assert (slow.preempted, long.preempted) == (1, 0)
        short.end()
        assert slow.started.wait(5), "the places for long ones are still taken"
        slow.end()
        long.end()


@pytest.fixture
def narrow(lake: Lake, settings: QuerySettings, children: ChildPool) -> Iterator[QueryService]:
    made = service_over(lake, replace(settings, workers=1), children)
    yield made
    made.close()


def test_a_short_query_ends_while_more_long_ones_run_than_there_are_workers(narrow: QueryService) -> None:
    long = [narrow.start(StatementRequest(sql=ENDLESS)) for _ in range(3)]
    short = narrow.start(StatementRequest(sql="SELECT 1"))
    assert finished(narrow, short).state == "SUCCEEDED"
    assert [narrow.get(statement_id).state for statement_id in long] == ["RUNNING"] * 3
    for statement_id in long:
        narrow.stop(statement_id)
    assert [finished(narrow, statement_id).state for statement_id in long] == ["CANCELLED"] * 3


def test_time_spent_waiting_for_a_processor_does_not_make_a_statement_long(
    narrow: QueryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = [0.0]
    monkeypatch.setattr(StatementProcess, "cpu_seconds", lambda _: used[0])
    statement_id = narrow.start(StatementRequest(sql=ENDLESS))
    run = narrow._watch.find(statement_id)
    assert run is not None
    wait_until(lambda: run.running_for > 0, seconds=240, every=0.01)
    starved = run.running_for
    used[0] = 1.0
    assert run.running_for >= 9 * starved
    narrow.stop(statement_id)
    assert finished(narrow, statement_id).state == "CANCELLED"
