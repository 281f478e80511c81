"""Casts between dates, times, timestamps and texts, for the rows of CAST.

Sources: Trino's documentation, "Date and time data types"; its own tests of the casts of each type. A value is rounded half
up to the precision of its type.
"""

import re
from collections.abc import Sequence

from sqlglot import exp

from penstock.sql.functions.rows import Call, Definition, Macro, Row, call_engine
from penstock.sql.functions.times.zones import ZONED, in_zone, zone_name

__all__ = ["DEFINITIONS", "ROWS", "zoned_literal"]

ROWS: Sequence[Row] = []

_DAY = "[+-]?[0-9]{4,}-[0-9]{1,2}-[0-9]{1,2}"
_CLOCK = "[0-9]{1,2}:[0-9]{1,2}(?::[0-9]{1,2}(?:[.][0-9]+)?)?"
_SPACE = "[ \\t\\n\\r]*"
_PATTERNS = {
    "DATE": f"{_SPACE}{_DAY}{_SPACE}",
    "TIMESTAMP": f"{_SPACE}{_DAY}(?: {_CLOCK})?{_SPACE}",
    "TIME": f"{_SPACE}{_CLOCK}{_SPACE}",
}
_WITH_ZONE = f"{_SPACE}({_DAY}(?: {_CLOCK})?)[ ]*([^ 0-9.:].*?)?{_SPACE}"


def zoned_literal(call: Call, text: str) -> exp.Expr:
    """Return a literal of the type timestamp with time zone. Raises Trino's error if it is not one."""
    match = re.fullmatch(_WITH_ZONE, text)
    if match is None:
        raise call.error(f"'{text[:100]}' is not a valid TIMESTAMP literal", code="INVALID_LITERAL")
    zone = match[2] or "UTC"
    wall = exp.cast(exp.Literal.string(match[1]), "TIMESTAMP", dialect="duckdb")
    shown = zone_name(zone) or zone
    return in_zone(call, call_engine("trino_from_wall", wall, exp.Literal.string(shown)), exp.Literal.string(zone))


def _text(type_: str) -> str:
    """Return the overload for text: what Trino's parser refuses must not reach the engine's, which is more lenient."""
    message = f"'TRINO[INVALID_CAST_ARGUMENT] Value cannot be cast to {type_.lower()}: ' || x"
    return (
        f"(x VARCHAR) AS CAST(CASE WHEN regexp_full_match(x, '{_PATTERNS[type_]}') THEN trim(x) "
        f"WHEN x IS NOT NULL THEN CAST(CAST({message} AS INTEGER) AS VARCHAR) END AS {type_})"
    )


def _floor(step: str, micros: str) -> str:
    """Return SQL for ``micros`` rounded half up to a multiple of ``step``; the engine's division truncates."""
    half = f"({micros} + {step} // 2)"
    return f"({half} - (({half} % {step}) + {step}) % {step})"


_CHECKED = (
    f"CASE WHEN regexp_full_match(x, '{_WITH_ZONE}') THEN x WHEN x IS NOT NULL THEN "
    "CAST(CAST('TRINO[INVALID_CAST_ARGUMENT] Value cannot be cast to timestamp with time zone: ' || x AS INTEGER) "
    "AS VARCHAR) END"
)
_WALL = f"CAST(regexp_extract({_CHECKED}, '^{_WITH_ZONE}$', 1) AS TIMESTAMP)"
_ZONE = f"trino_zone_name(coalesce(nullif(regexp_extract(x, '^{_WITH_ZONE}$', 2), ''), 'UTC'))"
_INSTANT = "epoch_us(struct_extract(x, '$utc'))"
_FORMAT = "'%Y-%m-%d %H:%M:%S.%f'"

DEFINITIONS: Sequence[Definition] = [
    # Values of files may have more digits than their type; half of the last digit rounds them.
    Macro(
        "trino_timestamp_text",
        f"(x, n) AS rtrim(left(strftime(x + to_microseconds(CAST(pow(10, 6 - n) AS BIGINT) // 2), {_FORMAT}), 20 + n), '.')",
    ),
    Macro(
        "trino_timestamptz_text",
        "(x TIMESTAMPTZ, n) AS trino_timestamp_text(timezone('UTC', x), n) || ' UTC'",
        f"(x {ZONED}, n) AS list_transform([x], lambda trino_x: "
        "trino_timestamp_text(trino_wall(struct_extract(trino_x, '$utc'), struct_extract(trino_x, '$zone')), n) "
        "|| ' ' || struct_extract(trino_x, '$zone'))[1]",
    ),
    Macro("trino_time_text", "(x, n) AS substring(trino_timestamp_text(DATE '2000-01-01' + x, n), 12)"),
    Macro("trino_months_text", "(x, n) AS trino_signed(date_part('year', x) * 12 + date_part('month', x))"),
    Macro("trino_signed", "(m) AS CASE WHEN m < 0 THEN '-' ELSE '' END || (abs(m) // 12) || '-' || (abs(m) % 12)"),
    Macro(
        "trino_days_text",
        "(x, n) AS CASE WHEN epoch_us(x) < 0 THEN '-' ELSE '' END || (abs(epoch_us(x)) // 86400000000) || ' ' || "
        "left(strftime(make_timestamp(abs(epoch_us(x)) % 86400000000), '%H:%M:%S.%f'), 12)",
    ),
    Macro(
        "trino_to_date",
        _text("DATE"),
        *(f"(x {type_}) AS CAST(x AS DATE)" for type_ in ("DATE", "TIMESTAMP")),
        "(x TIMESTAMPTZ) AS CAST(timezone('UTC', x) AS DATE)",
        f"(x {ZONED}) AS CAST(trino_local(x) AS DATE)",
    ),
    Macro(
        "trino_to_timestamp",
        _text("TIMESTAMP"),
        "(x TIME) AS CAST(now() AS DATE) + x",
        *(f"(x {type_}) AS CAST(x AS TIMESTAMP)" for type_ in ("DATE", "TIMESTAMP")),
        "(x TIMESTAMPTZ) AS timezone('UTC', x)",
        f"(x {ZONED}) AS trino_local(x)",
    ),
    Macro(
        "trino_to_timestamptz",
        f"(x VARCHAR) AS trino_zoned(trino_from_wall({_WALL}, {_ZONE}), {_ZONE})",
        *(f"(x {type_}) AS timezone('UTC', CAST(x AS TIMESTAMP))" for type_ in ("DATE", "TIMESTAMP")),
        "(x TIMESTAMPTZ) AS x",
        f"(x {ZONED}) AS x",
    ),
    Macro(
        "trino_to_time",
        _text("TIME"),
        *(f"(x {type_}) AS CAST(x AS TIME)" for type_ in ("TIME", "TIMESTAMP")),
        "(x TIMESTAMPTZ) AS CAST(timezone('UTC', x) AS TIME)",
        f"(x {ZONED}) AS CAST(trino_local(x) AS TIME)",
    ),
    # `step` is a unit of the precision in microseconds.
    Macro(
        "trino_to_precision",
        f"(x TIMESTAMP, step) AS make_timestamp({_floor('step', 'epoch_us(x)')})",
        f"(x TIMESTAMPTZ, step) AS timezone('UTC', make_timestamp({_floor('step', 'epoch_us(x)')}))",
        f"(x TIME, step) AS CAST(make_timestamp({_floor('step', 'epoch_us(x)')}) AS TIME)",
        f"(x {ZONED}, step) AS trino_zoned(make_timestamp({_floor('step', _INSTANT)}), struct_extract(x, '$zone'))",
    ),
]
