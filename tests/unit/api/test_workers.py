"""Work on threads: bounded, and together where it was gathered."""

import asyncio
import threading

import pytest

from penstock.api import workers as module
from penstock.api.aws.errors import Throttled
from penstock.api.workers import Gathering, Workers


@pytest.fixture
def workers():
    made = Workers(4, name="test")
    yield made
    made.close()


class Held:
    """Work that notes what it is given together and goes on when it is told to."""

    def __init__(self):
        self.calls = []
        self.entered = threading.Semaphore(0)
        self.go = threading.Event()

    def __call__(self, items):
        self.calls.append(list(items))
        self.entered.release()
        assert self.go.wait(30)
        return [ValueError(item) if item < 0 else item * 10 for item in items]


async def entered(held):
    await asyncio.to_thread(held.entered.acquire)


def test_what_comes_while_others_are_worked_on_goes_together(workers):
    async def scenario():
        held = Held()
        gathering = Gathering(workers, held)
        asked = [asyncio.ensure_future(gathering.run(1))]
        await entered(held)
        asked += [asyncio.ensure_future(gathering.run(item)) for item in range(2, 9)]
        # They do not wait for ever behind one that takes long.
        await entered(held)
        held.go.set()
        return await asyncio.gather(*asked), held.calls

    answers, calls = asyncio.run(scenario())
    assert answers == [item * 10 for item in range(1, 9)]
    assert calls == [[1], [2, 3, 4, 5, 6, 7, 8]]


def test_those_answered_together_that_ask_again_go_together(workers, monkeypatch):
    monkeypatch.setattr(module, "_GATHERING", 0.5)
    calls = []

    def work(items):
        calls.append(len(items))
        return items

    async def client(gathering, number):
        await gathering.run(number)
        # A network lies between: some come back sooner than others.
        for _ in range(3 * number):
            await asyncio.sleep(0)
        return await gathering.run(number)

    async def scenario():
        gathering = Gathering(workers, work)
        return await asyncio.gather(*(client(gathering, number) for number in range(8)))

    assert asyncio.run(scenario()) == list(range(8))
    assert calls == [8, 8]


def test_each_gets_its_own_error(workers):
    async def scenario():
        held = Held()
        held.go.set()
        gathering = Gathering(workers, held)
        return await asyncio.gather(*(gathering.run(item) for item in (1, -1, 2)), return_exceptions=True)

    one, refused, two = asyncio.run(scenario())
    assert (one, two) == (10, 20)
    assert isinstance(refused, ValueError)


@pytest.mark.parametrize("work", [lambda _: 1 / 0, lambda _: []], ids=["raises", "short"])
def test_work_that_breaks_leaves_nobody_waiting(workers, work):
    async def scenario():
        gathering = Gathering(workers, work)
        first = await asyncio.gather(*(gathering.run(item) for item in range(3)), return_exceptions=True)
        return first, await asyncio.gather(gathering.run(1), return_exceptions=True)

    first, [later] = asyncio.run(asyncio.wait_for(scenario(), 30))
    assert all(isinstance(answer, ArithmeticError | ValueError) for answer in [*first, later])


def test_one_that_gave_up_does_not_disturb_the_others(workers):
    async def scenario():
        held = Held()
        gathering = Gathering(workers, held)
        asked = [asyncio.ensure_future(gathering.run(item)) for item in (1, 2, 3)]
        await entered(held)
        asked[1].cancel()
        await asyncio.sleep(0)
        held.go.set()
        return await asyncio.gather(*asked, return_exceptions=True)

    one, gone, three = asyncio.run(scenario())
    assert (one, three) == (10, 30)
    assert isinstance(gone, asyncio.CancelledError)


def test_too_many_that_wait_are_told_to_slow_down(workers, monkeypatch):
    monkeypatch.setattr(module, "_MAX_WAITING", 2)
    monkeypatch.setattr(module, "_RUNS", 1)

    async def scenario():
        held = Held()
        gathering = Gathering(workers, held)
        asked = [asyncio.ensure_future(gathering.run(1))]
        await entered(held)
        asked += [asyncio.ensure_future(gathering.run(item)) for item in (2, 3)]
        await asyncio.sleep(0)
        with pytest.raises(Throttled):
            await gathering.run(4)
        held.go.set()
        return await asyncio.gather(*asked)

    assert asyncio.run(scenario()) == [10, 20, 30]


def test_closing_leaves_nobody_waiting():
    async def scenario():
        workers = Workers(1, name="test")
        held = Held()
        gathering = Gathering(workers, held)
        running = asyncio.ensure_future(gathering.run(1))
        await entered(held)
        queued = asyncio.ensure_future(gathering.run(2))
        await asyncio.sleep(0)
        closing = asyncio.create_task(asyncio.to_thread(workers.close))
        held.go.set()
        answers = await asyncio.gather(running, queued, return_exceptions=True)
        await closing
        return answers

    first, second = asyncio.run(asyncio.wait_for(scenario(), 30))
    assert first == 10
    # It was taken before the threads closed, or after: it hears of it either way.
    assert second == 20 or isinstance(second, asyncio.CancelledError | RuntimeError)
