"""Types of JSON values, merged over records: Hive's types for them.

Integers are int or bigint, by their size; other numbers are double. Where records differ, numbers become the wider one and
all else a string, as Glue's classifier for JSON does.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from penstock.catalog.model import Column
from penstock.errors import DataProblem

__all__ = ["Shape", "columns_of", "members_of", "merged", "shape_of"]

Shape: TypeAlias = "str | tuple[str, Any]"
"""``null``, a scalar's Hive type, ``("array", Shape)`` or ``("struct", {name: Shape})``."""

_MOST_DEPTH = 64
_MOST_COLUMNS = 10_000
_SCALARS: Mapping[type, str] = {type(None): "null", bool: "boolean", float: "double"}
_NUMBERS = ("int", "bigint", "double")
_UNNAMEABLE = re.compile(r"[<>,:]")


def shape_of(value: object, depth: int = 0) -> Shape:
    """Return the shape of a JSON value. Raises :class:`DataProblem` if it is nested more than 64 levels deep."""
    if depth > _MOST_DEPTH:
        raise DataProblem(f"its records are nested more than {_MOST_DEPTH} levels deep")
    if isinstance(value, dict):
        return ("struct", members_of(value, depth + 1))
    if isinstance(value, list):
        inner: Shape = "null"
        for each in value:
            inner = merged(inner, shape_of(each, depth + 1))
        return ("array", inner)
    if isinstance(value, int) and not isinstance(value, bool):
        return "int" if -(2**31) <= value < 2**31 else "bigint" if -(2**63) <= value < 2**63 else "double"
    return _SCALARS.get(type(value), "string")


def members_of(record: Mapping[str, object], depth: int = 0) -> dict[str, Shape]:
    """Return the shapes of a JSON object's members, by their names in lower case."""
    members: dict[str, Shape] = {}
    for name, each in record.items():
        key = name.lower()
        members[key] = merged(members.get(key, "null"), shape_of(each, depth))
    return members


def merged(first: Shape, second: Shape) -> Shape:
    """Return the shape of values of both."""
    if second in (first, "null"):
        return first
    if first == "null":
        return second
    if isinstance(first, str) or isinstance(second, str):
        both = {first, second} if isinstance(first, str) and isinstance(second, str) else set()
        return max(both, key=_NUMBERS.index) if both and both <= set(_NUMBERS) else "string"
    if first[0] != second[0]:
        return "string"
    if first[0] == "array":
        return ("array", merged(first[1], second[1]))
    names = dict.fromkeys([*first[1], *second[1]])
    return ("struct", {name: merged(first[1].get(name, "null"), second[1].get(name, "null")) for name in names})


def columns_of(members: Mapping[str, Shape]) -> Sequence[Column]:
    """Return the columns of records with ``members``. Raises :class:`DataProblem` for too many of them."""
    if len(members) > _MOST_COLUMNS:
        raise DataProblem(f"its records have {len(members):,} different fields, more than {_MOST_COLUMNS:,}")
    return tuple(Column(name=name, type=_text(shape)) for name, shape in members.items())


def _text(shape: Shape) -> str:
    if isinstance(shape, str):
        return "string" if shape == "null" else shape
    kind, inner = shape
    if kind == "array":
        return f"array<{_text(inner)}>"
    for name in inner:
        if _UNNAMEABLE.search(name):
            raise DataProblem(f"it has a field named '{name[:100]}', which a Hive type cannot name")
    return f"struct<{','.join(f'{name}:{_text(each)}' for name, each in inner.items())}>" if inner else "string"
