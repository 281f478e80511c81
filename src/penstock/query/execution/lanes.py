"""Which statements run now: so many at a time, and none of a moment waits for one of an hour.

Statements start in the first lane. One that is not short any more, while others wait or run, gets processor time only
after them. If others wait, it leaves the first lane: for the second lane if that has room, where it goes on, else it ends
once it ran longer than a moment, and starts again later: there, or in a place that the first lane does not need. Only a
query that changes nothing is ended so. Each lane has as many places as there are workers, so up to twice as many
processes have a statement's memory.
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, Protocol, TypeVar

__all__ = ["Lanes", "Runnable"]

_MOMENT = 1.0  # seconds
_SHORT = 0.2  # of a moment


class Runnable(Protocol):
    """A statement to run."""

    @property
    def running_for(self) -> float:
        """For how many seconds it has been computed: 0 while its process starts, which takes longer on a busy machine."""
        ...

    @property
    def restartable(self) -> bool:
        """Whether it may be ended and run again from its start."""
        ...

    def step_aside(self) -> None:
        """Let it go on with the processor time that other statements leave, until its end; called again, it does nothing."""
        ...

    def give_way(self) -> None:
        """End it soon; ``work`` then returns False."""
        ...


R = TypeVar("R", bound=Runnable)


class Lanes(Generic[R]):
    """Runs statements with ``work``, which returns False for one that gave way and is to be run again."""

    def __init__(
        self,
        workers: int,
        work: Callable[[R], bool],
        *,
        moment: float = _MOMENT,
    ) -> None:
        self._workers = workers
        self._work = work
        self._moment = moment
        self._lock = threading.Lock()
        self._first: set[R] = set()
        self._second: set[R] = set()
        self._waiting: deque[R] = deque()
        self._ended: deque[R] = deque()
        self._closed = False
        self._pool: ThreadPoolExecutor | None = None

    def submit(self, run: R) -> None:
        """Run ``run`` as soon as there is a place; nothing happens after :meth:`close`."""
        with self._lock:
            self._waiting.append(run)
            self._fill()

    def relieve(self) -> None:
        """Make room for statements that wait, where others have run for long. To be called several times a second."""
        with self._lock:
            running = [*self._first, *self._second]
            if len(running) + len(self._waiting) < 2:
                return
            for run in running:
                if run.running_for >= _SHORT * self._moment:
                    run.step_aside()
            if self._waiting and len(self._first) >= self._workers:
                self._empty()
                self._fill()

    def close(self) -> None:
        """Forget the statements that wait, and return when all others are done."""
        with self._lock:
            self._closed = True
            self._waiting.clear()
            self._ended.clear()
            pool = self._pool
        if pool is not None:
            pool.shutdown(wait=True)

    def _empty(self) -> None:
        """Take long statements out of the first lane. The lock is held."""
        for run in list(self._first):
            ran = run.running_for
            if ran >= _SHORT * self._moment and len(self._second) < self._workers:
                self._first.discard(run)
                self._second.add(run)
            elif ran >= self._moment and run.restartable:
                run.give_way()

    def _fill(self) -> None:
        """Start statements while there are places. The lock is held."""
        if self._closed:
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(2 * self._workers, thread_name_prefix="penstock-sql")
        while self._ended and len(self._second) < self._workers:
            run = self._ended.popleft()
            self._second.add(run)
            self._pool.submit(self._run, run)
        while self._waiting and len(self._first) < self._workers:
            run = self._waiting.popleft()
            self._first.add(run)
            self._pool.submit(self._run, run)
        # On a busy machine a short statement may take more than a moment, too: it does not wait for those of an hour.
        while self._ended and not self._waiting and len(self._first) < max(1, self._workers - 1):
            run = self._ended.popleft()
            self._first.add(run)
            self._pool.submit(self._run, run)

    def _run(self, run: R) -> None:
        done = True
        try:
            done = self._work(run)
        finally:
            with self._lock:
                self._first.discard(run)
                self._second.discard(run)
                if not done:
                    self._ended.append(run)
                self._fill()
