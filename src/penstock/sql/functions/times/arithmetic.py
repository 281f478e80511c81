"""Dates, times and intervals under ``+``, ``-``, ``*`` and ``/``: the operators' own rows are those of numbers.

Source: Trino's documentation, "Date and time functions and operators", "Date and time operators". An interval of days is
one of so many milliseconds, an interval of years one of months; they do not mix.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from sqlglot import exp

from penstock.sql.functions.rows import Call, Definition, Macro, Row, Types, call_engine, fail
from penstock.sql.trino_types import Type

__all__ = ["DEFINITIONS", "ROWS", "compute", "is_temporal", "result_type"]

_DAYS, _MONTHS = Type("interval day to second"), Type("interval year to month")
_TEMPORAL = ("date", "time", "timestamp", "interval")
_MILLISECONDS = 3  # digits
_MOMENTS = {"date", "timestamp", "timestamp with time zone", "time"}
_SIGNS: Mapping[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}


def is_temporal(types: Types) -> bool:
    """Return whether an operand is a date, a time or an interval."""
    return any(type_ is not None and type_.name.startswith(_TEMPORAL) for type_ in types)


def result_type(types: Types) -> Type | None:
    """Return the type of a result with a date, a time or an interval."""
    left, right = types[:2]
    if left is None or right is None:
        return None
    if _is_interval(left):
        return left if right.is_number or right.name in {left.name, "unknown"} else _moved_type(right, left)
    if _is_interval(right):
        return right if left.is_number else _moved_type(left, right)
    return _DAYS


def _moved_type(type_: Type, interval: Type) -> Type:
    """Return the type of a moment that an interval has moved; one of days has milliseconds."""
    return Type(type_.name, (max(_MILLISECONDS, *type_.numbers),)) if type_.numbers and interval == _DAYS else type_


def compute(call: Call) -> exp.Expr:
    """Return the engine's expression for an operator with a date, a time or an interval. Raises for one without meaning."""
    left, right = call.arguments[:2]
    operator = type(call.node)
    types = [type_ for type_ in call.types[:2] if type_ is not None]
    if len(types) < 2:
        raise call.error(
            "The type of an operand beside a date, a time or an interval is not known.",
            code="NOT_SUPPORTED",
            remedy="CAST it to its type.",
        )
    if "unknown" in {types[0].name, types[1].name}:
        return exp.Null()
    intervals = [_is_interval(type_) for type_ in types]
    if all(intervals) and types[0] == types[1] and operator in {exp.Add, exp.Sub}:
        return exp.Paren(this=call.node.copy())
    if any(intervals) and types[intervals.index(False) if False in intervals else 0].is_number:
        return _scaled(call, operator)
    if operator in {exp.Add, exp.Sub} and intervals[1] and types[0].name in _MOMENTS:
        step = exp.Neg(this=exp.paren(right, copy=False)) if operator is exp.Sub else right
        return _moved(call, step, left, types[1], types[0])
    if operator is exp.Add and intervals[0] and types[1].name in _MOMENTS:
        return _moved(call, left, right, types[0], types[1])
    if operator is exp.Sub and _comparable(types[0], types[1]):
        return call_engine("trino_between", *(call_engine("trino_diff_moment", node) for node in (left, right)))
    raise call.error(f"Cannot apply operator: {types[0]} {_SIGNS.get(operator, call.name)} {types[1]}", code="TYPE_MISMATCH")


def _is_interval(type_: Type | None) -> bool:
    return type_ is not None and type_.name.startswith("interval")


def _comparable(left: Type, right: Type) -> bool:
    return left.name == right.name or ("time" not in {left.name, right.name} and {left.name, right.name} <= _MOMENTS)


def _moved(call: Call, step: exp.Expr, value: exp.Expr, interval: Type, type_: Type) -> exp.Expr:
    if type_.name == "time" and interval == _MONTHS:
        raise call.error(f"Cannot apply operator: {type_} + {interval}", code="TYPE_MISMATCH")
    if type_.name == "date" and interval == _DAYS:
        step = call_engine("trino_whole_days", step)
    return call_engine("trino_add_days" if interval == _MONTHS or type_.name == "date" else "trino_add_time", step, value)


