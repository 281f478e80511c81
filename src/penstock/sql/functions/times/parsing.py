"""Texts to dates and times by a pattern, as Joda-Time reads them.

A number may have fewer digits than its field, names of months and days may be short or long and in any case, and the whole
text must be used. What a text leaves out is the first of its kind: January, the 1st, 00:00; the year is 1970, or 2000 if
there are a month or a day.
"""

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from penstock.sql.functions.times.patterns import Piece
from penstock.sql.functions.times.zones import UTC, zone_name

__all__ = ["Parse", "parser"]

Parse = Callable[[str], tuple[datetime.datetime, str]]
"""Reads a text to a local time and its zone. Raises :class:`ValueError` with Trino's message."""

_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_DIGITS: Final = {
    "month": 2, "day": 2, "hour": 2, "clock_hour": 2, "half_hour": 2, "late_hour": 2, "minute": 2, "second": 2,
    "day_of_year": 3, "week": 2, "weekday": 1,
}  # fmt: skip
_RANGES: Final = {
    "month": (1, 12), "day": (1, 31), "hour": (0, 23), "clock_hour": (1, 12), "half_hour": (0, 11), "late_hour": (1, 24),
    "minute": (0, 59), "second": (0, 59), "day_of_year": (1, 366), "week": (1, 53), "weekday": (1, 7),
}  # fmt: skip
_ZONE = r"[+-]\d{2}(?::?\d{2})?|Z|[A-Za-z][A-Za-z0-9_/+-]*"


def parser(pieces: Sequence[Piece], pivot: int | None = 2020) -> Parse:
    """Return the reader of texts in a pattern.

    Two digits of a year are one of the fifty before ``pivot`` or of the fifty from it on; None takes Joda-Time's own pivot,
    and then a year that does not have two digits is taken as it is.
    """
    expression = re.compile("".join(_expression(piece, pieces[at + 1 : at + 2], pivot) for at, piece in enumerate(pieces)))
    names = [piece for piece in pieces if piece.field is not None]

    @lru_cache(maxsize=10_000)
    def parse(text: str) -> tuple[datetime.datetime, str]:
        match = expression.fullmatch(text)
        if match is None:
            raise ValueError(f'Invalid format: "{text[:100]}"')
        try:
            values = _values(names, match.groups(), pivot)
            return _resolved(values), str(values.get("zone", UTC))
        except (ValueError, OverflowError) as error:
            raise ValueError(f'Cannot parse "{text[:100]}": {error}') from None

    return parse


def _expression(piece: Piece, following: Sequence[Piece], pivot: int | None) -> str:
    field = piece.field
    if field is None:
        return re.escape(piece.text)
    if field in _NAMED:
        return _NAMED[field]
    numbers = _DIGITS.get(field)
    if numbers is not None:
        return rf"(\d{{1,{numbers}}})"
    if field in {"micros", "fraction"}:
        return rf"(\d{{1,{9 if field == 'micros' else piece.width}}})"
    # A year of MySQL has at most four digits; one of Joda-Time as many as there are, unless another number follows.
    next_is_number = bool(following) and following[0].field not in {None, *_NAMED}
    bounded = pivot is not None or next_is_number
    if field == "short_year":
        return r"(\d{2})" if bounded else r"([+-]?\d{1,9})"
    return r"([+-]?\d{1,4})" if bounded else r"([+-]?\d{1,9})"


def _choices(names: Sequence[str]) -> str:
    # The long name first: it begins with the short one.
    return f"((?i:{'|'.join([*names, *(name[:3] for name in names)])}))"


_NAMED: Final = {
    "month_name": _choices(_MONTHS),
    "weekday_name": _choices(_DAYS),
    "half": "((?i:am|pm))",
    "zone": f"({_ZONE})",
}


def _values(names: Sequence[Piece], texts: Sequence[str], pivot: int | None) -> Mapping[str, int | str]:
    values: dict[str, int | str] = {}
    for piece, text in zip(names, texts, strict=True):
        field = piece.field or ""
        if field == "short_year":
            values["year"] = _short_year(text, pivot)
        elif field in {"micros", "fraction"}:
            values["millisecond"] = int(text.ljust(3, "0")[:3])
        elif field in {"month_name", "weekday_name"}:
            options = _MONTHS if field == "month_name" else _DAYS
            number = next(at for at, name in enumerate(options, start=1) if name[:3] == text[:3].lower())
            values["month" if field == "month_name" else "weekday"] = number
        elif field == "half":
            values["half"] = int(text.lower() == "pm")
        elif field == "zone":
            name = zone_name(text)
            if name is None:
                raise ValueError(f"'{text}' is not a valid time zone")
            values["zone"] = name
        else:
            number = int(text)
            least, most = _RANGES.get(field, (number, number))
            if not least <= number <= most:
                raise ValueError(f"Value {number} for {field} must be in the range [{least},{most}]")
            values[field] = number
    return values


def _short_year(text: str, pivot: int | None) -> int:
    if pivot is None:
        if not (len(text) == 2 and text.isdigit()):
            return int(text)
        pivot = datetime.datetime.now(tz=datetime.UTC).year - 30
    first = pivot - 50
    return first + (int(text) - first) % 100


def _resolved(values: Mapping[str, int | str]) -> datetime.datetime:
    numbers = {name: value for name, value in values.items() if isinstance(value, int)}
    day = _date(numbers)
    if "hour" in numbers:
        hour = numbers["hour"]
    elif "late_hour" in numbers:
        hour = numbers["late_hour"] % 24
    else:
        hour = numbers.get("clock_hour", numbers.get("half_hour", 0)) % 12 + 12 * numbers.get("half", 0)
    return datetime.datetime(
        day.year,
        day.month,
        day.day,
        hour,
        numbers.get("minute", 0),
        numbers.get("second", 0),
        numbers.get("millisecond", 0) * 1000,
    )


def _date(numbers: Mapping[str, int]) -> datetime.date:
    dated = {"month", "day", "week", "weekday", "day_of_year"} & set(numbers)
    year = numbers.get("year", 2000 if dated and "week_year" not in numbers else 1970)
    if "week" in numbers or "week_year" in numbers:
        return datetime.date.fromisocalendar(
            numbers.get("week_year", year), numbers.get("week", 1), numbers.get("weekday", 1)
        )
    if "day_of_year" in numbers:
        day = datetime.date(year, 1, 1) + datetime.timedelta(days=numbers["day_of_year"] - 1)
        if day.year != year:
            raise ValueError(f"Value {numbers['day_of_year']} for dayOfYear must be in the range [1,365]")
        return day
    day = datetime.date(year, numbers.get("month", 1), numbers.get("day", 1))
    if "weekday" in numbers:
        day += datetime.timedelta(days=numbers["weekday"] - day.isoweekday())
    return day
