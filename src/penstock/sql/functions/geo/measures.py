"""Lengths, areas and distances on the plane, and places along a line.

Source: Trino's documentation, "Geospatial functions"; Trino's own tests of them.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import dist, floor
from typing import Any

from penstock.sql.functions.geo.geometry_types import LINE, MULTI_LINE, only
from penstock.sql.functions.geo.shapes import called, shapely
from penstock.sql.functions.geo.signatures import GEOMETRY, GEOMETRY_ARRAY, Function, for_each_row
from penstock.sql.functions.python import invalid
from penstock.sql.trino_types import DOUBLE

__all__ = ["FUNCTIONS"]

_MAX_POINTS = 100_000  # of one line


def _distance(first: Any, second: Any) -> float | None:
    return None if first.is_empty or second.is_empty else float(shapely.distance(first, second))


def _located(line: Any, point: Any) -> float | None:
    if line.is_empty or point.is_empty:
        return None
    if line.geom_type not in {"LineString", "MultiLineString"}:
        raise invalid(
            f"First argument to line_locate_point must be a LineString or a MultiLineString. Got: {line.geom_type}"
        )
    if point.geom_type != "Point":
        raise invalid(f"Second argument to line_locate_point must be a Point. Got: {point.geom_type}")
    return float(shapely.line_locate_point(line, point)) / float(line.length)


def _along(line: Any, fraction: float, *, repeated: bool) -> list[Any]:
    """Return the point at ``fraction`` of a line's length; if ``repeated``, those at each multiple of it."""
    if not 0 <= fraction <= 1:
        raise invalid("fraction must be between 0 and 1")
    path = [(float(x), float(y)) for x, y in shapely.get_coordinates(line)]
    if fraction in {0, 1}:
        return [shapely.Point(path[-1 if fraction else 0])]
    count = floor(1 / fraction) if repeated else 1
    if count > _MAX_POINTS:
        raise invalid(f"line_interpolate_points makes at most {_MAX_POINTS} points")
    length, passed, at = float(line.length), 0.0, fraction
    points: list[tuple[float, ...]] = []
    for start, end in pairwise(path):
        share = dist(start, end) / length
        while at < passed + share and len(points) < count:
            along = (at - passed) / share
            points.append(tuple(one + (other - one) * along for one, other in zip(start, end, strict=True)))
            at += fraction
        passed += share
    if len(points) < count:
        points.append(path[-1])
    return [shapely.Point(place) for place in points]


def _point_along(line: Any, fraction: float) -> Any:
    return None if line.is_empty else _along(line, fraction, repeated=False)[0]


def _points_along(line: Any, fraction: float) -> list[Any] | None:
    return None if line.is_empty else _along(line, fraction, repeated=True)


def _on_line(body: Any) -> Any:
    return lambda shapes, fractions: for_each_row(body)(only("line_interpolate_point", shapes, LINE), fractions)


FUNCTIONS: Sequence[Function] = [
    Function("ST_Area", [GEOMETRY], DOUBLE, called("area")),
    Function("ST_Length", [GEOMETRY], DOUBLE, lambda shapes: shapely.length(only("ST_Length", shapes, LINE, MULTI_LINE))),
    Function("ST_Distance", [GEOMETRY, GEOMETRY], DOUBLE, for_each_row(_distance)),
    Function("line_locate_point", [GEOMETRY, GEOMETRY], DOUBLE, for_each_row(_located)),
    Function("line_interpolate_point", [GEOMETRY, DOUBLE], GEOMETRY, _on_line(_point_along)),
    Function("line_interpolate_points", [GEOMETRY, DOUBLE], GEOMETRY_ARRAY, _on_line(_points_along)),
]
