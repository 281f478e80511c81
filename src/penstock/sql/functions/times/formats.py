"""Dates and times to texts and back, by patterns and in ISO 8601's forms.

Sources: Trino's documentation, "MySQL date functions", "Java date functions", "Date and time functions". Patterns must be
texts in the query.
"""

import datetime
import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from sqlglot import exp

from penstock.sql.functions.python import by_row, invalid
from penstock.sql.functions.rows import Call, Definition, Macro, Row, call_engine
from penstock.sql.functions.times.fields import moment
from penstock.sql.functions.times.iso import iso_date, iso_timestamp
from penstock.sql.functions.times.parsing import Parse, parser
from penstock.sql.functions.times.patterns import Piece, joda_pieces, mysql_pieces
from penstock.sql.functions.times.zones import UTC, ZONED, zoned_type
from penstock.sql.trino_types import DATE, VARCHAR, Type

__all__ = ["DEFINITIONS", "ROWS"]


def _pieces(call: Call, read: Callable[[str], Sequence[Piece]]) -> tuple[str, Sequence[Piece]]:
    pattern = call.text(1)
    if pattern is None:
        raise call.error(
            f"{call.name} is not supported with a format that is not a text in the query.",
            code="NOT_SUPPORTED",
            remedy="Write the format as a text.",
        )
    try:
        return pattern, read(pattern)
    except ValueError as error:
        raise call.error(str(error)) from None


# Writing

_STRFTIME = {
    ("year", 4): "%Y", ("year", 3): "%Y", ("year", 1): "%Y", ("short_year", 2): "%y", ("month", 1): "%-m",
    ("month", 2): "%m", ("month_name", 3): "%b", ("month_name", 4): "%B", ("day", 1): "%-d", ("day", 2): "%d",
    ("hour", 1): "%-H", ("hour", 2): "%H", ("clock_hour", 1): "%-I", ("clock_hour", 2): "%I", ("minute", 1): "%-M",
    ("minute", 2): "%M", ("second", 1): "%-S", ("second", 2): "%S", ("half", 1): "%p", ("weekday_name", 3): "%a",
    ("weekday_name", 4): "%A", ("day_of_year", 1): "%-j", ("day_of_year", 3): "%j", ("week", 2): "%V",
    ("week_year", 1): "%G", ("week_year", 2): "%G", ("week_year", 4): "%G", ("micros", 6): "%g000",
}  # fmt: skip


def _formatted(call: Call, pieces: Sequence[Piece]) -> exp.Expr:
    value = moment(call, 0)
    local = call_engine("trino_local", value)
    parts: list[exp.Expr] = []
    pattern = ""
    for piece in pieces:
        plain = piece.text.replace("%", "%%") if piece.field is None else _plain(piece)
        if plain is not None:
            pattern += plain
            continue
        if pattern:
            parts.append(call_engine("strftime", local.copy(), exp.Literal.string(pattern)))
            pattern = ""
        parts.append(_special(call, piece, value, local))
    if pattern:
        parts.append(call_engine("strftime", local.copy(), exp.Literal.string(pattern)))
    result = parts[0]
    for part in parts[1:]:
        result = exp.DPipe(this=result, expression=part, safe=True)
    return exp.Paren(this=result) if len(parts) > 1 else result


def _plain(piece: Piece) -> str | None:
    if piece.field == "fraction" and piece.width >= 3:
        return "%g" + "0" * (piece.width - 3)
    return _STRFTIME.get((piece.field or "", piece.width))


def _special(call: Call, piece: Piece, value: exp.Expr, local: exp.Expr) -> exp.Expr:
    if piece.field == "fraction":
        milliseconds = call_engine("strftime", local.copy(), exp.Literal.string("%g"))
        return call_engine("left", milliseconds, exp.Literal.number(piece.width))
    if piece.field == "zone":
        type_ = call.types[0]
        if type_ is None or type_.name != "timestamp with time zone":
            raise call.error(f"format_datetime for {type_} does not support the time zone's field 'Z'")
        if piece.width == 3:
            return call_engine("trino_shown_zone", value.copy())
        offset = call_engine("trino_offset", value.copy())
        return call_engine("trino_offset_text", offset, exp.Literal.string(":" if piece.width == 2 else ""))
    if piece.field in {"week", "weekday", "half_hour", "late_hour", "day_of_year"}:
        return call_engine(f"trino_text_of_{piece.field}", local.copy(), exp.Literal.number(piece.width))
    raise call.error(f"The field {piece.field} of {piece.width} digits is not supported in formats.", code="NOT_SUPPORTED")


