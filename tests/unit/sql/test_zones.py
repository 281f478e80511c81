"""Time zones against Python's own database of them: around every change of the clock, and in between."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.unit.sql.engine import Engine

_MINUTES = (-90, -60, -45, -30, -15, 0, 15, 30, 45, 60, 90)


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


def _moments(zone: ZoneInfo) -> Iterator[datetime]:
    """Yield local times around the changes of the clock of 2010."""
    moment = datetime(2010, 1, 1, tzinfo=UTC)
    while moment.year == 2010:
        following = moment + timedelta(hours=1)
        if following.astimezone(zone).utcoffset() != moment.astimezone(zone).utcoffset():
            yield from (following.astimezone(zone).replace(tzinfo=None) + timedelta(minutes=minute) for minute in _MINUTES)
        moment = following


@pytest.mark.parametrize("name", ["America/New_York", "Europe/Paris", "Australia/Lord_Howe", "America/St_Johns"])
def test_local_times_are_those_of_the_time_zone_database(engine: Engine, name: str) -> None:
    zone = ZoneInfo(name)
    moments = list(_moments(zone))
    assert len(moments) == 2 * len(_MINUTES)
    values = ", ".join(f"TIMESTAMP '{item}'" for item in moments)
    rows = engine.rows(
        f"SELECT CAST(with_timezone(t, '{name}') AS varchar), to_unixtime(with_timezone(t, '{name}')), "
        f"CAST(t AT TIME ZONE '{name}' AS varchar), "
        f"CAST(date_trunc('day', t AT TIME ZONE '{name}') AS varchar) FROM (VALUES {values}) x(t)"
    )
    for moment, row in zip(moments, rows, strict=True):
        # The first of two equal local times; one that the clock passes over is later by the gap.
        given = moment.replace(tzinfo=zone, fold=0).astimezone(UTC)
        shown = moment.replace(tzinfo=UTC).astimezone(zone)
        midnight = shown.replace(hour=0, minute=0, fold=0)
        expected = [f"{item:%Y-%m-%d %H:%M:%S} {name}" for item in (given.astimezone(zone), shown, midnight)]
        assert [row[0], row[2], row[3]] == expected, moment
        assert float(row[1] or 0) == given.timestamp(), moment
