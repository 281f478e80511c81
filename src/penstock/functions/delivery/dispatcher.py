"""A batch dispatcher: it filters and batches records, and delivers them to one execution environment, a batch at a time.

Only :meth:`BatchDispatcher.wait` waits. The thread that reads the source calls :meth:`BatchDispatcher.advance` in between.
"""

import time
from collections import deque
from collections.abc import Callable, Generator, Sequence

from penstock.functions.delivery.batching import Batcher
from penstock.functions.delivery.destinations import Destination
from penstock.functions.delivery.failures import outcome_of
from penstock.functions.delivery.steps import (
    TOO_LARGE,
    Discard,
    Failed,
    Invoke,
    MarkDone,
    Outcome,
    Pause,
    Step,
    deliver,
)
from penstock.functions.environment import ExecutionEnvironment, Result
from penstock.functions.errors import DestinationUnavailable
from penstock.functions.events import Origin
from penstock.functions.mapping_metrics import MappingMetrics
from penstock.functions.model import EventSourceMapping
from penstock.functions.patterns import any_of
from penstock.functions.records import Record
from penstock.retries import DESTINATION, Backoff

__all__ = ["BatchDispatcher", "DispatcherFactory"]

_TICK = 0.05  # seconds; the longest wait for a function
_Steps = Generator[Step, Outcome | None, None]


