"""The threads on which an API runs calls that would block the event loop too long."""

import asyncio
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from penstock.api.errors import Throttled

__all__ = ["RequestCoalescer", "Workers"]

T = TypeVar("T")
R = TypeVar("R")

_Call: TypeAlias = tuple[Future[Any], Callable[[], Any]]

_RUNS = 8  # concurrent runs of one coalescer: a slow item does not delay all that come after it
_SECOND_RUN_SECONDS = 0.05  # seconds that items wait for current runs before another one starts
_MAX_BATCH = 32
_LINGER = 0.001  # seconds after a run of several in which new items are collected
_MAX_WAITING = 1_000  # requests that may wait for a thread; clients of further ones have to slow down
_MAX_OF_ONE = 500  # waiting requests of one owner


class Workers:
    """A pool of ``threads``, named ``name``, with a bounded queue.

    An owner (an access key, or an address without one) has at most half of the threads at a time, and waiting owners are
    served in turn: calls beyond an owner's share wait until calls of others have started. May be called from any thread.
    """

    def __init__(self, threads: int, *, name: str) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._free = threads
        self._share = max(1, threads // 2)
        self._busy: Counter[str] = Counter()
        self._queues: OrderedDict[str, deque[_Call]] = OrderedDict()
        self._waiting = 0
        self._closed = False

    async def run(self, work: Callable[..., Any], *arguments: Any, owner: str = "") -> Any:
        """Run ``work`` and return its result; raise :class:`Throttled` without running it if too many wait.

        Work without an owner is the server's, for many owners together: it is queued like others and has no share.
        """
        call: _Call = (Future(), partial(work, *arguments))
        with self._lock:
            if self._closed:
                raise RuntimeError("the threads are closed")
            queue = self._queues.get(owner, ())
            # An owner without waiting calls gets in even if the queue is full of others' calls.
            if len(queue) >= _MAX_OF_ONE or (queue and self._waiting >= _MAX_WAITING):
                raise _throttled()
            self._queues.setdefault(owner, deque()).append(call)
            self._waiting += 1
            self._hand_out()
        return await asyncio.wrap_future(call[0])

    def close(self) -> None:
        """Wait for running work, and start no more."""
        with self._lock:
            self._closed = True
            unanswered = [answer for queue in self._queues.values() for answer, _ in queue]
            self._queues.clear()
            self._waiting = 0
        for answer in unanswered:
            answer.cancel()
        self._threads.shutdown(wait=True)

    def _hand_out(self) -> None:
        """Start waiting calls on free threads, one of each owner in turn. The caller has the lock."""
        while self._free:
            owner = next((name for name in self._queues if not name or self._busy[name] < self._share), None)
            if owner is None:
                return
            queue = self._queues[owner]
            call = queue.popleft()
            self._waiting -= 1
            if queue:
                self._queues.move_to_end(owner)
            else:
                del self._queues[owner]
            self._free -= 1
            self._busy[owner] += 1
            self._threads.submit(self._do, owner, call)

    def _do(self, owner: str, call: _Call) -> None:
        answer, work = call
        # False if the caller has cancelled the call.
        if answer.set_running_or_notify_cancel():
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001 -- raised where it is awaited
                answer.set_exception(error)
            else:
                answer.set_result(result)
        with self._lock:
            self._free += 1
            self._busy[owner] -= 1
            if not self._busy[owner]:
                del self._busy[owner]
            if not self._closed:
                self._hand_out()


class RequestCoalescer(Generic[T, R]):
    """Collects items that wait while others are processed, and processes them together on a thread.

    Many items at once cost less: writes are committed together, and a thread that answers requests one by one passes the
    interpreter lock to the event loop and back for each.

    ``work`` takes items and returns, for each in order, its result or its exception.
    """

    def __init__(self, workers: Workers, work: Callable[[Sequence[T]], Sequence[R | Exception]]) -> None:
        self._workers = workers
        self._work = work
        self._waiting: deque[tuple[T, asyncio.Future[R]]] = deque()
        self._runs: set[asyncio.Task[None]] = set()
        self._second_run: asyncio.TimerHandle | None = None

    async def run(self, item: T) -> R:
        """Return the result of ``work`` for ``item``; raise :class:`Throttled` if too many wait."""
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
        if self._second_run is None:
            self._second_run = loop.call_later(_SECOND_RUN_SECONDS, self._start_second_run)

    def _start_second_run(self) -> None:
        """Start another run if items still wait for the current ones."""
        self._second_run = None
        if self._waiting and len(self._runs) < _RUNS:
            self._start()
        elif self._runs:
            self._second_run = asyncio.get_running_loop().call_later(_SECOND_RUN_SECONDS, self._start_second_run)

    async def _run(self) -> None:
        # Items that the loop reads in the same turn join this run.
        await asyncio.sleep(0)
        try:
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(_MAX_BATCH, len(self._waiting)))]
                await self._answer(batch)
                if len(self._waiting) < len(batch) > 1:
                    # Clients that were answered together often send again at once, and so are collected again.
                    await asyncio.sleep(_LINGER)
        finally:
            self._runs.discard(asyncio.current_task())

    async def _answer(self, batch: "list[tuple[T, asyncio.Future[R]]]") -> None:
        try:
            results = await self._workers.run(self._work, [item for item, _ in batch])
            for (_, answer), result in zip(batch, results, strict=True):
                if answer.cancelled():
                    continue
                if isinstance(result, Exception):
                    answer.set_exception(result)
                else:
                    answer.set_result(result)
        except Exception as error:  # noqa: BLE001 -- each request's answer is rendered where it is awaited
            for _, answer in batch:
                if not answer.done():
                    answer.set_exception(error)
        finally:
            # The threads are closed, so there will be no answer.
            for _, answer in batch:
                if not answer.done():
                    answer.cancel()


def _throttled() -> Throttled:
    return Throttled("Rate exceeded", remedy="The server has too many requests in flight: back off and try again.")
