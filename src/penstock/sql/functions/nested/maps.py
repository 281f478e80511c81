"""Map functions and operators.

Sources: Trino's documentation, "Map functions and operators"; where it says nothing, what Trino's published tests expect.
The order of a map's entries has no meaning; here it is that of the keys' first appearance.
"""

from collections.abc import Sequence

from sqlglot import exp

from penstock.sql.functions.nested.lambdas import body, fresh, function, lambda_of
from penstock.sql.functions.rows import Call, Definition, Macro, Row, Types, call_engine, fail, first_type, renamed
from penstock.sql.trino_types import Type, common

__all__ = ["DEFINITIONS", "ROWS"]


def _key(type_: Type | None) -> Type | None:
    return type_.inner[0] if type_ is not None and type_.name == "map" else None


def _value(type_: Type | None) -> Type | None:
    return type_.element if type_ is not None and type_.name == "map" else None


def _entry(type_: Type | None) -> Sequence[Type | None]:
    """Return the types of key and value of an array of entries."""
    row = type_.element if type_ is not None and type_.name == "array" else None
    return row.inner if row is not None and row.name == "row" and len(row.inner) == 2 else (None, None)


def _map_type(types: Types) -> Type | None:
    if not types:
        return Type.map(Type("unknown"), Type("unknown"))
    return Type.map(*(type_.element if type_ is not None and type_.name == "array" else None for type_ in types))


def _map(call: Call) -> exp.Expr:
    if not call.arguments:
        return call_engine("map")
    if len(call.arguments) == 1:
        raise call.unexpected("map(), map(array(K), array(V))")
    return call_engine("trino_map", *call.arguments)


def _with_entry(call: Call, parameters: int = 2) -> tuple[exp.Expr, str, exp.Lambda]:
    """Return a map's entries, the name of one, and the lambda of key and value."""
    lambda_ = lambda_of(call, 1, parameters)
    return call_engine("map_entries", call.arguments[0]), fresh("entry", lambda_), lambda_


def _field(name: str, field: str) -> exp.Expr:
    return call_engine("struct_extract", exp.to_identifier(name), exp.Literal.string(field))


def _filter(call: Call) -> exp.Expr:
    entries, name, lambda_ = _with_entry(call)
    condition = function(name, body(lambda_, _field(name, "key"), _field(name, "value")))
    return call_engine("map_from_entries", call_engine("list_filter", entries, condition))


def _pair(key: exp.Expr, value: exp.Expr) -> exp.Expr:
    return call_engine("row", key, value)


def _transform_keys(call: Call) -> exp.Expr:
    entries, name, lambda_ = _with_entry(call)
    changed = _pair(body(lambda_, _field(name, "key"), _field(name, "value")), _field(name, "value"))
    return call_engine("trino_map_of_entries", call_engine("list_transform", entries, function(name, changed)))


def _transform_values(call: Call) -> exp.Expr:
    entries, name, lambda_ = _with_entry(call)
    changed = _pair(_field(name, "key"), body(lambda_, _field(name, "key"), _field(name, "value")))
    return call_engine("map_from_entries", call_engine("list_transform", entries, function(name, changed)))


def _zip_with(call: Call) -> exp.Expr:
    first, second = call.arguments[:2]
    lambda_ = lambda_of(call, 2, 3)
    name = fresh("key", lambda_)
    key = exp.to_identifier(name)
    values = (call_engine("map_extract_value", node.copy(), key.copy()) for node in (first, second))
    keys = call_engine("trino_array_union", call_engine("map_keys", first.copy()), call_engine("map_keys", second.copy()))
    changed = function(name, _pair(key.copy(), body(lambda_, key.copy(), *values)))
    return call_engine("map_from_entries", call_engine("list_transform", keys, changed))


def _concat(call: Call) -> exp.Expr:
    result = call.arguments[0]
    for argument in call.arguments[1:]:
        result = call_engine("trino_map_concat", result, argument)
    return result


def _key_and_value(types: Types) -> Sequence[Types]:
    return [[_key(types[0]), _value(types[0])]]


def _zip_types(types: Types) -> Sequence[Types]:
    return [[common([_key(types[0]), _key(types[1])]), _value(types[0]), _value(types[1])]]


def _rows_of(types: Types) -> Type | None:
    return Type.array(Type.row([(None, _key(types[0])), (None, _value(types[0]))]))


