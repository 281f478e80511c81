"""Java's date patterns (``yyyy/MM/dd``): the fields of ``DateTimeFormatter`` that are digits only, and steps between dates.

Source: the API documentation of ``java.time.format.DateTimeFormatter``, "Patterns for Formatting and Parsing".
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

__all__ = ["DatePattern", "Moment", "date_pattern", "steps"]

Moment = datetime
"""A date and time without a zone."""

# A run of one letter, a quoted text, two quotes that mean one, or anything else.
_TOKEN = re.compile(r"([A-Za-z])\1*|'((?:[^']|'')+)'|''|([^A-Za-z'])")
_FIELDS: Final = {"y": "year", "u": "year", "M": "month", "d": "day", "H": "hour", "m": "minute", "s": "second", "S": "S"}
_UNITS: Final = ("YEARS", "MONTHS", "DAYS", "HOURS", "MINUTES", "SECONDS", "MILLIS")
_MAX_LENGTH = 100
_STEPS: Final = {
    "WEEKS": timedelta(weeks=1),
    "DAYS": timedelta(days=1),
    "HOURS": timedelta(hours=1),
    "MINUTES": timedelta(minutes=1),
    "SECONDS": timedelta(seconds=1),
    "MILLIS": timedelta(milliseconds=1),
}
_MONTHS: Final = {"YEARS": 12, "MONTHS": 1}


@dataclass(frozen=True, slots=True)
class DatePattern:
    """A pattern: ``format`` writes a moment, ``parse`` reads one or raises ValueError, ``precision`` is its finest unit."""

    format: Callable[[Moment], str]
    parse: Callable[[str], Moment]
    precision: str


def date_pattern(text: str) -> DatePattern:
    """Read a pattern. Raises :class:`ValueError` if a field is not digits, or if the pattern has no field."""
    if len(text) > _MAX_LENGTH:
        raise ValueError(f"it is longer than {_MAX_LENGTH} characters")
    writers: list[Callable[[Moment], str]] = []
    reader = ""
    order: list[tuple[str, int]] = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError("a quote is not closed")
        at = token.end()
        letter = token[1]
        if letter is not None:
            width = len(token[0])
            field = _field(letter, width)
            order.append((field, width))
            writers.append(_writer(field, width))
            # A single letter is a number of any width, as is a year of more than four digits.
            reader += rf"(\d{{{width}}})" if width > 1 else r"(\d{1,9})"
        else:
            literal = "'" if token[0] == "''" else (token[2] or "").replace("''", "'") or token[0]
            writers.append(_constant(literal))
            reader += re.escape(literal)
    if not order:
        raise ValueError("it has no field of a date")
    pattern = re.compile(reader, re.ASCII)
    precision = max(_UNITS.index("MILLIS" if field == "S" else f"{field.upper()}S") for field, _ in order)
    return DatePattern(
        format=lambda moment: "".join(write(moment) for write in writers),
        parse=lambda value: _parsed(pattern.fullmatch(value), order),
        precision=_UNITS[precision],
    )


def steps(first: Moment, last: Moment | None, interval: int, unit: str) -> Iterator[Moment]:
    """Yield ``first`` and the moments after it in steps of ``interval`` units, up to ``last``.

    Raises :class:`ValueError` for an unknown unit.
    """
    name = unit.upper() if unit.upper().endswith("S") else f"{unit.upper()}S"
    if name not in _STEPS and name not in _MONTHS:
        raise ValueError(f"'{unit[:30]}' is not one of {', '.join([*_MONTHS, *_STEPS])}")
    number = 0
    while True:
        try:
            if name in _STEPS:
                moment = first + _STEPS[name] * (interval * number)
            else:
                moment = _months_later(first, interval * number * _MONTHS[name])
        except (OverflowError, ValueError):
            return
        if last is not None and moment > last:
            return
        yield moment
        number += 1


def _field(letter: str, width: int) -> str:
    field = _FIELDS.get(letter)
    if field is None:
        raise ValueError(f"'{letter}' is not a field that is digits")
    widths = (1, 2, 4) if field == "year" else range(1, 10) if field == "S" else (1, 2)
    if width not in widths:
        raise ValueError(f"'{letter * width}' is not a field that is digits")
    return field


def _writer(field: str, width: int) -> Callable[[Moment], str]:
    if field == "S":
        return lambda moment: f"{moment.microsecond:06}".ljust(9, "0")[:width]
    if field == "year" and width == 2:
        return lambda moment: f"{moment.year % 100:02}"
    return lambda moment: f"{getattr(moment, field):0{width}}"


def _constant(text: str) -> Callable[[Moment], str]:
    return lambda _: text


def _parsed(match: re.Match[str] | None, order: list[tuple[str, int]]) -> Moment:
    if match is None:
        raise ValueError("it is not in the format")
    parts = {"year": 1970, "month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0, "microsecond": 0}
    for (field, width), text in zip(order, match.groups(), strict=True):
        if field == "S":
            parts["microsecond"] = int(text.ljust(6, "0")[:6])
        else:
            parts[field] = int(text) + (2000 if field == "year" and width == 2 else 0)
    return datetime(**parts)  # type: ignore[arg-type]


def _months_later(moment: Moment, months: int) -> Moment:
    number = moment.year * 12 + moment.month - 1 + months
    year, month = divmod(number, 12)
    for day in (moment.day, 30, 29, 28):
        if day <= moment.day:
            try:
                return moment.replace(year=year, month=month + 1, day=day)
            except ValueError:
                continue
    raise ValueError("there is no such month")
