"""Dates and times in ISO 8601's forms, as Joda-Time's parsers of them read: calendar, week and ordinal dates."""

import datetime
import re

from penstock.sql.functions.times.zones import UTC, zone_name

__all__ = ["iso_date", "iso_timestamp"]

_WEEK = r"W(?P<week>\d{1,2})(?:-(?P<weekday>\d))?"
_MONTH = r"(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?"
_DATE = rf"(?:(?P<year>[+-]?\d{{1,9}})(?:-(?:{_MONTH}|(?P<ordinal>\d{{3}})|{_WEEK}))?)"
_CLOCK = r"(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{1,2}))?)?(?:[.,](?P<fraction>\d+))?"
_ZONE = r"(?P<zone>Z|[+-]\d{2}(?::?\d{2})?)"
_ISO_DATE = re.compile(_DATE)
_ISO_TIMESTAMP = re.compile(rf"{_DATE}?(?:T(?:{_CLOCK})?{_ZONE}?)?")


def iso_date(text: str) -> datetime.date:
    """Return the date of a text. Raises :class:`ValueError` with Trino's message."""
    found = _ISO_DATE.fullmatch(text)
    if found is None:
        raise _malformed(text)
    return _day(text, found)


def iso_timestamp(text: str) -> tuple[datetime.datetime, str]:
    """Return the local time of a text, in milliseconds, and its zone. Raises :class:`ValueError` with Trino's message."""
    found = _ISO_TIMESTAMP.fullmatch(text)
    if found is None or not text:
        raise _malformed(text)
    zone = zone_name(found["zone"]) if found["zone"] else UTC
    if zone is None:
        raise _malformed(text)
    day = _day(text, found) if found["year"] else datetime.date(1970, 1, 1)
    hour, minute, second = (int(found[name] or 0) for name in ("hour", "minute", "second"))
    try:
        moment = datetime.datetime(day.year, day.month, day.day, hour, minute, second)
    except ValueError as error:
        raise ValueError(f'Cannot parse "{text[:100]}": {error}') from None
    return moment + _fraction(found), zone


def _fraction(found: re.Match[str]) -> datetime.timedelta:
    """Return the fraction of the last field that is there, in whole milliseconds."""
    if not found["fraction"]:
        return datetime.timedelta()
    unit = 1_000 if found["second"] else 60_000 if found["minute"] else 3_600_000
    digits = found["fraction"][:9]
    return datetime.timedelta(milliseconds=int(digits) * unit // 10 ** len(digits))


def _day(text: str, found: re.Match[str]) -> datetime.date:
    year = int(found["year"])
    try:
        if found["week"]:
            return datetime.date.fromisocalendar(year, int(found["week"]), int(found["weekday"] or 1))
        if found["ordinal"]:
            day = datetime.date(year, 1, 1) + datetime.timedelta(days=int(found["ordinal"]) - 1)
            if day.year != year:
                raise ValueError("day of year must be in the range [1,365]")
            return day
        return datetime.date(year, int(found["month"] or 1), int(found["day"] or 1))
    except (ValueError, OverflowError) as error:
        raise ValueError(f'Cannot parse "{text[:100]}": {error}') from None


def _malformed(text: str) -> ValueError:
    return ValueError(f'Invalid format: "{text[:100]}"')
