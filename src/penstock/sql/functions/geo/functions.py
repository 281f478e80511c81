"""Geospatial functions and aggregates; those of Trino's later versions and of its own planner are refused.

Source: Trino's documentation, "Geospatial functions" ("Aggregations"); Trino's own tests of them.
"""

from collections.abc import Sequence

from sqlglot import exp

from penstock.sql.functions.geo import constructors, measures, operations, parts, relations, sphere
from penstock.sql.functions.geo.operations import hull_of, union_of
from penstock.sql.functions.geo.signatures import GEOMETRY, GEOMETRY_ARRAY, Function, definitions, for_each_row, rows
from penstock.sql.functions.rows import Call, Definition, Row, call_engine, refuse

__all__ = ["DEFINITIONS", "ROWS"]

_FUNCTIONS = [
    function for module in (constructors, relations, operations, parts, measures, sphere) for function in module.FUNCTIONS
]
_OVER_ARRAYS = [
    Function("convex_hull_agg", [GEOMETRY_ARRAY], GEOMETRY, for_each_row(hull_of)),
    Function("geometry_union_agg", [GEOMETRY_ARRAY], GEOMETRY, for_each_row(union_of)),
]


def _aggregate(function: Function) -> Row:
    name = function.name

    def write(call: Call) -> exp.Expr:
        if call.types[0] != GEOMETRY:
            raise call.unexpected(f"{name}(Geometry)")
        return call_engine(function.engine, call.engine("list", call.arguments[0]))

    return Row(
        name, arity=1, returns=GEOMETRY, write=write, kind="aggregate", note="All shapes of a group are in memory at once."
    )


_TILES = """
    bing_tile bing_tile_at bing_tile_coordinates bing_tile_polygon bing_tile_quadkey bing_tile_zoom_level bing_tiles_around
    geometry_to_bing_tiles
"""
_LATER = """
    geometry_collect_agg st_asewkb st_asewkt st_collect st_force2d st_force3d st_geomfromewkt st_geomfromkml st_linemerge
    st_makeline st_makepolygon st_minimumboundingcircle st_multi st_normalize st_orientedenvelope st_pointonsurface
    st_polygonize st_reduceprecision st_setsrid st_srid st_transform st_voronoipolygons st_z
"""

ROWS: Sequence[Row] = [
    *rows(_FUNCTIONS),
    *map(_aggregate, _OVER_ARRAYS),
    *refuse(_TILES, "Bing tiles are not served", "Compute tiles in a job, or bound shapes by ST_Envelope."),
    *refuse("from_encoded_polyline to_encoded_polyline", "encoded polylines are not served", "Decode them in a job."),
    *refuse("geometry_from_hadoop_shape", "Esri's binary shapes are not served", "Store shapes as WKB or WKT."),
    *refuse("spatial_partitioning spatial_partitions", "it is a function of Trino's planner"),
    *refuse(_LATER, "Athena engine version 3 has no such function"),
]

DEFINITIONS: Sequence[Definition] = list(definitions([*_FUNCTIONS, *_OVER_ARRAYS]))
