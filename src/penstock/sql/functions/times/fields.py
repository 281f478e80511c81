"""Fields of dates, times and intervals: year(x) and the like, EXTRACT, and the functions with one moment as argument.

Source: Trino's documentation, "Date and time functions and operators", "Extraction function", "Convenience extraction
functions". Weeks are ISO 8601's.
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from penstock.sql.functions.rows import Call, Definition, Macro, Row, call_engine, renamed
from penstock.sql.functions.times.zones import ZONED, zone_part
from penstock.sql.trino_types import BIGINT, DATE, DOUBLE, Type

__all__ = ["DEFINITIONS", "ROWS", "moment"]

_NAMES: Mapping[str, str] = {
    **{name: name for name in ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond")},
    **{"week_of_year": "week", "day_of_month": "day", "day_of_week": "day_of_week", "dow": "day_of_week"},
    **{"day_of_year": "day_of_year", "doy": "day_of_year", "year_of_week": "year_of_week", "yow": "year_of_week"},
}
_EXTRACTED = {*_NAMES, "timezone_hour", "timezone_minute"} - {"millisecond", "week_of_year"}
_ENGINE = {"day_of_week": "isodow", "day_of_year": "dayofyear", "year_of_week": "isoyear", "week": "weekofyear"}
_OF_DATES = ("year", "quarter", "month", "week", "day", "day_of_week", "day_of_year", "year_of_week")
_OF_TIMES = ("hour", "minute", "second", "millisecond")
_YEARS = "interval year to month"
_IN_MICROS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "millisecond": 1_000}
_ROUND = {"hour": 24, "minute": 60, "second": 60, "millisecond": 1_000}


def moment(call: Call, number: int) -> exp.Expr:
    """Return an argument that is a date, a time or an interval; NULL gets the type timestamp."""
    type_ = call.types[number]
    value = call.arguments[number]
    if type_ is not None and type_.name == "unknown":
        return exp.cast(value, "TIMESTAMP")
    if type_ is not None and type_.name == "time with time zone":
        raise call.error("The type time with time zone is not supported.", code="NOT_SUPPORTED")
    return value


def _part(call: Call, name: str, number: int) -> exp.Expr:
    type_ = call.types[number]
    if type_ is not None and type_.name.startswith("interval"):
        if name not in ({"year", "month"} if type_.name == _YEARS else _IN_MICROS):
            raise call.unexpected(f"{name}(date), {name}(timestamp(p))")
        return call_engine(f"trino_interval_{name}", call.arguments[number])
    return call_engine(f"trino_{name}", moment(call, number))


def _field(name: str, part: str) -> Row:
    return Row(name, arity=1, returns=BIGINT, write=lambda call: _part(call, part, 0))


def _extract(call: Call) -> exp.Expr:
    name = call.node.this.name.lower()
    if name not in _EXTRACTED:
        raise call.error(f"Invalid EXTRACT field: {name[:50]}", code="SYNTAX_ERROR")
    number = next(at for at, argument in enumerate(call.arguments) if argument is call.node.expression)
    if name.startswith("timezone"):
        return zone_part(name, moment(call, number))
    return _part(call, _NAMES.get(name, name), number)


def _of_moment(name: str, engine: str, macro: str, returns: Type) -> Row:
    def write(call: Call) -> exp.Expr:
        return call_engine(engine, call_engine(macro, moment(call, 0)))

    return Row(name, arity=1, returns=returns, write=write)


ROWS: Sequence[Row] = [
    *(_field(name, part) for name, part in _NAMES.items()),
    Row("EXTRACT", nodes=(exp.Extract,), returns=BIGINT, write=_extract),
    _of_moment("last_day_of_month", "last_day", "trino_local", DATE),
    _of_moment("to_unixtime", "epoch", "trino_utc", DOUBLE),
    renamed("to_milliseconds", "trino_to_milliseconds", 1, BIGINT),
]


def _macro(part: str) -> Macro:
    engine = _ENGINE.get(part, part)
    text = f"{engine}({{}}) % 1000" if part == "millisecond" else f"{engine}({{}})"
    overloads = [f"(x {type_}) AS {text.format('x')}" for type_ in ("DATE", "TIMESTAMP")]
    overloads.append(f"(x TIMESTAMPTZ) AS {text.format(_AT_UTC)}")
    overloads.append(f"(x {ZONED}) AS {text.format('trino_local(x)')}")
    if part in _OF_TIMES:
        overloads.append(f"(x TIME) AS {text.format('x')}")
        overloads[0] = "(x DATE) AS CASE WHEN x IS NOT NULL THEN 0 END"
    return Macro(f"trino_{part}", *overloads)


_AT_UTC = "timezone('UTC', x)"


def _interval_macro(part: str) -> Macro:
    micros = f"epoch_us(x) // {_IN_MICROS[part]}"
    return Macro(
        f"trino_interval_{part}",
        f"(x INTERVAL) AS ({micros}) % {_ROUND[part]}" if part in _ROUND else f"(x INTERVAL) AS {micros}",
    )


DEFINITIONS: Sequence[Definition] = [
    *map(_macro, (*_OF_DATES, *_OF_TIMES)),
    *map(_interval_macro, _IN_MICROS),
    Macro("trino_interval_year", "(x INTERVAL) AS date_part('year', x)"),
    Macro("trino_interval_month", "(x INTERVAL) AS date_part('month', x)"),
    Macro("trino_to_milliseconds", "(x INTERVAL) AS epoch_us(x) // 1000"),
]
