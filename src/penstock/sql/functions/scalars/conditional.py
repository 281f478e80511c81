"""Conditional expressions: CASE, IF, COALESCE, NULLIF, TRY, GREATEST, LEAST, TYPEOF.

Source: Trino's documentation, "Conditional expressions", "Comparison functions and operators", "Conversion functions".
"""

from collections.abc import Callable, Sequence

from sqlglot import exp

from penstock.sql.functions.build import as_type, is_null, text
from penstock.sql.functions.nested.records import NESTED
from penstock.sql.functions.rows import Call, Definition, Macro, Row, Types, call_engine, first_type
from penstock.sql.functions.scalars.comparison import check_comparable
from penstock.sql.functions.times.zones import instant
from penstock.sql.trino_types import Type, common

__all__ = ["DEFINITIONS", "ROWS"]


def _case_type(types: Types) -> Type | None:
    return common(types)


def _case_results(node: exp.Expr) -> Sequence[exp.Expr]:
    """Return the results of a CASE; its operand and its conditions have no part in its type."""
    default = node.args.get("default")
    return [*(branch.args["true"] for branch in node.args["ifs"]), *([default] if default is not None else [])]


def _case_operand(node: exp.Expr) -> Sequence[exp.Expr]:
    """Return the operand of ``CASE operand WHEN value …`` and the values, nothing for a CASE without an operand."""
    operand = node.args.get("this")
    return [operand, *(branch.this for branch in node.args["ifs"])] if operand is not None else []


def _case(call: Call) -> exp.Expr:
    """Give the results their common type, which the engine would choose otherwise for decimals."""
    type_ = common(call.types)
    _check_results(call, call.types)
    if call.beside:
        _compare_operand(call)
    for branch in call.node.args["ifs"]:
        if type_ is not None and type_.name == "decimal":
            branch.set("true", as_type(branch.args["true"], type_))
    default = call.node.args.get("default")
    if default is not None and type_ is not None and type_.name == "decimal":
        call.node.set("default", as_type(default, type_))
    return call.node


def _compare_operand(call: Call) -> None:
    """Have the engine compare a CASE's operand with the values as ``=`` does."""
    operand, *values = call.beside
    for value in values:
        check_comparable(call, operand, value, "=")
    types = [type_ for type_ in call.beside if type_ is not None]
    nested = next((type_ for type_ in types if type_.name in NESTED), None)
    if nested is not None:
        raise call.error(
            f"CASE with an operand of type {nested} is not supported.",
            code="NOT_SUPPORTED",
            remedy="Write CASE WHEN operand = value THEN …",
        )
    if any(type_.name == "timestamp with time zone" for type_ in types):
        _change_operand(call.node, instant)
    elif any(type_.name == "char" for type_ in types):
        _change_operand(call.node, lambda node: call_engine("rtrim", node, text(" ")))
    elif operand is not None and operand.is_floating:
        # NaN is equal to nothing, like NULL.
        call.node.set("this", call_engine("trino_without_nan", call.node.this))


def _change_operand(node: exp.Expr, change: Callable[[exp.Expr], exp.Expr]) -> None:
    for place in (node, *node.args["ifs"]):
        place.set("this", change(place.this))


def _if(call: Call) -> exp.Expr:
    """Check ``if(condition, …)``, and a branch of CASE, which the parser holds as the same node."""
    parent = call.node.parent
    in_case = isinstance(parent, exp.Case)
    condition = call.types[0]
    compares = in_case and parent is not None and parent.args.get("this") is not None
    if not compares and condition is not None and condition.name not in {"boolean", "unknown"}:
        what = "CASE WHEN clause" if in_case else "IF condition"
        raise call.error(f"{what} must evaluate to a BOOLEAN (actual: {condition})", code="TYPE_MISMATCH")
    if not in_case:
        _check_results(call, call.types[1:])
    return call.node


def _check_results(call: Call, types: Types) -> None:
    if common(types) is None and all(type_ is not None and not type_.inner for type_ in types):
        names = ", ".join(str(type_) for type_ in types)
        name = call.name.upper()
        raise call.error(
            f"All {name} results must be the same type or coercible to a common type: {names}", code="TYPE_MISMATCH"
        )


def _nullif(call: Call) -> exp.Expr:
    if common(call.types) is None and all(type_ is not None and not type_.inner for type_ in call.types):
        raise call.error(f"Types are not comparable with NULLIF: {call.types[0]} vs {call.types[1]}", code="TYPE_MISMATCH")
    if call.types[0] is not None and call.types[0].is_floating:
        return call_engine("trino_nullif_floating", *call.arguments)
    return call_engine("nullif", *call.arguments)


def _unified(call: Call) -> exp.Expr:
    """Give decimals and numbers their common type, which the engine would choose otherwise."""
    return _checked(call, common(call.types))


def _checked(call: Call, type_: Type | None) -> exp.Expr:
    if type_ is None and all(item is not None and not item.inner for item in call.types):
        types = ", ".join(str(item) for item in call.types)
        raise call.error(
            f"All {call.name.upper()} operands must be the same type or coercible to a common type: {types}",
            code="TYPE_MISMATCH",
        )
    arguments = call.arguments
    if type_ is not None and type_.name in {"decimal", "double", "real", "bigint"}:
        arguments = [
            argument if own == type_ else as_type(argument, type_)
            for argument, own in zip(call.arguments, call.types, strict=True)
        ]
    return call_engine(call.name, *arguments)


def _extreme(call: Call) -> exp.Expr:
    """GREATEST and LEAST are NULL if an argument is."""
    result = _checked(call, common(call.types))
    absent = [is_null(expression) for expression in result.expressions]
    return exp.Paren(this=exp.Case(ifs=[exp.If(this=exp.Not(this=exp.paren(exp.or_(*absent))), true=result)]))


def _typeof(call: Call) -> exp.Expr:
    type_ = call.types[0]
    if type_ is None:
        raise call.error("typeof: the type of this expression is not known.", code="NOT_SUPPORTED")
    return text(str(type_))


ROWS: Sequence[Row] = [
    Row("CASE", nodes=(exp.Case,), returns=_case_type, write=_case, operands=_case_results, beside=_case_operand),
    Row("if", nodes=(exp.If,), returns=lambda types: common(types[1:]), write=_if),
    Row("coalesce", arity=(2, None), returns=common, write=_unified),
    Row("nullif", arity=2, returns=first_type, write=_nullif),
    Row("try", arity=1, returns=first_type, write=lambda call: call_engine("try", call.arguments[0])),
    Row("greatest", arity=(1, None), returns=common, write=_extreme),
    Row("least", arity=(1, None), returns=common, write=_extreme),
    Row("typeof", arity=1, returns=Type("varchar"), write=_typeof),
]

DEFINITIONS: Sequence[Definition] = [
    Macro("trino_nullif_floating", "(a, b) AS CASE WHEN a = b AND NOT trino_is_nan(a) THEN NULL ELSE a END"),
]
