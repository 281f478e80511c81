"""Trino's operators over values of several rows, for conditions that depend on the match so far.

Sources: Trino's documentation, "Comparison", "Mathematical" and "Decimal functions and operators": NULL is unknown, integers
overflow with an error, and quotients of integers are cut.
"""

import datetime as dt
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa

from penstock.sql.functions.python import invalid

__all__ = ["add", "compiled", "mean", "plain_values", "smaller"]

_EXACT = Context(prec=80)
_LARGEST_DECIMAL = Decimal(10) ** 38
_UNITS = {
    "millisecond": dt.timedelta(milliseconds=1),
    "second": dt.timedelta(seconds=1),
    "minute": dt.timedelta(minutes=1),
    "hour": dt.timedelta(hours=1),
    "day": dt.timedelta(days=1),
    "week": dt.timedelta(weeks=1),
}
_ZONED = "$utc"  # the field with the instant of a timestamp in a zone

Leaf = Callable[[list[Any]], Callable[[Any], Any]]
"""Returns the function that reads a value, from the state of the match, for a leaf of an expression."""
Test = Callable[[Any], Any]


def plain_values(values: pa.Array) -> list[Any]:
    """Return an array's values as Python's; intervals of days and seconds are timedeltas, timestamps in a zone instants."""
    result: list[Any] = values.to_pylist()
    if pa.types.is_interval(values.type):
        return [None if item is None else _interval(item) for item in result]
    if pa.types.is_struct(values.type) and values.type.num_fields == 2 and values.type.field(0).name == _ZONED:
        return [None if item is None else item[_ZONED] for item in result]
    return result


