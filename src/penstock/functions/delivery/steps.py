"""The delivery of one batch, as a generator without I/O: invoke, retry, split, discard, mark as done.

The rules are those of Lambda's stream sources (https://docs.aws.amazon.com/lambda/latest/dg/services-kinesis-errors.html and
kafka-retry-configurations.html beside it):

* records older than the maximum age are discarded before an invocation;
* a failed batch of more than one record is split in two, if that is configured, which uses no retry; else it is retried,
  and discarded after the last retry;
* a function that reports its batch item failures has done everything before the lowest one of each partition. If the batch
  may be split and the retries are used up, only the record reported first is discarded, and those after it continue.

Each record is marked as done or discarded exactly once, and within a partition in order.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.functions.model import FailurePolicy
from penstock.functions.records import Record

__all__ = [
    "AGE",
    "RETRIES",
    "TOO_LARGE",
    "Discard",
    "Failed",
    "Invoke",
    "MarkDone",
    "Outcome",
    "Partly",
    "Pause",
    "Step",
    "Succeeded",
    "deliver",
]

# Conditions of on-failure records.
RETRIES = "RetryAttemptsExhausted"
AGE = "RecordAgeExceeded"
TOO_LARGE = "MaximumPayloadSizeExceeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded:
    """The function did the whole batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The function failed, crashed or took too long. ``error`` has ``errorType`` and ``errorMessage``."""

    request_id: str = ""
    error: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partly:
    """The function reported failures: the lowest failed position of each partition that has one."""

    lowest: Mapping[str, int]
    request_id: str = ""


Outcome = Succeeded | Failed | Partly


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoke:
    """Call the function with ``records`` and send back the :data:`Outcome`. ``attempt`` counts from 1."""

    records: Sequence[Record]
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Wait so many seconds before going on."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Discard:
    """Discard ``records`` and store them at the destination. ``invokes`` is how often they went to the function."""

    records: Sequence[Record]
    condition: str
    invokes: int = 0
    failure: Failed | Partly | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkDone:
    """The function has done ``records``."""

    records: Sequence[Record]


Step = Invoke | Pause | Discard | MarkDone


@dataclass(slots=True)
class _SubBatch:
    """Records that go to the function together. ``first`` is the record to which the count of attempts belongs."""

    records: list[Record]
    attempts: int = 0
    failure: Failed | Partly | None = None


def deliver(
    records: Sequence[Record], policy: FailurePolicy, clock: Callable[[], float]
) -> Generator[Step, Outcome | None, None]:
    """Yield the steps for one batch. ``clock`` gives seconds since 1970, like records' times.

    Send the outcome of an :class:`Invoke`; every other step is answered with None once it is done.
    """
    stack = [_SubBatch(list(records))]
    while stack:
        batch = stack.pop()
        fresh, old = _by_age(batch.records, policy, clock())
        if old:
            yield Discard(records=old, condition=AGE, invokes=batch.attempts, failure=batch.failure)
            batch.records = fresh
        if not fresh:
            continue
        batch.attempts += 1
        outcome = yield Invoke(records=fresh, attempt=batch.attempts)
        assert outcome is not None
        if isinstance(outcome, Succeeded):
            yield MarkDone(records=fresh)
            continue
        batch.failure = outcome
        if isinstance(outcome, Partly):
            finished, rest = _progress(fresh, outcome.lowest)
            if finished:
                yield MarkDone(records=finished)
            if not rest:
                continue
            if finished:
                # Another record is first now: the retries used so far do not count for it.
                batch.attempts = 1
            batch.records = rest
        yield from _after_failure(batch, stack, policy, reported=isinstance(outcome, Partly))


def _after_failure(
    batch: _SubBatch, stack: list[_SubBatch], policy: FailurePolicy, *, reported: bool
) -> Generator[Step, Outcome | None, None]:
    if policy.bisect and not reported and len(batch.records) > 1:
        middle = len(batch.records) // 2
        stack.append(_SubBatch(batch.records[middle:]))
        stack.append(_SubBatch(batch.records[:middle]))
        return
    if 0 <= policy.retries < batch.attempts:
        culprits = _heads(batch) if policy.bisect and reported else batch.records
        yield Discard(records=culprits, condition=RETRIES, invokes=batch.attempts, failure=batch.failure)
        culprit_ids = {id(culprit) for culprit in culprits}
        remaining = [record for record in batch.records if id(record) not in culprit_ids]
        if remaining:
            stack.append(_SubBatch(remaining))
        return
    stack.append(batch)
    yield Pause(seconds=policy.backoff.pause(batch.attempts))


def _by_age(records: list[Record], policy: FailurePolicy, now: float) -> tuple[list[Record], list[Record]]:
    if policy.age < 0:
        return records, []
    limit = (now - policy.age) * 1000
    # A negative time means no time, and so no age.
    old = [record for record in records if 0 <= record.timestamp_ms < limit]
    old_ids = {id(record) for record in old}
    return [record for record in records if id(record) not in old_ids], old


def _progress(records: Sequence[Record], lowest: Mapping[str, int]) -> tuple[list[Record], list[Record]]:
    """Return the records before their partition's lowest failure, and those from it on."""
    finished: list[Record] = []
    rest: list[Record] = []
    for record in records:
        failed = lowest.get(record.partition)
        (finished if failed is None or record.position < failed else rest).append(record)
    return finished, rest


def _heads(batch: _SubBatch) -> list[Record]:
    """Return the first record of each partition, which is the reported one."""
    heads: dict[str, Record] = {}
    for record in batch.records:
        heads.setdefault(record.partition, record)
    return list(heads.values())
