"""Rows (records), and the comparison of arrays, maps and rows.

Sources: Trino's documentation, "Row functions and operators", "Comparison functions and operators"; Trino's own tests of
the types array, map and row. Two values with NULL inside are equal, unequal or of unknown equality; the engine's own ``=``
takes NULL for a value and looks at the order of a map's entries.
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from penstock.sql.functions.build import is_null
from penstock.sql.functions.nested.lambdas import fresh, function
from penstock.sql.functions.rows import Call, Definition, Macro, Row, call_engine, fail
from penstock.sql.functions.times.zones import instant
from penstock.sql.trino_types import Type

__all__ = ["DEFINITIONS", "NESTED", "ROWS", "compared", "equal", "is_in"]

NESTED = frozenset({"array", "map", "row"})

_STRICT: Mapping[type[exp.Binary], type[exp.Binary]] = {exp.LTE: exp.LT, exp.GTE: exp.GT}
_WITH_NULL = {"row": "fields with null elements", "array": "arrays with null elements"}
_ORDERED = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}


def compared(call: Call, type_: Type) -> exp.Expr:
    """Return a comparison operator between two values of the array, map or row type ``type_``."""
    node = call.node
    if isinstance(node, exp.NullSafeEQ | exp.NullSafeNEQ) and type_.name != "map":
        return node
    if isinstance(node, exp.EQ | exp.NEQ):
        result = equal(type_, node.this, node.expression)
        return exp.Paren(this=exp.Not(this=result)) if isinstance(node, exp.NEQ) else result
    if isinstance(node, exp.LT | exp.LTE | exp.GT | exp.GTE) and type_.name == "row":
        return exp.paren(_ordered(type_, type(node), node.this, node.expression), copy=False)
    if type(node) in _ORDERED and type_.name == "array":
        unknown = call_engine("trino_null_decides", node.this.copy(), node.expression.copy())
        case = exp.Case(ifs=[exp.If(this=unknown, true=_not_ordered(type_))], default=node.copy())
        return exp.Paren(this=case)
    raise call.error(f"Cannot apply operator: {type_} {call.name} {type_}", code="TYPE_MISMATCH")


def _ordered(type_: Type, sign: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Compare the fields of two rows from the first to the first that differs; a NULL among them is an error."""
    absent = [is_null(node) for node in (left, right) if not _is_written(node)]
    ifs = [exp.If(this=exp.or_(*absent, copy=False), true=exp.Null())] if absent else []
    strict: type[exp.Binary] = _STRICT.get(sign, sign)
    for inner, one, other in zip(type_.inner, _fields(type_, left), _fields(type_, right), strict=True):
        differs: exp.Expr
        unknown = exp.or_(*(is_null(node) for node in (one, other)), copy=False)
        ifs.append(exp.If(this=unknown, true=_not_ordered(type_)))
        if inner is not None and inner.name == "row":
            differs, order = exp.Not(this=equal(inner, one, other)), _ordered(inner, strict, one, other)
        else:
            if inner is not None and inner.name == "timestamp with time zone":
                one, other = instant(one), instant(other)  # noqa: PLW2901 - compared as what they are
            differs = exp.paren(exp.NEQ(this=one.copy(), expression=other.copy()), copy=False)
            order = strict(this=one.copy(), expression=other.copy())
        ifs.append(exp.If(this=differs, true=order))
    return exp.Case(ifs=ifs, default=exp.true() if strict is not sign else exp.false())


def _is_written(value: exp.Expr) -> bool:
    """Whether ``value`` is a row whose fields stand in the query, so that it is not NULL."""
    return isinstance(value.unnest(), exp.Tuple)


def _not_ordered(type_: Type) -> exp.Expr:
    failure = fail(
        f"{type_.name.upper()} comparison not supported for {_WITH_NULL[type_.name]}", "BOOLEAN", code="NOT_SUPPORTED"
    )
    return exp.maybe_parse(failure, dialect="duckdb")


def is_in(type_: Type, node: exp.In) -> exp.Expr:
    """Return ``value IN (values)`` for the array, map or row type ``type_``."""
    equals = [equal(type_, node.this, expression) for expression in node.expressions]
    return exp.paren(exp.or_(*equals, copy=False), copy=False)


