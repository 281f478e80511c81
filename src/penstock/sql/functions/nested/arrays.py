"""Array functions and operators.

Sources: Trino's documentation, "Array functions and operators"; where it says nothing (order of elements, bounds, text of
errors), what Trino's published tests expect.
"""

from collections.abc import Sequence

from sqlglot import exp

from penstock.sql.functions.build import is_null
from penstock.sql.functions.nested.array_macros import DEFINITIONS, MAX_COMBINATION
from penstock.sql.functions.nested.lambdas import applied, body, fresh, function, lambda_of
from penstock.sql.functions.rows import (
    Call,
    Returns,
    Row,
    Types,
    call_engine,
    refuse,
    renamed,
)
from penstock.sql.trino_types import BIGINT, BOOLEAN, VARCHAR, Type, common

__all__ = ["DEFINITIONS", "ROWS", "element"]

_LATER = "Athena engine version 3 has no such function"
# What the engine's cast to text writes as Trino does.
_PLAIN = frozenset({"varchar", "char", "tinyint", "smallint", "integer", "bigint", "boolean", "decimal", "date", "unknown"})


def element(type_: Type | None) -> Type | None:
    """Return the type of an array's elements."""
    return type_.element if type_ is not None and type_.name == "array" else None


def _first(types: Types) -> Type | None:
    return types[0] if types else None


def _first_element(types: Types) -> Type | None:
    return element(_first(types))


def _elements(types: Types) -> Sequence[Types]:
    return [[_first_element(types)]]


def _array_of_first(types: Types) -> Type | None:
    return Type.array(_first(types))


def _check_element(call: Call) -> None:
    """Raise Trino's error if the second argument's type cannot be that of the first one's elements."""
    inside, value = element(call.types[0]), call.types[1]
    if inside is not None and value is not None and common([inside, value]) is None:
        raise call.unexpected(f"{call.name}(array(T), T)")


def _of_element(name: str, macro: str, returns: Returns) -> Row:
    return Row(name, arity=2, returns=returns, write=lambda call: _sought(call, macro))


def _sought(call: Call, macro: str) -> exp.Expr:
    _check_element(call)
    type_ = call.types[1]
    is_floating = type_ is not None and type_.is_floating and not isinstance(call.arguments[1].unnest(), exp.Literal)
    return call_engine(f"{macro}_floating" if is_floating else macro, *call.arguments)


def _contains(call: Call) -> exp.Expr:
    type_, sought = call.types
    if sought is not None and sought.name == "ipaddress" and (type_ is None or type_.is_text or type_.name == "unknown"):
        return call_engine("trino_network_contains", *call.arguments)
    return _sought(call, "trino_contains")


def _sort(call: Call) -> exp.Expr:
    array = call.arguments[0]
    if len(call.arguments) == 1:
        return call_engine("trino_array_sort", array)
    comparator = lambda_of(call, 1, 2)
    first, second, result = (fresh(name, comparator) for name in ("first", "second", "sorted"))
    one, other = exp.to_identifier(first), exp.to_identifier(second)
    order = call_engine("trino_comparison", body(comparator, one, other))
    before = function(first, exp.LTE(this=order, expression=exp.Literal.number(0)))
    after = function(first, exp.GT(this=order.copy(), expression=exp.Literal.number(0)))
    sorted_ = exp.to_identifier(result)
    inserted = call_engine(
        "list_concat",
        call_engine("list_append", call_engine("list_filter", sorted_, before), other),
        call_engine("list_filter", sorted_.copy(), after),
    )
    insert = exp.Lambda(this=inserted, expressions=[sorted_.copy(), other.copy()])
    return call_engine("list_reduce", array, insert, call_engine("trino_empty", array.copy()))


def _reduce(call: Call) -> exp.Expr:
    array, state = call.arguments[:2]
    step, last = lambda_of(call, 2, 2), lambda_of(call, 3, 1)
    reduced = applied(last, call_engine("list_reduce", array, step, state))
    absent = is_null(array)
    return exp.Paren(this=exp.Case(ifs=[exp.If(this=exp.Not(this=absent), true=reduced)]))


def _reduced(types: Types) -> Type | None:
    # The state has one type; where the initial value's is not the step's, only the engine's binding knows the last result.
    return types[3] if types[1] == types[2] else None


