"""Waiting for a condition with a deadline."""

from collections.abc import Callable

import psutil

from penstock.retries import wait_until

__all__ = ["alive", "descendants", "eventually"]


def eventually(condition: Callable[[], bool], what: str, seconds: float = 240) -> None:
    """Return once ``condition`` holds; fail with ``what`` if it does not in time."""
    assert wait_until(condition, seconds=seconds), f"not within {seconds:.0f} s: {what}"


def alive(pid: int) -> bool:
    """Return whether the process exists and is not a zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def descendants(pid: int) -> list[int]:
    """Return the process ids of all descendants."""
    return [child.pid for child in psutil.Process(pid).children(recursive=True)]
