"""What a thread has had done: time of the processor, its own and that of the child processes that worked for it."""

import threading
import time

__all__ = ["charge", "spent"]

_ELSEWHERE = threading.local()


def charge(seconds: float) -> None:
    """Count ``seconds`` of the processor that another process used for this thread."""
    _ELSEWHERE.seconds = getattr(_ELSEWHERE, "seconds", 0.0) + seconds


def spent() -> float:
    """Seconds of the processor so far; the difference of two readings is what lay between them."""
    return time.thread_time() + float(getattr(_ELSEWHERE, "seconds", 0.0))
