"""A guard against numbers that fastavro would cut: it writes 1.5 as the int 1 and lets 2**40 pass for an int.

One is compiled a schema. The plain int and long fields of a record are checked together by one call into :mod:`struct`,
arrays and maps of them by one into :mod:`array`; inside unions fastavro checks by itself, to choose the branch.
"""

import struct
from array import array
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

__all__ = ["FAULTS", "Guard", "compile_guard"]

Guard = Callable[[Any], object]
"""Raises one of :data:`FAULTS` for a value with a number that would be cut, and perhaps for others that do not fit."""

FAULTS = (struct.error, KeyError, TypeError, ValueError, OverflowError, AttributeError)

_CODES = {"int": "i", "long": "q"}


def compile_guard(parsed: Any, named: Mapping[str, Any]) -> Guard | None:
    """The guard of a schema that fastavro has parsed; ``None`` where nothing can be cut."""
    return _Compiler(named).compile(parsed)


class _Compiler:
    def __init__(self, named: Mapping[str, Any]) -> None:
        self._named = named
        self._records: dict[str, Guard | None] = {}

    def compile(self, schema: Any) -> Guard | None:
        if isinstance(schema, str) and schema in self._named:
            schema = self._named[schema]
        code = _code(schema)
        if code is not None:
            packer = struct.Struct("=" + code)
            return packer.pack
        if not isinstance(schema, dict) or "logicalType" in schema:
            return None
        if schema["type"] in {"record", "error"}:
            return self._record(schema)
        if schema["type"] in {"array", "map"}:
            return self._items(schema)
        return None

    def _record(self, schema: Mapping[str, Any]) -> Guard | None:
        name = schema["name"]
        if name in self._records:
            return self._records[name]
        made: list[Guard | None] = []

        # A record inside itself meets this before its guard is made.
        def late(value: Any) -> object:
            return made[0](value) if made[0] is not None else None

        self._records[name] = late
        plain = [(part["name"], code) for part in schema["fields"] if (code := _code(part["type"])) is not None]
        inner = [
            (part["name"], guard)
            for part in schema["fields"]
            if _code(part["type"]) is None and (guard := self.compile(part["type"])) is not None
        ]
        made.append(_record_guard(plain, inner))
        self._records[name] = made[0]
        return made[0]

    def _items(self, schema: Mapping[str, Any]) -> Guard | None:
        is_map = schema["type"] == "map"
        items = schema["values" if is_map else "items"]
        code = _code(items)
        if code is not None:
            return (lambda value: array(code, value.values())) if is_map else (lambda value: array(code, value))
        guard = self.compile(items)
        if guard is None:
            return None
        return _each(guard, is_map=is_map)


def _code(schema: Any) -> str | None:
    if isinstance(schema, dict):
        return _CODES.get(schema["type"]) if isinstance(schema["type"], str) and "logicalType" not in schema else None
    return _CODES.get(schema) if isinstance(schema, str) else None


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
