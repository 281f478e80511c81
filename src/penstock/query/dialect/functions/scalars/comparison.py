"""Comparison functions and operators, logical operators, predicates.

Source: Trino's documentation, "Comparison functions and operators", "Logical operators".
"""

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from penstock.query.dialect.functions.build import cast_to, text
from penstock.query.dialect.functions.nested.lambdas import applied, function
from penstock.query.dialect.functions.nested.records import NESTED, compared, is_in
from penstock.query.dialect.functions.rows import STAND_IN, Call, Definition, Macro, Row, Types, call_engine
from penstock.query.dialect.functions.times.zones import instant
from penstock.query.dialect.kinds import BOOLEAN, Type, common

__all__ = ["DEFINITIONS", "ROWS", "check_comparable", "without_nan"]

# What the engine would cast without a word, and Trino refuses to compare.
_FAMILIES = (
    frozenset({"tinyint", "smallint", "integer", "bigint", "decimal", "real", "double"}),
    frozenset({"varchar", "char"}),
    frozenset({"date", "timestamp", "timestamp with time zone"}),
    frozenset({"time", "time with time zone"}),
)


def _family(kind: Type) -> object:
    return next((each for each in _FAMILIES if kind.name in each), kind.name)


def check_comparable(call: Call, left: Type | None, right: Type | None, sign: str) -> None:
    """Raise Trino's error for two values that it refuses to compare and the engine would cast."""
    if left is None or right is None or "unknown" in {left.name, right.name}:
        return
    if _family(left) != _family(right):
        raise call.wrong(f"Cannot apply operator: {left} {sign} {right}", code="TYPE_MISMATCH")


def _compared(call: Call) -> exp.Expr:
    first, *others = call.types
    for other in others:
        check_comparable(call, first, other, call.name)
    nested = next((kind for kind in call.types if kind is not None and kind.name in NESTED), None)
    if nested is not None:
        return _nested(call, nested)
    if any(kind is not None and kind.name == "char" for kind in call.types):
        _without_padding(call)
    if any(kind is not None and kind.name == "timestamp with time zone" for kind in call.types):
        _as_instants(call)
    if any(kind is not None and kind.is_floating for kind in call.types):
        return _NAN_FORMS.get(type(call.node), without_nan)(call)
    return call.node


# For each comparison, the operands of which the engine's answer is wrong if they are NaN: it sorts NaN above all numbers.
_NAN_SIDES: Mapping[type[exp.Expr], Sequence[str]] = {
    exp.GT: ("this",),
    exp.GTE: ("this",),
    exp.LT: ("expression",),
    exp.LTE: ("expression",),
    exp.EQ: ("this", "expression"),
    exp.NEQ: ("this", "expression"),
}


def without_nan(call: Call, is_nan_of: str = "trino_is_nan") -> exp.Expr:
    """Compare as IEEE 754 does: NaN is neither equal to, nor less or greater than anything.

    ``is_nan_of`` is the engine's function that tells whether a value is NaN.
    """
    node = call.node
    sides = [node.args[key] for key in _NAN_SIDES.get(type(node), ())]
    floating = [kind is not None and kind.is_floating for kind in call.types]
    if not sides or any(isinstance(each.unnest(), exp.Literal) for each in sides):
        return node
    if not (all(floating) if len(sides) == 2 else floating[0 if sides[0] is node.this else 1]):
        return node
    sides.sort(key=lambda each: STAND_IN in each.meta)
    if STAND_IN in sides[0].meta and isinstance(node, exp.LT | exp.GT):
        sides[0].replace(_below_all(sides[0].copy()))
        return node
    beside_nan = _nan_beside(sides[0], node.expression if sides[0] is node.this else node.this, is_nan_of)
    if isinstance(node, exp.NEQ):
        return exp.Paren(this=exp.Or(this=node, expression=beside_nan))
    return exp.Paren(this=exp.And(this=node, expression=exp.Not(this=beside_nan)))


def _nan_beside(value: exp.Expr, other: exp.Expr, is_nan_of: str) -> exp.Expr:
    """Return whether ``value`` is NaN beside a value; beside NULL the comparison is NULL."""
    is_nan = call_engine(is_nan_of, value.copy())
    if isinstance(other.unnest(), exp.Literal):
        return is_nan
    absent = exp.Is(this=exp.paren(other.copy(), copy=False), expression=exp.Null())
    return exp.Paren(this=exp.And(this=is_nan, expression=exp.Not(this=absent)))


