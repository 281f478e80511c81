"""Window functions: ranks and values; every aggregate function can have OVER too.

Sources: Trino's documentation, "Window functions"; Trino's own tests of them.
"""

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from penstock.sql.functions.build import integer
from penstock.sql.functions.rows import Call, Definition, Macro, Row, Types, call_engine, fail
from penstock.sql.trino_types import BIGINT, DOUBLE, Type

__all__ = ["DEFINITIONS", "ROWS"]


def _window(call: Call) -> None:
    if not call.is_windowed:
        raise call.error(f"Window function {call.name} requires an OVER clause", code="MISSING_OVER")


def _rank(name: str, returns: Type) -> Row:
    def write(call: Call) -> exp.Expr:
        _window(call)
        if any(isinstance(node, exp.IgnoreNulls | exp.RespectNulls) for node in call.around):
            raise call.error(
                f"Cannot specify null treatment clause for {call.name} function", code="NULL_TREATMENT_NOT_ALLOWED"
            )
        return call.engine(name, *call.arguments)

    return Row(name, arity=0, returns=returns, write=write, kind="window")


def _ntile(call: Call) -> exp.Expr:
    _window(call)
    return call.engine("ntile", call_engine("trino_positive", call.arguments[0]))


_NODES: Mapping[str, Callable[[Sequence[exp.Expr]], exp.Expr]] = {
    "first_value": lambda arguments: exp.FirstValue(this=arguments[0]),
    "last_value": lambda arguments: exp.LastValue(this=arguments[0]),
    "nth_value": lambda arguments: exp.NthValue(this=arguments[0], offset=arguments[1]),
    "lag": lambda arguments: exp.Lag(
        this=arguments[0], offset=arguments[1], default=arguments[2] if len(arguments) > 2 else None
    ),
    "lead": lambda arguments: exp.Lead(
        this=arguments[0], offset=arguments[1], default=arguments[2] if len(arguments) > 2 else None
    ),
}


def _placed(call: Call, arguments: Sequence[exp.Expr]) -> exp.Expr:
    """Return the engine's function of values in its window. IGNORE NULLS stands inside the call there."""
    result = _NODES[call.name](arguments)
    for node in call.around:
        if not isinstance(node, exp.RespectNulls):
            outer = node.copy()
            outer.set("this", result)
            result = outer
    return result


def _value(name: str, counts: bool = False) -> Row:
    def write(call: Call) -> exp.Expr:
        _window(call)
        arguments = list(call.arguments)
        if counts:
            arguments[1] = call_engine("trino_positive", arguments[1])
        return _placed(call, arguments)

    least = 2 if counts else 1
    return Row(name, arity=least, returns=lambda types: types[0], write=write, kind="window")


def _offset(name: str) -> Row:
    def write(call: Call) -> exp.Expr:
        _window(call)
        arguments = list(call.arguments)
        if len(arguments) > 1:
            arguments[1] = call_engine("trino_not_negative", arguments[1])
        else:
            arguments.append(integer(1))
        return _placed(call, arguments)

    def returns(types: Types) -> Type | None:
        return types[0]

    return Row(name, arity=(1, 3), returns=returns, write=write, kind="window")


ROWS: Sequence[Row] = [
    _rank("row_number", BIGINT),
    _rank("rank", BIGINT),
    _rank("dense_rank", BIGINT),
    _rank("percent_rank", DOUBLE),
    _rank("cume_dist", DOUBLE),
    Row("ntile", arity=1, returns=BIGINT, write=_ntile, kind="window"),
    _value("first_value"),
    _value("last_value"),
    _value("nth_value", counts=True),
    _offset("lag"),
    _offset("lead"),
    Row("grouping", arity=(1, None), returns=BIGINT, kind="aggregate"),
]

_POSITIVE = fail("The argument must be at least 1", "BIGINT")
_NOT_NEGATIVE = fail("Offset must be at least 0", "BIGINT")

DEFINITIONS: Sequence[Definition] = [
    Macro("trino_positive", f"(n) AS CASE WHEN n < 1 THEN {_POSITIVE} ELSE CAST(n AS BIGINT) END"),
    Macro("trino_not_negative", f"(n) AS CASE WHEN n < 0 THEN {_NOT_NEGATIVE} ELSE CAST(n AS BIGINT) END"),
]
