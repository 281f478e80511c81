"""Comparison functions and operators, logical operators, predicates.

Source: Trino's documentation, "Comparison functions and operators", "Logical operators".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from penstock.sql.functions.build import cast_to, is_null, text
from penstock.sql.functions.nested.lambdas import applied, function
from penstock.sql.functions.nested.records import NESTED, compared, is_in
from penstock.sql.functions.rows import STAND_IN, Call, Definition, Macro, Row, call_engine, first_type
from penstock.sql.functions.scalars.subqueries import in_subquery, is_quantified, quantified
from penstock.sql.functions.times.zones import instant
from penstock.sql.trino_types import BOOLEAN, Type

__all__ = ["DEFINITIONS", "ROWS", "check_comparable", "without_nan"]

# What the engine would cast without a word, and Trino refuses to compare.
_FAMILIES = (
    frozenset({"tinyint", "smallint", "integer", "bigint", "decimal", "real", "double"}),
    frozenset({"varchar", "char"}),
    frozenset({"date", "timestamp", "timestamp with time zone"}),
    frozenset({"time", "time with time zone"}),
)


_NOT_COMPARED = frozenset({"Geometry", "SphericalGeography"})


def _family(type_: Type) -> object:
    return next((family for family in _FAMILIES if type_.name in family), type_.name)


def check_comparable(call: Call, left: Type | None, right: Type | None, sign: str) -> None:
    """Raise Trino's error for two values that it refuses to compare and the engine would cast."""
    if not _is_comparable(left, right) or _NOT_COMPARED & {type_.name for type_ in (left, right) if type_ is not None}:
        raise call.error(f"Cannot apply operator: {left} {sign} {right}", code="TYPE_MISMATCH")


def _is_comparable(left: Type | None, right: Type | None) -> bool:
    if left is None or right is None or "unknown" in {left.name, right.name}:
        return True
    if left.name == right.name == "row":
        return len(left.inner) == len(right.inner) and all(map(_is_comparable, left.inner, right.inner))
    return _family(left) == _family(right)


def _compared(call: Call) -> exp.Expr:
    if is_quantified(call.node) or call.node.args.get("query") is not None:
        return _with_rows(call)
    first, *others = call.types
    for other in others:
        check_comparable(call, first, other, call.name)
    nested = next((type_ for type_ in call.types if type_ is not None and type_.name in NESTED), None)
    if nested is not None:
        return _nested(call, nested)
    if any(type_ is not None and type_.name == "char" for type_ in call.types):
        _without_padding(call)
    if any(type_ is not None and type_.name == "timestamp with time zone" for type_ in call.types):
        _as_instants(call)
    if any(type_ is not None and type_.is_floating for type_ in call.types):
        return _NAN_FORMS.get(type(call.node), without_nan)(call)
    return call.node


def _with_rows(call: Call) -> exp.Expr:
    """Return a comparison with the rows of a subquery."""
    value, rows = call.types
    if not _is_comparable(value, rows):
        message = f"Value expression and result of subquery must be of the same type: {value} vs {rows}"
        raise call.error(message, code="TYPE_MISMATCH")
    if isinstance(call.node, exp.In):
        return in_subquery(call, call.node.this, call.node.args["query"])
    return quantified(call, _compared)


# For each comparison, the operands of which the engine's answer is wrong if they are NaN: it sorts NaN above all numbers.
# Of columns it is wrong for each operand: the bounds in a Parquet file's statistics leave NaN out, and the engine takes a
# comparison for true, or skips rows, by the bounds. It does so, too, once it has moved a NOT into the comparison.
_NAN_SIDES: Mapping[type[exp.Expr], Sequence[str]] = {
    exp.GT: ("this",),
    exp.GTE: ("this",),
    exp.LT: ("expression",),
    exp.LTE: ("expression",),
    exp.EQ: ("this", "expression"),
    exp.NEQ: ("this", "expression"),
}
_OTHER = {"this": "expression", "expression": "this"}


