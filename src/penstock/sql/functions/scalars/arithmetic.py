"""Arithmetic operators, with the result types of Trino's decimals and errors instead of wider integers.

Source: Trino's documentation, "Mathematical functions and operators", "Decimal functions and operators" (result types).
"""

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from penstock.sql.functions.build import as_type, cast_to, text
from penstock.sql.functions.rows import Call, Definition, Macro, Row, Types, call_engine, fail, first_type
from penstock.sql.functions.times.arithmetic import compute, is_temporal, result_type
from penstock.sql.trino_types import Type, common, decimal_of

__all__ = ["DEFINITIONS", "ROWS", "divided_type", "modulus", "modulus_type"]

_SIGNS: Mapping[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}


def _numbers(types: Types) -> tuple[Type, Type] | None:
    """Return both types if they are known numbers; NULL takes the other's type."""
    left, right = types[:2]
    if left is None or right is None:
        return None
    left, right = (right if left.name == "unknown" else left), (left if right.name == "unknown" else right)
    return (left, right) if left.is_number and right.is_number else None


def _checked(call: Call) -> tuple[Type, Type] | None:
    pair = _numbers(call.types)
    if pair is None:
        left, right = call.types[:2]
        if left is not None and right is not None and {left.name, right.name} != {"unknown"}:
            sign = _SIGNS.get(type(call.node), call.name)
            raise call.error(f"Cannot apply operator: {left} {sign} {right}", code="TYPE_MISMATCH")
    return pair


def _plain(call: Call, left: Type, right: Type) -> exp.Expr:
    """Return the engine's own operator, between operands of Trino's types."""
    node = call.node
    wider = common([left, right])
    assert wider is not None
    if wider.is_integer:
        # The engine gives a literal the narrowest type that fits beside it.
        if {left.name, right.name} & {"tinyint", "smallint"}:
            for key, operand, type_ in (("this", call.arguments[0], left), ("expression", call.arguments[1], right)):
                node.set(key, as_type(operand, type_) if isinstance(operand.unnest(), exp.Literal | exp.Neg) else operand)
        return node
    for key, operand, type_ in (("this", call.arguments[0], left), ("expression", call.arguments[1], right)):
        if wider.name == "decimal" and type_.is_integer:
            node.set(key, as_type(operand, decimal_of(type_)))
        elif wider.name == "real" and type_.name != "real":
            node.set(key, cast_to(operand, "FLOAT"))
    return node


def _sum(call: Call) -> exp.Expr:
    if is_temporal(call.types):
        return compute(call)
    pair = _checked(call)
    return _plain(call, *pair) if pair is not None else call.node


def _scales(pair: tuple[Type, Type]) -> tuple[int, int, int, int]:
    first, second = decimal_of(pair[0]).numbers, decimal_of(pair[1]).numbers
    return first[0], first[1], second[0], second[1]


_Digits = tuple[int, int]  # precision and scale


def _typed(digits: Callable[[int, int, int, int], _Digits]) -> Callable[[Types], Type | None]:
    """Return the function of the result's type; ``digits`` gives a decimal's from precision and scale of both operands."""

    def result(types: Types) -> Type | None:
        if is_temporal(types):
            return result_type(types)
        pair = _numbers(types)
        wider = common(pair) if pair is not None else None
        if pair is None or wider is None or wider.name != "decimal":
            return wider
        return Type.decimal(*digits(*_scales(pair)))

    return result


_sum_type = _typed(lambda p1, s1, p2, s2: (max(p1 - s1, p2 - s2) + max(s1, s2) + 1, max(s1, s2)))
_product_type = _typed(lambda p1, s1, p2, s2: (p1 + p2, s1 + s2))
divided_type = _typed(lambda p1, s1, _, s2: (p1 + s2 + max(s2 - s1, 0), max(s1, s2)))
modulus_type = _typed(lambda p1, s1, p2, s2: (min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2)))


def _quotient(call: Call) -> exp.Expr:
    if is_temporal(call.types):
        return compute(call)
    pair = _checked(call)
    left, right = call.arguments[:2]
    if pair is None:
        return call_engine("trino_divide", left, right)
    wider = common(pair)
    assert wider is not None
    if wider.is_floating:
        engine = "FLOAT" if wider.name == "real" else "DOUBLE"
        return exp.Paren(
            this=exp.Div(this=cast_to(left, engine), expression=cast_to(right, engine), typed=False, safe=False)
        )
    if wider.is_integer:
        return exp.Paren(this=exp.IntDiv(this=as_type(left, pair[0]), expression=as_type(right, pair[1])))
    return _decimal_quotient(pair, left, right)


