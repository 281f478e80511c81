"""A guard against values that fastavro would change without an error.

fastavro writes 1.5 as the int 1 and 2**40 as an int, turns a float that 32 bits cannot hold into infinity and any string
into true, and accepts strings as UUIDs that nobody can read back. One guard is compiled per schema. One call into
:mod:`struct` checks all plain numbers of a record, and one into :mod:`array` those of an array or map of integers. Inside
unions fastavro itself checks integers and booleans to choose the branch; the guard checks other types there only if null is
the only other branch.
"""

import struct
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from operator import itemgetter
from typing import Any
from uuid import UUID

from penstock.schema.avro.fold import Fold, types_within
from penstock.schema.avro.logical import decimal_digits, logical_type
from penstock.schema.avro.model import (
    PRIMITIVES,
    ArrayType,
    AvroSchema,
    AvroType,
    EnumType,
    FixedType,
    MapType,
    PrimitiveType,
    RecordType,
    UnionType,
)

__all__ = ["FAULTS", "Guard", "compile_guard", "leaf_guard"]

Guard = Callable[[Any], object]
"""Raises one of :data:`FAULTS` for a value that would be changed, and perhaps for others that do not fit."""

FAULTS = (struct.error, KeyError, TypeError, ValueError, OverflowError, AttributeError)

_CODES = {"int": "i", "long": "q", "float": "f"}
_PACK: dict[str, Guard] = {name: struct.Struct("=" + code).pack for name, code in _CODES.items()}


def compile_guard(schema: AvroSchema) -> Guard | None:
    """Return the guard of a schema, or ``None`` if fastavro cannot change any of its values."""
    return _GuardFold(schema).root().alone


def leaf_guard(avro_type: AvroType, *, in_union: bool = False) -> Guard | None:
    """Return the guard of a type without parts, or ``None`` if it needs none or has parts.

    ``in_union`` omits the checks that fastavro does itself to choose a union's branch.
    """
    logical = logical_type(avro_type)
    if logical == "decimal":
        return _decimal(avro_type)
    if not isinstance(avro_type, PrimitiveType):
        return None
    if logical == "uuid" and avro_type.name == "string":
        return _uuid
    if logical is None and avro_type.name == "boolean" and not in_union:
        return _boolean
    if avro_type.name not in _CODES or (in_union and avro_type.name != "float"):
        return None
    pack = _PACK[avro_type.name]
    return pack if logical is None else lambda value: isinstance(value, date | time | str) or pack(value)


@dataclass(frozen=True, slots=True)
class _Guards:
    """A type's guards by itself and as a union's branch, None if it needs none; ``code`` is a plain number's struct code."""

    alone: Guard | None = None
    in_union: Guard | None = None
    code: str | None = None


