"""The threads on which an interface runs what takes longer than the event loop may wait."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from penstock.api.aws.errors import Throttled

__all__ = ["Workers"]

_MAX_WAITING = 1_000  # requests that wait for a thread before clients are told to slow down


class Workers:
    """A pool of ``threads``, named ``name``, in front of which a bounded number of requests waits."""

    def __init__(self, threads: int, *, name: str) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._waiting = 0

    async def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """What ``work`` returns; :class:`Throttled`, and nothing run, where too many wait."""
        if self._waiting >= _MAX_WAITING:
            raise Throttled("Rate exceeded", remedy="The server has too many requests in flight: back off and try again.")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Let running work end and start no more."""
        self._threads.shutdown(wait=True, cancel_futures=True)
