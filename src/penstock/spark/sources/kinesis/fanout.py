"""Enhanced fan-out: a registered consumer, to which each shard pushes its records.

A subscription ends after five minutes, and goes on with a new one, from the continuation number of its last event
(https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SubscribeToShard.html).
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from urllib3.exceptions import HTTPError

from penstock.client.connection import error_code, translated_errors
from penstock.client.kinesis import ShardPosition, may_pass
from penstock.errors import EnvironmentProblem, NotFound
from penstock.retries import Backoff, call_with_retries, wait_until
from penstock.spark.sources.kinesis.prefetch import PieceWriter
from penstock.spark.sources.kinesis.shards import Position, ReadOptions, Stream, shard_position

__all__ = ["FanOutFeed", "consumer_arn"]

_log = logging.getLogger(__name__)

_SUBSCRIPTION_SECONDS = 4.5 * 60
_REGISTER_SECONDS = 120.0
_FIRST_EVENT_SECONDS = 30.0
_QUIET_SECONDS = 0.2
# Errors that a new subscription may resolve, beside those of polling. ResourceInUse: an earlier subscription of this
# consumer was made less than five seconds ago.
_PASSING = frozenset({"ResourceInUseException", "InternalFailureException", "KMSThrottlingException"})


def consumer_arn(client: Any, stream: Stream, name: str, reading: ReadOptions) -> str:
    """Return the ARN of the stream's consumer ``name``, which is registered if it does not exist, once it is active.

    Raises :class:`PenstockError`; :class:`EnvironmentProblem` if it is not active within two minutes.
    """
    what = f"consumer {name} of stream {stream.name}"

    def call(operation: str, **request: Any) -> Mapping[str, Any]:
        def once() -> Mapping[str, Any]:
            with translated_errors(client, what):
                answer: Mapping[str, Any] = getattr(client, operation)(**request)
                return answer

        return call_with_retries(once, reading.policy, when=may_pass)

    arn = stream.arn or call("describe_stream_summary", StreamName=stream.name)["StreamDescriptionSummary"]["StreamARN"]

    def describe() -> Mapping[str, Any] | None:
        try:
            description: Mapping[str, Any] = call("describe_stream_consumer", StreamARN=arn, ConsumerName=name)
        except NotFound:
            return None
        described: Mapping[str, Any] = description["ConsumerDescription"]
        return described

    if describe() is None:
        call("register_stream_consumer", StreamARN=arn, ConsumerName=name)

    def active() -> str | None:
        consumer = describe()
        return str(consumer["ConsumerARN"]) if consumer and consumer["ConsumerStatus"] == "ACTIVE" else None

    created = wait_until(active, seconds=_REGISTER_SECONDS, every=0.5, longest=5.0)
    if created is None:
        raise EnvironmentProblem(f"The {what} was not active after {_REGISTER_SECONDS:.0f} s.")
    return created


@dataclass(frozen=True, slots=True)
class _Event:
    records: list[dict[str, Any]]
    behind_ms: int
    ended: bool


class FanOutFeed:
    """Follows one shard in a thread, which waits while as many records as a batch may have are not yet taken."""

    def __init__(  # noqa: PLR0917 - as PollingFeed, with the consumer
        self,
        client: Any,
        stream: Stream,
        reading: ReadOptions,
        shard: str,
        position: Position,
        consumer: str,
    ) -> None:
        self._client = client
        self._what = f"a subscription to shard {shard} of stream {stream.name}"
        self._consumer = consumer
        self._reading = reading
        self._shard = shard
        self._changed = threading.Condition()
        self._events: deque[_Event] = deque()
        self._buffered = 0
        self._closed = False
        self._failure: Exception | None = None
        self._heard = False
        self.behind_ms = 1
        """How far the last taken event was behind the shard's tip, in milliseconds."""
        self._start = _starting(shard_position(position))
        threading.Thread(target=self._follow, name=f"fan-out {shard}", daemon=True).start()

    def take(self, writer: PieceWriter, position: Position) -> Position:
        """Write the records that have come, and wait for the first event of a new feed."""
        deadline = time.monotonic() + self._reading.fetch_seconds
        remaining, ended = self._reading.fetch_records, False
        while remaining > 0 and not ended:
            event = self._next(deadline)
            if event is None:
                break
            self.behind_ms, ended = event.behind_ms, event.ended
            if event.records:
                position = {"after": event.records[-1]["SequenceNumber"]}
                writer.add(event.records, position)
                remaining -= len(event.records)
        return {**position, "ended": True} if ended else position

    def close(self) -> None:
        """Ask the thread to end; it does with its next event."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _next(self, deadline: float) -> _Event | None:
        """Return the next event; None if there is none at the tip, or at the deadline."""
        with self._changed:
            if not self._events and self._failure is None:
                if not self._heard:
                    seconds = _FIRST_EVENT_SECONDS
                else:
                    seconds = min(_QUIET_SECONDS, max(0.0, deadline - time.monotonic())) if self.behind_ms else 0.0
                self._changed.wait_for(lambda: self._events or self._failure, timeout=seconds)
            if self._events:
                event = self._events.popleft()
                self._buffered -= len(event.records)
                self._changed.notify_all()
                return event
            if self._failure is not None:
                raise self._failure
            return None

    def _follow(self) -> None:
        backoff, failures = Backoff(self._reading.policy), 0
        while not self._closed:
            before = self._start
            try:
                if self._subscribe():
                    return
                failures = 0
                backoff.succeeded()
            except Exception as error:  # noqa: BLE001 - take() raises it
                # A subscription that brought events before it broke begins a new series of attempts.
                failures = 1 if self._start is not before else failures + 1
                if not _may_pass(error) or failures > self._reading.retries:
                    self._fail(error)
                    return
                pause = backoff.failed()
                _log.info("%s ended (%s): again in %.1f s", self._what, error, pause)
                time.sleep(pause)

    def _fail(self, error: Exception) -> None:
        if isinstance(error, HTTPError | OSError):
            error = EnvironmentProblem(f"The connection of {self._what} broke: {error}.")
        with self._changed:
            self._failure = error
            self._changed.notify_all()

    def _subscribe(self) -> bool:
        """Pass on the events of one subscription; return whether the shard has ended, or the feed was closed."""
        with translated_errors(self._client, self._what):
            stream = self._client.subscribe_to_shard(
                ConsumerARN=self._consumer, ShardId=self._shard, StartingPosition=self._start
            )["EventStream"]
            renew = time.monotonic() + _SUBSCRIPTION_SECONDS
            try:
                for message in stream:
                    event = message["SubscribeToShardEvent"]
                    following = event.get("ContinuationSequenceNumber")
                    self._put(_Event(event["Records"], int(event.get("MillisBehindLatest", 0)), not following))
                    if not following or self._closed:
                        return True
                    self._start = {"Type": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": following}
                    if time.monotonic() >= renew:
                        return False
            finally:
                stream.close()
        return False

    def _put(self, event: _Event) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._buffered < self._reading.fetch_records)
            self._events.append(event)
            self._buffered += len(event.records)
            self._heard = True
            self._changed.notify_all()


def _starting(position: ShardPosition) -> dict[str, Any]:
    arguments = position.iterator_arguments
    names = {"ShardIteratorType": "Type", "StartingSequenceNumber": "SequenceNumber", "Timestamp": "Timestamp"}
    return {names[name]: value for name, value in arguments.items()}


def _may_pass(error: Exception) -> bool:
    return may_pass(error) or error_code(error) in _PASSING or isinstance(error, HTTPError | OSError)