class _GuardFold(Fold[_Guards]):
    def primitive(self, avro_type: PrimitiveType) -> _Guards:
        return _primitive(avro_type) if avro_type.props else _BARE[avro_type.name]

    def enum(self, avro_type: EnumType) -> _Guards:  # noqa: ARG002
        return _Guards()

    def fixed(self, avro_type: FixedType) -> _Guards:
        return _Guards(leaf_guard(avro_type), leaf_guard(avro_type, in_union=True))

    def array(self, avro_type: ArrayType, items: _Guards) -> _Guards:
        return _Guards() if logical_type(avro_type) is not None else _of_items(items, is_map=False)

    def map(self, avro_type: MapType, values: _Guards) -> _Guards:
        return _Guards() if logical_type(avro_type) is not None else _of_items(values, is_map=True)

    def union(self, avro_type: UnionType, branches: Sequence[_Guards]) -> _Guards:
        not_null = [guards for branch, guards in zip(avro_type.branches, branches, strict=True) if not _is_null(branch)]
        guard = not_null[0].in_union if len(not_null) == 1 else None
        if guard is None:
            return _Guards()
        check = _or_none(guard)
        return _Guards(check, check)

    def record(self, avro_type: RecordType, fields: Sequence[_Guards]) -> _Guards:
        if logical_type(avro_type) is not None:
            return _Guards()
        by_name = [(field.name, guards) for field, guards in zip(avro_type.fields, fields, strict=True)]
        return _Guards(
            _record_guard(
                [(name, guards.code) for name, guards in by_name if guards.code is not None],
                [(name, guards.alone) for name, guards in by_name if guards.code is None and guards.alone is not None],
            ),
            _record_guard(
                [(name, guards.code) for name, guards in by_name if guards.code == "f"],
                [(name, guards.in_union) for name, guards in by_name if guards.code != "f" and guards.in_union is not None],
            ),
        )

    def recursive(self, avro_type: RecordType) -> _Guards:
        """Return guards that call the record's own, if any of its parts needs a guard; most records need none."""
        leaves = list(types_within(self.schema, avro_type))

        def alone(value: Any) -> None:
            guard = self.result_of(avro_type.name).alone
            if guard is not None:
                guard(value)

        def in_union(value: Any) -> None:
            guard = self.result_of(avro_type.name).in_union
            if guard is not None:
                guard(value)

        return _Guards(
            alone if any(leaf_guard(leaf) for leaf in leaves) else None,
            in_union if any(leaf_guard(leaf, in_union=True) for leaf in leaves) else None,
        )


def _primitive(avro_type: PrimitiveType) -> _Guards:
    code = _CODES.get(avro_type.name) if logical_type(avro_type) is None else None
    return _Guards(leaf_guard(avro_type), leaf_guard(avro_type, in_union=True), code)


def _is_null(avro_type: AvroType) -> bool:
    return isinstance(avro_type, PrimitiveType) and avro_type.name == "null"


def _or_none(guard: Guard) -> Guard:
    return lambda value: value is None or guard(value)


def _of_items(items: _Guards, *, is_map: bool) -> _Guards:
    code = items.code
    if code is not None and code != "f":
        return _Guards((lambda value: array(code, value.values())) if is_map else (lambda value: array(code, value)))
    return _Guards(
        _each(items.alone, is_map=is_map) if items.alone is not None else None,
        _each(items.in_union, is_map=is_map) if items.in_union is not None else None,
    )


def _boolean(value: Any) -> None:
    if value is not True and value is not False:
        raise TypeError("neither true nor false")


def _uuid(value: Any) -> None:
    if isinstance(value, str):
        UUID(value)


def _decimal(avro_type: AvroType) -> Guard | None:
    digits = decimal_digits(avro_type)
    if digits is None:
        return None
    integer_digits = digits[0] - digits[1]

    def check(value: Any) -> None:
        # fastavro counts the written digits, not the zeros that an exponent stands for.
        if isinstance(value, Decimal) and (not value.is_finite() or (value and value.adjusted() >= integer_digits)):
            raise ValueError(f"more than {integer_digits} digits before the point")

    return check


def _each(guard: Guard, *, is_map: bool) -> Guard:
    def check(value: Any) -> None:
        for item in value.values() if is_map else value:
            guard(item)

    return check


def _record_guard(plain: list[tuple[str, str]], inner: list[tuple[str, Guard]]) -> Guard | None:
    numbers = _numbers(plain)
    if not inner:
        return numbers

    def check(record: Any) -> None:
        if numbers is not None:
            numbers(record)
        for name, guard in inner:
            if name in record:
                guard(record[name])

    return check


def _numbers(plain: list[tuple[str, str]]) -> Guard | None:
    if not plain:
        return None
    pack = struct.Struct("=" + "".join(code for _, code in plain)).pack
    get = itemgetter(*(name for name, _ in plain))
    if len(plain) == 1:
        return lambda record: pack(get(record))
    return lambda record: pack(*get(record))


_BARE = {name: _primitive(PrimitiveType(name=name)) for name in PRIMITIVES}
