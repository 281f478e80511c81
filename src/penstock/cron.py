"""Glue's cron expressions: ``cron(minutes hours day-of-month month day-of-week year)``, in UTC.

Source: Glue developer guide, "Time-based schedules for jobs and crawlers": the fields and their wildcards, a question mark
in one of the two fields of days, and no rate above one run in five minutes.
"""

import calendar
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise

from penstock.errors import InvalidInput

__all__ = ["Cron", "parse_cron"]


def _named(names: str) -> Mapping[str, int]:
    return {name: number for number, name in enumerate(names.split(), 1)}


_MONTHS = _named("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC")
_DAYS = _named("SUN MON TUE WED THU FRI SAT")
_FIRST_YEAR, _LAST_YEAR = 1970, 2199
_FAR = 366 * 29  # days: after 28 years the weekdays of 29 February repeat
_SHORTEST = 5  # minutes
_PART = re.compile(r"(\*|\w+)(?:-(\w+))?(?:/(\d+))?")
_Rule = Callable[[date], bool]


@dataclass(frozen=True, slots=True)
class Cron:
    """A parsed expression; ``is_day`` tells for a date whether it has runs."""

    minutes: Sequence[int]
    hours: Sequence[int]
    is_day: _Rule

    def next_after(self, moment: datetime) -> datetime | None:
        """Return the first run after ``moment`` (UTC); None if there is none within 29 years."""
        for day in range(_FAR):
            today = moment.date() + timedelta(days=day)
            if today.year > _LAST_YEAR:
                return None
            if self.is_day(today):
                for run in self._runs(today):
                    if run > moment:
                        return run
        return None

    def _runs(self, day: date) -> Iterator[datetime]:
        for hour in self.hours:
            for minute in self.minutes:
                yield datetime.combine(day, time(hour, minute), UTC)


def parse_cron(text: str) -> Cron:
    """Return the schedule in ``text``. Raises :class:`InvalidInput` that names the field which cannot be read."""
    match = re.fullmatch(r"\s*cron\(([^()]*)\)\s*", text)
    fields = match[1].split() if match else []
    if len(fields) != 6:
        raise InvalidInput(
            f"The schedule '{text[:100]}' is not of six fields.",
            remedy="Write cron(15 12 * * ? *) for each day at 12:15 UTC.",
        )
    minutes = _numbers(fields[0], 0, 59, "minutes")
    hours = _numbers(fields[1], 0, 23, "hours")
    months = frozenset(_numbers(fields[3].upper(), 1, 12, "month", _MONTHS))
    years = frozenset(_numbers(fields[5], _FIRST_YEAR, _LAST_YEAR, "year"))
    if (fields[2] == "?") is (fields[4] == "?"):
        raise InvalidInput(
            f"The schedule '{text[:100]}' needs a ? as day of month or as day of week, and not as both.",
            remedy="Write cron(0 12 * * ? *) or cron(0 12 ? * MON-FRI *).",
        )
    rule = _day_of_week(fields[4].upper()) if fields[2] == "?" else _day_of_month(fields[2].upper())
    _check_rate(text, minutes, hours)
    return Cron(minutes, hours, lambda day: day.month in months and day.year in years and rule(day))


def _check_rate(text: str, minutes: Sequence[int], hours: Sequence[int]) -> None:
    around = [*minutes, minutes[0] + 60] if len(hours) > 1 else minutes
    if any(after - before < _SHORTEST for before, after in pairwise(around)):
        raise InvalidInput(
            f"The schedule '{text[:100]}' runs more often than every {_SHORTEST} minutes.",
            remedy="Leave more time between runs.",
        )


def _numbers(field: str, low: int, high: int, what: str, names: Mapping[str, int] | None = None) -> Sequence[int]:
    results: set[int] = set()
    for part in field.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise _unread(field, what)
        start, end, step = match.groups()
        first = low if start == "*" else _number(start, names, field, what)
        last = high if start == "*" or (step and not end) else _number(end or start, names, field, what)
        if not low <= first <= last <= high or step == "0" or (start == "*" and end):
            raise _unread(field, what)
        results.update(range(first, last + 1, int(step or 1)))
    return sorted(results)


def _number(text: str, names: Mapping[str, int] | None, field: str, what: str) -> int:
    if names and text in names:
        return names[text]
    if not re.fullmatch(r"\d{1,4}", text):
        raise _unread(field, what)
    return int(text)


def _unread(field: str, what: str) -> InvalidInput:
    return InvalidInput(
        f"'{field[:50]}' cannot be read as the {what} of a schedule.",
        remedy="Use numbers or names, lists (1,2), ranges (1-5), steps (0/15) and *; for days also ?, L, W and #.",
    )


def _day_of_month(field: str) -> _Rule:
    if field == "L":
        return lambda day: day.day == _last(day)
    if field == "LW":
        return lambda day: day.day == _nearest_weekday(day, _last(day))
    if match := re.fullmatch(r"(\d{1,2})W", field):
        wanted = int(match[1])
        if not 1 <= wanted <= 31:
            raise _unread(field, "day of month")
        return lambda day: wanted <= _last(day) and day.day == _nearest_weekday(day, wanted)
    days = frozenset(_numbers(field, 1, 31, "day of month"))
    return lambda day: day.day in days


def _day_of_week(field: str) -> _Rule:
    if field == "L":
        return lambda day: _weekday(day) == 7
    if match := re.fullmatch(r"(\w{1,3})L", field):
        last = _numbers(match[1], 1, 7, "day of week", _DAYS)[0]
        return lambda day: _weekday(day) == last and day.day + 7 > _last(day)
    if match := re.fullmatch(r"(\w{1,3})#([1-5])", field):
        wanted, week = _numbers(match[1], 1, 7, "day of week", _DAYS)[0], int(match[2])
        return lambda day: _weekday(day) == wanted and (day.day + 6) // 7 == week
    days = frozenset(_numbers(field, 1, 7, "day of week", _DAYS))
    return lambda day: _weekday(day) in days


def _weekday(day: date) -> int:
    return day.isoweekday() % 7 + 1  # 1 is Sunday


def _last(day: date) -> int:
    return calendar.monthrange(day.year, day.month)[1]


def _nearest_weekday(month: date, wanted: int) -> int:
    """Return the day from Monday to Friday that is nearest to ``wanted``, in the same month."""
    day = month.replace(day=wanted)
    match day.isoweekday():
        case 6:
            return wanted - 1 if wanted > 1 else wanted + 2
        case 7:
            return wanted + 1 if wanted < _last(month) else wanted - 2
        case _:
            return wanted
