"""Which statements run now: so many at a time, and short ones do not wait for long ones.

There are two classes of places, for short statements and for long ones, and as many of each as there are workers: up to
twice as many processes have a statement's memory. Statements start in places for short ones. One that has run for a while
has the lowest priority while others wait or run. If others wait for its place, it moves to a place for long ones, if one is
free, and goes on there; else it is preempted once it has run for a second, and starts again later: in a place for long
statements, or in one for short statements that nobody waits for. Only a query that changes nothing is preempted.
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, Protocol, TypeVar

__all__ = ["Runnable", "StatementScheduler"]

_PREEMPT_SECONDS = 1.0  # of a statement that keeps others waiting
_SHORT = 0.2  # of these seconds, in which a statement counts as a short one


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

    def lower_priority(self) -> None:
        """Let it go on with the processor time that other statements leave, until its end; called again, it does nothing."""
        ...

    def preempt(self) -> None:
        """End it soon; ``work`` then returns False."""
        ...


R = TypeVar("R", bound=Runnable)


class StatementScheduler(Generic[R]):
    """Runs statements with ``work``, which returns False for one that was preempted and is to be run again."""

    def __init__(
        self,
        workers: int,
        work: Callable[[R], bool],
        *,
        preempt_seconds: float = _PREEMPT_SECONDS,
    ) -> None:
        self._workers = workers
        self._work = work
        self._preempt_seconds = preempt_seconds
        self._lock = threading.Lock()
        self._short: set[R] = set()
        self._long: set[R] = set()
        self._waiting: deque[R] = deque()
        self._preempted: deque[R] = deque()
        self._closed = False
        self._pool: ThreadPoolExecutor | None = None

    def submit(self, run: R) -> None:
        """Run ``run`` as soon as there is a place; nothing happens after :meth:`close`."""
        with self._lock:
            self._waiting.append(run)
            self._fill()

    def make_room(self) -> None:
        """Make room for statements that wait, where others have run for long. To be called several times a second."""
        with self._lock:
            running = [*self._short, *self._long]
            if len(running) + len(self._waiting) < 2:
                return
            for run in running:
                if run.running_for >= _SHORT * self._preempt_seconds:
                    run.lower_priority()
            if self._waiting and len(self._short) >= self._workers:
                self._move_long()
                self._fill()

    def close(self) -> None:
        """Forget the statements that wait, and return when all others are done."""
        with self._lock:
            self._closed = True
            self._waiting.clear()
            self._preempted.clear()
            pool = self._pool
        if pool is not None:
            pool.shutdown(wait=True)

    def _move_long(self) -> None:
        """Take long statements out of places for short ones. The lock is held."""
        for run in list(self._short):
            ran = run.running_for
            if ran >= _SHORT * self._preempt_seconds and len(self._long) < self._workers:
                self._short.discard(run)
                self._long.add(run)
            elif ran >= self._preempt_seconds and run.restartable:
                run.preempt()

    def _fill(self) -> None:
        """Start statements while there are places. The lock is held."""
        if self._closed:
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(2 * self._workers, thread_name_prefix="penstock-sql")
        while self._preempted and len(self._long) < self._workers:
            run = self._preempted.popleft()
            self._long.add(run)
            self._pool.submit(self._run, run)
        while self._waiting and len(self._short) < self._workers:
            run = self._waiting.popleft()
            self._short.add(run)
            self._pool.submit(self._run, run)
        # On a busy machine a short statement may be preempted, too: it does not wait for those of an hour.
        while self._preempted and not self._waiting and len(self._short) < max(1, self._workers - 1):
            run = self._preempted.popleft()
            self._short.add(run)
            self._pool.submit(self._run, run)

    def _run(self, run: R) -> None:
        finished = True
        try:
            finished = self._work(run)
        finally:
            with self._lock:
                self._short.discard(run)
                self._long.discard(run)
                if not finished:
                    self._preempted.append(run)
                self._fill()
