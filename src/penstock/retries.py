"""All retry policies of the product, and the retry loop, on tenacity.

Pauses grow with each failure and have jitter, so that clients that failed together do not retry together
(https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/). Waiting for a condition is
:func:`wait_until`. Botocore retries AWS's services by itself: :mod:`penstock.client.connection`.
"""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from tenacity import RetryCallState, Retrying

__all__ = [
    "BROKER_OFFSETS",
    "CONFLUENT_CALL",
    "DESTINATION",
    "DOWNLOAD",
    "DYNAMODB_WRITE",
    "HANDLER",
    "JVM_START",
    "KINESIS_READ",
    "KINESIS_WRITE",
    "MICRO_BATCH",
    "SCHEMA_REGISTRY",
    "TRANSACTION",
    "WAL_MODE",
    "Backoff",
    "RetryPolicy",
    "RetryStopped",
    "call_with_retries",
    "doubling",
    "wait_until",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Up to ``attempts`` calls, or for ``deadline`` seconds (None: no limit), with a pause after each failure.

    ``pauses`` are in seconds, the last one for all further failures. ``jitter`` is the random share of a pause, from 0
    (none) to 1 (all of it).
    """

    pauses: tuple[float, ...]
    attempts: int | None = None
    deadline: float | None = None
    jitter: float = 0.0

    def pause(self, failures: int, chance: Callable[[], float] = random.random) -> float:
        """Return the seconds to wait after ``failures`` in a row (1 or more); ``chance`` returns numbers from 0 to 1."""
        full = self.pauses[min(failures, len(self.pauses)) - 1]
        return full * (1 - self.jitter * (1 - chance())) if self.jitter else full


def doubling(first: float, longest: float) -> tuple[float, ...]:
    """Return pauses from ``first`` seconds on, each twice the one before, up to ``longest``."""
    pauses = [min(first, longest)]
    while 0 < pauses[-1] < longest:
        pauses.append(min(2 * pauses[-1], longest))
    return tuple(pauses)


# A request to a registry with Confluent's API.
CONFLUENT_CALL = RetryPolicy(attempts=3, pauses=doubling(0.4, 30.0), jitter=0.5)
# Records that a stream throttles; a shard that cannot be read.
KINESIS_WRITE = RetryPolicy(attempts=8, pauses=doubling(0.1, 5.0), jitter=0.5)
KINESIS_READ = RetryPolicy(pauses=doubling(1.0, 30.0), jitter=0.5)
# Writes that a table of DynamoDB throttles.
DYNAMODB_WRITE = RetryPolicy(attempts=12, pauses=doubling(0.05, 5.0), jitter=0.5)
# The offsets at which a poller begins; records that wait for their schema; discarded records that are not stored yet.
BROKER_OFFSETS = RetryPolicy(pauses=(1.0,))
SCHEMA_REGISTRY = RetryPolicy(pauses=doubling(0.5, 30.0))
DESTINATION = RetryPolicy(pauses=doubling(1.0, 60.0))
# A function that failed, and a micro-batch (Glue's pauses): their declarations limit the attempts.
HANDLER = RetryPolicy(pauses=doubling(0.5, 60.0))
MICRO_BATCH = RetryPolicy(pauses=(1.0, 2.0, 5.0))
# Spark's JVM that died.
JVM_START = RetryPolicy(pauses=(1.0, 2.0, 5.0, 15.0, 30.0, 60.0))
# A transaction that the database aborted for another one; a file whose mode cannot be set while another connection writes.
TRANSACTION = RetryPolicy(attempts=10, pauses=doubling(0.005, 0.05), jitter=0.5)
WAL_MODE = RetryPolicy(deadline=30.0, pauses=(0.01,))
# A file; the bytes received are kept.
DOWNLOAD = RetryPolicy(attempts=5, pauses=doubling(0.5, 4.0))


class RetryStopped(Exception):
    """A caller ended a pause, and the next attempt was not made."""


def call_with_retries(
    function: Callable[[], T],
    policy: RetryPolicy,
    *,
    when: Callable[[Exception], bool],
    on_retry: Callable[[Exception, int, float], None] = lambda *_: None,
    stop: threading.Event | None = None,
    sleep: Callable[[float], Any] | None = None,
    chance: Callable[[], float] = random.random,
) -> T:
    """Return the result of ``function``; on errors for which ``when`` is true, retry it by ``policy``.

    Raises its last error. ``on_retry`` gets an error, how many attempts have failed and the seconds before the next one.
    Setting ``stop`` ends a pause at once and raises :class:`RetryStopped`; ``sleep`` replaces ``time.sleep``.
    """
    try:
        return function()
    except Exception as error:
        if not when(error):
            raise
        first = [error]

    def attempt() -> T:
        if first:
            raise first.pop()
        return function()

    def pause(seconds: float) -> None:
        if stop is None:
            (sleep or time.sleep)(seconds)
        elif stop.wait(seconds):
            raise RetryStopped

    return _retrying(policy, when, on_retry, pause, chance)(attempt)


def _retrying(
    policy: RetryPolicy,
    when: Callable[[Exception], bool],
    on_retry: Callable[[Exception, int, float], None],
    pause: Callable[[float], None],
    chance: Callable[[], float],
) -> "Retrying":
    # A call that succeeds avoids tenacity's import and its overhead (30 µs).
    import tenacity  # noqa: PLC0415

    def before_sleep(state: "RetryCallState") -> None:
        failure = state.outcome.exception() if state.outcome is not None else None
        assert isinstance(failure, Exception)
        on_retry(failure, state.attempt_number, state.upcoming_sleep)

    ends: list[Any] = []
    if policy.attempts is not None:
        ends.append(tenacity.stop_after_attempt(policy.attempts))
    if policy.deadline is not None:
        ends.append(tenacity.stop_after_delay(policy.deadline))
    return tenacity.Retrying(
        stop=tenacity.stop_any(*ends),
        wait=lambda state: policy.pause(state.attempt_number, chance),
        retry=tenacity.retry_if_exception(lambda error: isinstance(error, Exception) and when(error)),
        before_sleep=before_sleep,
        sleep=pause,
        reraise=True,
    )


class Backoff:
    """The time of the next attempt, for callers that do other work meanwhile. For one thread."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._failures = 0
        self._until = 0.0

    @property
    def left(self) -> float:
        """Seconds until the next attempt; 0 if it may be made now."""
        return max(0.0, self._until - time.monotonic()) if self._failures else 0.0

    def failed(self) -> float:
        """Count a failure. Return the seconds until the next attempt."""
        self._failures += 1
        pause = self._policy.pause(self._failures)
        self._until = time.monotonic() + pause
        return pause

    def succeeded(self) -> None:
        """Reset to the first pause."""
        self._failures = 0


def wait_until(
    condition: Callable[[], T],
    *,
    seconds: float | None,
    every: float = 0.05,
    longest: float | None = None,
) -> T | None:
    """Return the value of ``condition`` once it is true; None if it was not within ``seconds`` (None: wait for ever).

    It is called at once and then ``every`` so many seconds; with ``longest`` the pauses grow by half up to that.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    pause = every
    while not (result := condition()):
        if deadline is not None and time.monotonic() > deadline:
            return None
        time.sleep(pause)
        pause = min(pause * 1.5, longest) if longest is not None else pause
    return result
