"""Patterns of dates and times: MySQL's (``%Y-%m-%d``) and Joda-Time's (``yyyy-MM-dd``), read to the same pieces.

Sources: Trino's documentation, "MySQL date functions", "Java date functions"; the API documentation of Joda-Time's
``DateTimeFormat`` and ``DateTimeFormatterBuilder``.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

__all__ = ["Piece", "joda_pieces", "mysql_pieces"]

_MAX_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Piece:
    """A field with its width (digits at least, or letters of the pattern), or a literal text (``field`` is None)."""

    field: str | None
    width: int = 0
    text: str = ""


def _literal(text: str) -> Piece:
    return Piece(None, 0, text)


def _clock(hour: str) -> Sequence[Piece]:
    return [Piece(hour, 2), _literal(":"), Piece("minute", 2), _literal(":"), Piece("second", 2)]


_MYSQL: Final[Mapping[str, Sequence[Piece]]] = {
    "a": [Piece("weekday_name", 3)],
    "b": [Piece("month_name", 3)],
    "c": [Piece("month", 1)],
    "d": [Piece("day", 2)],
    "e": [Piece("day", 1)],
    "f": [Piece("micros", 6)],
    "H": [Piece("hour", 2)],
    "h": [Piece("clock_hour", 2)],
    "I": [Piece("clock_hour", 2)],
    "i": [Piece("minute", 2)],
    "j": [Piece("day_of_year", 3)],
    "k": [Piece("hour", 1)],
    "l": [Piece("clock_hour", 1)],
    "M": [Piece("month_name", 4)],
    "m": [Piece("month", 2)],
    "p": [Piece("half", 1)],
    "r": [*_clock("clock_hour"), _literal(" "), Piece("half", 1)],
    "S": [Piece("second", 2)],
    "s": [Piece("second", 2)],
    "T": _clock("hour"),
    "v": [Piece("week", 2)],
    "x": [Piece("week_year", 4)],
    "W": [Piece("weekday_name", 4)],
    "Y": [Piece("year", 4)],
    "y": [Piece("short_year", 2)],
}
_UNSUPPORTED = frozenset("wUuVXD")


@lru_cache(maxsize=256)
def mysql_pieces(pattern: str) -> Sequence[Piece]:
    """Read a pattern of date_format and date_parse. Raises :class:`ValueError` with Trino's message."""
    if len(pattern) > _MAX_LENGTH:
        raise ValueError(f"the format is longer than {_MAX_LENGTH} characters")
    pieces: list[Piece] = []
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        at += 1
        if letter != "%" or at == len(pattern):
            if letter != "%":
                pieces.append(_literal(letter))
            continue
        letter = pattern[at]
        at += 1
        if letter in _UNSUPPORTED:
            raise ValueError(f"%{letter} not supported in date format string")
        pieces += _MYSQL.get(letter, [_literal(letter)])
    if not pieces:
        raise ValueError("Both printing and parsing not supported")
    return _merged(pieces)


_TOKEN = re.compile(r"([A-Za-z])\1*|'((?:[^']|'')*)'|([^A-Za-z'])")
_JODA: Final = {
    "H": ("hour", 2),
    "h": ("clock_hour", 2),
    "K": ("half_hour", 2),
    "k": ("late_hour", 2),
    "m": ("minute", 2),
    "s": ("second", 2),
    "d": ("day", 2),
    "D": ("day_of_year", 3),
    "w": ("week", 2),
    "e": ("weekday", 1),
    "S": ("fraction", 9),
}
_YEARS: Final = {"y": "year", "Y": "year", "x": "week_year"}


@lru_cache(maxsize=256)
def joda_pieces(pattern: str) -> Sequence[Piece]:
    """Read a pattern of format_datetime and parse_datetime. Raises :class:`ValueError`."""
    if len(pattern) > _MAX_LENGTH:
        raise ValueError(f"the format is longer than {_MAX_LENGTH} characters")
    pieces: list[Piece] = []
    at = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            raise ValueError(f"Invalid pattern: {pattern}")
        at = token.end()
        letter = token[1]
        if letter is None:
            quoted = token[2]
            pieces.append(_literal(token[3] if quoted is None else quoted.replace("''", "'") or "'"))
        else:
            pieces.append(_joda_field(letter, len(token[0])))
    if not pieces:
        raise ValueError("Invalid pattern specification")
    return _merged(pieces)


def _joda_field(letter: str, width: int) -> Piece:
    if letter in _YEARS:
        if width > 4:
            raise ValueError(f"the field '{letter * width}' is not supported")
        name = _YEARS[letter]
        return Piece("short_year", 2) if width == 2 and name == "year" else Piece(name, width)
    if letter == "M":
        return Piece("month", width) if width < 3 else Piece("month_name", min(width, 4))
    if letter == "E":
        return Piece("weekday_name", 3 if width < 4 else 4)
    if letter == "a":
        return Piece("half", 1)
    if letter == "Z":
        return Piece("zone", min(width, 3))
    if letter not in _JODA:
        raise ValueError(f"the field '{letter * width}' is not supported")
    name, most = _JODA[letter]
    if width > most:
        raise ValueError(f"the field '{letter * width}' is not supported")
    return Piece(name, width)


def _merged(pieces: Sequence[Piece]) -> Sequence[Piece]:
    result: list[Piece] = []
    for piece in pieces:
        if piece.field is None and result and result[-1].field is None:
            result[-1] = _literal(result[-1].text + piece.text)
        else:
            result.append(piece)
    return result
