"""JSON from outside: refused before it is parsed if it has too many values, and parsed so that other threads get their turn.

``orjson.loads`` holds the interpreter's lock until it returns, so no other thread runs meanwhile: neither a thread nor a
timeout helps against a document of nine million brackets. What helps is to count them before, which takes half a
millisecond for a megabyte.
"""

import gc
import threading
import time
from typing import Any

import orjson

__all__ = ["LARGE", "JsonTooDeep", "JsonTooLarge", "count_marks", "read_json"]

_MARKS = b"[{,:"
# Marks of a document that is parsed in a few milliseconds; those with more take turns.
LARGE = 50_000
_REST = 2  # times as long as a large document took that the next one waits, so that they take a third of the time at most


class JsonTooLarge(ValueError):
    """The document has more values than its reader accepts. It was not parsed."""


class JsonTooDeep(ValueError):
    """The document is nested deeper than its reader accepts."""


def count_marks(content: bytes, most: int) -> int:
    """Return how many of ``[``, ``{``, ``,`` and ``:`` are outside strings, or a number above ``most`` if there are more.

    A document has at most one value more than it has marks.
    """
    marks = len(content) - len(content.translate(None, _MARKS))
    if marks <= most:
        return marks
    # Commas within texts, such as schemas and policies, are no values. Escapes first: after them each quote ends a string.
    plain = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    quotes = plain.count(b'"')
    if quotes > 2 * (most + 1):
        return most + 1
    outside = b"".join(plain.split(b'"')[::2])
    return len(outside) - len(outside.translate(None, _MARKS))


def read_json(content: bytes, *, most: int, deepest: int) -> Any:
    """Return the value of a document of at most ``most`` marks (:func:`count_marks`) and ``deepest`` levels.

    One of more than :data:`LARGE` marks may wait for others of its kind, so not on the event loop. Raises
    :class:`JsonTooLarge`, :class:`JsonTooDeep`, or ``orjson.JSONDecodeError`` (all of them a ``ValueError``).
    """
    marks = count_marks(content, most)
    if marks > most:
        raise JsonTooLarge(f"has more than {most:,} values")
    if marks <= LARGE:
        value = orjson.loads(content)
    else:
        with _turns:
            value = orjson.loads(content)
    if content.count(b"{") + content.count(b"[") > deepest and _is_deeper(value, deepest):
        raise JsonTooDeep(f"is nested more than {deepest} levels deep")
    return value


class _Turns:
    """Lets one thread in at a time, and after it nobody for a while."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._began = self._free = 0.0
        self._collects = True

    def __enter__(self) -> None:
        self._lock.acquire()
        time.sleep(max(0.0, self._free - time.monotonic()))
        self._began = time.monotonic()
        # The values of a document are no garbage: to look through them again and again takes longer than to make them.
        self._collects = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._collects:
            gc.enable()
        now = time.monotonic()
        self._free = now + _REST * (now - self._began)
        self._lock.release()


_turns = _Turns()


def _is_deeper(value: Any, deepest: int) -> bool:
    level = [value]
    for _ in range(deepest):
        below: list[Any] = []
        for item in level:
            if type(item) is dict:
                below.extend(item.values())
            elif type(item) is list:
                below.extend(item)
        if not below:
            return False
        level = [item for item in below if type(item) is dict or type(item) is list]
    return bool(level)
