"""A guard against values that fastavro would change without a word.

It writes 1.5 as the int 1, lets 2**40 pass for an int, makes infinity of a float that 32 bits do not hold and true of any
text, and takes texts for UUIDs that nobody can read back. One guard is compiled a schema. The plain numbers of a record are
checked together by one call into :mod:`struct`, arrays and maps of integers by one into :mod:`array`. Inside unions fastavro
itself checks integers and booleans, to choose the branch; the rest is checked there where null is the only other branch.
"""

import struct
from array import array
from collections.abc import Callable, Mapping
from datetime import date, time
from decimal import Decimal
from operator import itemgetter
from typing import Any
from uuid import UUID

__all__ = ["FAULTS", "Guard", "compile_guard", "leaf_guard"]

Guard = Callable[[Any], object]
"""Raises one of :data:`FAULTS` for a value that would be changed, and perhaps for others that do not fit."""

FAULTS = (struct.error, KeyError, TypeError, ValueError, OverflowError, AttributeError)

_CODES = {"int": "i", "long": "q", "float": "f"}


def compile_guard(parsed: Any, named: Mapping[str, Any]) -> Guard | None:
    """The guard of a schema that fastavro has parsed; ``None`` where nothing can be changed."""
    return _Compiler(named).compile(parsed, in_union=False)


def leaf_guard(schema: Any, *, in_union: bool = False) -> Guard | None:
    """The guard of a type without parts; ``None`` where it needs none, or has parts.

    ``in_union`` leaves out what fastavro checks to choose a union's branch.
    """
    kind = schema["type"] if isinstance(schema, dict) else schema
    logical = schema.get("logicalType") if isinstance(schema, dict) else None
    if logical == "decimal":
        return _decimal(schema)
    if logical == "uuid" and kind == "string":
        return _uuid
    if logical is None and kind == "boolean" and not in_union:
        return _boolean
    if kind not in _CODES if isinstance(kind, str) else True:
        return None
    if in_union and kind != "float":
        return None
    pack = struct.Struct("=" + _CODES[kind]).pack
    return pack if logical is None else lambda value: isinstance(value, date | time | str) or pack(value)


class _Compiler:
    def __init__(self, named: Mapping[str, Any]) -> None:
        self._named = named
        self._records: dict[tuple[str, bool], Guard | None] = {}

    def compile(self, schema: Any, *, in_union: bool) -> Guard | None:
        if isinstance(schema, str) and schema in self._named:
            schema = self._named[schema]
        if isinstance(schema, list):
            return self._optional(schema)
        if isinstance(schema, dict) and "logicalType" not in schema:
            if schema["type"] in {"record", "error"}:
                return self._record(schema, in_union=in_union)
            if schema["type"] in {"array", "map"}:
                return self._items(schema, in_union=in_union)
        return leaf_guard(schema, in_union=in_union)

    def _optional(self, branches: list[Any]) -> Guard | None:
        solid = [branch for branch in branches if branch != "null"]
        if len(solid) != 1 or not self._needs_more(solid[0], set()):
            return None
        guard = self.compile(solid[0], in_union=True)
        if guard is None:
            return None
        return lambda value: value is None or guard(value)

    def _needs_more(self, schema: Any, seen: set[str]) -> bool:
        """Whether anything inside is changed even where fastavro checks; most schemas then need no walk."""
        if isinstance(schema, str) and schema in self._named:
            schema = self._named[schema]
        if isinstance(schema, list):
            return any(self._needs_more(branch, seen) for branch in schema)
        if not isinstance(schema, dict) or schema["type"] not in {"record", "error", "array", "map"}:
            return leaf_guard(schema, in_union=True) is not None
        if schema["type"] in {"array", "map"}:
            return self._needs_more(schema.get("items", schema.get("values")), seen)
        if schema["name"] in seen:
            return False
        seen.add(schema["name"])
        return any(self._needs_more(part["type"], seen) for part in schema["fields"])

    def _record(self, schema: Mapping[str, Any], *, in_union: bool) -> Guard | None:
        key = (schema["name"], in_union)
        if key in self._records:
            return self._records[key]
        made: list[Guard | None] = []

        # A record inside itself meets this before its guard is made.
        def late(value: Any) -> object:
            return made[0](value) if made[0] is not None else None

        self._records[key] = late
        plain: list[tuple[str, str]] = []
        inner: list[tuple[str, Guard]] = []
        for part in schema["fields"]:
            code = _code(part["type"])
            if code is not None and (not in_union or code == "f"):
                plain.append((part["name"], code))
            elif (guard := self.compile(part["type"], in_union=in_union)) is not None:
                inner.append((part["name"], guard))
        made.append(_record_guard(plain, inner))
        self._records[key] = made[0]
        return made[0]

    def _items(self, schema: Mapping[str, Any], *, in_union: bool) -> Guard | None:
        is_map = schema["type"] == "map"
        items = schema["values" if is_map else "items"]
        code = _code(items)
        if code is not None and code != "f":
            if in_union:
                return None
            return (lambda value: array(code, value.values())) if is_map else (lambda value: array(code, value))
        guard = self.compile(items, in_union=in_union)
        if guard is None:
            return None
        return _each(guard, is_map=is_map)


def _code(schema: Any) -> str | None:
    if isinstance(schema, dict):
        return _CODES.get(schema["type"]) if isinstance(schema["type"], str) and "logicalType" not in schema else None
    return _CODES.get(schema) if isinstance(schema, str) else None


def _boolean(value: Any) -> None:
    if value is not True and value is not False:
        raise TypeError("neither true nor false")


def _uuid(value: Any) -> None:
    if isinstance(value, str):
        UUID(value)


def _decimal(schema: Mapping[str, Any]) -> Guard:
    whole = schema["precision"] - schema.get("scale", 0)

    def check(value: Any) -> None:
        # fastavro counts the digits that are written down, not the zeros that an exponent stands for.
        if isinstance(value, Decimal) and (not value.is_finite() or (value and value.adjusted() >= whole)):
            raise ValueError(f"more than {whole} digits before the point")

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
