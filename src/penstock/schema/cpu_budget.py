"""A thread's budget of CPU time: its own and that of the child processes that work for it.

A comparison bounds its own steps; a budget bounds the many comparisons of one request.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Exceeded", "charge", "check", "limit", "used"]

_THREAD = threading.local()


class Exceeded(Exception):
    """The budget is used up. The code that set it reports that to the user."""


def charge(seconds: float) -> None:
    """Count ``seconds`` of CPU time that another process used for this thread."""
    _THREAD.elsewhere = getattr(_THREAD, "elsewhere", 0.0) + seconds


def used() -> float:
    """Return the seconds of CPU time so far; subtract two readings to measure."""
    return time.thread_time() + float(getattr(_THREAD, "elsewhere", 0.0))


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Let :func:`check` raise :class:`Exceeded` in this thread once ``seconds`` of CPU time are used."""
    outer = getattr(_THREAD, "until", None)
    until = used() + seconds
    _THREAD.until = until if outer is None else min(until, outer)
    try:
        yield
    finally:
        _THREAD.until = outer


def check() -> None:
    """Raise :class:`Exceeded` if a budget was set around this call and is used up."""
    until = getattr(_THREAD, "until", None)
    if until is not None and used() > until:
        raise Exceeded
