"""Why a value does not fit its schema, and where: a walk that runs only after fastavro has refused the value."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from io import BytesIO
from typing import Any
from uuid import UUID

import fastavro

from penstock.serdes.avro.lossless import FAULTS, leaf_guard
from penstock.serdes.errors import IncompatibleValue, MissingField, UnknownField

__all__ = ["explain", "find_misfit", "root_name", "too_deep"]

_RANGES = {"int": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1)}
_MAX_SHOWN = 80


def too_deep(value: Any, limit: int) -> bool:
    """Whether mappings and sequences nest deeper than ``limit``, which a value that contains itself does."""
    open_parts: list[Iterator[Any]] = [iter((value,))]
    while open_parts:
        part = next(open_parts[-1], open_parts)
        if part is open_parts:
            open_parts.pop()
        elif isinstance(part, Mapping | list | tuple):
            if len(open_parts) > limit:
                return True
            open_parts.append(iter(part.values() if isinstance(part, Mapping) else part))
    return False


def find_misfit(value: Any, schema: Any, named: Mapping[str, Any], *, ignore_unknown: bool) -> IncompatibleValue | None:
    """The error for the first part of ``value`` that does not fit, with its path; ``None`` where all fits."""
    return _Finder(named, ignore_unknown=ignore_unknown).find(value, schema, root_name(schema))


def explain(
    value: Any, schema: Any, named: Mapping[str, Any], error: BaseException, *, ignore_unknown: bool
) -> IncompatibleValue:
    """The error for a value that fastavro refused with ``error``."""
    found = find_misfit(value, schema, named, ignore_unknown=ignore_unknown)
    root = root_name(schema)
    return found or IncompatibleValue(f"{root} does not fit its schema: {' '.join(str(error).split())[:300]}", path=root)


def root_name(schema: Any) -> str:
    """What paths begin with: the record's name without its namespace."""
    return str(schema["name"]).rpartition(".")[2] if isinstance(schema, dict) and "name" in schema else "value"


class _Finder:
    def __init__(self, named: Mapping[str, Any], *, ignore_unknown: bool) -> None:
        self._named = named
        self._ignore_unknown = ignore_unknown

    def find(self, value: Any, schema: Any, path: str) -> IncompatibleValue | None:
        if isinstance(schema, str) and schema in self._named:
            schema = self._named[schema]
        if isinstance(schema, list):
            return self._union(value, schema, path)
        kind = schema["type"] if isinstance(schema, dict) else schema
        if kind in {"record", "error"}:
            return self._record(value, schema, path)
        if kind == "array":
            return self._array(value, schema["items"], path)
        if kind == "map":
            return self._map(value, schema["values"], path)
        if isinstance(kind, dict | list):
            return self.find(value, kind, path)
        return _leaf(value, schema, path)

    def _union(self, value: Any, branches: list[Any], path: str) -> IncompatibleValue | None:
        if isinstance(value, tuple) or (isinstance(value, Mapping) and "-type" in value):
            return None
        if any(self.find(value, branch, path) is None for branch in branches):
            return None
        solid = [branch for branch in branches if branch != "null"]
        if value is not None and len(solid) == 1:
            return self.find(value, solid[0], path)
        names = ", ".join(_name(branch) for branch in branches)
        return IncompatibleValue(f"{path} is {_shown(value)}, which fits no branch of the union of {names}.", path=path)

    def _record(self, value: Any, schema: Mapping[str, Any], path: str) -> IncompatibleValue | None:
        if not isinstance(value, Mapping):
            return _wrong(value, f"a record {schema['name']} (a mapping)", path)
        for part in schema["fields"]:
            if part["name"] not in value and "default" not in part and not self._lenient(part["type"]):
                where = f"{path}.{part['name']}"
                return MissingField(
                    f"{where} is missing: the schema wants {_name(part['type'])} there and has no default.", path=where
                )
        known = {part["name"] for part in schema["fields"]}
        unknown = [key for key in value if key not in known]
        if unknown and not self._ignore_unknown:
            where = f"{path}.{unknown[0]}"
            return UnknownField(
                f"{where} is not a field of the schema, so its value would be lost.",
                path=where,
                remedy="Register a version that has it, drop it, or set ignore_unknown_fields.",
            )
        parts = (
            self.find(value[part["name"]], part["type"], f"{path}.{part['name']}")
            for part in schema["fields"]
            if part["name"] in value
        )
        return next((found for found in parts if found is not None), None)

    def _lenient(self, kind: Any) -> bool:
        return self._ignore_unknown and isinstance(kind, list) and "null" in kind

    def _array(self, value: Any, items: Any, path: str) -> IncompatibleValue | None:
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            return _wrong(value, "an array", path)
        parts = (self.find(item, items, f"{path}[{index}]") for index, item in enumerate(value))
        return next((found for found in parts if found is not None), None)

    def _map(self, value: Any, values: Any, path: str) -> IncompatibleValue | None:
        if not isinstance(value, Mapping):
            return _wrong(value, "a map", path)
        wrong_key = next((key for key in value if not isinstance(key, str)), None)
        if wrong_key is not None:
            return IncompatibleValue(f"{path} has the key {_shown(wrong_key)}; keys of a map are texts.", path=path)
        parts = (self.find(item, values, f"{path}[{key!r}]") for key, item in value.items())
        return next((found for found in parts if found is not None), None)


def _leaf(value: Any, schema: Any, path: str) -> IncompatibleValue | None:
    kind = schema["type"] if isinstance(schema, dict) else schema
    logical = schema.get("logicalType") if isinstance(schema, dict) else None
    expected = _expected(value, schema, kind) if logical is None else None
    if expected is not None:
        return _wrong(value, expected, path)
    guard = leaf_guard(schema)
    try:
        if guard is not None:
            guard(value)
        fastavro.schemaless_writer(BytesIO(), fastavro.parse_schema(schema), value)
    except (*FAULTS, ArithmeticError, IndexError) as error:
        return _wrong(value, _name(schema), path, f" ({' '.join(str(error).split())[:200]})")
    return None


def _expected(value: Any, schema: Any, kind: str) -> str | None:
    """What a plain type wants where the value is not that; fastavro itself would cut numbers and take any truth value."""
    if kind in _RANGES:
        low, high = _RANGES[kind]
        fits = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return None if fits else f"{_name(schema)} ({low} to {high})"
    if kind == "enum":
        return None if value in schema["symbols"] else f"one of the symbols {', '.join(schema['symbols'])[:200]}"
    fits = {
        "null": value is None,
        "boolean": isinstance(value, bool),
        "float": not isinstance(value, str),
        "double": not isinstance(value, str),
    }.get(kind, True)
    return None if fits else kind


def _wrong(value: Any, expected: str, path: str, why: str = "") -> IncompatibleValue:
    return IncompatibleValue(f"{path} is {_shown(value)}, expected {expected}{why}.", path=path)


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    text = repr(value) if isinstance(value, bool | int | float | str | bytes) else ""
    if isinstance(value, Decimal | date | UUID):  # a datetime is a date too
        text = str(value)
    if len(text) > _MAX_SHOWN:
        text = text[:_MAX_SHOWN] + "…"
    return f"{text} ({type(value).__name__})" if text else f"a {type(value).__name__}"


def _name(schema: Any) -> str:
    if isinstance(schema, str):
        return schema
    if isinstance(schema, list):
        return "a union of " + ", ".join(_name(branch) for branch in schema)
    logical = schema.get("logicalType")
    base = schema.get("name") or _name(schema["type"])
    return f"{base} ({logical})" if logical else str(base)
