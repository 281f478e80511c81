"""Shapes on the sphere of the Earth: longitudes and latitudes in degrees, lengths in metres.

Sources: Trino's documentation, "Geospatial functions", on SphericalGeography and great_circle_distance; Trino's own tests of
them. The great circle's length is Vincenty's formula for a sphere; the excess of a polygon is the sum over its edges, less a
full turn if the ring has a pole inside (https://www.movable-type.co.uk/scripts/latlong.html).
"""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import atan2, cos, fabs, isfinite, pi, radians, sin, sqrt, tan
from typing import Any

from penstock.sql.functions.geo.geometry_types import LINE, MULTI_LINE, MULTI_POLYGON, POINT, POLYGON, only_spherical
from penstock.sql.functions.geo.shapes import of_json, shapely
from penstock.sql.functions.geo.signatures import GEOMETRY, SPHERE, Function, for_each_row
from penstock.sql.functions.python import invalid
from penstock.sql.trino_types import DOUBLE, VARCHAR

__all__ = ["FUNCTIONS"]

_RADIUS = 6371.01  # kilometres: Trino's
_TURN = 2 * pi


def _check(latitude: float, longitude: float) -> None:
    if not isfinite(latitude) or fabs(latitude) > 90:
        raise invalid("Latitude must be between -90 and 90")
    if not isfinite(longitude) or fabs(longitude) > 180:
        raise invalid("Longitude must be between -180 and 180")


def _great_circle(latitude: float, longitude: float, other_latitude: float, other_longitude: float) -> float:
    """Return the distance of two places in kilometres."""
    _check(latitude, longitude)
    _check(other_latitude, other_longitude)
    phi, other = radians(latitude), radians(other_latitude)
    delta = radians(longitude) - radians(other_longitude)
    across = cos(other) * sin(delta)
    along = cos(phi) * sin(other) - sin(phi) * cos(other) * cos(delta)
    inner = sin(phi) * sin(other) + cos(phi) * cos(other) * cos(delta)
    return atan2(sqrt(across * across + along * along), inner) * _RADIUS


def _on_sphere(shapes: Any) -> Any:
    for shape in shapes:
        if not shape.is_empty:
            west, south, east, north = shape.bounds
            _check(south, west)
            _check(north, east)
        if shape.has_z:
            raise invalid("Cannot convert 3D geometry to a spherical geography")
    return shapes


def _distances(first: Any, second: Any) -> Sequence[float | None]:
    filled = ~(shapely.is_empty(first) | shapely.is_empty(second))
    only_spherical("ST_Distance", first[filled], POINT)
    only_spherical("ST_Distance", second[filled], POINT)
    return [
        _great_circle(one.y, one.x, other.y, other.x) * 1000 if both else None
        for one, other, both in zip(first, second, filled, strict=True)
    ]


def _lengths(shapes: Any) -> Sequence[float | None]:
    only_spherical("ST_Length", shapes[~shapely.is_empty(shapes)], LINE, MULTI_LINE)
    return [None if shape.is_empty else sum(map(_length, shapely.get_parts(shape))) * 1000 for shape in shapes]


def _length(line: Any) -> float:
    places = [(y, x) for x, y in line.coords]
    return sum(_great_circle(*start, *end) for start, end in pairwise(places))


def _areas(shapes: Any) -> Sequence[float | None]:
    only_spherical("ST_Area", shapes[~shapely.is_empty(shapes)], POLYGON, MULTI_POLYGON)
    return [None if shape.is_empty else _area(shape) for shape in shapes]


def _area(shape: Any) -> float:
    excess = 0.0
    for polygon in shapely.get_parts(shape):
        if not polygon.is_empty:
            excess += fabs(_excess(polygon.exterior)) - sum(fabs(_excess(ring)) for ring in polygon.interiors)
    return fabs(excess * (_RADIUS * 1000) ** 2)


def _excess(ring: Any) -> float:
    places = [(radians(x), radians(y)) for x, y in ring.coords[:-1]]
    if len(places) < 3:
        raise invalid("Polygon is not valid: a loop contains less then 3 vertices.")
    excess = 0.0
    bearings: list[float] = []
    for start, end in _edges(places):
        if start == end:
            raise invalid("Polygon is not valid: it has two identical consecutive vertices")
        halves = tan(start[1] / 2), tan(end[1] / 2)
        excess += 2 * atan2(tan((end[0] - start[0]) / 2) * sum(halves), 1 + halves[0] * halves[1])
        bearings += [_bearing(start, end), (_bearing(end, start) + pi) % _TURN]
    turned = sum((after - before + 3 * pi) % _TURN - pi for before, after in _edges(bearings))
    # A ring turns once around its inside, unless it surrounds a pole.
    return fabs(excess) - _TURN if fabs(turned) < pi / 4 else excess


def _edges(items: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield each item with the one after it, beginning with the last and the first."""
    return zip([items[-1], *items[:-1]], items, strict=True)


def _bearing(start: tuple[float, float], end: tuple[float, float]) -> float:
    delta = end[0] - start[0]
    across = sin(delta) * cos(end[1])
    along = cos(start[1]) * sin(end[1]) - sin(start[1]) * cos(end[1]) * cos(delta)
    return atan2(across, along) % _TURN


def _json(shape: Any) -> str:
    return json.dumps(_whole(json.loads(shapely.to_geojson(shape))), separators=(",", ":"))


def _whole(value: Any) -> Any:
    """Return JSON with coordinates that are whole numbers as integers."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and fabs(value) < 1e7 else value


FUNCTIONS: Sequence[Function] = [
    Function("to_spherical_geography", [GEOMETRY], SPHERE, _on_sphere),
    Function("to_geometry", [SPHERE], GEOMETRY, lambda shapes: shapes),
    Function("from_geojson_geometry", [VARCHAR], SPHERE, lambda shapes: shapes, of_json),
    Function("to_geojson_geometry", [SPHERE], VARCHAR, for_each_row(_json)),
    Function("ST_Distance", [SPHERE, SPHERE], DOUBLE, _distances, note="Of a SphericalGeography: of points."),
    Function("ST_Length", [SPHERE], DOUBLE, _lengths),
    Function("ST_Area", [SPHERE], DOUBLE, _areas),
    Function("great_circle_distance", [DOUBLE] * 4, DOUBLE, for_each_row(_great_circle), note="Its last digit may differ."),
]