def _date_format(call: Call) -> exp.Expr:
    return _formatted(call, _pieces(call, mysql_pieces)[1])


def _format_datetime(call: Call) -> exp.Expr:
    return _formatted(call, _pieces(call, joda_pieces)[1])


def _to_iso(call: Call) -> exp.Expr:
    type_ = call.types[0]
    if type_ is None or type_.name not in {"date", "timestamp", "timestamp with time zone", "unknown"}:
        raise call.unexpected("to_iso8601(date), to_iso8601(timestamp(p))")
    if type_.name in {"date", "unknown"}:
        return exp.cast(call.arguments[0], "TEXT")
    local = call_engine("trino_local", call.arguments[0])
    digits = exp.Literal.number(type_.numbers[0] if type_.numbers else 3)
    written = call_engine(
        "replace", call_engine("trino_timestamp_text", local, digits), *map(exp.Literal.string, (" ", "T"))
    )
    if type_.name == "timestamp":
        return written
    zone = call_engine("trino_iso_zone", call_engine("trino_offset", call.arguments[0].copy()))
    return exp.Paren(this=exp.DPipe(this=written, expression=zone, safe=True))


# Reading

_STRICT = {"year": r"[0-9]{4}", **dict.fromkeys(("month", "day", "hour", "minute", "second"), "[0-9]{2}")}


def _date_parse(call: Call) -> exp.Expr:
    pattern, pieces = _pieces(call, mysql_pieces)
    value = call.arguments[0]
    slow = call_engine("trino_date_parse", value, exp.Literal.string(pattern))
    names = [piece.field for piece in pieces if piece.field is not None]
    if "year" not in names or len(set(names)) < len(names) or not set(names) <= set(_STRICT):
        return slow
    # Texts with all digits in their places are read by the engine itself, the others as Joda-Time does.
    strict = "".join(_STRICT[piece.field] if piece.field else re.escape(piece.text) for piece in pieces)
    engine = "".join(_plain(piece) or "" if piece.field else piece.text.replace("%", "%%") for piece in pieces)
    fast = call_engine("try_strptime", value.copy(), exp.Literal.string(engine))
    matches = call_engine("regexp_full_match", value.copy(), exp.Literal.string(strict))
    return call_engine("coalesce", exp.Case(ifs=[exp.If(this=matches, true=fast)]), slow)


def _parse_datetime(call: Call) -> exp.Expr:
    pattern, pieces = _pieces(call, joda_pieces)
    arguments = call.arguments[0], exp.Literal.string(pattern)
    if any(piece.field == "zone" for piece in pieces):
        return call_engine("trino_parse_zoned", *arguments)
    return call_engine("timezone", exp.Literal.string(UTC), call_engine("trino_parse_datetime", *arguments))


@lru_cache(maxsize=256)
def _mysql_parser(pattern: str) -> Parse:
    return parser(mysql_pieces(pattern))


@lru_cache(maxsize=256)
def _joda_parser(pattern: str) -> Parse:
    return parser(joda_pieces(pattern), None)


