"""Time zones: timestamps that keep the zone which they were given, as Trino's do.

The engine's TIMESTAMPTZ is an instant without a zone, which is what a timestamp in UTC needs (the session's zone is UTC).
A timestamp of another zone is a struct of :data:`ZONED`: its instant, and the zone's name. Every macro on times has an
overload for it. Local times that a change of the clock leaves out or has twice are read as Trino reads them: later by
the gap, and the first of two, unless the value was in the second already.
"""

import re
import zoneinfo
from collections.abc import Mapping, Sequence
from functools import cache

from sqlglot import exp

from penstock.sql.functions.rows import Call, Definition, Macro, Row, Types, call_engine, fail, refuse
from penstock.sql.trino_types import BIGINT, Type

__all__ = [
    "DEFINITIONS",
    "ROWS",
    "UTC",
    "ZONED",
    "in_zone",
    "instant",
    "moment_type",
    "zone_name",
    "zone_part",
    "zoned_type",
]

UTC = "UTC"
ZONED = 'STRUCT("$utc" TIMESTAMP, "$zone" VARCHAR)'
"""The engine's type of a timestamp in a zone that is not UTC: its instant as a time in UTC, and the zone as it is shown."""

_ZONE = "timestamp with time zone"
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?", re.IGNORECASE)
_SAME_AS_UTC = {"utc", "z", "gmt", "ut", "uct", "zulu", "universal", "greenwich", "gmt0", "+00:00", "-00:00"}
_MAX_OFFSET = 14 * 60


@cache
def _zones() -> Mapping[str, str]:
    return {name.lower(): name for name in zoneinfo.available_timezones()}


def zone_name(text: str) -> str | None:
    """Return the name under which Trino shows a zone, None if there is no such zone."""
    lowered = text.lower()
    if lowered.removeprefix("etc/") in _SAME_AS_UTC:
        return UTC
    offset = _OFFSET.fullmatch(text)
    if offset is None:
        return _zones().get(lowered)
    minutes = int(offset[2]) * 60 + int(offset[3] or 0)
    if minutes > _MAX_OFFSET or int(offset[3] or 0) > 59:
        return None
    return f"{offset[1]}{minutes // 60:02}:{minutes % 60:02}" if minutes else UTC


def moment_type(type_: Type | None) -> Type | None:
    """Return the timestamp with time zone of the same precision."""
    return zoned_type(type_.numbers if type_ is not None and type_.name != "date" else (3,))


def zoned_type(numbers: tuple[int, ...] = (3,)) -> Type:
    """Return the type timestamp with time zone."""
    return Type(_ZONE, numbers or (3,))


def instant(value: exp.Expr) -> exp.Expr:
    """Return ``value``, a timestamp with time zone of either form, as the engine's instant; other values as they are."""
    return call_engine("trino_instant", value)


def in_zone(call: Call, utc: exp.Expr, zone: exp.Expr) -> exp.Expr:
    """Return the instant ``utc`` (a TIMESTAMP) in ``zone``. Raises for the name of a zone that does not exist."""
    if isinstance(zone, exp.Literal) and zone.is_string:
        name = zone_name(zone.name)
        if name is None:
            raise call.error(f"'{zone.name[:100]}' is not a valid time zone", code="INVALID_FUNCTION_ARGUMENT")
        if name == UTC:
            return call_engine("timezone", exp.Literal.string(UTC), utc)
        return call_engine("trino_zoned", utc, exp.Literal.string(name))
    return call_engine("trino_zoned", utc, call_engine("trino_zone_name", zone))


def _at(call: Call) -> exp.Expr:
    value, zone = call.arguments[:2]
    type_ = call.types[0]
    if type_ is not None and type_.name.startswith("time") and not type_.name.startswith("timestamp"):
        raise call.error("AT TIME ZONE is not supported for the type time.", code="NOT_SUPPORTED")
    if type_ is not None and not (type_.name.startswith("timestamp") or type_.name == "unknown"):
        raise call.error(
            f"Type of value must be a time or timestamp with or without time zone (actual {type_})", code="TYPE_MISMATCH"
        )
    return in_zone(call, call_engine("trino_utc", value), zone)


def _with(call: Call) -> exp.Expr:
    value, zone = call.arguments
    type_ = call.types[0]
    if type_ is not None and type_.name != "timestamp":
        raise call.unexpected("with_timezone(timestamp(p), varchar)")
    if isinstance(zone, exp.Literal) and zone.is_string:
        name = zone_name(zone.name)
        shown = exp.Literal.string(name) if name is not None else zone
        return in_zone(call, call_engine("trino_from_wall", value, shown), zone)
    return in_zone(call, call_engine("trino_from_wall", value, call_engine("trino_zone_name", zone.copy())), zone)


def zone_part(name: str, value: exp.Expr) -> exp.Expr:
    """Return the hours (``timezone_hour``) or the minutes beside them (``timezone_minute``) of a moment's offset."""
    return call_engine(f"trino_{name}", call_engine("trino_offset", value))


def _moved(types: Types) -> Type | None:
    return moment_type(types[0])


