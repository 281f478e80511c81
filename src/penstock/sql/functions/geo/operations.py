"""Functions that make a shape of others: unions, intersections, hulls, buffers, simpler shapes.

Source: Trino's documentation, "Geospatial functions", "Operations"; Trino's own tests of them.
"""

from collections.abc import Callable, Sequence
from math import isinf, isnan
from typing import Any

from penstock.sql.functions.geo.geometry_types import (
    LINE,
    MULTI_LINE,
    MULTI_POINT,
    MULTI_POLYGON,
    POINT,
    POLYGON,
    only,
    parts,
)
from penstock.sql.functions.geo.shapes import shapely
from penstock.sql.functions.geo.signatures import GEOMETRY, GEOMETRY_ARRAY, POINTS, Function, for_each_row
from penstock.sql.functions.python import invalid
from penstock.sql.trino_types import DOUBLE

__all__ = ["FUNCTIONS", "hull_of", "union_of"]

_QUADRANT = 24  # segments of a quarter of a circle: 96 for the whole, as Athena's library has
_ORDER = "The first point of a ring and the order of parts may differ."


def union_of(shapes: Any) -> Any:
    """Return the union of an array of shapes, None for an array without shapes."""
    present = [shape for shape in shapes if shape is not None]
    return _grouped(_overlaid(lambda *item: shapely.union_all(list(item)), present), merge=True) if present else None


def hull_of(shapes: Any) -> Any:
    """Return the convex hull of an array of shapes, None for an array without shapes."""
    present = [shape for shape in shapes if shape is not None]
    return shapely.convex_hull(shapely.geometrycollections(present)) if present else None


def _overlaid(operation: Callable[..., Any], shapes: Sequence[Any]) -> Any:
    """Return the operation's result; where GEOS cannot compute it of shapes that are not valid, of mended ones."""
    from shapely.errors import GEOSException  # noqa: PLC0415 - see shapes

    try:
        return operation(*shapes)
    except GEOSException:
        mended = [shape if shapely.is_valid(shape) else shapely.make_valid(shape) for shape in shapes]
        return operation(*mended)


def _grouped(shape: Any, *, merge: bool = False) -> Any:
    """Return a shape with its points, lines and polygons as one part each; ``merge`` joins lines at their ends."""
    groups = {0: [], 1: [], 2: []}  # type: dict[int, list[Any]]
    for part in parts(shape):
        for piece in shapely.get_parts(part):
            if not piece.is_empty:
                groups[int(shapely.get_dimensions(piece))].append(piece)
    makers = (shapely.multipoints, shapely.multilinestrings, shapely.multipolygons)
    of_kind = [
        pieces[0] if len(pieces) == 1 else shapely.line_merge(make(pieces)) if merge and dimension == 1 else make(pieces)
        for (dimension, pieces), make in zip(groups.items(), makers, strict=True)
        if pieces
    ]
    if not of_kind:
        return shape
    return of_kind[0] if len(of_kind) == 1 else shapely.geometrycollections(of_kind)


def _intersection(first: Any, second: Any) -> Any:
    parts = _grouped(_overlaid(shapely.intersection, (first, second)))
    return shapely.MultiPolygon() if parts.is_empty else parts


def _operation(name: str, body: Callable[..., Any]) -> Function:
    return Function(name, [GEOMETRY, GEOMETRY], GEOMETRY, for_each_row(body), note=_ORDER)


def _buffer(shape: Any, distance: float) -> Any:
    if isnan(distance):
        raise invalid("distance is NaN")
    if distance < 0:
        raise invalid("distance is negative")
    if distance == 0:
        return shape
    if shape.is_empty:
        return None
    return shapely.MultiPolygon() if isinf(distance) else shapely.buffer(shape, distance, quad_segs=_QUADRANT)


def _boundary(shape: Any) -> Any:
    boundary = shapely.boundary(shape)
    if boundary is None:
        raise invalid("ST_Boundary is not supported for a geometry collection", code="NOT_SUPPORTED")
    if shape.geom_type in {"Point", "MultiPoint"}:
        return shapely.MultiPoint()
    return shapely.multilinestrings([boundary]) if boundary.geom_type == "LineString" and not boundary.is_empty else boundary


def _envelope(shape: Any) -> Any:
    if shape.is_empty:
        return shapely.Polygon()
    west, south, east, north = shape.bounds
    return shapely.Polygon([(west, south), (east, south), (east, north), (west, north)])


def _centroid(shapes: Any) -> Any:
    return shapely.centroid(only("ST_Centroid", shapes, POINT, MULTI_POINT, LINE, MULTI_LINE, POLYGON, MULTI_POLYGON))


def _hull(shape: Any) -> Any:
    return shape if shape.is_empty else shapely.convex_hull(shape)


def _simpler(shape: Any, tolerance: float) -> Any:
    if isnan(tolerance):
        raise invalid("distanceTolerance is NaN")
    if tolerance < 0:
        raise invalid("distanceTolerance is negative")
    return shape if tolerance == 0 else shapely.simplify(shape, tolerance, preserve_topology=True)


def _nearest(first: Any, second: Any) -> tuple[Any, Any] | None:
    if first.is_empty or second.is_empty:
        return None
    line = shapely.shortest_line(first, second)
    return shapely.get_point(line, 0), shapely.get_point(line, 1)


FUNCTIONS: Sequence[Function] = [
    _operation("ST_Difference", lambda a, b: _grouped(_overlaid(shapely.difference, (a, b)))),
    _operation("ST_Intersection", _intersection),
    _operation("ST_SymDifference", lambda a, b: _grouped(_overlaid(shapely.symmetric_difference, (a, b)))),
    _operation("ST_Union", lambda a, b: union_of((a, b))),
    Function("geometry_union", [GEOMETRY_ARRAY], GEOMETRY, for_each_row(union_of), note=_ORDER),
    Function("ST_Boundary", [GEOMETRY], GEOMETRY, for_each_row(_boundary)),
    Function(
        "ST_Buffer", [GEOMETRY, DOUBLE], GEOMETRY, for_each_row(_buffer), note="Coordinates may differ in their last digits."
    ),
    Function("ST_Centroid", [GEOMETRY], GEOMETRY, _centroid),
    Function("ST_ConvexHull", [GEOMETRY], GEOMETRY, for_each_row(_hull), note="The first point of a ring may differ."),
    Function("ST_Envelope", [GEOMETRY], GEOMETRY, for_each_row(_envelope)),
    Function("simplify_geometry", [GEOMETRY, DOUBLE], GEOMETRY, for_each_row(_simpler)),
    Function("geometry_nearest_points", [GEOMETRY, GEOMETRY], POINTS, for_each_row(_nearest)),
]