def _checked(read: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``read``, whose errors are those of its argument."""

    def checked(*values: Any) -> Any:
        try:
            return read(*values)
        except ValueError as error:
            raise invalid(str(error)) from None

    return checked


def _utc(local: datetime.datetime, zone: str) -> dict[str, object]:
    """Return a local time in a zone as a struct of :data:`ZONED`."""
    if zone == UTC:
        return {"$utc": local, "$zone": zone}
    if zone[0] in "+-":
        offset = datetime.timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))
        return {"$utc": local - offset if zone[0] == "+" else local + offset, "$zone": zone}
    aware = local.replace(tzinfo=ZoneInfo(zone)).astimezone(datetime.UTC)
    return {"$utc": aware.replace(tzinfo=None), "$zone": zone}


_UNITS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6, "d": 8.64e7}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*")


def _duration(text: str) -> int:
    """Return a duration in milliseconds."""
    if not text:
        raise ValueError("duration is empty")
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"duration is not a valid data duration string: {text[:100]}")
    if match[2] not in _UNITS:
        raise ValueError(f"Unknown time unit: {match[2][:20]}")
    return int(float(match[1]) * _UNITS[match[2]] + 0.5)


_NAMES = (("week", 604_800), ("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def _readable(seconds: float) -> str:
    if not math.isfinite(seconds):
        raise ValueError(f"Invalid argument found: {seconds}")
    rest = int(abs(seconds) + 0.5)
    parts = []
    for name, length in _NAMES:
        number, rest = divmod(rest, length)
        if number:
            parts.append(f"{number} {name}{'s' if number > 1 else ''}")
    return ", ".join(parts) or "0 seconds"


ROWS: Sequence[Row] = [
    Row("date_format", arity=2, returns=VARCHAR, write=_date_format, note="The format must be a text."),
    Row("date_parse", arity=2, returns=Type("timestamp", (3,)), write=_date_parse, note="The format must be a text."),
    Row("format_datetime", arity=2, returns=VARCHAR, write=_format_datetime, note="The format must be a text."),
    Row("parse_datetime", arity=2, returns=zoned_type(), write=_parse_datetime, note="The format must be a text."),
    Row("to_iso8601", arity=1, returns=VARCHAR, write=_to_iso),
    Row(
        "from_iso8601_timestamp",
        arity=1,
        returns=zoned_type(),
        write=lambda call: call_engine("trino_from_iso8601_timestamp", *call.arguments),
    ),
    Row(
        "from_iso8601_date",
        arity=1,
        returns=DATE,
        write=lambda call: call_engine("trino_from_iso8601_date", *call.arguments),
    ),
    Row(
        "parse_duration",
        arity=1,
        returns=Type("interval day to second"),
        write=lambda call: call_engine("trino_milliseconds", call_engine("trino_parse_duration", *call.arguments)),
    ),
    Row(
        "human_readable_seconds",
        arity=1,
        returns=VARCHAR,
        write=lambda call: call_engine("trino_readable_seconds", exp.cast(call.arguments[0], "DOUBLE")),
    ),
]


def _padded(number: str) -> str:
    return f"(x, n) AS lpad(CAST({number} AS VARCHAR), CAST(greatest(n, length(CAST({number} AS VARCHAR))) AS INTEGER), '0')"


_PARSED = "VARCHAR", "VARCHAR"

DEFINITIONS: Sequence[Definition] = [
    Macro("trino_shown_zone", "(x TIMESTAMPTZ) AS 'UTC'", f"(x {ZONED}) AS struct_extract(x, '$zone')"),
    Macro(
        "trino_offset_text",
        "(m, separator) AS CASE WHEN m < 0 THEN '-' ELSE '+' END || lpad(CAST(abs(m) // 60 AS VARCHAR), 2, '0') "
        "|| separator || lpad(CAST(abs(m) % 60 AS VARCHAR), 2, '0')",
    ),
    Macro("trino_iso_zone", "(m) AS CASE WHEN m = 0 THEN 'Z' ELSE trino_offset_text(m, ':') END"),
    Macro("trino_text_of_week", _padded("weekofyear(x)")),
    Macro("trino_text_of_weekday", _padded("isodow(x)")),
    Macro("trino_text_of_day_of_year", _padded("dayofyear(x)")),
    Macro("trino_text_of_half_hour", _padded("(hour(x) % 12)")),
    Macro("trino_text_of_late_hour", _padded("CASE WHEN hour(x) = 0 THEN 24 ELSE hour(x) END")),
    Macro("trino_milliseconds", "(x) AS to_microseconds(x * 1000)"),
    *(
        by_row(f"trino_{name}", parameters, returns, _checked(read))
        for name, parameters, returns, read in (
            ("date_parse", _PARSED, "TIMESTAMP", lambda text, pattern: _mysql_parser(pattern)(text)[0]),
            ("parse_datetime", _PARSED, "TIMESTAMP", lambda text, pattern: _joda_parser(pattern)(text)[0]),
            ("parse_zoned", _PARSED, ZONED, lambda text, pattern: _utc(*_joda_parser(pattern)(text))),
            ("from_iso8601_timestamp", ["VARCHAR"], ZONED, lambda text: _utc(*iso_timestamp(text))),
            ("from_iso8601_date", ["VARCHAR"], "DATE", iso_date),
            ("parse_duration", ["VARCHAR"], "BIGINT", _duration),
            ("readable_seconds", ["DOUBLE"], "VARCHAR", _readable),
        )
    ),
]
