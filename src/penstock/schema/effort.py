"""What a thread has had done: time of the processor, its own and that of the child processes that worked for it.

A comparison bounds its own steps. Many of them on behalf of one request are bounded by a budget around them all.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Spent", "budget", "charge", "check", "spent"]

_THREAD = threading.local()


class Spent(Exception):
    """The budget is used up; whoever set it says so in words."""


def charge(seconds: float) -> None:
    """Count ``seconds`` of the processor that another process used for this thread."""
    _THREAD.elsewhere = getattr(_THREAD, "elsewhere", 0.0) + seconds


def spent() -> float:
    """Seconds of the processor so far; the difference of two readings is what lay between them."""
    return time.thread_time() + float(getattr(_THREAD, "elsewhere", 0.0))


@contextmanager
def budget(seconds: float) -> Iterator[None]:
    """Let :func:`check` raise :class:`Spent` in this thread once ``seconds`` of the processor are used."""
    outer = getattr(_THREAD, "until", None)
    until = spent() + seconds
    _THREAD.until = until if outer is None else min(until, outer)
    try:
        yield
    finally:
        _THREAD.until = outer


def check() -> None:
    """Raise :class:`Spent` where a budget was set around this call and is used up."""
    until = getattr(_THREAD, "until", None)
    if until is not None and spent() > until:
        raise Spent
