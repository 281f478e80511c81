"""Bounds the bytes of request bodies that a process holds at once; further requests wait."""

import asyncio
from collections import OrderedDict, deque

from penstock.api.errors import Overloaded

__all__ = ["SMALL_BODY", "BodyBudget"]

SMALL_BODY = 64 * 1024  # bytes of a body that the HTTP parser reads before the application does
_SMALL_TOTAL = 32 * 1024 * 1024
_LARGE_TOTAL = 64 * 1024 * 1024
_LARGE_SHARE = 20 * 1024 * 1024  # bytes of one owner: two of the largest bodies
_TIMEOUT = 5.0  # seconds
_MOST_WAITING = 256


class BodyBudget:
    """Room for bodies, taken before the first byte is read and released with the answer.

    Small and large bodies have separate room, so that uploads do not delay other calls. An owner is an address with its
    access key: each has at most a third of the room for large bodies, and waiting owners are served in turn. To be called
    only on the event loop.
    """

    def __init__(
        self,
        *,
        small: int = _SMALL_TOTAL,
        large: int = _LARGE_TOTAL,
        share: int = _LARGE_SHARE,
        timeout: float = _TIMEOUT,
    ) -> None:
        self._small = _Pool(small, small, timeout)
        self._large = _Pool(large, share, timeout)

    async def acquire(self, owner: str, size: int) -> None:
        """Take room for ``size`` bytes; raise :class:`Overloaded` if none is free within 5 seconds, or too many wait."""
        if not size:
            # A request without a body is not counted, so any number of them may be answered at once.
            return
        pool = self._small if size <= SMALL_BODY else self._large
        if not pool.take(owner, size):
            await pool.wait(owner, size)

    def release(self, owner: str, size: int) -> None:
        """Release the room."""
        if size:
            (self._small if size <= SMALL_BODY else self._large).release(owner, size)


class _Pool:
    def __init__(self, total: int, share: int, timeout: float) -> None:
        self._free = total
        self._share = share
        self._timeout = timeout
        self._held: dict[str, int] = {}
        self._waiting: OrderedDict[str, deque[tuple[int, asyncio.Future[None]]]] = OrderedDict()
        self._count = 0

    def take(self, owner: str, size: int) -> bool:
        """Take room if it is free at once, and return whether it was; waiting requests of the owner come first."""
        if owner in self._waiting or not self._fits(owner, size):
            return False
        self._give(owner, size)
        return True

    async def wait(self, owner: str, size: int) -> None:
        if self._count >= _MOST_WAITING:
            raise _overloaded()
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = (size, granted)
        self._waiting.setdefault(owner, deque()).append(place)
        self._count += 1
        try:
            async with asyncio.timeout(self._timeout):
                await granted
        except BaseException as error:
            # The room was granted in the same turn of the loop in which the wait timed out or was cancelled.
            if granted.done() and not granted.cancelled():
                self.release(owner, size)
            else:
                self._forget(owner, place)
            if isinstance(error, TimeoutError):
                raise _overloaded() from None
            raise

    def release(self, owner: str, size: int) -> None:
        self._free += size
        left = self._held[owner] - size
        if left:
            self._held[owner] = left
        else:
            del self._held[owner]
        if self._waiting:
            self._serve()

    def _serve(self) -> None:
        """Give free room to waiting requests, one of each owner in turn."""
        served = True
        while served:
            served = False
            for owner in list(self._waiting):
                size, granted = self._waiting[owner][0]
                if self._fits(owner, size):
                    self._give(owner, size)
                    self._forget(owner, (size, granted))
                    if owner in self._waiting:
                        self._waiting.move_to_end(owner)
                    granted.set_result(None)
                    served = True

    def _fits(self, owner: str, size: int) -> bool:
        return size <= self._free and self._held.get(owner, 0) + size <= self._share

    def _give(self, owner: str, size: int) -> None:
        self._free -= size
        self._held[owner] = self._held.get(owner, 0) + size

    def _forget(self, owner: str, place: tuple[int, asyncio.Future[None]]) -> None:
        queue = self._waiting.get(owner)
        if queue is None or place not in queue:
            return
        queue.remove(place)
        self._count -= 1
        if not queue:
            del self._waiting[owner]


def _overloaded() -> Overloaded:
    return Overloaded("The server has no room for more request bodies in flight.", remedy="Back off and try again: SDKs do.")
