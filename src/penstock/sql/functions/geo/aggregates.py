"""Aggregates of shapes: all shapes of a group are in memory at once.

Source: Trino's documentation, "Geospatial functions", "Aggregations"; Trino's own tests of them.
"""

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from penstock.sql.functions.geo.operations import hull_of, union_of
from penstock.sql.functions.geo.signatures import GEOMETRY, GEOMETRY_ARRAY, Function, definitions, for_each_row
from penstock.sql.functions.rows import Call, Definition, Row, call_engine

__all__ = ["DEFINITIONS", "ROWS"]

_OVER_ARRAYS = [
    Function("convex_hull_agg", [GEOMETRY_ARRAY], GEOMETRY, for_each_row(hull_of)),
    Function("geometry_union_agg", [GEOMETRY_ARRAY], GEOMETRY, for_each_row(union_of)),
]


def _aggregate(function: Function) -> Row:
    name = function.name

    def write(call: Call) -> exp.Expr:
        if call.types[0] not in {GEOMETRY, None} or call.types[0] is None:
            raise call.unexpected(f"{name}(Geometry)")
        return call_engine(function.engine, call.engine("list", call.arguments[0]))

    return Row(
        name, arity=1, returns=GEOMETRY, write=write, kind="aggregate", note="All shapes of a group are in memory at once."
    )


ROWS: Sequence[Row] = [_aggregate(function) for function in _OVER_ARRAYS]
DEFINITIONS: Sequence[Definition] = list[Any](definitions(_OVER_ARRAYS))
