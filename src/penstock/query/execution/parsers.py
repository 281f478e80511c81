"""The processes in which statements' texts are parsed, which decides whether they are accepted: they serve all accounts."""

import threading
from collections.abc import Sequence

from penstock.caching import SharedCache
from penstock.children.process import ChildEnded
from penstock.query.errors import CannotRun, TooManyRequests
from penstock.query.execution.messages import Limits, ParsedText
from penstock.query.execution.process import ProcessStarter, StatementProcess, failure_of
from penstock.sql.errors import InvalidRequest, StatementError

__all__ = ["ParserPool"]

_LIMITS = Limits(resident=512 << 20, allocated=512 << 20, seconds=3.0)  # 50,000 words take 0.7 s of the processor
_TIMEOUT = 30.0  # seconds by the clock, on a busy machine
_PROCESSES = 2
_MAX_WAITING = 8
# A burst of short texts is parsed within this time; only long ones keep their places for longer.
_PLACE_SECONDS = 0.5
_KNOWN_TEXTS = 1 << 20  # characters of texts whose answer is remembered: dashboards repeat theirs


class ParserPool:
    """Parses texts in at most so many ``processes``, for which at most so many callers are ``waiting``."""

    def __init__(self, starter: ProcessStarter, *, processes: int = _PROCESSES, waiting: int = _MAX_WAITING) -> None:
        self._starter = starter
        self._places = threading.BoundedSemaphore(waiting)
        self._parsing = threading.BoundedSemaphore(processes)
        self._lock = threading.Lock()
        self._idle: list[StatementProcess] = []
        self._closed = False
        self._known: SharedCache[tuple[str, tuple[str, ...]], ParsedText] = SharedCache(_KNOWN_TEXTS)

    def parse(self, sql: str, parameters: Sequence[str]) -> ParsedText:
        """Parse ``sql``. Raises :class:`InvalidRequest`, and :class:`TooManyRequests` if too many wait."""
        cached = self._known.peek((sql, tuple(parameters)))
        if cached is not None:
            return cached
        if not self._places.acquire(timeout=_PLACE_SECONDS):
            raise TooManyRequests("Too many statements are being parsed at the moment.", remedy="Try again in a moment.")
        try:
            with self._parsing:
                parsed = self._parse(sql, parameters)
        finally:
            self._places.release()
        self._known.put((sql, tuple(parameters)), parsed, weight=len(sql) + sum(map(len, parameters)))
        return parsed

    def close(self) -> None:
        """End the idle processes; one at work ends when it has answered."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for process in idle:
            process.close()

    def _parse(self, sql: str, parameters: Sequence[str]) -> ParsedText:
        process = self._take()
        try:
            return process.parse(sql, parameters, _LIMITS, timeout=_TIMEOUT)
        except ChildEnded as ended:
            if ended.exit.failed_by_itself:
                failure = failure_of(ended.exit)
                raise CannotRun(failure.message, remedy=failure.remedy) from ended
            if ended.exit.out_of_time:
                what = f"The SQL takes longer than {_LIMITS.seconds:g} seconds to parse."
            else:
                what = "The SQL is too large or nests too deeply to be parsed."
            raise InvalidRequest(
                what, remedy="Split it with WITH, or put long lists in a table.", athena_code="MALFORMED_QUERY"
            ) from ended
        except StatementError as error:
            if error.code == "EXCEEDED_MEMORY_LIMIT":
                raise InvalidRequest("The SQL needs too much memory to be parsed.", remedy="Split it with WITH.") from error
            raise CannotRun(error.message, remedy=error.remedy) from error
        finally:
            with self._lock:
                keep = process.usable and not self._closed
                if keep:
                    self._idle.append(process)
            if not keep:
                process.close()

    def _take(self) -> StatementProcess:
        with self._lock:
            process = self._idle.pop() if self._idle else None
        if process is not None and not process.usable:
            process.close()
            process = None
        try:
            return process or self._starter.start()
        except StatementError as error:
            raise CannotRun(error.message, remedy=error.remedy) from error
