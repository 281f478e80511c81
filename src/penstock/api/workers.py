"""The threads on which an interface runs what takes longer than the event loop may wait."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from penstock.api.aws.errors import Throttled

__all__ = ["Gathering", "Workers"]

T = TypeVar("T")
R = TypeVar("R")

_RUNS = 8  # of one gathering at a time: a slow item does not hold up all that come after it
_PATIENCE = 0.05  # seconds that items wait behind runs that go on before another one starts
_MAX_GATHERED = 32
_GATHERING = 0.001  # seconds behind a run of several in which what comes is gathered
_MAX_WAITING = 1_000  # requests that wait for a thread before clients are told to slow down


class Workers:
    """A pool of ``threads``, named ``name``, in front of which a bounded number of requests waits."""

    def __init__(self, threads: int, *, name: str) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._waiting = 0

    async def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """What ``work`` returns; :class:`Throttled`, and nothing run, where too many wait."""
        if self._waiting >= _MAX_WAITING:
            raise _throttled()
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Let running work end and start no more."""
        self._threads.shutdown(wait=True, cancel_futures=True)


class Gathering(Generic[T, R]):
    """Items that wait while others are worked on go to a thread together.

    For work that costs less for many at once, such as writes that are committed together, and because a thread that
    answers one request after the other hands the interpreter to the event loop and back for each.

    ``work`` takes items and returns, for each in order, its result or the exception that it is answered with.
    """

    def __init__(self, workers: Workers, work: Callable[[Sequence[T]], Sequence[R | Exception]]) -> None:
        self._workers = workers
        self._work = work
        self._waiting: deque[tuple[T, asyncio.Future[R]]] = deque()
        self._runs: set[asyncio.Task[None]] = set()
        self._relief: asyncio.TimerHandle | None = None

    async def run(self, item: T) -> R:
        """What ``work`` makes of ``item``; :class:`Throttled` where too many wait."""
        if len(self._waiting) >= _MAX_WAITING:
            raise _throttled()
        answer: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer))
        if not self._runs:
            self._start()
        return await answer

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        self._runs.add(loop.create_task(self._run()))
        if self._relief is None:
            self._relief = loop.call_later(_PATIENCE, self._relieve)

    def _relieve(self) -> None:
        """Start another run where items still wait behind those that go on."""
        self._relief = None
        if self._waiting and len(self._runs) < _RUNS:
            self._start()
        elif self._runs:
            self._relief = asyncio.get_running_loop().call_later(_PATIENCE, self._relieve)

    async def _run(self) -> None:
        # What the loop reads in the same turn goes along.
        await asyncio.sleep(0)
        try:
            while self._waiting:
                taken = [self._waiting.popleft() for _ in range(min(_MAX_GATHERED, len(self._waiting)))]
                await self._answer(taken)
                if len(self._waiting) < len(taken) > 1:
                    # Who was answered together often asks again at once: they come together once more.
                    await asyncio.sleep(_GATHERING)
        finally:
            self._runs.discard(asyncio.current_task())

    async def _answer(self, taken: "list[tuple[T, asyncio.Future[R]]]") -> None:
        try:
            results = await self._workers.run(self._work, [item for item, _ in taken])
            for (_, answer), result in zip(taken, results, strict=True):
                if answer.cancelled():
                    continue
                if isinstance(result, Exception):
                    answer.set_exception(result)
                else:
                    answer.set_result(result)
        except Exception as error:  # noqa: BLE001 -- each request's answer is rendered where it is awaited
            for _, answer in taken:
                if not answer.done():
                    answer.set_exception(error)
        finally:
            # The threads were closed: nobody will answer.
            for _, answer in taken:
                if not answer.done():
                    answer.cancel()


def _throttled() -> Throttled:
    return Throttled("Rate exceeded", remedy="The server has too many requests in flight: back off and try again.")
