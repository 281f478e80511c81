"""Dates, times and intervals under ``+``, ``-`` and ``*``: the operators' own rows are those of numbers.

Source: Trino's documentation, "Date and time functions and operators", "Date and time operators".
"""

from collections.abc import Sequence

from sqlglot import exp

from penstock.query.dialect.functions.rows import Call, Definition, Macro, Row, Types, call_engine
from penstock.query.dialect.kinds import Type

__all__ = ["DEFINITIONS", "ROWS", "compute", "is_temporal", "result_type"]

_DAYS, _MONTHS = Type("interval day to second"), Type("interval year to month")
_TEMPORAL = ("date", "time", "timestamp", "interval")


def is_temporal(types: Types) -> bool:
    """Return whether an operand is a date, a time or an interval."""
    return any(kind is not None and kind.name.startswith(_TEMPORAL) for kind in types)


def result_type(types: Types) -> Type | None:
    """Return the type of a sum, a difference or a product with a date, a time or an interval."""
    left, right = types[:2]
    if left is None or right is None:
        return None
    if left.name.startswith("interval") and not right.is_number:
        return left if right.name == left.name else right
    return _DAYS if right.name == left.name and not left.name.startswith("interval") else left


def compute(call: Call) -> exp.Expr:
    """Return the engine's expression for ``+``, ``-`` or ``*`` with a date, a time or an interval."""
    left, right = call.arguments[:2]
    if isinstance(call.node, exp.Mul):
        return call.node
    if _is_interval(call, 1):
        step = exp.Neg(this=exp.paren(right, copy=False)) if isinstance(call.node, exp.Sub) else right
        return call_engine("trino_add_interval", step, left)
    if _is_interval(call, 0) and isinstance(call.node, exp.Add):
        return call_engine("trino_add_interval", left, right)
    return call.node


def _is_interval(call: Call, number: int) -> bool:
    kind = call.types[number]
    return kind is not None and kind.name.startswith("interval")


def _interval_type(node: exp.Expr) -> Type:
    unit = node.args.get("unit")
    words = unit.sql().upper() if isinstance(unit, exp.Expr) else ""
    return _MONTHS if words.startswith(("YEAR", "MONTH")) else _DAYS


def _interval(call: Call) -> exp.Expr:
    return call.node


ROWS: Sequence[Row] = [
    Row(name="INTERVAL", nodes=(exp.Interval,), write=_interval, node_type=_interval_type),
]

DEFINITIONS: Sequence[Definition] = [
    Macro(
        "trino_add_interval",
        [
            "(step, x DATE) AS CAST(x + step AS DATE)",
            *(f"(step, x {kind}) AS x + step" for kind in ("TIMESTAMP", "TIMESTAMPTZ", "TIME", "INTERVAL")),
        ],
    )
]
