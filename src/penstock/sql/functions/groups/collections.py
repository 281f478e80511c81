"""Aggregate functions whose results are arrays and maps.

Sources: Trino's documentation, "Aggregate functions", "Map aggregate functions"; Trino's own tests of each aggregation.
"""

from collections.abc import Sequence

from sqlglot import exp

from penstock.sql.functions.build import integer, is_null
from penstock.sql.functions.nested.lambdas import lambda_of
from penstock.sql.functions.rows import Call, Definition, Macro, Row, call_engine
from penstock.sql.trino_types import BIGINT, Type

__all__ = ["DEFINITIONS", "ROWS"]


def _entries(call: Call) -> exp.Expr:
    """Return the array of keys and values in rows, NULL for a key that is NULL."""
    key, value = call.arguments
    has_key = exp.Not(this=is_null(key))
    return call.engine("list", exp.Case(ifs=[exp.If(this=has_key, true=call_engine("row", key, value))]))


def _map_agg(call: Call) -> exp.Expr:
    return call_engine("trino_map_of_first", call_engine("trino_given", _entries(call)))


def _multimap_agg(call: Call) -> exp.Expr:
    return call_engine("trino_multimap_of_entries", call_engine("trino_given", _entries(call)))


def _map_union(call: Call) -> exp.Expr:
    listed = call.engine("list", call_engine("trino_map_entries", call.arguments[0]))
    return call_engine("trino_map_of_first", call_engine("flatten", call_engine("trino_given", listed)))


def _most_frequent(call: Call) -> exp.Expr:
    buckets = call.arguments[0]
    if not isinstance(buckets, exp.Literal) or not buckets.name.isdigit() or int(buckets.name) < 2:
        raise call.error("approx_most_frequent bucket count must be greater than one, and a number in the query")
    histogram = call.engine("histogram", call.arguments[1])
    return call_engine("trino_most_frequent", call_engine("trino_counts", histogram), integer(int(buckets.name)))


def _reduce_agg(call: Call) -> exp.Expr:
    value, state = call.arguments[:2]
    step = lambda_of(call, 2, 2)
    lambda_of(call, 3, 2)
    if call.is_windowed:
        raise call.error("reduce_agg with OVER is not supported.", code="NOT_SUPPORTED")
    present = call_engine("trino_given", call.engine("list", value))
    reduced = call_engine("list_reduce", call_engine("trino_first_state", present), step.copy(), state)
    return exp.Paren(this=reduced)


ROWS: Sequence[Row] = [
    Row(
        "array_agg",
        arity=1,
        returns=lambda types: Type.array(types[0]),
        write=lambda call: call.engine("list", call.arguments[0]),
        kind="aggregate",
    ),
    Row(
        "map_agg",
        arity=2,
        returns=lambda types: Type.map(types[0], types[1]),
        write=_map_agg,
        kind="aggregate",
        note="Of a key's values, the first is kept.",
    ),
    Row(
        "multimap_agg",
        arity=2,
        returns=lambda types: Type.map(types[0], Type.array(types[1])),
        write=_multimap_agg,
        kind="aggregate",
    ),
    Row(
        "map_union",
        arity=1,
        returns=lambda types: types[0],
        write=_map_union,
        kind="aggregate",
        note="Of a key's values, the first is kept.",
    ),
    Row(
        "histogram",
        arity=1,
        returns=lambda types: Type.map(types[0], BIGINT),
        write=lambda call: call_engine("trino_counts", call.engine("histogram", call.arguments[0])),
        kind="aggregate",
    ),
    Row(
        "approx_most_frequent",
        arity=3,
        returns=lambda types: Type.map(types[1], BIGINT),
        write=_most_frequent,
        kind="aggregate",
        note="The counts are exact, whatever the capacity is.",
    ),
    Row(
        "reduce_agg",
        arity=4,
        returns=lambda types: types[1],
        write=_reduce_agg,
        kind="aggregate",
        lambdas=lambda types: [[types[1], types[0]], [types[1], types[1]]],
        note="All values of a group are in memory at once.",
    ),
]

DEFINITIONS: Sequence[Definition] = [
    Macro("trino_given", "(a) AS CASE WHEN list_count(a) > 0 THEN list_filter(a, lambda trino_g: trino_g IS NOT NULL) END"),
    Macro("trino_first_state", "(a) AS a"),
    Macro(
        "trino_map_of_first",
        "(e) AS list_transform([e], lambda trino_e: map_from_entries(list_transform(trino_firsts("
        "list_transform(trino_e, lambda trino_m: trino_m[1])), lambda trino_p: trino_e[trino_p])))[1]",
    ),
    Macro(
        "trino_counts",
        "(m) AS map_from_entries(list_transform(map_entries(m), lambda trino_m: "
        "row(struct_extract(trino_m, 'key'), CAST(struct_extract(trino_m, 'value') AS BIGINT))))",
    ),
    Macro(
        "trino_most_frequent",
        "(m, n) AS map_from_entries(list_transform(list_sort(list_transform(map_entries(m), lambda trino_m: "
        "row(-struct_extract(trino_m, 'value'), struct_extract(trino_m, 'key'))))[:n], "
        "lambda trino_m: row(trino_m[2], -trino_m[1])))",
    ),
]