def without_nan(call: Call, is_nan_of: str = "trino_is_nan") -> exp.Expr:
    """Compare as IEEE 754 does: NaN is neither equal to, nor less or greater than anything.

    ``is_nan_of`` is the engine's function that tells whether a value is NaN.
    """
    node = call.node
    nan_sides = _NAN_SIDES.get(type(node))
    if nan_sides is None:
        return node
    maybe = [key for key, type_ in zip(_OTHER, call.types, strict=True) if _may_be_nan(node.args[key], type_)]
    plain = [key for key in maybe if STAND_IN not in node.args[key].meta]
    checked = plain
    for key in maybe:
        if key in plain or key not in nan_sides:
            continue  # the value of a subquery has no statistics
        if len(nan_sides) == 1 and isinstance(node, exp.LT | exp.GT):
            node.set(key, _below_all(node.args[key]))
        elif len(nan_sides) == 1 or (len(maybe) == 2 and not checked):
            checked = [*checked, key]
    negated = isinstance(node, exp.NEQ)
    result: exp.Expr = node
    for beside_nan in [_nan_beside(node.args[key], node.args[_OTHER[key]], is_nan_of) for key in checked]:
        result = exp.Or(this=result, expression=beside_nan) if negated else _and_not(result, beside_nan)
    return exp.Paren(this=result) if checked else node


def _may_be_nan(value: exp.Expr, type_: Type | None) -> bool:
    return type_ is not None and type_.is_floating and not _is_number(value)


def _is_number(value: exp.Expr) -> bool:
    value = value.unnest()
    return isinstance(value.this.unnest() if isinstance(value, exp.Neg) else value, exp.Literal)


