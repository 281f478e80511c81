"""A group of threads that each run one worker until stopped, and the first error that ended one of them."""

import threading
from typing import Generic, Protocol, Self, TypeVar

__all__ = ["ThreadGroup", "Worker"]


class Worker(Protocol):
    """The work of one thread of a group."""

    def run(self) -> None:
        """Work until stopped. Raises errors that cannot be retried."""
        ...

    def stop(self) -> None:
        """Make :meth:`run` return; from any thread."""
        ...


_Kind = TypeVar("_Kind", bound=Worker)


class ThreadGroup(Generic[_Kind]):
    """Running workers, one thread each, until the end of a ``with`` block. For one thread.

    The block's end waits for all of them, and raises their first error unless the block itself raised one.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._workers: list[tuple[_Kind, threading.Thread]] = []
        self._stopping: list[threading.Thread] = []
        self._started = 0
        self._errors: list[BaseException] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        self.stop()
        if error_type is None:
            self.check()

    def __len__(self) -> int:
        """Return how many run."""
        return len(self._workers)

    def start(self, worker: _Kind) -> None:
        """Start a worker."""
        self._started += 1
        thread = threading.Thread(target=self._run, args=(worker,), name=f"{self._name}-{self._started}", daemon=True)
        self._workers.append((worker, thread))
        thread.start()

    def _run(self, worker: _Kind) -> None:
        try:
            worker.run()
        except BaseException as error:  # noqa: BLE001 -- raised by check()
            self._errors.append(error)

    def stop_newest(self) -> None:
        """Stop the worker that was started last, without waiting."""
        worker, thread = self._workers.pop()
        worker.stop()
        self._stopping.append(thread)

    def check(self) -> None:
        """Raise the first error; remove workers that have ended."""
        if self._errors:
            raise self._errors[0]
        self._workers = [worker for worker in self._workers if worker[1].is_alive()]

    def stop(self) -> None:
        """Stop all, and wait for them."""
        for worker, _ in self._workers:
            worker.stop()
        for thread in [*self._stopping, *(thread for _, thread in self._workers)]:
            thread.join()
        self._workers, self._stopping = [], []
