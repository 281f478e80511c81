"""Geospatial functions, and those of Trino's later versions and of its own planner, which are refused.

Source: Trino's documentation, "Geospatial functions".
"""

from collections.abc import Sequence

from penstock.sql.functions.geo import constructors, measures, operations, parts, relations, sphere
from penstock.sql.functions.geo.signatures import definitions, rows
from penstock.sql.functions.rows import Definition, Row, refuse

__all__ = ["DEFINITIONS", "ROWS"]

_FUNCTIONS = [
    function for module in (constructors, relations, operations, parts, measures, sphere) for function in module.FUNCTIONS
]
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
    *refuse(_TILES, "Bing tiles are not served", "Compute tiles in a job, or bound shapes by ST_Envelope."),
    *refuse("from_encoded_polyline to_encoded_polyline", "encoded polylines are not served", "Decode them in a job."),
    *refuse("geometry_from_hadoop_shape", "Esri's binary shapes are not served", "Store shapes as WKB or WKT."),
    *refuse("spatial_partitioning spatial_partitions", "it is a function of Trino's planner"),
    *refuse(_LATER, "Athena engine version 3 has no such function"),
]

DEFINITIONS: Sequence[Definition] = list(definitions(_FUNCTIONS))
