"""What data look like: the shape of a value, and of many values together.

A shape collects every kind that was seen at a place, contradictions included, so that merging never fails and neither order
nor grouping of the values matters: shapes are sets, and merging is their union. Whether one type fits them all is asked at
the end, by the format.
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
"""Levels of objects and arrays: a derived definition stays within the bounds of any parser of Avro."""

_MAX_MEMBERS = 100_000  # of all objects of a batch together: a bound on memory, not on schemas
_INT, _LONG = 2**31, 2**63
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The kinds of values that were seen at one place.

    ``scalars`` are names of kinds (:func:`kinds` has the words for people); ``decimal`` is the largest number of digits
    before and behind the point; ``members`` the shapes by key, where there was an object; ``items`` that of all items
    together, where there was an array. A shape that saw nothing is :data:`NOTHING`.
    """

    null: bool = False
    scalars: frozenset[str] = frozenset()
    decimal: tuple[int, int] | None = None
    members: "Mapping[str, Shape] | None" = None
    items: "Shape | None" = None

    @property
    def has_type(self) -> bool:
        """Whether something in it says a type: null, ``[]`` and ``{}`` alone do not."""
        return bool(
            self.scalars
            or self.decimal is not None
            or (self.items is not None and self.items.has_type)
            or (self.members is not None and any(member.has_type for member in self.members.values()))
        )


NOTHING = Shape()


def shape_of(values: Iterable[Any]) -> Shape:
    """The shape of all ``values`` together.

    Raises :class:`UnknownKind` for a value that no shape stands for, or that nests deeper than :data:`MAX_DEPTH`, and
    :class:`TooManyFields` where the objects have more keys than memory should hold.
    """
    seen, budget = _Seen(), [_MAX_MEMBERS]
    for value in values:
        seen.add(value, "", 0, budget)
    return seen.shape()


def merge(first: Shape, second: Shape) -> Shape:
    """The shape of the values of both. Associative, commutative and idempotent, with :data:`NOTHING` as its unit."""
    return Shape(
        null=first.null or second.null,
        scalars=first.scalars | second.scalars,
        decimal=_larger(first.decimal, second.decimal),
        members=_merged(first.members, second.members),
        items=merge(first.items, second.items) if first.items and second.items else first.items or second.items,
    )


def kinds(shape: Shape) -> list[str]:
    """What a shape holds beside null, in words that name Avro's types, each once and in one order."""
    found = {_WORDS.get(scalar, scalar) for scalar in shape.scalars}
    if shape.decimal is not None:
        whole, scale = shape.decimal
        found.add(f"decimal({whole + scale},{scale})")
    if shape.members is not None:
        found.add("record")
    if shape.items is not None:
        found.add("array")
    return sorted(found)


_WORDS = {"int": "long", "wide": "long", "uuid-text": "string"}
"""An ``int`` fits 32 bits; a ``wide`` is a long that a double cannot hold; a ``uuid-text`` is text of that form."""


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
class _Seen:
    """A shape in the making: values are added in place, so that a batch costs one walk."""

    null: bool = False
    scalars: set[str] = field(default_factory=set)
    decimal: tuple[int, int] | None = None
    members: "dict[str, _Seen] | None" = None
    items: "_Seen | None" = None

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
                raise UnknownKind(f"the key {key!r:.80} is no text.", path=path, remedy="Write it as text.")
            member = members.get(key)
            if member is None:
                budget[0] -= 1
                if budget[0] < 0:
                    raise TooManyFields(
                        f"the data has more than {_MAX_MEMBERS} different fields.",
                        path=path,
                        remedy="Register a schema that has a map where keys are data, or an array of pairs.",
                    )
                member = members[key] = _Seen()
            member.add(item, f"{path}/{key}", depth, budget)

    def _array(self, value: list[Any], path: str, depth: int, budget: list[int]) -> None:
        items = self.items
        if items is None:
            items = self.items = _Seen()
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
    for kind, name in _KINDS:
        if isinstance(value, kind):
            return name if isinstance(name, str) else name(value, path)
    raise _unknown(value, path)


def _whole(value: int, path: str) -> str:
    if not -_LONG <= value < _LONG:
        raise UnknownKind(
            f"the number {value:.20e} does not fit 64 bits." if abs(value) < 10**300 else "the number does not fit 64 bits.",
            path=path,
            remedy="Send it as text, or as a Decimal.",
        )
    if -_INT <= value < _INT:
        return "int"
    return "long" if int(float(value)) == value else "wide"


def _time(value: time, path: str) -> str:
    if value.tzinfo is not None:
        raise UnknownKind("a time of day with a zone has no type.", path=path, remedy="Send it without, or a datetime.")
    return "time"


def _digits(value: Decimal, path: str) -> tuple[int, int]:
    if not value.is_finite():
        raise UnknownKind(f"{value} is no number that a decimal can hold.", path=path, remedy="Send null, or a float.")
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
    remedy = "Make it a list." if isinstance(value, tuple | set | frozenset) else "Convert it to one of Python's own types."
    return UnknownKind(f"a value of the type {name} has no type in a schema.", path=path, remedy=remedy)


# In this order: a bool is an int, a datetime is a date.
_KINDS: tuple[tuple[type | tuple[type, ...], str | Callable[[Any, str], str]], ...] = (
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
