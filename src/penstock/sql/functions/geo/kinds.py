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


def only(name: str, shapes: Any, *kinds: int) -> Any:
    """Return ``shapes`` if all are of one of the ``kinds``. Raises Trino's error for the function ``name``."""
    _check(shapes, kinds, f"{name} only applies to {_listed(kinds)}.")
    return shapes


def only_spherical(name: str, shapes: Any, *kinds: int) -> None:
    """Raise Trino's error unless all ``shapes``, which are on the sphere, are of one of the ``kinds``."""
    _check(shapes, kinds, f"When applied to SphericalGeography inputs, {name} only supports {_listed(kinds)}.")


def _listed(kinds: tuple[int, ...]) -> str:
    return " or ".join(name for kind, name in _NAMES.items() if kind in kinds)


def _check(shapes: Any, kinds: tuple[int, ...], message: str) -> None:
    others = set(shapely.get_type_id(shapes).tolist()) - set(kinds)
    if others:
        raise invalid(f"{message} Input type is: {_NAMES.get(min(others), 'OTHER')}")


def parts(shape: Any) -> Iterator[Any]:
    """Yield the shape, or of a collection each shape inside it, at any depth."""
    if shape.geom_type != "GeometryCollection":
        yield shape
        return
    for part in shape.geoms:
        yield from parts(part)
