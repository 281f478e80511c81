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
    match = _ISO_DATE.fullmatch(text)
    if match is None:
        raise _malformed(text)
    return _day(text, match)


def iso_timestamp(text: str) -> tuple[datetime.datetime, str]:
    """Return the local time of a text, in milliseconds, and its zone. Raises :class:`ValueError` with Trino's message."""
    match = _ISO_TIMESTAMP.fullmatch(text)
    if match is None or not text:
        raise _malformed(text)
    zone = zone_name(match["zone"]) if match["zone"] else UTC
    if zone is None:
        raise _malformed(text)
    day = _day(text, match) if match["year"] else datetime.date(1970, 1, 1)
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    try:
        moment = datetime.datetime(day.year, day.month, day.day, hour, minute, second)
    except ValueError as error:
        raise ValueError(f'Cannot parse "{text[:100]}": {error}') from None
    return moment + _fraction(match), zone


def _fraction(match: re.Match[str]) -> datetime.timedelta:
    """Return the fraction of the last field, in whole milliseconds."""
    if not match["fraction"]:
        return datetime.timedelta()
    unit = 1_000 if match["second"] else 60_000 if match["minute"] else 3_600_000
    digits = match["fraction"][:9]
    return datetime.timedelta(milliseconds=int(digits) * unit // 10 ** len(digits))


def _day(text: str, match: re.Match[str]) -> datetime.date:
    year = int(match["year"])
    try:
        if match["week"]:
            return datetime.date.fromisocalendar(year, int(match["week"]), int(match["weekday"] or 1))
        if match["ordinal"]:
            day = datetime.date(year, 1, 1) + datetime.timedelta(days=int(match["ordinal"]) - 1)
            if day.year != year:
                raise ValueError("day of year must be in the range [1,365]")
            return day
        return datetime.date(year, int(match["month"] or 1), int(match["day"] or 1))
    except (ValueError, OverflowError) as error:
        raise ValueError(f'Cannot parse "{text[:100]}": {error}') from None


def _malformed(text: str) -> ValueError:
    return ValueError(f'Invalid format: "{text[:100]}"')