def _below_all(value: exp.Expr) -> exp.Expr:
    """Return ``value``, computed once, with NaN below all numbers: beside it ``<`` and ``>`` remain the engine's own."""
    name = exp.to_identifier("trino_bound")
    least = cast_to(text("-infinity"), "DOUBLE")
    case = exp.Case(ifs=[exp.If(this=call_engine("trino_is_nan", name.copy()), true=least)], default=name)
    return applied(function(name.name, case), value)


def _between(call: Call) -> exp.Expr:
    """``x BETWEEN a AND b``: of the engine's answers only those with NaN as the upper bound differ."""
    high, kind = call.node.args["high"], call.types[2]
    if kind is None or not kind.is_floating or isinstance(high.unnest(), exp.Literal):
        return call.node
    beside_nan = _nan_beside(high, call.node.this, "trino_is_nan")
    return exp.Paren(this=exp.And(this=call.node, expression=exp.Not(this=beside_nan)))


def _in(call: Call) -> exp.Expr:
    """``x IN (…)``: NaN is equal to no item; the answer is NULL if one of them is."""
    items = [each for each in call.node.expressions if not isinstance(each.unnest(), exp.Literal)]
    value, kind = call.node.this, call.types[0]
    if not items or kind is None or not kind.is_floating:
        return call.node
    absent = exp.paren(exp.or_(*(exp.Is(this=exp.paren(each), expression=exp.Null()) for each in items)), copy=False)
    is_nan = call_engine("trino_is_nan", value.copy())
    none_equal = exp.If(this=exp.And(this=is_nan, expression=exp.Not(this=absent)), true=exp.false())
    unknown = exp.If(this=is_nan.copy(), true=exp.Null())
    return exp.Paren(this=exp.Case(ifs=[none_equal, unknown], default=call.node))


_NAN_FORMS: Mapping[type[exp.Expr], Callable[[Call], exp.Expr]] = {exp.Between: _between, exp.In: _in}


def _nested(call: Call, kind: Type) -> exp.Expr:
    if isinstance(call.node, exp.In):
        return is_in(kind, call.node) if call.node.expressions else call.node
    if isinstance(call.node, exp.Between):
        raise call.wrong(f"BETWEEN is not supported for {kind}", code="NOT_SUPPORTED", remedy="Use >= and <=.")
    return compared(call, kind)


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
        call.node.set("expressions", [instant(each) for each in call.node.expressions])


def _conditions(call: Call) -> exp.Expr:
    for kind in call.types:
        if kind is not None and kind.name not in {"boolean", "unknown"}:
            raise call.wrong(f"Logical expression term must evaluate to a boolean: {kind}", code="TYPE_MISMATCH")
    return call.node


def _operator(name: str, *nodes: type[exp.Expr]) -> Row:
    return Row(name=name, nodes=nodes, returns=BOOLEAN, write=_compared)


def _same(types: Types) -> Type | None:
    return common(types)


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
    Row(name="IS NULL", nodes=(exp.Is,), returns=BOOLEAN),
    _operator("IN", exp.In),
    Row(name="EXISTS", nodes=(exp.Exists,), returns=BOOLEAN),
    Row(name="ALL", nodes=(exp.All,)),
    Row(name="ANY", nodes=(exp.Any,)),
    Row(name="AND", nodes=(exp.And,), returns=BOOLEAN, write=_conditions),
    Row(name="OR", nodes=(exp.Or,), returns=BOOLEAN, write=_conditions),
    Row(name="NOT", nodes=(exp.Not,), returns=BOOLEAN, write=_conditions),
]

DEFINITIONS: Sequence[Definition] = [
    # The engine's isnan is false for every value of a Parquet file whose statistics have bounds, which leave NaN out.
    Macro(
        "trino_is_nan",
        [
            "(x) AS CASE WHEN hash(CAST(x AS DOUBLE)) = hash(CAST('nan' AS DOUBLE)) "
            "THEN CAST(x AS VARCHAR) IN ('nan', '-nan') WHEN x IS NOT NULL THEN false END"
        ],
    ),
]