def _zone_part(name: str) -> Row:
    def write(call: Call) -> exp.Expr:
        return zone_part(name, call.arguments[0])

    return Row(name, arity=1, returns=BIGINT, write=write)


ROWS: Sequence[Row] = [
    Row("AT TIME ZONE", nodes=(exp.AtTimeZone,), returns=_moved, write=_at),
    Row("at_timezone", arity=2, returns=_moved, write=_at),
    Row("with_timezone", arity=2, returns=_moved, write=_with),
    _zone_part("timezone_hour"),
    _zone_part("timezone_minute"),
    *refuse("current_time", "the type time with time zone is not supported", "Use localtime.", nodes=(exp.CurrentTime,)),
]

_UTC = "struct_extract(x, '$utc')"
_NOT_UTC = fail(
    "Grouping by timestamps is not supported for zones from data that are not UTC: use AT TIME ZONE with a zone first",
    "BOOLEAN",
    code="NOT_SUPPORTED",
)

DEFINITIONS: Sequence[Definition] = [
    # The engine copies a macro's arguments to each of their places. Those of zones are computed once, in a list of one.
    Macro(
        "trino_zoned",
        "(utc, zone) AS list_transform([utc], lambda trino_u: "
        "CASE WHEN trino_u IS NOT NULL AND zone IS NOT NULL THEN {'$utc': trino_u, '$zone': zone} END)[1]",
    ),
    Macro(
        "trino_only_utc",
        "(x TIMESTAMPTZ) AS x",
        f"(x {ZONED}) AS list_transform([x], lambda trino_x: CASE WHEN "
        f"CASE WHEN struct_extract(trino_x, '$zone') = 'UTC' OR trino_x IS NULL "
        f"THEN true ELSE {_NOT_UTC} END THEN trino_x END)[1]",
    ),
    # The engine names a fixed offset GMT+01:00. The names that are not literals are checked by the engine itself.
    Macro("trino_engine_zone", "(zone) AS CASE WHEN zone[1] IN ('+', '-') THEN 'GMT' || zone ELSE zone END"),
    Macro(
        "trino_zone_name",
        "(zone) AS CASE WHEN lower(zone) IN ('utc', 'z', 'gmt', 'ut', 'etc/utc', '+00:00', '-00:00') THEN 'UTC' "
        "WHEN regexp_full_match(zone, '[+-][0-9]{2}') THEN zone || ':00' ELSE zone END",
    ),
    Macro("trino_wall", "(utc, zone) AS timezone(trino_engine_zone(zone), timezone('UTC', utc))"),
    Macro(
        "trino_from_wall",
        "(wall, zone) AS list_transform([wall], lambda trino_w: "
        "list_transform([timezone('UTC', timezone(trino_engine_zone(zone), trino_w))], lambda trino_late: "
        "list_transform([trino_w - (trino_wall(trino_late - to_days(1), zone) - (trino_late - to_days(1)))], "
        "lambda trino_early: CASE WHEN trino_early < trino_late AND trino_wall(trino_early, zone) = trino_w "
        "THEN trino_early ELSE trino_late END)[1])[1])[1]",
    ),
    # The instant of a local time, with the offset of another instant if it is possible.
    Macro(
        "trino_from_wall_near",
        "(wall, zone, near) AS list_transform([wall], lambda trino_v: "
        "list_transform([trino_v - (trino_wall(near, zone) - near)], lambda trino_same: "
        "CASE WHEN trino_wall(trino_same, zone) = trino_v THEN trino_same "
        "ELSE trino_from_wall(trino_v, zone) END)[1])[1]",
    ),
    Macro(
        "trino_utc",
        "(x DATE) AS CAST(x AS TIMESTAMP)",
        "(x TIMESTAMP) AS x",
        "(x TIMESTAMPTZ) AS timezone('UTC', x)",
        f"(x {ZONED}) AS {_UTC}",
    ),
    Macro(
        "trino_local",
        "(x DATE) AS CAST(x AS TIMESTAMP)",
        "(x TIMESTAMP) AS x",
        "(x TIMESTAMPTZ) AS timezone('UTC', x)",
        f"(x {ZONED}) AS list_transform([x], lambda trino_l: "
        "trino_wall(struct_extract(trino_l, '$utc'), struct_extract(trino_l, '$zone')))[1]",
    ),
    Macro("trino_instant", "(x) AS x", f"(x {ZONED}) AS timezone('UTC', {_UTC})"),
    Macro(
        "trino_offset",
        "(x TIMESTAMPTZ) AS CASE WHEN x IS NOT NULL THEN 0 END",
        f"(x {ZONED}) AS list_transform([x], lambda trino_o: "
        "(epoch_us(trino_local(trino_o)) "
        "- epoch_us(struct_extract(trino_o, '$utc'))) // 60000000)[1]",
    ),
    Macro("trino_timezone_hour", "(minutes) AS CAST(minutes // 60 AS BIGINT)"),
    Macro("trino_timezone_minute", "(minutes) AS CAST(minutes % 60 AS BIGINT)"),
]
