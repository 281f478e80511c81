"""The shape of data: the types of a value, and of many values together.

A shape collects every type that was seen at a path, contradictions included. Therefore merging never fails, and neither the
order nor the grouping of the values matters: shapes are sets, and merging is their union. Only the format decides, at the
end, whether one type fits all values.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from penstock.schema.infer.errors import TooManyFields, UnknownKind

__all__ = ["MAX_DEPTH", "NOTHING", "Shape", "kinds", "merge", "shape_of"]

MAX_DEPTH = 32
"""Levels of objects and arrays, so that a derived definition stays within the limits of every Avro parser."""

_MAX_MEMBERS = 100_000  # of all objects of a batch together: limits memory, not schemas
_INT, _LONG = 2**31, 2**63
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The types of values that were seen at one path.

    ``scalars`` are names of types (:func:`kinds` gives human-readable ones). ``decimal`` is the largest number of digits
    before and after the point. ``members`` are the shapes by key if there was an object. ``items`` is the shape of all items
    together if there was an array. A shape without values is :data:`NOTHING`.
    """

    null: bool = False
    scalars: frozenset[str] = frozenset()
    decimal: tuple[int, int] | None = None
    members: "Mapping[str, Shape] | None" = None
    items: "Shape | None" = None

    @property
    def has_type(self) -> bool:
        """Whether the shape determines a type: null, ``[]`` and ``{}`` alone do not."""
        return bool(
            self.scalars
            or self.decimal is not None
            or (self.items is not None and self.items.has_type)
            or (self.members is not None and any(member.has_type for member in self.members.values()))
        )


NOTHING = Shape()


def shape_of(values: Iterable[Any]) -> Shape:
    """Return the shape of all ``values`` together.

    Raise :class:`UnknownKind` for a value without a type, or that nests deeper than :data:`MAX_DEPTH`, and
    :class:`TooManyFields` if the objects have more keys than memory should hold.
    """
    builder, budget = _ShapeBuilder(), [_MAX_MEMBERS]
    for value in values:
        builder.add(value, "", 0, budget)
    return builder.shape()


def merge(first: Shape, second: Shape) -> Shape:
    """Return the shape of the values of both. Associative, commutative and idempotent, with :data:`NOTHING` as its unit."""
    return Shape(
        null=first.null or second.null,
        scalars=first.scalars | second.scalars,
        decimal=_larger(first.decimal, second.decimal),
        members=_merged(first.members, second.members),
        items=merge(first.items, second.items) if first.items and second.items else first.items or second.items,
    )


def kinds(shape: Shape) -> list[str]:
    """Return the Avro type names of a shape, except null, each once and sorted."""
    names = {_WORDS.get(scalar, scalar) for scalar in shape.scalars}
    if shape.decimal is not None:
        integer_digits, scale = shape.decimal
        names.add(f"decimal({integer_digits + scale},{scale})")
    if shape.members is not None:
        names.add("record")
    if shape.items is not None:
        names.add("array")
    return sorted(names)


_WORDS = {"int": "long", "wide": "long", "uuid-text": "string"}
"""An ``int`` fits 32 bits; a ``wide`` is a long that a double cannot hold; a ``uuid-text`` is a string in UUID form."""


def _larger(first: tuple[int, int] | None, second: tuple[int, int] | None) -> tuple[int, int] | None:
    if first is None or second is None:
        return first or second
    return max(first[0], second[0]), max(first[1], second[1])


def _merged(first: Mapping[str, Shape] | None, second: Mapping[str, Shape] | None) -> Mapping[str, Shape] | None:
    if first is None or second is None:
        return first if second is None else second
    merged = dict(first)
    for key, member in second.items():
        merged[key] = merge(merged[key], member) if key in merged else member
    return merged


