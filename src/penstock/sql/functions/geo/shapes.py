"""Shapes: what a Geometry is in the engine (a BLOB with its WKB), and how it is read from and written to WKT, WKB and JSON.

The outer rings of polygons are counter-clockwise and the inner ones clockwise, as in Athena, whose library stores them so.
What comes from outside is bounded before GEOS reads it: GEOS reads what is nested by recursion, until its stack ends.
"""

import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from penstock.sql.functions.python import invalid

__all__ = ["MAX_BYTES", "called", "geometries", "of_json", "of_text", "of_wkb", "shapely", "stored", "texts", "wkt"]

MAX_BYTES = 16 << 20
"""Of the text or the binary form of one shape from outside."""

_MAX_DEPTH = 32  # of collections in collections
_SHOWN = 100  # characters of a value in a message
_BRACKETS = re.compile(r"[(){}\[\]]")
_NESTED = frozenset({4, 5, 6, 7})  # WKB's types with shapes inside: the three of several shapes, and the collection


class _Shapely:
    """shapely, imported with its first use: that takes 0.15 s, and few statements need it."""

    def __getattr__(self, name: str) -> Any:
        import shapely  # noqa: PLC0415

        return getattr(shapely, name)


shapely = _Shapely()


def called(name: str) -> Callable[..., Any]:
    """Return shapely's function ``name``, which is looked up when it is called."""

    def call(*columns: Any) -> Any:
        return getattr(shapely, name)(*columns)

    return call


def geometries(column: pa.Array) -> Any:
    """Return the shapes of a column without NULLs as a NumPy array; equal values are read once."""
    encoded = column.dictionary_encode()
    shapes = shapely.from_wkb(encoded.dictionary.to_numpy(zero_copy_only=False))
    return shapes.take(encoded.indices.to_numpy(zero_copy_only=False))


def stored(shapes: Any) -> pa.Array:
    """Return shapes (None for NULL) as the engine keeps them."""
    oriented = shapely.orient_polygons(shapes)
    return pa.array(shapely.to_wkb(oriented, flavor="iso", byte_order=1), pa.binary())


def texts(column: pa.Array) -> Sequence[str | None]:
    """Return the WKT of each shape in a column that may have NULLs."""
    return wkt(shapely.from_wkb(column.to_numpy(zero_copy_only=False)))


def wkt(shapes: Any) -> Sequence[str | None]:
    """Return the WKT of each shape, with the fewest digits that identify each coordinate."""
    return shapely.to_wkt(shapes, rounding_precision=-1).tolist()  # type: ignore[no-any-return]


def of_text(column: pa.Array) -> Any:
    """Return the shapes of a column of WKT. Rings are closed where they are not. Raises ValueError."""
    values = column.to_pylist()
    for value in values:
        _check_nesting(value, "Invalid WKT: ")
    return _read(shapely.from_wkt, values, "Invalid WKT: ")


def of_json(column: pa.Array) -> Any:
    """Return the shapes of a column of GeoJSON geometries. Raises ValueError."""
    values = column.to_pylist()
    for value in values:
        _check_nesting(value, "Invalid GeoJSON: ")
    return _read(shapely.from_geojson, values, "Invalid GeoJSON: ")


def of_wkb(column: pa.Array) -> Any:
    """Return the shapes of a column of WKB. Raises ValueError."""
    values = column.to_pylist()
    for value in values:
        if len(value) > MAX_BYTES:
            raise invalid(f"A WKB of more than {MAX_BYTES >> 20} MB is not supported")
        if not _is_shallow(value):
            raise invalid("Invalid WKB")
    return _read(shapely.from_wkb, values, None)


def _read(read: Any, values: Sequence[Any], shown: str | None) -> Any:
    """Return the shapes of ``values``; ``shown`` is the message that ends with the value."""
    import numpy as np  # noqa: PLC0415 - it is here if shapely is

    encoded = np.empty(len(values), dtype=object)
    encoded[:] = values
    try:
        shapes = read(encoded, on_invalid="fix" if read.__name__ != "from_geojson" else "ignore")
    except NotImplementedError:  # curves
        shapes = np.array([_read_one(read, value) for value in values], dtype=object)
    unreadable = np.flatnonzero(shapely.is_missing(shapes))
    if len(unreadable):
        value = values[unreadable[0]]
        raise invalid("Invalid WKB" if shown is None else f"{shown}{value[:_SHOWN]}")
    return shapes


def _read_one(read: Any, value: Any) -> Any:
    try:
        return read(value, on_invalid="ignore")
    except NotImplementedError:
        return None


def _check_nesting(value: str, message: str) -> None:
    if len(value) > MAX_BYTES:
        raise invalid(f"{message}more than {MAX_BYTES >> 20} MB are not supported")
    depth = 0
    for bracket in _BRACKETS.finditer(value):
        depth += 1 if bracket[0] in "({[" else -1
        if depth > _MAX_DEPTH:
            raise invalid(f"{message}{value[:_SHOWN]}")


def _is_shallow(value: bytes) -> bool:
    """Return whether the shapes of a WKB are nested in bounds; false also for bytes that are not WKB."""
    at, open_counts = 0, [1]  # of each open collection, how many shapes are to come
    try:
        while open_counts:
            open_counts[-1] -= 1
            if open_counts[-1] < 0:
                open_counts.pop()
                continue
            order = "<" if value[at] == 1 else ">"
            type_ = struct.unpack_from(f"{order}I", value, at + 1)[0]
            at += 9 if type_ & 0x20000000 else 5  # PostGIS' flag of a spatial reference
            sizes = 8 * (2 + _further_dimensions(type_))
            plain = (type_ & 0xFFFF) % 1000
            if plain in _NESTED:
                open_counts.append(struct.unpack_from(f"{order}I", value, at)[0])
                at += 4
                if len(open_counts) > _MAX_DEPTH:
                    return False
            elif len(open_counts) == 1:
                return True  # a single shape
            else:
                at = _end(value, at, order, plain, sizes)
    except (struct.error, IndexError):
        return False
    return True


def _further_dimensions(type_: int) -> int:
    flags = bool(type_ & 0x80000000) + bool(type_ & 0x40000000)
    return flags or (0, 1, 1, 2)[min((type_ & 0xFFFF) // 1000, 3)]


def _end(value: bytes, at: int, order: str, type_: int, size: int) -> int:
    """Return where a point, a line or a polygon ends; ``size`` is that of a point."""
    if type_ == 1:
        return at + size
    (count,) = struct.unpack_from(f"{order}I", value, at)
    at += 4
    if type_ == 2:
        return at + int(count) * size
    for _ in range(count if type_ == 3 else 0):
        (points,) = struct.unpack_from(f"{order}I", value, at)
        at += 4 + points * size
    return at
