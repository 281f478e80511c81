"""Looks after all accounts on one thread: finds those that have something to do, and has it done."""

import time
from collections.abc import Callable, Sequence

from penstock.owners import Poller

__all__ = ["Attendant"]

_LOOK_SECONDS = 5.0
_MOST_SECONDS = 60.0
_SHARE = 200  # a look for work is to take at most this part of the time


class Attendant:
    """Calls ``attend`` with the accounts that ``find`` returns, every five seconds, or less often if looking takes long."""

    def __init__(self, find: Callable[[], Sequence[str]], attend: Callable[[Sequence[str]], None]) -> None:
        self._find = find
        self._attend = attend
        self._poller = Poller(self.look, name="penstock-attendant", what="looking for work", pause=_LOOK_SECONDS)

    def begin(self) -> None:
        """Look now, and from now on."""
        self._poller.begin()
        self._poller.wake()

    def close(self) -> None:
        """Look no more."""
        self._poller.close()

    def look(self) -> float:
        """Have everything done that is to be done now; return the seconds until the next look."""
        began = time.thread_time()
        accounts = self._find()
        took = time.thread_time() - began
        self._attend(accounts)
        return min(max(_LOOK_SECONDS, _SHARE * took), _MOST_SECONDS)