def _and_not(condition: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.And(this=condition, expression=exp.Not(this=other))


def _nan_beside(value: exp.Expr, other: exp.Expr, is_nan_of: str) -> exp.Expr:
    """Return whether ``value`` is NaN beside a value; beside NULL the comparison is NULL."""
    is_nan = call_engine(is_nan_of, value.copy())
    if _is_number(other):
        return is_nan
    return exp.Paren(this=_and_not(is_nan, is_null(other)))


def _below_all(value: exp.Expr) -> exp.Expr:
    """Return ``value``, computed once, with NaN below all numbers: beside it ``<`` and ``>`` remain the engine's own."""
    name = exp.to_identifier("trino_bound")
    least = cast_to(text("-infinity"), "DOUBLE")
    case = exp.Case(ifs=[exp.If(this=call_engine("trino_is_nan", name.copy()), true=least)], default=name)
    return applied(function(name.name, case), value)


def _between(call: Call) -> exp.Expr:
    """``x BETWEEN a AND b``: false if one of them is NaN, unless x or both bounds are NULL."""
    node = call.node
    value, low, high = node.this, node.args["low"], node.args["high"]
    result: exp.Expr = node
    if _may_be_nan(value, call.types[0]):
        beside_nan: exp.Expr = call_engine("trino_is_nan", value.copy())
        if not _is_number(low) and not _is_number(high):
            beside_nan = exp.Paren(this=_and_not(beside_nan, exp.paren(exp.and_(is_null(low), is_null(high)), copy=False)))
        result = _and_not(result, beside_nan)
    for bound, type_ in zip((low, high), call.types[1:], strict=True):
        if _may_be_nan(bound, type_):
            result = _and_not(result, _nan_beside(bound, value, "trino_is_nan"))
    return exp.Paren(this=result) if result is not node else node


def _in(call: Call) -> exp.Expr:
    """``x IN (…)``: NaN is equal to no item; the answer is NULL if one of them is."""
    value, type_ = call.node.this, call.types[0]
    if not call.node.expressions or not _may_be_nan(value, type_):
        return call.node
    items = [expression for expression in call.node.expressions if not isinstance(expression.unnest(), exp.Literal)]
    is_nan = call_engine("trino_is_nan", value.copy())
    if not items:
        return exp.Paren(this=_and_not(call.node, is_nan))
    absent = exp.paren(exp.or_(*map(is_null, items)), copy=False)
    none_equal = exp.If(this=_and_not(is_nan, absent), true=exp.false())
    unknown = exp.If(this=is_nan.copy(), true=exp.Null())
    return exp.Paren(this=exp.Case(ifs=[none_equal, unknown], default=call.node))


def _distinct(call: Call) -> exp.Expr:
    """``IS (NOT) DISTINCT FROM``: NaN is the same as NaN, as for the engine, but not by a file's statistics."""
    for key, type_ in zip(_OTHER, call.types, strict=True):
        if _may_be_nan(call.node.args[key], type_):
            call.node.set(key, call_engine("trino_as_read", call.node.args[key]))
    return call.node


_NAN_FORMS: Mapping[type[exp.Expr], Callable[[Call], exp.Expr]] = {
    exp.Between: _between,
    exp.In: _in,
    exp.NullSafeEQ: _distinct,
    exp.NullSafeNEQ: _distinct,
}


def _nested(call: Call, type_: Type) -> exp.Expr:
    if isinstance(call.node, exp.In):
        return is_in(type_, call.node) if call.node.expressions else call.node
    if isinstance(call.node, exp.Between):
        value = call.node.this
        bounds = (
            exp.GTE(this=value, expression=call.node.args["low"]),
            exp.LTE(this=value, expression=call.node.args["high"]),
        )
        return exp.paren(exp.and_(*(compared(replace(call, node=bound), type_) for bound in bounds), copy=False), copy=False)
    return compared(call, type_)


def _without_padding(call: Call) -> None:
    """Compare a char with other text without the blanks at its end."""
    for key in ("this", "expression", "low", "high"):
        operand = call.node.args.get(key)
        if isinstance(operand, exp.Expr):
            call.node.set(key, call_engine("rtrim", operand, text(" ")))


def _as_instants(call: Call) -> None:
    """Compare timestamps by their instants, whatever their time zones are."""
    for key in ("this", "expression", "low", "high"):
        operand = call.node.args.get(key)
        if isinstance(operand, exp.Expr):
            call.node.set(key, instant(operand))
    if isinstance(call.node, exp.In):
        call.node.set("expressions", [instant(expression) for expression in call.node.expressions])


def _conditions(call: Call) -> exp.Expr:
    for type_ in call.types:
        if type_ is not None and type_.name not in {"boolean", "unknown"}:
            raise call.error(f"Logical expression term must evaluate to a boolean: {type_}", code="TYPE_MISMATCH")
    return call.node


def _operator(name: str, *nodes: type[exp.Expr]) -> Row:
    return Row(name, nodes=nodes, returns=BOOLEAN, write=_compared)


ROWS: Sequence[Row] = [
    _operator("=", exp.EQ),
    _operator("<>", exp.NEQ),
    _operator("<", exp.LT),
    _operator("<=", exp.LTE),
    _operator(">", exp.GT),
    _operator(">=", exp.GTE),
    _operator("BETWEEN", exp.Between),
    _operator("IS DISTINCT FROM", exp.NullSafeNEQ),
    _operator("IS NOT DISTINCT FROM", exp.NullSafeEQ),
    Row("IS NULL", nodes=(exp.Is,), returns=BOOLEAN),
    _operator("IN", exp.In),
    Row("EXISTS", nodes=(exp.Exists,), returns=BOOLEAN),
    Row("ALL", nodes=(exp.All,), returns=first_type),
    Row("ANY", nodes=(exp.Any,), returns=first_type),
    Row("AND", nodes=(exp.And,), returns=BOOLEAN, write=_conditions),
    Row("OR", nodes=(exp.Or,), returns=BOOLEAN, write=_conditions),
    Row("NOT", nodes=(exp.Not,), returns=BOOLEAN, write=_conditions),
]

DEFINITIONS: Sequence[Definition] = [
    # A CASE has no statistics of its own: by a Parquet file's, which leave NaN out, the engine takes isnan for false.
    Macro("trino_as_read", "(x) AS CASE WHEN x IS NOT NULL THEN x END"),
    Macro("trino_is_nan", "(x) AS isnan(trino_as_read(CAST(x AS DOUBLE)))"),
]