def equal(type_: Type | None, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return whether two values of type ``type_`` are equal: true, false or NULL."""
    if type_ is not None and type_.name == "row":
        pairs = zip(_fields(type_, left), _fields(type_, right), strict=True)
        equals = [equal(inner, one, other) for inner, (one, other) in zip(type_.inner, pairs, strict=True)]
        return exp.paren(exp.and_(*equals, copy=False), copy=False)
    if type_ is not None and type_.name == "array":
        return _equal_arrays(type_, left, right)
    if type_ is not None and type_.name == "map":
        return _equal_maps(type_, left, right)
    if type_ is not None and type_.name == "timestamp with time zone":
        left, right = instant(left), instant(right)
    result = exp.EQ(this=exp.paren(left.copy()), expression=exp.paren(right.copy()))
    if type_ is not None and type_.is_floating:  # NaN is not equal to itself
        beside_nan = call_engine("trino_nan_beside", left.copy(), right.copy())
        return exp.paren(exp.and_(result, exp.Not(this=beside_nan), copy=False), copy=False)
    return exp.paren(result, copy=False)


def _equal_arrays(type_: Type, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    name = fresh("pair", exp.Tuple(expressions=[left.copy(), right.copy()]))
    inner = equal(type_.inner[0], *(_element(name, at) for at in (1, 2)))
    pairs = call_engine("trino_pairs", left.copy(), right.copy())
    all_equal = call_engine("trino_all_equal", call_engine("list_transform", pairs, function(name, inner)))
    same_length = call_engine("trino_same_length", left.copy(), right.copy())
    return exp.paren(exp.and_(same_length, all_equal, copy=False), copy=False)


def _equal_maps(type_: Type, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    name = fresh("key", exp.Tuple(expressions=[left.copy(), right.copy()]))
    key = exp.to_identifier(name)
    inner = equal(type_.inner[1], *(call_engine("map_extract_value", node.copy(), key.copy()) for node in (left, right)))
    has_key = call_engine("list_contains", call_engine("map_keys", right.copy()), key.copy())
    keys = call_engine("map_keys", left.copy())
    both = exp.paren(exp.and_(has_key, inner, copy=False), copy=False)
    all_equal = call_engine("trino_all_equal", call_engine("list_transform", keys, function(name, both)))
    same_size = exp.EQ(this=call_engine("cardinality", left.copy()), expression=call_engine("cardinality", right.copy()))
    return exp.paren(exp.and_(same_size, all_equal, copy=False), copy=False)


def _element(name: str, number: int) -> exp.Expr:
    return call_engine("struct_extract_at", exp.to_identifier(name), exp.Literal.number(number))


def _fields(type_: Type, value: exp.Expr) -> Sequence[exp.Expr]:
    if isinstance(value, exp.Tuple) and len(value.expressions) == len(type_.inner):
        return [expression.copy() for expression in value.expressions]
    return [call_engine("struct_extract_at", value.copy(), exp.Literal.number(at + 1)) for at in range(len(type_.inner))]


ROWS: Sequence[Row] = [
    Row(
        "row",
        arity=(1, None),
        returns=lambda types: Type.row((None, type_) for type_ in types),
        write=lambda call: call_engine("row", *call.arguments),
    ),
]

DEFINITIONS: Sequence[Definition] = [
    Macro("trino_nan_beside", "(a, b) AS trino_is_nan(a) AND b IS NOT NULL"),
    Macro(
        "trino_null_decides",
        "(a, b) AS a IS NOT NULL AND b IS NOT NULL AND coalesce(list_transform(list_filter("
        "list_zip(a[1:least(len(a), len(b))], b[1:least(len(a), len(b))]), "
        "lambda trino_x: struct_extract_at(trino_x, 1) IS NULL OR struct_extract_at(trino_x, 2) IS NULL "
        "OR struct_extract_at(trino_x, 1) <> struct_extract_at(trino_x, 2))[1:1], "
        "lambda trino_x: struct_extract_at(trino_x, 1) IS NULL OR struct_extract_at(trino_x, 2) IS NULL)[1], false)",
    ),
    Macro("trino_same_length", "(a, b) AS len(a) = len(b)"),
    Macro("trino_pairs", "(a, b) AS CASE WHEN len(a) = len(b) THEN list_zip(a, b) END"),
    Macro("trino_all_equal", "(a) AS list_reduce(a, lambda trino_state, trino_x: trino_state AND trino_x, true)"),
]
