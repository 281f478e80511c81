"""How many bytes of request bodies a process holds at once, and who waits when there are more."""

import asyncio
from collections import OrderedDict, deque

from penstock.api.errors import Overloaded

__all__ = ["SMALL_BODY", "BodyBudget"]

SMALL_BODY = 64 * 1024  # bytes: what the HTTP parser takes of a body before anybody asks for it
_SMALL_TOTAL = 32 * 1024 * 1024
_LARGE_TOTAL = 64 * 1024 * 1024
_LARGE_SHARE = 20 * 1024 * 1024  # of one owner: two of the largest bodies
_TIMEOUT = 5.0  # seconds
_MOST_WAITING = 256


class BodyBudget:
    """Room for bodies, taken before the first byte is read and given back with the answer.

    Small bodies and large ones have room of their own, so that uploads do not hold up calls. An owner is an address with
    its access key: one has a third of the room for large bodies at most, and owners who wait are served in turn. Called on
    the event loop alone.
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
        """Take room for ``size`` bytes; :class:`Overloaded` where none came free for 5 seconds, or too many wait for it."""
        if not size:
            # Nothing is counted of a request without a body, so that any number of them may be answered at once.
            return
        pool = self._small if size <= SMALL_BODY else self._large
        if not pool.take(owner, size):
            await pool.wait(owner, size)

    def release(self, owner: str, size: int) -> None:
        """Give the room back."""
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
        """Whether the room was there at once; those of the owner who wait already come first."""
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
            # Granted in the very turn in which the wait ended otherwise.
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
        """Give what is free to those who wait, one of each owner in turn."""
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
    return Overloaded(
        "The server holds as many bytes of request bodies as it takes.", remedy="Back off and try again: SDKs do."
    )