def _matches(name: str, start: str, operator: type[exp.Connector], negated: bool = False) -> Row:
    def write(call: Call) -> exp.Expr:
        matches = call_engine("list_transform", call.arguments[0], lambda_of(call, 1, 1))
        state, item = exp.to_identifier("trino_state"), exp.to_identifier("trino_each")
        step = exp.Lambda(this=operator(this=state, expression=item), expressions=[state.copy(), item.copy()])
        answer = call_engine("list_reduce", matches, step, exp.Boolean(this=start == "true"))
        return exp.Paren(this=exp.Not(this=answer)) if negated else answer

    return Row(name, arity=2, returns=BOOLEAN, write=write, lambdas=_elements)


def _with_lambda(name: str, engine: str, returns: Returns) -> Row:
    def write(call: Call) -> exp.Expr:
        return call_engine(engine, call.arguments[0], lambda_of(call, 1, 1))

    return Row(name, arity=2, returns=returns, write=write, lambdas=_elements)


def _if_all(arguments: Sequence[exp.Expr], result: exp.Expr) -> exp.Expr:
    """Return ``result``, and NULL if one of the arguments is."""
    present = [exp.Not(this=is_null(argument)) for argument in arguments]
    return exp.Paren(this=exp.Case(ifs=[exp.If(this=exp.and_(*present), true=result)]))


def _zipped(types: Types) -> Type | None:
    return Type.array(Type.row((None, element(type_)) for type_ in types))


def _zip_with(call: Call) -> exp.Expr:
    arrays, merge = call.arguments[:2], lambda_of(call, 2, 2)
    pair = fresh("pair", merge)
    fields = (call_engine("struct_extract_at", exp.to_identifier(pair), exp.Literal.number(at)) for at in (1, 2))
    merged = call_engine("list_transform", call_engine("list_zip", *arrays), function(pair, body(merge, *fields)))
    return _if_all(arrays, merged)


def _max(call: Call) -> exp.Expr:
    inside = element(call.types[0])
    # NaN is the maximum only of NaNs. The engine takes it for the greatest number.
    floating = inside is not None and inside.is_floating
    return call_engine("trino_array_max_number" if floating else "trino_array_max", *call.arguments)


def _combinations(call: Call) -> exp.Expr:
    size = call.arguments[1]
    if not isinstance(size, exp.Literal) or size.is_string or not size.name.isdigit():
        raise call.error(
            "combinations is not supported with a size that is not a number in the query.",
            code="NOT_SUPPORTED",
            remedy="Write the size as a number from 0 to 5.",
        )
    if int(size.name) > MAX_COMBINATION:
        raise call.error(f"combination size must not exceed {MAX_COMBINATION}: {size.name}")
    return call_engine(f"trino_combinations_{int(size.name)}", call.arguments[0])


def _join(call: Call) -> exp.Expr:
    inside = element(call.types[0])
    if inside is None or inside.name not in _PLAIN:
        raise call.error(
            f"array_join is not supported for elements of type {inside or 'unknown'}.",
            code="NOT_SUPPORTED",
            remedy="Cast the elements first: transform(x, e -> CAST(e AS varchar)).",
        )
    texts = exp.cast(call.arguments[0], "TEXT[]", dialect="duckdb")
    macro = "trino_array_join" if call.text(1) is not None else "trino_array_join_by"
    return call_engine(macro, texts, *call.arguments[1:])


def _subscript(call: Call) -> exp.Expr:
    base, index = call.node.this, call.node.expressions[0]
    type_ = call.types[0]
    if type_ is not None and type_.name == "map":
        return call_engine("trino_map_subscript", base, index)
    if type_ is not None and type_.name == "row":
        if not (isinstance(index, exp.Literal) and index.name.isdigit()):
            raise call.error("Subscript expression on ROW requires a constant index", code="EXPRESSION_NOT_CONSTANT")
        if not 0 < int(index.name) <= len(type_.inner):
            raise call.error(
                f"Invalid subscript index: {index.name}. ROW indices start at 1", code="INVALID_FUNCTION_ARGUMENT"
            )
        return call_engine("struct_extract_at", base, index)
    if type_ is not None and type_.name != "array":
        raise call.error(f"Cannot use {type_} for subscript of {call.types[1]}", code="TYPE_MISMATCH")
    if type_ is None:
        raise call.error(
            "The type of what [] is applied to is not known.",
            code="NOT_SUPPORTED",
            remedy="CAST it to its array or map type.",
        )
    return call_engine("trino_subscript", base, index)


def _subscripted(types: Types) -> Type | None:
    return types[0].element if types and types[0] is not None else None


