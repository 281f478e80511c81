"""Functions that make shapes of text, bytes and numbers, and those that write them.

Source: Trino's documentation, "Geospatial functions", "Constructors"; Trino's own tests of them.
"""

from collections.abc import Sequence
from typing import Any

from penstock.sql.functions.geo.geometry_types import LINE, POLYGON, only
from penstock.sql.functions.geo.shapes import called, of_text, of_wkb, shapely, wkt
from penstock.sql.functions.geo.signatures import GEOMETRY, GEOMETRY_ARRAY, Function, for_each_row
from penstock.sql.functions.python import invalid
from penstock.sql.trino_types import DOUBLE, VARBINARY, VARCHAR

__all__ = ["FUNCTIONS"]


def _same(value: Any) -> Any:
    return value


def _line(points: Any) -> Any:
    """Return the line through an array of points; of fewer than two it is empty."""
    previous: tuple[float, ...] | None = None
    coordinates = []
    for at, point in enumerate(points, start=1):
        if point is None:
            raise invalid(f"Invalid input to ST_LineString: null point at index {at}")
        if point.geom_type != "Point":
            raise invalid(f"ST_LineString takes only an array of valid points, {point.geom_type} was passed")
        if point.is_empty:
            raise invalid(f"Invalid input to ST_LineString: empty point at index {at}")
        place = (point.x, point.y)
        if place == previous:
            raise invalid(f"Invalid input to ST_LineString: consecutive duplicate points at index {at}")
        coordinates.append(place)
        previous = place
    return shapely.LineString(coordinates if len(coordinates) > 1 else None)


def _points(points: Any) -> Any:
    for at, point in enumerate(points, start=1):
        if point is None:
            raise invalid(f"Invalid input to ST_MultiPoint: null at index {at}")
        if point.geom_type != "Point":
            raise invalid(f"Invalid input to ST_MultiPoint: geometry is not a point: {point.geom_type} at index {at}")
        if point.is_empty:
            raise invalid(f"Invalid input to ST_MultiPoint: empty point at index {at}")
    return shapely.multipoints(points) if len(points) else None


def _binary(shapes: Any) -> Any:
    return shapely.to_wkb(shapes, flavor="iso", byte_order=1)


FUNCTIONS: Sequence[Function] = [
    Function("ST_GeometryFromText", [VARCHAR], GEOMETRY, _same, of_text, "A line has two points at least."),
    Function("ST_LineFromText", [VARCHAR], GEOMETRY, lambda shapes: only("ST_LineFromText", shapes, LINE), of_text),
    Function("ST_Polygon", [VARCHAR], GEOMETRY, lambda shapes: only("ST_Polygon", shapes, POLYGON), of_text),
    Function("ST_GeomFromBinary", [VARBINARY], GEOMETRY, _same, of_wkb),
    Function("ST_Point", [DOUBLE, DOUBLE], GEOMETRY, called("points")),
    Function("ST_LineString", [GEOMETRY_ARRAY], GEOMETRY, for_each_row(_line)),
    Function("ST_MultiPoint", [GEOMETRY_ARRAY], GEOMETRY, for_each_row(_points)),
    Function("ST_AsText", [GEOMETRY], VARCHAR, wkt),
    Function("ST_AsBinary", [GEOMETRY], VARBINARY, _binary),
]