def _grouped(types: Types) -> Type | None:
    key, value = _entry(types[0])
    return Type.map(key, Type.array(value))


ROWS: Sequence[Row] = [
    Row("map", arity=(0, 2), returns=_map_type, write=_map, nodes=()),
    renamed("map_from_entries", "trino_map_of_entries", 1, lambda types: Type.map(*_entry(types[0]))),
    renamed("multimap_from_entries", "trino_multimap_of_entries", 1, _grouped),
    renamed("map_entries", "trino_map_entries", 1, _rows_of),
    Row("map_concat", arity=(2, None), returns=common, write=_concat),
    Row("map_filter", arity=2, returns=first_type, write=_filter, lambdas=_key_and_value),
    renamed("map_keys", "map_keys", 1, lambda types: Type.array(_key(types[0]))),
    renamed("map_values", "map_values", 1, lambda types: Type.array(_value(types[0]))),
    Row(
        "map_zip_with",
        arity=3,
        returns=lambda types: Type.map(common([_key(types[0]), _key(types[1])]), types[2]),
        write=_zip_with,
        lambdas=_zip_types,
    ),
    Row(
        "transform_keys",
        arity=2,
        returns=lambda types: Type.map(types[1], _value(types[0])),
        write=_transform_keys,
        lambdas=_key_and_value,
    ),
    Row(
        "transform_values",
        arity=2,
        returns=lambda types: Type.map(_key(types[0]), types[1]),
        write=_transform_values,
        lambdas=_key_and_value,
    ),
]

_DUPLICATE = fail("Duplicate map keys are not allowed", "BIGINT")
_NO_KEY = fail("map key cannot be null", "BIGINT")

DEFINITIONS: Sequence[Definition] = [
    Macro(
        "trino_map",
        "(k, v) AS map_from_entries(list_zip(k, v)[:CASE WHEN k IS NULL OR v IS NULL THEN NULL "
        f"WHEN len(k) <> len(v) THEN {fail('Key and value arrays must be the same length', 'BIGINT')} "
        f"WHEN list_count(k) < len(k) THEN {_NO_KEY} "
        f"WHEN len(list_distinct(k)) < len(k) THEN {_DUPLICATE} ELSE len(k) END])",
    ),
    Macro(
        "trino_map_of_entries",
        "(e) AS map_from_entries(e[:CASE "
        f"WHEN list_count(e) < len(e) THEN {fail('map entry cannot be null', 'BIGINT')} "
        f"WHEN list_count(list_transform(e, lambda trino_e: trino_e[1])) < len(e) THEN {_NO_KEY} "
        f"WHEN len(list_distinct(list_transform(e, lambda trino_e: trino_e[1]))) < len(e) THEN {_DUPLICATE} "
        "ELSE len(e) END])",
    ),
    Macro(
        "trino_multimap_of_entries",
        "(e) AS list_transform([e[:CASE WHEN list_count(list_transform(e, lambda trino_e: trino_e[1])) < len(e) "
        f"THEN {_NO_KEY} ELSE len(e) END]], lambda trino_e: list_transform([list_sort(list_transform(trino_e, "
        "lambda trino_x, trino_i: struct_pack(v := trino_x[1], i := trino_i)))], lambda trino_s: "
        "list_transform([list_filter(range(1, len(trino_s) + 1), lambda trino_j: trino_j = 1 OR "
        "struct_extract(trino_s[trino_j - 1], 'v') IS DISTINCT FROM struct_extract(trino_s[trino_j], 'v'))], "
        "lambda trino_f: map_from_entries(list_transform(list_sort(list_transform(trino_f, lambda trino_j, trino_n: "
        "row(struct_extract(trino_s[trino_j], 'i'), trino_j, coalesce(trino_f[trino_n + 1], len(trino_s) + 1) - 1))), "
        "lambda trino_g: row(trino_e[trino_g[1]][1], list_transform(range(trino_g[2], trino_g[3] + 1), "
        "lambda trino_y: trino_e[struct_extract(trino_s[trino_y], 'i')][2])))))[1])[1])[1]",
    ),
    Macro("trino_map_entries", "(m) AS list_zip(map_keys(m), map_values(m))[:cardinality(m)]"),
    Macro("trino_map_concat", "(a, b) AS CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN map_concat(a, b) END"),
]
