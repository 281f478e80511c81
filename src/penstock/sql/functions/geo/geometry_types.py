"""The kinds of shapes in Trino's words, and its errors for a shape of another kind."""

from collections.abc import Iterator
from typing import Any

from penstock.sql.functions.geo.shapes import shapely
from penstock.sql.functions.python import invalid

__all__ = ["LINE", "MULTI_LINE", "MULTI_POINT", "MULTI_POLYGON", "POINT", "POLYGON", "only", "only_spherical", "parts"]

# GEOS's numbers; 2 is a ring, which WKB does not have.
POINT, LINE, POLYGON, MULTI_POINT, MULTI_LINE, MULTI_POLYGON, _COLLECTION = 0, 1, 3, 4, 5, 6, 7
_NAMES = {
    POINT: "POINT",
    MULTI_POINT: "MULTI_POINT",
    LINE: "LINE_STRING",
    MULTI_LINE: "MULTI_LINE_STRING",
    POLYGON: "POLYGON",
    MULTI_POLYGON: "MULTI_POLYGON",
    _COLLECTION: "GEOMETRY_COLLECTION",
}


def only(name: str, shapes: Any, *types: int) -> Any:
    """Return ``shapes`` if all are of one of the ``types``. Raises Trino's error for the function ``name``."""
    _check(shapes, types, f"{name} only applies to {_listed(types)}.")
    return shapes


def only_spherical(name: str, shapes: Any, *types: int) -> None:
    """Raise Trino's error unless all ``shapes``, which are on the sphere, are of one of the ``types``."""
    _check(shapes, types, f"When applied to SphericalGeography inputs, {name} only supports {_listed(types)}.")


def _listed(types: tuple[int, ...]) -> str:
    return " or ".join(name for type_, name in _NAMES.items() if type_ in types)


def _check(shapes: Any, types: tuple[int, ...], message: str) -> None:
    others = set(shapely.get_type_id(shapes).tolist()) - set(types)
    if others:
        raise invalid(f"{message} Input type is: {_NAMES.get(min(others), 'OTHER')}")


def parts(shape: Any) -> Iterator[Any]:
    """Yield the shape, or of a collection each shape inside it, at any depth."""
    if shape.geom_type != "GeometryCollection":
        yield shape
        return
    for part in shape.geoms:
        yield from parts(part)