def _interval(value: Any) -> Any:
    if value.months:
        return value
    return dt.timedelta(days=value.days, microseconds=value.nanoseconds // 1000)


def compiled(expression: list[Any], leaf: Leaf, types: Callable[[list[Any]], pa.DataType | None]) -> Test:
    """Return the function that computes ``expression`` from the state of a match.

    ``leaf`` reads values, and ``types`` tells those that are columns' (None for others).
    """
    return _Compiler(leaf, types).compile(expression)[0]


class _Compiler:
    def __init__(self, leaf: Leaf, types: Callable[[list[Any]], pa.DataType | None]) -> None:
        self._leaf = leaf
        self._types = types

    def compile(self, expression: list[Any]) -> tuple[Test, int]:
        """Return the function, and the bits of its integer result, if it is one."""
        name, *operands = expression
        if name in {"value", "label", "number", "aggregate"}:
            return self._leaf(expression), _bits(self._types(expression))
        if name == "date_diff":
            unit, *operands = operands
            name = f"date_diff {unit}"
        parts = [self.compile(operand) for operand in operands]
        tests = [test for test, _ in parts]
        bits = max((bits for _, bits in parts), default=64)
        if name not in _LOGIC:
            types = list(self._kinds(expression))
            if any(map(pa.types.is_float32, types)) and (name in _ARITHMETIC or not all(map(pa.types.is_floating, types))):
                raise _unserved(f"'{name}' of reals")  # which Trino rounds to their precision first
        if name in _LAZY:
            return _LAZY[name](tests), bits
        if name in _ARITHMETIC:
            return _strict(_arithmetic(name, bits), tests), bits
        return _strict(_COMPARISONS.get(name) or _difference(name), tests), bits

    def _kinds(self, expression: list[Any]) -> Iterator[pa.DataType]:
        type_ = self._types(expression)
        if type_ is not None:
            yield type_
        elif expression[0] not in {"value", "aggregate"}:
            for part in expression[1:]:
                yield from self._kinds(part) if isinstance(part, list) else ()


def _bits(type_: pa.DataType | None) -> int:
    return int(type_.bit_width) if type_ is not None and pa.types.is_integer(type_) else 64 if type_ is None else 0


def _unserved(what: str) -> ValueError:
    message = f"In DEFINE, {what} over several rows is not supported. CAST the values to double, or to text"
    return invalid(message, "NOT_SUPPORTED")


# Three-valued logic


def _and(tests: Sequence[Test]) -> Test:
    def test(state: Any) -> Any:
        result: Any = True
        for item in tests:
            value = item(state)
            if value is False:
                return False
            if value is None:
                result = None
        return result

    return test


def _or(tests: Sequence[Test]) -> Test:
    def test(state: Any) -> Any:
        result: Any = False
        for item in tests:
            value = item(state)
            if value is True:
                return True
            if value is None:
                result = None
        return result

    return test


def _in(tests: Sequence[Test]) -> Test:
    first, *others = tests
    return _or([_strict(_COMPARISONS["="], [first, other]) for other in others])


def _between(tests: Sequence[Test]) -> Test:
    value, low, high = tests
    return _and([_strict(_COMPARISONS[">="], [value, low]), _strict(_COMPARISONS["<="], [value, high])])


def _coalesce(tests: Sequence[Test]) -> Test:
    return lambda state: next((value for test in tests if (value := test(state)) is not None), None)


def _is_null(tests: Sequence[Test]) -> Test:
    return lambda state: tests[0](state) is None


def _same(tests: Sequence[Test]) -> Test:
    def test(state: Any) -> bool:
        left, right = (item(state) for item in tests)
        if left is None or right is None:
            return left is right
        return bool(_COMPARISONS["="](left, right)) or (left != left and right != right)  # noqa: PLR0124 NaN is NaN here

    return test


_LOGIC = {"and", "or", "not", "is null"}
_LAZY: Mapping[str, Callable[[Sequence[Test]], Test]] = {
    "and": _and,
    "or": _or,
    "in": _in,
    "between": _between,
    "coalesce": _coalesce,
    "is null": _is_null,
    "same": _same,
}


def _strict(function: Callable[..., Any], tests: Sequence[Test]) -> Test:
    """Return the function that is NULL if an operand is."""

    def test(state: Any) -> Any:
        values = [item(state) for item in tests]
        return None if None in values else function(*values)

    return test


# Comparisons


def _comparable(left: Any, right: Any) -> tuple[Any, Any]:
    """Return two values as they are compared. Raises ValueError for those whose order is not Python's."""
    types = {_family(left), _family(right)}
    if "" in types or len(types) > 1:
        raise _unserved(f"comparing {_type_name(left)} and {_type_name(right)}")
    if types == {"time"}:
        return _moment(left), _moment(right)
    if isinstance(left, float) or isinstance(right, float):
        return float(left), float(right)
    return left, right


def _family(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    for types, name in _FAMILIES:
        if isinstance(value, types):
            return name
    return ""


_FAMILIES: Sequence[tuple[Any, str]] = (
    ((int, float, Decimal), "number"),
    (str, "text"),
    (bytes, "bytes"),
    (dt.date, "time"),  # and datetime
    (dt.time, "clock"),
    (dt.timedelta, "interval"),
)


def _type_name(value: Any) -> str:
    return {"": "values of this type"}.get(_family(value), _family(value))


def _moment(value: Any) -> dt.datetime:
    moment = value if isinstance(value, dt.datetime) else dt.datetime(value.year, value.month, value.day)
    return moment.astimezone(dt.UTC).replace(tzinfo=None) if moment.tzinfo is not None else moment


def _comparison(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda left, right: compare(*_comparable(left, right))


_COMPARISONS: Mapping[str, Callable[..., Any]] = {
    "=": _comparison(operator.eq),
    "<>": _comparison(operator.ne),
    "<": _comparison(operator.lt),
    "<=": _comparison(operator.le),
    ">": _comparison(operator.gt),
    ">=": _comparison(operator.ge),
    "not": operator.not_,
}


def smaller(left: Any, right: Any) -> bool:
    """Return whether ``left`` is less than ``right``. Raises ValueError for NaN, and for types without Python's order."""
    if left != left or right != right:  # noqa: PLR0124 NaN
        raise _unserved("min or max of NaN")
    return bool(_COMPARISONS["<"](left, right))


# Arithmetic

_ARITHMETIC = {
    "+": "addition",
    "-": "subtraction",
    "*": "multiplication",
    "/": "division",
    "%": "modulus",
    "negate": "",
    "abs": "",
}
_NUMERIC: Mapping[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "negate": operator.neg,
    "abs": abs,
}
_DECIMAL: Mapping[str, Callable[..., Decimal]] = {
    "+": _EXACT.add,
    "-": _EXACT.subtract,
    "*": _EXACT.multiply,
    "negate": _EXACT.minus,
    "abs": _EXACT.abs,
}


def add(left: Any, right: Any, bits: int = 64) -> Any:
    """Return the sum of two numbers. Raises ValueError where Trino's overflows."""
    return _arithmetic("+", bits)(left, right)


def mean(total: Any, count: int) -> Any:
    """Return the average: of integers and doubles a double, of decimals rounded to their scale."""
    if isinstance(total, Decimal):
        scale = Decimal(1).scaleb(int(total.as_tuple().exponent))
        return _EXACT.divide(total, Decimal(count)).quantize(scale, ROUND_HALF_UP, _EXACT)
    return total / count


def _arithmetic(name: str, bits: int) -> Callable[..., Any]:
    def compute(*values: Any) -> Any:
        families = {_family(item) for item in values}
        if families != {"number"}:
            return _of_times(name, values, families)
        if all(isinstance(item, int) for item in values):
            return _integers(name, bits or 64, values)
        if any(isinstance(item, float) for item in values):
            return _doubles(name, [float(item) for item in values])
        if name not in _DECIMAL:
            raise _unserved(f"'{name}' of decimals")
        result = _DECIMAL[name](*(Decimal(item) for item in values))
        if abs(result) >= _LARGEST_DECIMAL:
            raise invalid("Decimal overflow", "NUMERIC_VALUE_OUT_OF_RANGE")
        return result

    return compute


def _integers(name: str, bits: int, values: Sequence[int]) -> int:
    if name in {"/", "%"}:
        left, right = values
        if right == 0:
            raise invalid("Division by zero", "DIVISION_BY_ZERO")
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        result = quotient if name == "/" else left - right * quotient
    else:
        result = int(_NUMERIC[name](*values))
    if not -(1 << (bits - 1)) <= result < 1 << (bits - 1):
        type_ = {8: "tinyint", 16: "smallint", 32: "integer"}.get(bits, "bigint")
        what = f"{_ARITHMETIC[name] or name} overflow"
        raise invalid(f"{type_} {what}: {f' {name} '.join(map(str, values))}", "NUMERIC_VALUE_OUT_OF_RANGE")
    return result


def _doubles(name: str, values: Sequence[float]) -> float:
    if name == "/":
        left, right = values
        if right == 0:
            return math.nan if left == 0 or left != left else math.copysign(math.inf, left) * math.copysign(1, right)  # noqa: PLR0124 NaN
        return left / right
    if name == "%":
        left, right = values
        return math.nan if right == 0 or math.isinf(left) else math.fmod(left, right)
    return float(_NUMERIC[name](*values))


def _of_times(name: str, values: Sequence[Any], families: set[str]) -> Any:
    """Return sums and differences of times and intervals."""
    try:
        if name == "-" and families == {"time"}:
            left, right = map(_moment, values)
            return left - right
        if name in {"+", "-"} and families <= {"time", "interval"}:
            return _NUMERIC[name](*values)
    except (TypeError, OverflowError):
        pass
    raise _unserved(f"'{name}' of {' and '.join(map(_type_name, values))}")


def _difference(name: str) -> Callable[..., Any]:
    unit = _UNITS[name.removeprefix("date_diff ")]

    def difference(start: Any, end: Any) -> int:
        if _family(start) != "time" or _family(end) != "time":
            raise _unserved("date_diff of these types")
        passed = _moment(end) - _moment(start)
        count = abs(passed) // unit
        return count if passed >= dt.timedelta(0) else -count

    return difference