class BatchDispatcher:
    """Delivers records of ``mapping``. ``on_done`` gets finished records: delivered, filtered out or discarded.

    ``report`` gets a human-readable line about each failure. ``clock`` gives seconds since 1970.
    """

    def __init__(
        self,
        mapping: EventSourceMapping,
        origin: Origin,
        environment: ExecutionEnvironment,
        metrics: MappingMetrics,
        *,
        destination: Destination | None,
        on_done: Callable[[Sequence[Record]], None],
        report: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._mapping = mapping
        self._origin = origin
        self._environment = environment
        self._metrics = metrics
        self._destination = destination
        self._on_done = on_done
        self._report = report
        self._clock = clock
        self._matches = any_of(mapping.patterns)
        self._batcher = Batcher(size=mapping.batch_size, window=mapping.window, envelope=len(origin.event([])))
        self._rejects: deque[Discard] = deque()
        self._steps: _Steps | None = None
        self._step: Step | None = None
        self._in_flight: dict[int, Record] = {}
        self._result: Result | None = None
        self._wake = 0.0
        self._storing = Backoff(DESTINATION)
        self._stopping = False

    @property
    def busy(self) -> bool:
        """Whether a batch is being delivered."""
        return self._steps is not None

    @property
    def _in_function(self) -> bool:
        return self._environment.busy or self._result is not None

    @property
    def full(self) -> bool:
        """Whether the next batch is complete, so that no more records should be offered."""
        return self._batcher.full

    @property
    def due_in(self) -> float | None:
        """Seconds until the next batch is due; None without records."""
        return 0.0 if self._rejects else self._batcher.due_in(time.monotonic())

    @property
    def finished(self) -> bool:
        """Whether the dispatcher was stopped and delivers nothing any more."""
        return self._stopping and self._steps is None

    def offer(self, record: Record, problem: tuple[str, str] | None = None) -> None:
        """Add a record; ``problem`` (condition, message) is why it cannot be part of an event."""
        self._metrics.add(PolledEventCount=1)
        if problem is not None:
            condition, message = problem
            error = Failed(error={"errorType": condition, "errorMessage": message})
            self._rejects.append(Discard(records=[record], condition=condition, failure=error))
        elif not self._matches(record.view):
            self._metrics.add(FilteredOutEventCount=1)
            self._on_done([record])
        elif not self._batcher.fits(record):
            self._rejects.append(Discard(records=[record], condition=TOO_LARGE))
        else:
            self._batcher.add(record, time.monotonic())

    def advance(self) -> None:
        """Continue as far as possible without waiting."""
        while True:
            if self._steps is None and not self._start():
                return
            if not self._take_step():
                return

    def wait(self, seconds: float = _TICK) -> None:
        """Wait until the function has answered or a pause is over, for at most ``seconds``."""
        if self._environment.busy and self._result is None:
            self._result = self._environment.poll(seconds)
        else:
            time.sleep(max(0.0, min(seconds, self._wake - time.monotonic())))

    def stop(self) -> None:
        """Start no more invocations; :meth:`advance` finishes the current one."""
        self._stopping = True
        if not self._environment.busy and self._result is None:
            self._abandon()

    def release(self, partitions: frozenset[str]) -> None:
        """Release the records of ``partitions``, after the current invocation; the others are not delivered here."""
        while self._in_function and any(record.partition in partitions for record in self._in_flight.values()):
            if self._result is None:
                self.wait(1.0)
                continue
            # A success counts; a failure is retried by the partition's next owner.
            self._take_answer()
            while isinstance(self._step, MarkDone):
                self._take_step()
        released = self._batcher.drop(partitions)
        remaining = deque(reject for reject in self._rejects if reject.records[0].partition not in partitions)
        released += len(self._rejects) - len(remaining)
        self._rejects = remaining
        dropped = [record for record in self._in_flight.values() if record.partition in partitions]
        if dropped:
            self._restart([record for record in self._in_flight.values() if record.partition not in partitions])
        self._metrics.add(ReleasedEventCount=released + len(dropped))

    def close(self) -> None:
        """Close the environment; unfinished records stay uncommitted."""
        self._stopping = True
        self._abandon()
        self._environment.close()
        if self._destination is not None:
            self._destination.close()

    def _start(self) -> bool:
        """Begin with the next discard or batch. Return whether there is one."""
        if self._stopping:
            self._abandon()
            return False
        if self._rejects:
            self._begin(_only(self._rejects.popleft()))
            return True
        if self._batcher.due(time.monotonic()):
            batch = self._batcher.take()
            self._in_flight = {id(record): record for record in batch}
            self._begin(deliver(batch, self._mapping.policy, self._clock))
            return True
        return False

    def _begin(self, steps: _Steps) -> None:
        self._steps = steps
        self._next(None)
        if isinstance(self._step, Discard):
            self._in_flight |= {id(record): record for record in self._step.records}

    def _next(self, outcome: Outcome | None) -> None:
        assert self._steps is not None
        try:
            self._step = self._steps.send(outcome)
        except StopIteration:
            self._steps = self._step = None
            self._in_flight = {}
        if isinstance(self._step, Pause):
            self._wake = time.monotonic() + self._step.seconds

    def _take_step(self) -> bool:
        """Do the current step. Return whether it is finished."""
        step = self._step
        if isinstance(step, Invoke):
            if not self._environment.busy and self._result is None:
                if self._stopping:
                    self._abandon()
                    return False
                self._invoke(step)
            if self._result is None:
                self._result = self._environment.poll()
            return self._result is not None and self._take_answer()
        if isinstance(step, MarkDone):
            self._metrics.add(DeliveredEventCount=len(step.records))
            self._mark_done(step.records)
            self._next(None)
            return True
        if time.monotonic() < self._wake:
            if self._stopping:
                self._abandon()
            return False
        if isinstance(step, Discard) and not self._store(step):
            return False
        self._next(None)
        return True

    def _invoke(self, step: Invoke) -> None:
        self._environment.begin(self._origin.event(step.records))
        self._metrics.add(Invocations=1, InvokedEventCount=len(step.records))

    def _take_answer(self) -> bool:
        step, result = self._step, self._result
        self._result = None
        assert isinstance(step, Invoke)
        assert result is not None
        outcome = outcome_of(result, step.records, reports=self._mapping.report_failures)
        if isinstance(outcome, Failed):
            self._metrics.add(Errors=1, FailedInvokeEventCount=len(step.records))
            self._report(
                f"Function {self._mapping.function_name} failed for {len(step.records)} records of "
                f"{self._mapping.source.title} ({_span(step.records)}), attempt {step.attempt}: "
                f"{outcome.error.get('errorType')}: {str(outcome.error.get('errorMessage', ''))[:300]}"
            )
        self._next(outcome)
        return True

    def _store(self, step: Discard) -> bool:
        """Store discarded records. Return whether they are stored."""
        count = len(step.records)
        if self._destination is not None:
            try:
                self._destination.put(step)
            except DestinationUnavailable as error:
                self._wake = time.monotonic() + self._storing.failed()
                self._report(f"{error} They stay uncommitted, and storing them is retried.")
                if self._stopping:
                    self._abandon()
                return False
            self._storing.succeeded()
            self._metrics.add(OnFailureDestinationDeliveredEventCount=count)
        self._metrics.add(DroppedEventCount=count)
        where = f"to {self._mapping.destination}" if self._destination is not None else "nowhere: no destination is declared"
        self._report(
            f"Discarded {count} records of {self._mapping.source.title} ({_span(step.records)}), {step.condition}, {where}."
        )
        self._mark_done(step.records)
        return True

    def _mark_done(self, records: Sequence[Record]) -> None:
        for record in records:
            self._in_flight.pop(id(record), None)
        self._on_done(records)

    def _restart(self, records: list[Record]) -> None:
        """Deliver ``records`` in place of the current batch."""
        if self._steps is not None:
            self._steps.close()
        self._steps, self._in_flight = None, {}
        if records:
            self._in_flight = {id(record): record for record in records}
            self._begin(deliver(records, self._mapping.policy, self._clock))

    def _abandon(self) -> None:
        if self._steps is not None:
            self._steps.close()
        released = len(self._in_flight) + len(self._batcher) + len(self._rejects)
        self._steps = self._step = None
        self._in_flight = {}
        self._batcher.drop()
        self._rejects.clear()
        if released:
            self._metrics.add(ReleasedEventCount=released)


DispatcherFactory = Callable[[Callable[[Sequence[Record]], None]], BatchDispatcher]
"""Makes a dispatcher that calls the given function with finished records."""


def _only(discard: Discard) -> _Steps:
    yield discard


def _span(records: Sequence[Record]) -> str:
    first, last = records[0], records[-1]
    if first is last:
        return f"{first.partition} at {first.position}"
    return f"{first.partition} at {first.position} to {last.partition} at {last.position}"
