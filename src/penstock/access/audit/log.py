"""Writing the audit log: a bounded queue, and a thread that appends to files."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from penstock.access.audit.event import OUTCOMES, AuditEvent, render_event
from penstock.access.audit.segments import Retention, Segments
from penstock.errors import LimitExceeded

__all__ = ["AuditFolder", "AuditSink", "AuditUnavailable", "NullAuditSink"]

_log = logging.getLogger("penstock.audit")

_FLUSH_SECONDS = 0.2
_BATCH = 1_000
_MOST_WAITING = 5_000  # events
_SPARE = 1_000  # slots that allowed reads leave free
_RETRY_SECONDS = 1.0


class AuditUnavailable(LimitExceeded):
    """The audit log cannot be written, so changes are rejected."""

    aws_code = "ServiceUnavailableException"
    http_status = 503


class AuditSink(Protocol):
    """Records decisions. Safe to be called from any thread; never waits for a disk."""

    @property
    def records_reads(self) -> bool:
        """Whether allowed reads are recorded. If not, callers need not write them."""

    def check(self) -> None:
        """Raise :class:`AuditUnavailable` if a change could not be recorded now. To be called before each change."""

    def write(self, event: AuditEvent) -> None:
        """Record a decision; raise :class:`AuditUnavailable` if there is no room for one that must not be dropped."""


class NullAuditSink:
    """An :class:`AuditSink` that discards everything."""

    records_reads = False

    def check(self) -> None:
        """Do nothing: there is no log that could be unavailable."""

    def write(self, event: AuditEvent) -> None:
        """Forget it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFolder:
    """The folder of the log, what is recorded, and for how long it is kept."""

    path: Path
    records_reads: bool = True
    """Whether allowed reads are recorded, too."""
    retention: Retention

    def open(self) -> "AuditWriter":
        """Return the log of this process, which has to be closed."""
        return AuditWriter(self)


class AuditWriter:
    """An :class:`AuditSink` over files of this process.

    If the queue is full, an allowed read is dropped and counted; the count is recorded as an event once there is room again.
    All other events wait in the queue while the disk is full. If the queue is full, too, the request is rejected, a change
    before it is made. Failed logins have separate files, so that an attacker without a login cannot displace other events.
    """

    def __init__(self, folder: AuditFolder, *, clock: Callable[[], float] = time.time) -> None:
        self.records_reads = folder.records_reads
        self._clock = clock
        self._decisions = Segments(folder.path, "decisions", folder.retention)
        self._logins = Segments(folder.path, "logins", folder.retention.share(4))
        self._waiting: deque[AuditEvent] = deque()
        # Events that are taken from the queue and not written yet.
        self._taken: dict[Segments, list[AuditEvent]] = {self._decisions: [], self._logins: []}
        self._dropped = 0
        self._failing = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-audit", daemon=True)
        self._thread.start()

    def check(self) -> None:
        if self._failing or len(self._waiting) >= _MOST_WAITING:
            raise _unavailable()

    def write(self, event: AuditEvent) -> None:
        waiting = len(self._waiting)
        if event.is_mandatory:
            # A change that was made is recorded in any case; check() rejects the next one.
            if waiting >= _MOST_WAITING and not event.succeeded:
                raise _unavailable()
        elif not self.records_reads:
            return
        elif waiting >= _MOST_WAITING - _SPARE:
            self._dropped += 1
            return
        self._waiting.append(event)

    def close(self) -> None:
        """Write the waiting events, and stop."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(_RETRY_SECONDS if self._failing else _FLUSH_SECONDS):
            self._flush()
        self._flush()
        self._decisions.close()
        self._logins.close()

    def _flush(self) -> None:
        try:
            self._decisions.apply_retention(self._clock())
            self._logins.apply_retention(self._clock())
            self._write()
            while self._waiting:
                for _ in range(min(_BATCH, len(self._waiting))):
                    event = self._waiting.popleft()
                    self._taken[self._logins if event.outcome == OUTCOMES[2] else self._decisions].append(event)
                self._write()
            self._note_dropped()
        except OSError as error:
            if not self._failing:
                _log.error("The audit log cannot be written: %s. Changes are rejected until it can.", error.strerror)
            self._failing = True
        else:
            if self._failing:
                _log.warning("The audit log is written again.")
            self._failing = False

    def _write(self) -> None:
        now = self._clock()
        for segments, events in self._taken.items():
            if events:
                segments.append([partial(_line, event) for event in events], now)
                events.clear()

    def _note_dropped(self) -> None:
        dropped, self._dropped = self._dropped, 0
        if dropped:
            lost = AuditEvent(
                time=self._clock(),
                service="penstock",
                operation="ReadsNotRecorded",
                outcome=OUTCOMES[0],
                region="",
                account="",
                request_id="",
                client="-",
                parameters={"Count": dropped},
                read_only=True,
            )
            self._decisions.append([partial(_line, lost)], self._clock())


def _line(event: AuditEvent, previous: str) -> bytes:
    try:
        return render_event(event, previous)
    except Exception:  # noqa: BLE001 -- nothing that a request holds may end the log
        # Unexpected parameters must not lose the event: the decision itself is recorded in any case.
        _log.exception("the parameters of request %s could not be recorded", event.request_id)
        return render_event(event._replace(parameters=None, resources=(), user_agent="", message=""), previous)


def _unavailable() -> AuditUnavailable:
    return AuditUnavailable(
        "The audit log cannot be written, so changes are rejected.", remedy="Make room on the disk of the server's home."
    )