def _scaled(call: Call, operator: type[exp.Expr]) -> exp.Expr:
    """Multiply or divide an interval; it keeps whole months, or milliseconds."""
    left, right = call.arguments[:2]
    first = _is_interval(call.types[0])
    interval, number = (left, right) if first else (right, left)
    type_ = call.types[0 if first else 1]
    if operator not in {exp.Mul, exp.Div} or (operator is exp.Div and not first):
        raise call.error(
            f"Cannot apply operator: {call.types[0]} {_SIGNS.get(operator, call.name)} {call.types[1]}", code="TYPE_MISMATCH"
        )
    macro = "trino_scaled_months" if type_ == _MONTHS else "trino_scaled_days"
    factor = exp.cast(number, "DOUBLE")
    return call_engine(
        macro, interval, exp.Div(this=exp.Literal.number("1e0"), expression=factor) if operator is exp.Div else factor
    )


# Interval literals

_FIELDS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
_MICROS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
_SEPARATORS = {"MONTH": "-", "HOUR": " ", "MINUTE": ":", "SECOND": ":"}


def _span(node: exp.Expr) -> tuple[str, str]:
    """Return the first and the last field of an interval's literal."""
    unit = node.args.get("unit")
    if isinstance(unit, exp.IntervalSpan):
        return unit.this.name.upper(), unit.expression.name.upper()
    name = unit.name.upper() if isinstance(unit, exp.Expr) else ""
    return name, name


def _interval_type(node: exp.Expr) -> Type:
    return _MONTHS if _span(node)[0] in {"YEAR", "MONTH"} else _DAYS


def _interval(call: Call) -> exp.Expr:
    first, last = _span(call.node)
    value, negative = call.node.this, False
    while isinstance(value, exp.Neg):
        value, negative = value.this, not negative
    error = call.error(f"Invalid interval literal: {call.node.sql('trino')[:100]}", code="INVALID_LITERAL")
    if first not in _FIELDS or last not in _FIELDS or not isinstance(value, exp.Literal) or not value.is_string:
        raise error
    fields = _FIELDS[_FIELDS.index(first) : _FIELDS.index(last) + 1]
    if not fields or (first in {"YEAR", "MONTH"}) != (last in {"YEAR", "MONTH"}):
        raise error
    pattern = r"([+-]?)" + "".join(
        (re.escape(_SEPARATORS[field]) if at else "") + (r"(\d+(?:\.\d{1,6})?)" if field == "SECOND" else r"(\d+)")
        for at, field in enumerate(fields)
    )
    match = re.fullmatch(pattern, value.name.strip())
    if match is None:
        raise error
    sign = -1 if negative != (match[1] == "-") else 1
    numbers = dict(zip(fields, match.groups()[1:], strict=True))
    if first in {"YEAR", "MONTH"}:
        months = int(numbers.get("YEAR", 0)) * 12 + int(numbers.get("MONTH", 0))
        return call_engine("to_months", exp.Literal.number(sign * months))
    milliseconds = sum(int(Decimal(number) * _MICROS[field]) // 1000 for field, number in numbers.items())
    if milliseconds >= 1 << 53:
        raise error
    return call_engine("to_microseconds", exp.Literal.number(sign * milliseconds * 1000))


ROWS: Sequence[Row] = [
    Row("INTERVAL", nodes=(exp.Interval,), write=_interval, node_type=_interval_type, operands=lambda _: ()),
]

_DAY = 86_400_000_000
_NOT_DAYS = fail("Cannot add hour, minutes or seconds to a date", "BIGINT")

DEFINITIONS: Sequence[Definition] = [
    Macro("trino_between", "(a, b) AS to_microseconds(epoch_us(a) - epoch_us(b))"),
    Macro(
        "trino_whole_days",
        f"(step) AS to_days(CAST(CASE WHEN epoch_us(step) % {_DAY} <> 0 THEN {_NOT_DAYS} "
        f"ELSE epoch_us(step) // {_DAY} END AS INTEGER))",
    ),
    Macro("trino_scaled_days", "(x, n) AS to_microseconds(CAST(trunc(epoch_us(x) / 1000e0 * n) AS BIGINT) * 1000)"),
    Macro(
        "trino_scaled_months",
        "(x, n) AS to_months(CAST(trunc((date_part('year', x) * 12 + date_part('month', x)) * n) AS INTEGER))",
    ),
]
