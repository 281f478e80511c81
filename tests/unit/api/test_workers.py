"""Work on threads: bounded, and in batches where requests are coalesced."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from penstock.api import workers as module
from penstock.api.errors import Throttled
from penstock.api.workers import RequestCoalescer, Workers


@pytest.fixture
def workers() -> Iterator[Workers]:
    made = Workers(4, name="test")
    yield made
    made.close()


class Held:
    """Work that records its batches and continues when the test lets it."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []
        self.entered = threading.Semaphore(0)
        self.go = threading.Event()

    def __call__(self, items: Sequence[int]) -> list[Any]:
        self.calls.append(list(items))
        self.entered.release()
        assert self.go.wait(30)
        return [ValueError(item) if item < 0 else item * 10 for item in items]


async def entered(held: "Desk | Held") -> None:
    await asyncio.to_thread(held.entered.acquire)


def test_items_that_arrive_during_a_run_are_collected(workers: Workers) -> None:
    async def scenario() -> Any:
        held = Held()
        coalescer: RequestCoalescer[int, Any] = RequestCoalescer(workers, held)
        asked = [asyncio.ensure_future(coalescer.run(1))]
        await entered(held)
        asked += [asyncio.ensure_future(coalescer.run(item)) for item in range(2, 9)]
        # They do not wait forever for a slow one.
        await entered(held)
        held.go.set()
        return await asyncio.gather(*asked), held.calls

    answers, calls = asyncio.run(scenario())
    assert answers == [item * 10 for item in range(1, 9)]
    assert calls == [[1], [2, 3, 4, 5, 6, 7, 8]]