def _decimal_quotient(pair: tuple[Type, Type], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Divide the unscaled integers and round half away from zero, as Trino does."""
    p1, s1, p2, s2 = _scales(pair)
    result = divided_type(pair)
    assert result is not None
    scale = result.numbers[1]
    shift = scale + s2 - s1  # the dividend gets as many more digits as the quotient needs
    whole = "BIGINT" if max(p1 + shift, p2) <= 18 else "HUGEINT"
    dividend = _unscaled(as_type(left, decimal_of(pair[0])), p1, s1 + shift, whole)
    divisor = _unscaled(as_type(right, decimal_of(pair[1])), p2, s2, whole)
    quotient = call_engine("trino_quotient", dividend, divisor)
    if scale:
        unit = cast_to(text(f"1e-{scale}"), f"DECIMAL({scale + 1},{scale})")
        width = 18 if whole == "BIGINT" else 38
        digits = cast_to(quotient, f"DECIMAL({width if width == 18 else 38},0)")
        quotient = exp.Paren(this=exp.Mul(this=digits, expression=unit))
    return as_type(quotient, result)


def _unscaled(value: exp.Expr, precision: int, shift: int, whole: str) -> exp.Expr:
    if shift:
        power = cast_to(text("1" + "0" * shift), f"DECIMAL({shift + 1},0)")
        if precision + shift + 1 > 38:
            # The product may need more digits than its declared type has; the values rarely do.
            value = cast_to(value, f"DECIMAL(38,{value_scale(value)})")
        value = exp.Paren(this=exp.Mul(this=value, expression=power))
    return cast_to(value, whole)


def value_scale(value: exp.Expr) -> int:
    """Return the scale of a value that is a cast to a decimal."""
    return int(value.args["to"].expressions[1].name)


def _remainder(call: Call) -> exp.Expr:
    return modulus(call, *call.arguments[:2])


def modulus(call: Call, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return the remainder; its sign is the dividend's."""
    pair = _checked(call)
    result = exp.Paren(this=exp.Mod(this=left, expression=right))
    if pair is None:
        return result
    for key, operand, type_ in (("this", left, pair[0]), ("expression", right, pair[1])):
        result.this.set(
            key, exp.paren(as_type(operand, decimal_of(type_) if type_.name == "decimal" else type_), copy=False)
        )
    return as_type(result, modulus_type(call.types))


def _negated(call: Call) -> exp.Expr:
    type_ = call.types[0]
    if isinstance(call.node.parent, exp.Interval):  # INTERVAL -'3' DAY
        return call.node
    if type_ is not None and not type_.is_number and type_.name != "unknown" and not type_.name.startswith("interval"):
        raise call.error(f"Cannot negate {type_}", code="TYPE_MISMATCH")
    if type_ is not None and type_.is_integer and not isinstance(call.node.this.unnest(), exp.Literal):
        # The engine takes a wider type for the opposite of the least value.
        return as_type(exp.Neg(this=call.node.this), type_)
    return call.node


ROWS: Sequence[Row] = [
    Row("+", nodes=(exp.Add,), returns=_sum_type, write=_sum, note="Overflow is an error, as in Trino."),
    Row("-", nodes=(exp.Sub,), returns=_sum_type, write=_sum),
    Row("*", nodes=(exp.Mul,), returns=_product_type, write=_sum),
    Row("/", nodes=(exp.Div,), returns=divided_type, write=_quotient),
    Row("%", nodes=(exp.Mod,), returns=modulus_type, write=_remainder),
    Row("- (sign)", nodes=(exp.Neg,), returns=first_type, write=_negated),
    Row("mod", arity=2, returns=modulus_type, write=_remainder),
]

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
_FLOATS = ("FLOAT", "DOUBLE")


def _untyped(type_: str) -> str:
    return fail("The types of this division are not known. Cast its operands.", type_, code="NOT_SUPPORTED")


DEFINITIONS: Sequence[Definition] = [
    Macro("trino_divide", "(a, b) AS trino_divide_typed(a, b, typeof(a) || typeof(b))"),
    Macro(
        "trino_divide_typed",
        *(
            f"(a {type_}, b {type_}, kinds) AS CASE WHEN contains(kinds, 'DECIMAL') THEN {_untyped(type_)} "
            f"ELSE a {'/' if type_ in _FLOATS else '//'} b END"
            for type_ in (*_INTEGERS, *_FLOATS)
        ),
    ),
    Macro(
        "trino_quotient",
        "(n, d) AS (n // d) + CASE WHEN abs(n % d) >= abs(d) - abs(n % d) "
        "THEN CASE WHEN (n < 0) = (d < 0) THEN 1 ELSE -1 END ELSE 0 END",
    ),
]