@dataclass(slots=True)
class _ShapeBuilder:
    """A shape under construction: values are added in place, so that a batch costs one walk."""

    null: bool = False
    scalars: set[str] = field(default_factory=set)
    decimal: tuple[int, int] | None = None
    members: "dict[str, _ShapeBuilder] | None" = None
    items: "_ShapeBuilder | None" = None

    def add(self, value: Any, path: str, depth: int, budget: list[int]) -> None:
        if value is None:
            self.null = True
        elif isinstance(value, Mapping):
            self._object(value, path, _deeper(depth, path), budget)
        elif isinstance(value, list):
            self._array(value, path, _deeper(depth, path), budget)
        elif isinstance(value, Decimal):
            self.decimal = _larger(self.decimal, _digits(value, path))
        else:
            self.scalars.add(_scalar(value, path))

    def _object(self, value: Mapping[Any, Any], path: str, depth: int, budget: list[int]) -> None:
        members = self.members
        if members is None:
            members = self.members = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise UnknownKind(f"the key {key!r:.80} is not a string.", path=path, remedy="Convert it to a string.")
            member = members.get(key)
            if member is None:
                budget[0] -= 1
                if budget[0] < 0:
                    raise TooManyFields(
                        f"the data has more than {_MAX_MEMBERS} different fields.",
                        path=path,
                        remedy="If keys are data, register a schema with a map for them, or with an array of pairs.",
                    )
                member = members[key] = _ShapeBuilder()
            member.add(item, f"{path}/{key}", depth, budget)

    def _array(self, value: list[Any], path: str, depth: int, budget: list[int]) -> None:
        items = self.items
        if items is None:
            items = self.items = _ShapeBuilder()
        for item in value:
            items.add(item, f"{path}/items", depth, budget)

    def shape(self) -> Shape:
        return Shape(
            null=self.null,
            scalars=frozenset(self.scalars),
            decimal=self.decimal,
            members=None if self.members is None else {key: member.shape() for key, member in self.members.items()},
            items=None if self.items is None else self.items.shape(),
        )


def _scalar(value: Any, path: str) -> str:
    for python_type, name in _SCALARS:
        if isinstance(value, python_type):
            return name if isinstance(name, str) else name(value, path)
    raise _unknown(value, path)


def _whole(value: int, path: str) -> str:
    if not -_LONG <= value < _LONG:
        raise UnknownKind(
            f"the number {value:.20e} does not fit 64 bits." if abs(value) < 10**300 else "the number does not fit 64 bits.",
            path=path,
            remedy="Send it as a string, or as a Decimal.",
        )
    if -_INT <= value < _INT:
        return "int"
    return "long" if int(float(value)) == value else "wide"


def _time(value: time, path: str) -> str:
    if value.tzinfo is not None:
        raise UnknownKind(
            "a time of day with a time zone has no type.",
            path=path,
            remedy="Send it without the time zone, or send a datetime.",
        )
    return "time"


def _digits(value: Decimal, path: str) -> tuple[int, int]:
    if not value.is_finite():
        raise UnknownKind(f"{value} is not a number that a decimal can hold.", path=path, remedy="Send null, or a float.")
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    return max(len(digits) + exponent, 0), scale


def _deeper(depth: int, path: str) -> int:
    if depth >= MAX_DEPTH:
        raise UnknownKind(
            f"the data nests deeper than {MAX_DEPTH} levels, or contains itself.", path=path[:200], remedy="Flatten it."
        )
    return depth + 1


def _unknown(value: Any, path: str) -> UnknownKind:
    name = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    remedy = "Make it a list." if isinstance(value, tuple | set | frozenset) else "Convert it to a built-in Python type."
    return UnknownKind(f"a value of the Python type {name} has no type in a schema.", path=path, remedy=remedy)


# The order matters: a bool is an int, and a datetime is a date.
_SCALARS: tuple[tuple[type | tuple[type, ...], str | Callable[[Any, str], str]], ...] = (
    (bool, "boolean"),
    (int, _whole),
    (float, "double"),
    (str, lambda value, _: "uuid-text" if len(value) == 36 and _UUID.fullmatch(value) else "string"),
    (datetime, lambda value, _: "local-timestamp" if value.utcoffset() is None else "timestamp"),
    (date, "date"),
    (time, _time),
    ((bytes, bytearray), "bytes"),
    (UUID, "uuid"),
)
