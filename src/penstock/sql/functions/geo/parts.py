"""Functions that tell a shape's parts, its kind and its bounds, and whether it is sound.

Source: Trino's documentation, "Geospatial functions", "Accessors"; Trino's own tests of them.
"""

from collections.abc import Callable, Sequence
from typing import Any

from penstock.sql.functions.geo.geometry_types import LINE, MULTI_LINE, POINT, POLYGON, only, parts
from penstock.sql.functions.geo.shapes import shapely
from penstock.sql.functions.geo.signatures import GEOMETRY, GEOMETRY_ARRAY, TINYINT, Function, for_each_row
from penstock.sql.trino_types import BIGINT, BOOLEAN, DOUBLE, INTEGER, VARCHAR, Type

__all__ = ["FUNCTIONS"]

_TYPES = {"GeometryCollection": "ST_GeomCollection"}


def _of(
    name: str, returns: Type, body: Callable[..., Any], *types: int, also: Sequence[Type] = (), note: str = ""
) -> Function:
    """Return a function of one shape, of one of the ``types`` if there are some, that is called row by row."""

    def checked(shapes: Any, *others: Any) -> Any:
        if types:
            only(name, shapes, *types)
        return for_each_row(body)(shapes, *others)

    return Function(name, [GEOMETRY, *also], returns, checked, note=note)


def _bound(name: str, number: int) -> Function:
    return _of(name, DOUBLE, lambda shape: None if shape.is_empty else shape.bounds[number])


def _nth(pieces: Sequence[Any], number: int) -> Any:
    return pieces[number - 1] if 1 <= number <= len(pieces) else None


def _pieces(shape: Any) -> Sequence[Any]:
    return [] if shape.is_empty else list(shapely.get_parts(shape))


def _rings(shape: Any) -> Sequence[Any]:
    return [shapely.LineString(ring) for ring in shapely.orient_polygons(shape).interiors]


def _outer(shape: Any) -> Any:
    return None if shape.is_empty else shapely.LineString(shapely.orient_polygons(shape).exterior)


def _vertices(shape: Any) -> Sequence[Any] | None:
    # Trino lists them as its library keeps them, which is the other way round than it writes them.
    clockwise = shapely.orient_polygons(shape, exterior_cw=True)
    return None if shape.is_empty else list(shapely.points(shapely.get_coordinates(clockwise)))


def _count(shape: Any) -> int:
    """Return the number of points; a ring's last one is its first one, and is not counted."""
    rings = sum(
        1 + int(shapely.get_num_interior_rings(piece))
        for part in parts(shape)
        for piece in shapely.get_parts(part)
        if piece.geom_type == "Polygon" and not piece.is_empty
    )
    return int(shapely.get_num_coordinates(shape)) - rings


def _is_closed(shape: Any) -> bool:
    return all(line.is_closed for line in _pieces(shape))


def _reason(shape: Any) -> str | None:
    """Return why a shape is not valid, with the place if GEOS tells it; None if it is."""
    for part in parts(shape):
        if not shapely.is_valid(part):
            what, _, place = shapely.is_valid_reason(part).partition("[")
            return f"{what} at or near ({place.rstrip(']')})" if place else str(what)
        if shapely.get_num_coordinates(shapely.remove_repeated_points(part)) != shapely.get_num_coordinates(part):
            return "Repeated points" if part.geom_type == "MultiPoint" else "Degenerate segments"
        if not shapely.is_simple(part):
            return "Self-intersection"
    return None


_FIRST_DIFFERS = "The words and the place are those of GEOS."

FUNCTIONS: Sequence[Function] = [
    _of("ST_GeometryType", VARCHAR, lambda shape: _TYPES.get(shape.geom_type, f"ST_{shape.geom_type}")),
    _of("ST_CoordDim", TINYINT, lambda shape: 3 if shape.has_z else 2),
    _of("ST_Dimension", TINYINT, lambda shape: max(0, int(shapely.get_dimensions(shape)))),
    _of("ST_IsEmpty", BOOLEAN, lambda shape: shape.is_empty),
    _of("ST_IsSimple", BOOLEAN, lambda shape: shape.is_empty or bool(shapely.is_simple(shape))),
    _of("ST_IsValid", BOOLEAN, lambda shape: _reason(shape) is None),
    _of("geometry_invalid_reason", VARCHAR, _reason, note=_FIRST_DIFFERS),
    _of("ST_IsClosed", BOOLEAN, _is_closed, LINE, MULTI_LINE),
    _of("ST_IsRing", BOOLEAN, lambda shape: shape.is_closed and shape.is_simple, LINE),
    _bound("ST_XMin", 0),
    _bound("ST_YMin", 1),
    _bound("ST_XMax", 2),
    _bound("ST_YMax", 3),
    _of("ST_X", DOUBLE, lambda shape: None if shape.is_empty else shape.x, POINT),
    _of("ST_Y", DOUBLE, lambda shape: None if shape.is_empty else shape.y, POINT),
    _of("ST_NumPoints", BIGINT, _count),
    _of("ST_NumGeometries", INTEGER, lambda shape: len(_pieces(shape))),
    _of("ST_NumInteriorRing", BIGINT, lambda shape: None if shape.is_empty else len(shape.interiors), POLYGON),
    _of("ST_GeometryN", GEOMETRY, lambda shape, number: _nth(_pieces(shape), number), also=[INTEGER]),
    _of("ST_Geometries", GEOMETRY_ARRAY, lambda shape: _pieces(shape) or None),
    _of("ST_InteriorRingN", GEOMETRY, lambda shape, number: _nth(_rings(shape), number), POLYGON, also=[INTEGER]),
    _of("ST_InteriorRings", GEOMETRY_ARRAY, lambda shape: None if shape.is_empty else _rings(shape), POLYGON),
    _of("ST_ExteriorRing", GEOMETRY, _outer, POLYGON),
    _of("ST_PointN", GEOMETRY, lambda shape, number: shapely.get_point(shape, number - 1) if number > 0 else None, LINE,
        also=[INTEGER]),
    _of("ST_StartPoint", GEOMETRY, lambda shape: shapely.get_point(shape, 0), LINE),
    _of("ST_EndPoint", GEOMETRY, lambda shape: shapely.get_point(shape, -1), LINE),
    _of("ST_Points", GEOMETRY_ARRAY, _vertices),
    _of("ST_EnvelopeAsPts", GEOMETRY_ARRAY,
        lambda shape: None if shape.is_empty else list(shapely.points([shape.bounds[:2], shape.bounds[2:]]))),
]  # fmt: skip
