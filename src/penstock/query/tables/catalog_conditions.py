"""Conditions on partition keys as Glue's partition expressions, so that the catalog finds the partitions by its index.

An expression is true for every partition that meets the conditions, and may be for others: what cannot be said in it is
left out. So the conditions themselves still decide.
"""

import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from penstock.catalog.model import Column
from penstock.types import hive
from penstock.types.model import INTEGERS

__all__ = ["catalog_expression"]

_MAX_LENGTH = 2_048  # Glue API reference, GetPartitions, Expression
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PLAIN = re.compile(r"[^'\\\x00-\x1f]*")  # a text that needs no escape
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_INTEGER = re.compile(r"-?\d{1,18}")
_SIGNS: Mapping[type[exp.Expr], str] = {exp.EQ: "=", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="}
_TURNED = {"=": "=", ">": "<", ">=": "<=", "<": ">", "<=": ">="}


def catalog_expression(keys: Sequence[Column], conditions: Sequence[exp.Expr]) -> str | None:
    """Return an expression over ``keys`` that is true wherever all ``conditions`` are (the engine's), None for no limit."""
    types = {key.name.lower(): hive.name_of(key.type or "string") for key in keys if _NAME.fullmatch(key.name.lower())}
    parts: list[str] = []
    for condition in conditions:
        text = _expression(condition, types)
        if text is not None and len(" AND ".join([*parts, text])) <= _MAX_LENGTH:
            parts.append(text)
    return " AND ".join(parts) or None


def _expression(condition: exp.Expr, types: Mapping[str, str]) -> str | None:
    condition = condition.unnest()
    match condition:
        case exp.And():
            parts = [
                name
                for name in (_expression(condition.left, types), _expression(condition.right, types))
                if name is not None
            ]
            return f"({' AND '.join(parts)})" if parts else None
        case exp.Or():
            sides = [_expression(condition.left, types), _expression(condition.right, types)]
            return None if None in sides else f"({' OR '.join(side for side in sides if side is not None)})"
        case exp.In():
            return _listed(condition, types)
        case exp.Between():
            return _expression(
                exp.and_(
                    exp.GTE(this=condition.this.copy(), expression=condition.args["low"].copy()),
                    exp.LTE(this=condition.this.copy(), expression=condition.args["high"].copy()),
                ),
                types,
            )
    sign = _SIGNS.get(type(condition))
    return None if sign is None else _compared(sign, condition.this.unnest(), condition.expression.unnest(), types)


def _compared(sign: str, left: exp.Expr, right: exp.Expr, types: Mapping[str, str]) -> str | None:
    if not isinstance(left, exp.Column):
        left, right, sign = right, left, _TURNED[sign]
    name = left.name.lower()
    if not isinstance(left, exp.Column) or name not in types:
        return None
    value = _constant(right, types[name])
    return None if value is None else f"{name} {sign} {value}"


def _listed(condition: exp.In, types: Mapping[str, str]) -> str | None:
    column = condition.this.unnest()
    name = column.name.lower() if isinstance(column, exp.Column) else ""
    if name not in types or not condition.expressions:
        return None
    values = [_constant(expression.unnest(), types[name]) for expression in condition.expressions]
    return None if None in values else f"{name} IN ({', '.join(item for item in values if item is not None)})"


def _constant(value: exp.Expr, type_: str) -> str | None:
    """Return the constant as the expression has it for a key of ``type_``, None if it has none that means the same."""
    if type_ == "date":
        if not isinstance(value, exp.Cast) or not value.is_type(exp.DataType.Type.DATE):
            return None
        value = value.this
        return f"'{value.name}'" if isinstance(value, exp.Literal) and _DATE.fullmatch(value.name) else None
    if type_ == "string":
        plain = isinstance(value, exp.Literal) and value.is_string and _PLAIN.fullmatch(value.name)
        return f"'{value.name}'" if plain else None
    if type_ in INTEGERS:
        number = f"-{value.this.name}" if isinstance(value, exp.Neg) else value.name
        whole = isinstance(value.this if isinstance(value, exp.Neg) else value, exp.Literal)
        return number if whole and not value.is_string and _INTEGER.fullmatch(number) else None
    return None