def test_clients_that_were_answered_together_are_collected_again(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LINGER", 0.5)
    calls = []

    def work(items: Sequence[int]) -> Sequence[int]:
        calls.append(len(items))
        return items

    async def client(coalescer: RequestCoalescer[int, int], number: int) -> Any:
        await coalescer.run(number)
        # Like over a network, some come back sooner than others.
        for _ in range(3 * number):
            await asyncio.sleep(0)
        return await coalescer.run(number)

    async def scenario() -> Any:
        coalescer: RequestCoalescer[int, int] = RequestCoalescer(workers, work)
        return await asyncio.gather(*(client(coalescer, number) for number in range(8)))

    assert asyncio.run(scenario()) == list(range(8))
    assert calls == [8, 8]


def test_each_gets_its_own_error(workers: Workers) -> None:
    async def scenario() -> Any:
        held = Held()
        held.go.set()
        coalescer: RequestCoalescer[int, Any] = RequestCoalescer(workers, held)
        return await asyncio.gather(*(coalescer.run(item) for item in (1, -1, 2)), return_exceptions=True)

    one, refused, two = asyncio.run(scenario())
    assert (one, two) == (10, 20)
    assert isinstance(refused, ValueError)


@pytest.mark.parametrize("work", [lambda _: 1 / 0, lambda _: []], ids=["raises", "short"])
def test_an_error_of_work_is_the_error_of_each_item(workers: Workers, work: Callable[..., Any]) -> None:
    async def scenario() -> Any:
        coalescer: RequestCoalescer[int, int] = RequestCoalescer(workers, work)
        first = await asyncio.gather(*(coalescer.run(item) for item in range(3)), return_exceptions=True)
        return first, await asyncio.gather(coalescer.run(1), return_exceptions=True)

    first, [later] = asyncio.run(asyncio.wait_for(scenario(), 30))
    assert all(isinstance(answer, ArithmeticError | ValueError) for answer in [*first, later])


def test_a_cancelled_item_does_not_disturb_others(workers: Workers) -> None:
    async def scenario() -> Any:
        held = Held()
        coalescer: RequestCoalescer[int, Any] = RequestCoalescer(workers, held)
        asked = [asyncio.ensure_future(coalescer.run(item)) for item in (1, 2, 3)]
        await entered(held)
        asked[1].cancel()
        await asyncio.sleep(0)
        held.go.set()
        return await asyncio.gather(*asked, return_exceptions=True)

    one, gone, three = asyncio.run(scenario())
    assert (one, three) == (10, 30)
    assert isinstance(gone, asyncio.CancelledError)


def test_too_many_waiting_items_are_throttled(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_WAITING", 2)
    monkeypatch.setattr(module, "_RUNS", 1)

    async def scenario() -> Any:
        held = Held()
        coalescer: RequestCoalescer[int, Any] = RequestCoalescer(workers, held)
        asked = [asyncio.ensure_future(coalescer.run(1))]
        await entered(held)
        asked += [asyncio.ensure_future(coalescer.run(item)) for item in (2, 3)]
        await asyncio.sleep(0)
        with pytest.raises(Throttled):
            await coalescer.run(4)
        held.go.set()
        return await asyncio.gather(*asked)

    assert asyncio.run(scenario()) == [10, 20, 30]


def test_closing_leaves_no_item_waiting() -> None:
    async def scenario() -> Any:
        workers = Workers(1, name="test")
        held = Held()
        coalescer: RequestCoalescer[int, Any] = RequestCoalescer(workers, held)
        running = asyncio.ensure_future(coalescer.run(1))
        await entered(held)
        queued = asyncio.ensure_future(coalescer.run(2))
        await asyncio.sleep(0)
        closing = asyncio.create_task(asyncio.to_thread(workers.close))
        held.go.set()
        answers = await asyncio.gather(running, queued, return_exceptions=True)
        await closing
        return answers

    first, second = asyncio.run(asyncio.wait_for(scenario(), 30))
    assert first == 10
    # It was taken before the threads closed, or after: it gets an answer in both cases.
    assert second == 20 or isinstance(second, asyncio.CancelledError | RuntimeError)


class Desk:
    """Calls that record that they began, and end when the test lets them."""

    def __init__(self) -> None:
        self.began: list[Any] = []
        self.entered = threading.Semaphore(0)
        self.go = threading.Event()

    def __call__(self, name: str) -> str:
        self.began.append(name)
        self.entered.release()
        assert self.go.wait(30)
        return name

    def ask(self, workers: Workers, *names: str) -> list[Any]:
        """A call of each; its owner is the name's first letter."""
        return [asyncio.ensure_future(workers.run(self, name, owner=name[0])) for name in names]


def test_others_are_answered_while_one_owner_fills_its_share(workers: Workers) -> None:
    async def scenario() -> Any:
        desk = Desk()
        busy = desk.ask(workers, "a1", "a2", "a3", "a4", "a5", "a6")
        await entered(desk)
        await entered(desk)
        # Two of the four threads are left for others, one after the other here.
        answered = [await workers.run(str.upper, name, owner=name[0]) for name in ("b1", "c1", "b2")]
        began = list(desk.began)
        desk.go.set()
        return answered, began, await asyncio.gather(*busy)

    answered, began, all_of_a = asyncio.run(asyncio.wait_for(scenario(), 30))
    assert answered == ["B1", "C1", "B2"]
    assert sorted(began) == ["a1", "a2"]
    assert all_of_a == ["a1", "a2", "a3", "a4", "a5", "a6"]


def test_waiting_owners_are_served_in_turn() -> None:
    async def scenario() -> Any:
        workers = Workers(1, name="test")
        desk = Desk()
        asked = desk.ask(workers, "a1", "a2", "a3", "a4", "b1", "b2", "c1")
        await entered(desk)
        desk.go.set()
        await asyncio.gather(*asked)
        workers.close()
        return desk.began

    assert asyncio.run(asyncio.wait_for(scenario(), 30)) == ["a1", "a2", "b1", "c1", "a3", "b2", "a4"]


def test_an_owner_with_too_many_waiting_calls_is_throttled_and_others_are_not(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_OF_ONE", 3)
    monkeypatch.setattr(module, "_MAX_WAITING", 4)

    async def scenario() -> Any:
        desk = Desk()
        asked = desk.ask(workers, "a1", "a2", "a3", "a4", "a5", "b1", "b2", "b3")
        for _ in range(4):
            await entered(desk)
        with pytest.raises(Throttled):
            await workers.run(desk, "a6", owner="a")
        # Four calls wait in total: waiting owners cannot add more, an owner without waiting calls can.
        with pytest.raises(Throttled):
            await workers.run(desk, "b4", owner="b")
        asked += desk.ask(workers, "c1")
        await asyncio.sleep(0)
        desk.go.set()
        return await asyncio.gather(*asked)

    assert asyncio.run(asyncio.wait_for(scenario(), 30))[-1] == "c1"


def test_a_cancelled_call_is_not_run() -> None:
    async def scenario() -> Any:
        workers = Workers(1, name="test")
        desk = Desk()
        first, second, third = desk.ask(workers, "a1", "a2", "a3")
        await entered(desk)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        desk.go.set()
        answers = await asyncio.gather(first, third)
        workers.close()
        return answers, desk.began

    assert asyncio.run(asyncio.wait_for(scenario(), 30)) == (["a1", "a3"], ["a1", "a3"])


def test_closed_threads_leave_none_of_an_owner_waiting() -> None:
    async def scenario() -> Any:
        workers = Workers(1, name="test")
        desk = Desk()
        asked = desk.ask(workers, "a1", "a2", "b1")
        await entered(desk)
        closing = asyncio.create_task(asyncio.to_thread(workers.close))
        late = await asyncio.gather(*asked[1:], return_exceptions=True)
        desk.go.set()
        await closing
        with pytest.raises(RuntimeError):
            await workers.run(desk, "c1", owner="c")
        return await asked[0], late

    answered, late = asyncio.run(asyncio.wait_for(scenario(), 30))
    assert answered == "a1"
    assert [type(item) for item in late] == [asyncio.CancelledError, asyncio.CancelledError]
