"""date_trunc, date_add and date_diff: units of dates and times.

Source: Trino's documentation, "Truncation function", "Interval functions". A difference is the number of whole units
between two moments, in milliseconds at the finest; days and longer units are those of the first moment's time zone.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from penstock.sql.functions.build import text
from penstock.sql.functions.rows import Call, Definition, Macro, Row, Write, call_engine
from penstock.sql.functions.times.fields import moment
from penstock.sql.functions.times.zones import ZONED
from penstock.sql.trino_types import BIGINT, Type

__all__ = ["DEFINITIONS", "ROWS"]

_MILLISECONDS, _MICROSECONDS = 3, 6  # digits
_TIME_UNITS = {"millisecond": "to_milliseconds", "second": "to_seconds", "minute": "to_minutes", "hour": "to_hours"}
_DATE_UNITS = {
    "day": ("to_days", 1),
    "week": ("to_days", 7),
    "month": ("to_months", 1),
    "quarter": ("to_months", 3),
    "year": ("to_months", 12),
}


def _units(type_: Type | None) -> tuple[Sequence[str], str]:
    """Return the units of a type's fields, and what Trino's messages call it."""
    name = type_.name if type_ is not None else ""
    if name.startswith("time") and not name.startswith("timestamp"):
        return list(_TIME_UNITS), "Time"
    return (list(_DATE_UNITS), "DATE") if name == "date" else ([*_TIME_UNITS, *_DATE_UNITS], "Timestamp")


def _with_unit(write: Callable[[Call, str], exp.Expr], kind_of: Callable[[Call], Type | None]) -> Write:
    """Return what writes a call for its unit; for one that is not a constant, a choice among all units."""

    def written(call: Call) -> exp.Expr:
        units, what = _units(kind_of(call))
        unit = call.text(0)
        if unit is not None:
            if unit.lower() not in units:
                raise call.error(f"'{unit.lower()[:50]}' is not a valid {what} field")
            return write(call, unit.lower())
        fits = exp.Array(expressions=[text(name) for name in units])
        checked = call_engine("trino_unit", call.arguments[0], fits, text(what))
        ifs = []
        for name in units:
            own = replace(call, arguments=[text(name), *(argument.copy() for argument in call.arguments[1:])])
            ifs.append(exp.If(this=text(name), true=write(own, name)))
        return exp.Paren(this=exp.Case(this=checked, ifs=ifs))

    return written


def _trunc(call: Call, unit: str) -> exp.Expr:
    return call_engine("trino_date_trunc", text(unit), moment(call, 1))


def _add(call: Call, unit: str) -> exp.Expr:
    number = call.arguments[1]
    if unit in _TIME_UNITS:
        step = call_engine(_TIME_UNITS[unit], exp.cast(number, "BIGINT"))
        moved, type_ = call_engine("trino_add_time", step, moment(call, 2)), call.types[2]
        if unit == "millisecond" and type_ is not None and type_.numbers and type_.numbers[0] < _MILLISECONDS:
            return call_engine("trino_to_precision", moved, exp.Literal.number(10 ** (_MICROSECONDS - type_.numbers[0])))
        return moved
    engine, times = _DATE_UNITS[unit]
    count = exp.Mul(this=exp.paren(exp.cast(number, "BIGINT"), copy=False), expression=exp.Literal.number(times))
    return call_engine("trino_add_days", call_engine(engine, exp.cast(count, "INTEGER")), moment(call, 2))


def _diff_type(call: Call) -> Type | None:
    names = [type_.name for type_ in call.types[1:] if type_ is not None]
    date = len(names) == 2 and set(names) == {"date"}
    fits = (type_ for type_ in call.types[1:] if type_ is not None and (date or type_.name not in {"date", "unknown"}))
    return next(fits, None)


def _diff(call: Call, unit: str) -> exp.Expr:
    first, second = moment(call, 1), moment(call, 2)
    if unit in _TIME_UNITS:
        return call_engine(
            "date_sub", text(unit), *(_whole(call_engine("trino_diff_moment", node)) for node in (first, second))
        )
    return call_engine("trino_diff_days", text(unit), first, call_engine("trino_utc", second))


def _whole(value: exp.Expr) -> exp.Expr:
    return call_engine("date_trunc", exp.Literal.string("milliseconds"), value)


ROWS: Sequence[Row] = [
    Row("date_trunc", arity=2, returns=lambda types: types[1], write=_with_unit(_trunc, lambda call: call.types[1])),
    Row("date_add", arity=3, returns=lambda types: types[2], write=_with_unit(_add, lambda call: call.types[2])),
    Row("date_diff", arity=3, returns=BIGINT, write=_with_unit(_diff, _diff_type)),
]

_PLAIN = ("DATE", "TIMESTAMP", "TIMESTAMPTZ")
_OWN = "trino_wall(struct_extract(trino_x, '$utc'), struct_extract(trino_x, '$zone'))"
_OTHER = "trino_wall(y, struct_extract(trino_x, '$zone'))"
_DIFFERENCE = "date_sub(unit, date_trunc('milliseconds', {}), date_trunc('milliseconds', {}))"


def _near(wall: str) -> str:
    """Return SQL for the moment of x's zone at another local time, which is ``wall`` with {} for x's own local time."""
    local = "trino_wall(struct_extract(trino_x, '$utc'), struct_extract(trino_x, '$zone'))"
    instant = (
        f"trino_from_wall_near({wall.format(local)}, struct_extract(trino_x, '$zone'), struct_extract(trino_x, '$utc'))"
    )
    return f"list_transform([x], lambda trino_x: trino_zoned({instant}, struct_extract(trino_x, '$zone')))[1]"


DEFINITIONS: Sequence[Definition] = [
    Macro(
        "trino_unit",
        "(unit, units, what) AS CASE WHEN list_contains(units, lower(unit)) THEN lower(unit) WHEN unit IS NOT NULL "
        "THEN CAST(CAST('TRINO[INVALID_FUNCTION_ARGUMENT] ''' || lower(unit) || ''' is not a valid ' || what || "
        "' field' AS INTEGER) AS VARCHAR) END",
    ),
    Macro(
        "trino_date_trunc",
        "(unit, x DATE) AS CAST(date_trunc(unit, x) AS DATE)",
        "(unit, x TIMESTAMP) AS date_trunc(unit, x)",
        "(unit, x TIMESTAMPTZ) AS timezone('UTC', date_trunc(unit, timezone('UTC', x)))",
        f"(unit, x {ZONED}) AS {_near('date_trunc(unit, {})')}",
        "(unit, x TIME) AS CAST(date_trunc(unit, DATE '1970-01-01' + x) AS TIME)",
    ),
    Macro(
        "trino_add_days",
        "(step, x DATE) AS CAST(x + step AS DATE)",
        "(step, x TIMESTAMP) AS x + step",
        "(step, x TIMESTAMPTZ) AS timezone('UTC', timezone('UTC', x) + step)",
        f"(step, x {ZONED}) AS {_near('{} + step')}",
    ),
    Macro(
        "trino_add_time",
        "(step, x TIMESTAMP) AS x + step",
        "(step, x TIMESTAMPTZ) AS x + step",
        "(step, x TIME) AS x + step",
        f"(step, x {ZONED}) AS list_transform([x], lambda trino_x: "
        "trino_zoned(struct_extract(trino_x, '$utc') + step, struct_extract(trino_x, '$zone')))[1]",
    ),
    Macro(
        "trino_diff_moment",
        "(x DATE) AS CAST(x AS TIMESTAMP)",
        "(x TIMESTAMP) AS x",
        "(x TIMESTAMPTZ) AS timezone('UTC', x)",
        "(x TIME) AS DATE '1970-01-01' + x",
        f"(x {ZONED}) AS struct_extract(x, '$utc')",
    ),
    Macro(
        "trino_diff_days",
        *(f"(unit, x {type_}, y TIMESTAMP) AS {_DIFFERENCE.format('trino_utc(x)', 'y')}" for type_ in _PLAIN),
        f"(unit, x {ZONED}, y TIMESTAMP) AS list_transform([x], lambda trino_x: {_DIFFERENCE.format(_OWN, _OTHER)})[1]",
    ),
]