def _element_at(call: Call) -> exp.Expr:
    type_ = call.types[0]
    if type_ is None or type_.name not in {"array", "map", "unknown"}:
        raise call.unexpected("element_at(array(T), bigint), element_at(map(K, V), K)")
    return call_engine("map_extract_value" if type_.name == "map" else "trino_element_at", *call.arguments)


def _array_type(types: Types) -> Type | None:
    return Type.array(common(types) if types else Type("unknown"))


def _cardinality(call: Call) -> exp.Expr:
    type_ = call.types[0]
    if type_ is not None and type_.name in {"HyperLogLog", "P4HyperLogLog"}:
        return call_engine("trino_hll_cardinality", *call.arguments)
    return exp.cast(call_engine("cardinality", *call.arguments), "BIGINT")


def _sequence(call: Call) -> exp.Expr:
    if len(call.arguments) == 3:
        return call_engine("trino_sequence", *call.arguments)
    step = call_engine("trino_sequence_step", *(argument.copy() for argument in call.arguments))
    return call_engine("trino_sequence", *call.arguments, step)


def _sequenced(types: Types) -> Type | None:
    type_ = types[0]
    return Type.array(BIGINT if type_ is not None and type_.is_integer else type_) if type_ is not None else None


ROWS: Sequence[Row] = [
    Row("ARRAY[]", nodes=(exp.Array,), returns=_array_type, write=lambda call: call_engine("list_value", *call.arguments)),
    Row("[]", nodes=(exp.Bracket,), returns=_subscripted, write=_subscript),
    _matches("all_match", "true", exp.And),
    _matches("any_match", "false", exp.Or),
    _matches("none_match", "false", exp.Or, negated=True),
    renamed("array_distinct", "trino_array_distinct", 1, _first),
    renamed("array_intersect", "trino_array_intersect", 2, common),
    renamed("array_union", "trino_array_union", 2, common),
    renamed("array_except", "trino_array_except", 2, common),
    Row("array_join", arity=(2, 3), returns=VARCHAR, write=_join),
    Row("array_max", arity=1, returns=_first_element, write=_max),
    renamed("array_min", "trino_array_min", 1, _first_element),
    _of_element("array_position", "trino_array_position", BIGINT),
    _of_element("array_remove", "trino_array_remove", _first),
    Row(
        "array_sort",
        arity=(1, 2),
        returns=_first,
        write=_sort,
        lambdas=lambda types: [[_first_element(types)] * 2],
        note="A comparator that contradicts itself gives an order of its own.",
    ),
    renamed("arrays_overlap", "trino_arrays_overlap", 2, BOOLEAN),
    Row(
        "cardinality",
        arity=1,
        returns=BIGINT,
        write=_cardinality,
        note="Of a HyperLogLog, an estimate with Trino's standard error, which may differ from Trino's own.",
    ),
    Row(
        "combinations", arity=2, returns=_array_of_first, write=_combinations, note="The size must be a number in the query."
    ),
    Row("contains", arity=2, returns=BOOLEAN, write=_contains, note="Also of a network (CIDR) and an ipaddress."),
    renamed("contains_sequence", "trino_contains_sequence", 2, BOOLEAN),
    Row("element_at", arity=2, returns=_subscripted, write=_element_at),
    _with_lambda("filter", "list_filter", _first),
    renamed("flatten", "flatten", 1, _first_element),
    renamed("ngrams", "trino_ngrams", 2, _array_of_first),
    Row(
        "reduce",
        arity=4,
        returns=_reduced,
        write=_reduce,
        lambdas=lambda types: [[types[1], _first_element(types)], [types[1]]],
    ),
    renamed("repeat", "trino_repeat", 2, _array_of_first),
    Row("sequence", arity=(2, 3), returns=_sequenced, write=_sequence),
    renamed("shuffle", "trino_shuffle", 1, _first, repeatable=False, volatile=True),
    renamed("slice", "trino_slice", 3, _first),
    _with_lambda("transform", "list_transform", lambda types: Type.array(types[1])),
    renamed("trim_array", "trino_trim_array", 2, _first),
    Row(
        "zip",
        arity=(2, 5),
        returns=_zipped,
        write=lambda call: _if_all(call.arguments, call_engine("list_zip", *call.arguments)),
    ),
    Row(
        "zip_with",
        arity=3,
        returns=lambda types: Type.array(types[2]),
        write=_zip_with,
        lambdas=lambda types: [[element(types[0]), element(types[1])]],
    ),
    *refuse("array_first array_last array_histogram euclidean_distance dot_product", _LATER),
]
