"""The time of the query, and moments from numbers.

Source: Trino's documentation, "Date and time functions". The session's time zone is UTC, as in Athena.
"""

from collections.abc import Callable, Sequence

from sqlglot import exp

from penstock.sql.functions.rows import Call, Definition, Macro, Row, call_engine, fail, refuse
from penstock.sql.functions.times.zones import UTC, in_zone, zoned_type
from penstock.sql.trino_types import DATE, VARCHAR, Type

__all__ = ["DEFINITIONS", "ROWS"]

_MILLISECONDS, _MICROSECONDS = 3, 6


def _precision(call: Call) -> int:
    if not call.arguments:
        return _MILLISECONDS
    literal = call.arguments[0]
    number = int(literal.name) if isinstance(literal, exp.Literal) and literal.name.isdigit() else -1
    if not 0 <= number <= _MICROSECONDS:
        raise call.error(
            f"{call.name} is not supported with this precision.", code="NOT_SUPPORTED", remedy="Use a precision of 0 to 6."
        )
    return number


def _now(macro: str) -> Callable[[Call], exp.Expr]:
    def write(call: Call) -> exp.Expr:
        step = 10 ** (_MICROSECONDS - _precision(call))
        return call_engine(macro, exp.Literal.number(step))

    return write


def _clock(name: str, macro: str, returns: Type, node: type[exp.Expr] | None, most: int = 1) -> Sequence[Row]:
    write, type_ = _now(macro), _typed(returns.name)
    plain = Row(name, arity=(0, most), node_type=type_, write=write, repeatable=False)
    if node is None:
        return [plain]
    return [plain, Row(f"{name} ", node_type=type_, write=write, repeatable=False, nodes=(node,))]


def _typed(name: str) -> Callable[[exp.Expr], Type]:
    """Return the function of the type, which has the digits that the call asks for."""

    def type_of(node: exp.Expr) -> Type:
        argument = next(iter(node.expressions), None) if isinstance(node, exp.Anonymous) else node.args.get("this")
        has_precision = isinstance(argument, exp.Literal) and argument.name.isdigit()
        return Type(name, (int(argument.name) if has_precision and argument is not None else _MILLISECONDS,))

    return type_of


def _from_unixtime(call: Call) -> exp.Expr:
    type_ = call.types[0]
    if type_ is not None and not type_.is_number and type_.name != "unknown":
        raise call.unexpected("from_unixtime(double), from_unixtime(double, varchar), from_unixtime(double, bigint, bigint)")
    seconds = call_engine("trino_from_unixtime", call.arguments[0])
    if len(call.arguments) == 1:
        return seconds
    utc = call_engine("timezone", exp.Literal.string(UTC), seconds)
    if len(call.arguments) == 2:
        return in_zone(call, utc, call.arguments[1])
    return in_zone(call, utc, exp.Literal.string(_offset(call)))


def _offset(call: Call) -> str:
    """Return the zone of an offset in hours and minutes."""
    parts = [_number(argument) for argument in call.arguments[1:]]
    if None in parts:
        raise call.error(
            "from_unixtime is not supported with hours and minutes that are not numbers in the query.",
            code="NOT_SUPPORTED",
            remedy="Give the zone as a text: '+01:30'.",
        )
    minutes = (parts[0] or 0) * 60 + (parts[1] or 0)
    if abs(minutes) > 14 * 60:
        raise call.error(f"Invalid offset minutes {minutes}")
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def _number(node: exp.Expr) -> int | None:
    sign = 1
    while isinstance(node, exp.Neg | exp.Paren | exp.Cast):
        sign = -sign if isinstance(node, exp.Neg) else sign
        node = node.this
    return sign * int(node.name) if isinstance(node, exp.Literal) and node.name.isdigit() else None


_ROUNDED = "make_timestamp(epoch_us(now()) // step * step)"
_NANOS = "values have at most microseconds"

ROWS: Sequence[Row] = [
    *_clock("current_timestamp", "trino_now", zoned_type(), exp.CurrentTimestamp),
    *_clock("now", "trino_now", zoned_type(), None, most=0),
    *_clock("localtimestamp", "trino_localtimestamp", Type("timestamp", (3,)), exp.Localtimestamp),
    *_clock("localtime", "trino_localtime", Type("time", (3,)), exp.Localtime),
    Row(
        "current_date", returns=DATE, write=lambda _: call_engine("trino_today"), repeatable=False, nodes=(exp.CurrentDate,)
    ),
    Row("current_timezone", arity=0, returns=VARCHAR, write=lambda _: exp.Literal.string(UTC)),
    Row("from_unixtime", arity=(1, 3), returns=zoned_type(), write=_from_unixtime),
    *refuse("from_unixtime_nanos from_iso8601_timestamp_nanos", _NANOS, "Use the function without nanoseconds."),
]

DEFINITIONS: Sequence[Definition] = [
    Macro("trino_now", f"(step) AS timezone('UTC', {_ROUNDED})"),
    Macro("trino_localtimestamp", f"(step) AS {_ROUNDED}"),
    Macro("trino_localtime", f"(step) AS CAST({_ROUNDED} AS TIME)"),
    Macro("trino_today", "() AS CAST(timezone('UTC', now()) AS DATE)"),
    Macro(
        "trino_from_unixtime",
        "(x) AS make_timestamptz(CASE WHEN isfinite(CAST(x AS DOUBLE)) "
        "THEN CAST(floor(CAST(x AS DOUBLE) * 1000 + 0.5) AS BIGINT) * 1000 "
        f"WHEN x IS NULL THEN NULL ELSE {fail('Not a number of seconds', 'BIGINT')} END)",
    ),
]
