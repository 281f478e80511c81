"""Conditions of a query as expressions of Iceberg, to leave out manifests and files by partition values and bounds.

A condition that is not understood counts as true, so that a file is left out only if none of its rows can meet them.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pyiceberg.exceptions import ValidationError
from pyiceberg.expressions import (
    AlwaysTrue,
    And,
    BooleanExpression,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNull,
    LessThan,
    LessThanOrEqual,
    NotEqualTo,
    NotNull,
    Or,
)
from pyiceberg.expressions.visitors import bind
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)
from sqlglot import exp

__all__ = ["to_iceberg"]

_MAX_LIST = 1_000
# pyiceberg's types know only the form with keywords of a predicate.
_is_null: Any = IsNull
_not_null: Any = NotNull
_in: Any = In
_COMPARISONS: Mapping[type[exp.Expr], Any] = {
    exp.EQ: EqualTo,
    exp.NEQ: NotEqualTo,
    exp.LT: LessThan,
    exp.LTE: LessThanOrEqual,
    exp.GT: GreaterThan,
    exp.GTE: GreaterThanOrEqual,
}
_FLIPPED: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
}


def to_iceberg(conditions: Sequence[exp.Expr], schema: Schema, *, outer: bool) -> BooleanExpression:
    """Return what ``conditions`` imply, bound to the columns of ``schema`` by name.

    With ``outer``, rows of NULLs may stand for the table's rows, so conditions that NULLs meet are left out.
    """
    reader = _Reader(schema, outer)
    result: BooleanExpression = AlwaysTrue()
    for condition in conditions:
        expression = reader.read(condition)
        if expression is not None:
            result = And(result, expression)
    return result


class _Reader:
    def __init__(self, schema: Schema, outer: bool) -> None:
        self._schema = schema
        self._names = {field.name.lower(): field for field in schema.fields}
        self._outer = outer

    def read(self, node: exp.Expr) -> BooleanExpression | None:
        """Return what ``node`` implies, None if that is nothing."""
        node = node.unnest()
        if isinstance(node, exp.And):
            left, right = self.read(node.left), self.read(node.right)
            return And(left, right) if left is not None and right is not None else left if right is None else right
        if isinstance(node, exp.Or):
            left, right = self.read(node.left), self.read(node.right)
            return Or(left, right) if left is not None and right is not None else None
        predicate = self._predicate(node)
        if predicate is None:
            return None
        try:
            bind(self._schema, predicate, case_sensitive=True)
        except (ValidationError, ValueError, TypeError):
            return None
        return predicate

    def _predicate(self, node: exp.Expr) -> BooleanExpression | None:
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            column = self._column(node.this)
            return _is_null(column[0]) if column is not None and not self._outer else None
        if isinstance(node, exp.Not):
            inner = node.this.unnest()
            column = (
                self._column(inner.this) if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null) else None
            )
            return _not_null(column[0]) if column is not None else None
        if isinstance(node, exp.Between):
            column = self._column(node.this)
            low, high = (self._value(node.args[name], column) for name in ("low", "high"))
            if column is None or low is None or high is None or node.args.get("symmetric"):
                return None
            return And(_COMPARISONS[exp.GTE](column[0], low), _COMPARISONS[exp.LTE](column[0], high))
        if isinstance(node, exp.In):
            return self._in(node)
        return self._compared(node)

    def _in(self, node: exp.In) -> BooleanExpression | None:
        column = self._column(node.this)
        values = [self._value(expression, column) for expression in node.expressions]
        if column is None or node.args.get("query") or node.args.get("unnest") or not 0 < len(values) <= _MAX_LIST:
            return None
        constants = [item for item in values if item is not None]
        return _in(column[0], constants) if len(constants) == len(values) else None

    def _compared(self, node: exp.Expr) -> BooleanExpression | None:
        comparison = type(node)
        if comparison not in _COMPARISONS:
            return None
        left, right = node.this.unnest(), node.expression.unnest()
        column = self._column(left)
        if column is None:
            comparison, column, right = _FLIPPED[comparison], self._column(right), left
        value = self._value(right, column)
        return _COMPARISONS[comparison](column[0], value) if column is not None and value is not None else None

    def _column(self, node: exp.Expr) -> tuple[str, IcebergType] | None:
        field = self._names.get(node.name.lower()) if isinstance(node, exp.Column) else None
        return (field.name, field.field_type) if field is not None else None

    def _value(self, node: exp.Expr | None, column: tuple[str, IcebergType] | None) -> Any:
        if node is None or column is None:
            return None
        try:
            return _constant(node.unnest(), column[1])
        except (ValueError, ArithmeticError):
            return None


def _constant(node: exp.Expr, type_: IcebergType) -> Any:
    """Return a constant in the form of pyiceberg's literals, None if it is not one of the column's own type."""
    if isinstance(type_, BooleanType):
        return node.this if isinstance(node, exp.Boolean) else None
    if isinstance(type_, StringType):
        return node.name if isinstance(node, exp.Literal) and node.is_string else None
    if isinstance(type_, IntegerType | LongType | DecimalType):
        return _number(node, type_)
    if isinstance(type_, DateType | TimestampType | TimestamptzType):
        return _time(node, type_)
    # Floating point is left out: NaN is in no bounds, and engines differ in where it sorts.
    return None


def _number(node: exp.Expr, type_: IcebergType) -> Any:
    sign = 1
    if isinstance(node, exp.Neg):
        sign, node = -1, node.this.unnest()
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    value = Decimal(node.name) * sign
    if isinstance(type_, DecimalType):
        exact = value.quantize(Decimal(1).scaleb(-type_.scale))
        return exact if exact == value and len(exact.as_tuple().digits) <= type_.precision else None
    whole = int(value)
    # pyiceberg compares a constant outside the column's range as if it were at its end.
    largest = 2**31 if isinstance(type_, IntegerType) else 2**63
    return whole if whole == value and "e" not in node.name.lower() and -largest < whole < largest - 1 else None


def _time(node: exp.Expr, type_: IcebergType) -> Any:
    if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Literal) or not node.this.is_string:
        return None
    text, target = node.this.name.strip(), node.to.this
    if target is exp.DType.DATE:
        day = date.fromisoformat(text) if len(text) == 10 else None
        if isinstance(type_, TimestamptzType) or day is None:
            return None
        return day.isoformat() if isinstance(type_, DateType) else f"{day.isoformat()}T00:00:00"
    stamp = datetime.fromisoformat(text) if text[:1].isdigit() and len(text) >= 10 else None
    if stamp is None or isinstance(type_, DateType):
        return None
    if isinstance(type_, TimestampType):
        fits = target in {exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ} and stamp.tzinfo is None
        return stamp.isoformat() if fits else None
    fits = target in {exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ} and stamp.tzinfo is not None
    return stamp.isoformat() if fits else None
