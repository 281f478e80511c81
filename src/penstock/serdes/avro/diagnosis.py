"""Diagnosis of values that do not fit their schema: the reason and the path. Runs only if fastavro has refused a value."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from io import BytesIO
from typing import Any
from uuid import UUID

import fastavro

from penstock.schema.avro.fold import FunctionFold
from penstock.schema.avro.library import library_schema
from penstock.schema.avro.logical import logical_type
from penstock.schema.avro.model import (
    ArrayType,
    AvroField,
    AvroSchema,
    AvroType,
    EnumType,
    FixedType,
    MapType,
    PrimitiveType,
    RecordType,
    UnionType,
    branch_name,
    unqualified,
)
from penstock.serdes.avro.lossless import FAULTS, leaf_guard
from penstock.serdes.errors import IncompatibleValue, MissingField, UnknownField

__all__ = ["FindMisfit", "MisfitFold", "root_name", "too_deep", "unexplained"]

FindMisfit = Callable[[Any, str], IncompatibleValue | None]
"""A function from a value and its path to the error for its first part that does not fit, or ``None`` if all fit."""

_RANGES = {"int": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1)}
_MAX_SHOWN = 80


def too_deep(value: Any, limit: int) -> bool:
    """Return whether mappings and sequences nest deeper than ``limit``. A value that contains itself always does."""
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


def unexplained(root: str, error: BaseException) -> IncompatibleValue:
    """Return the error for a value of ``root`` that fastavro refused with ``error``, if no part of it is found to misfit."""
    return IncompatibleValue(f"{root} does not fit its schema: {' '.join(str(error).split())[:300]}", path=root)


def root_name(schema: AvroSchema) -> str:
    """Return the first part of paths: the name of the outermost type without its namespace."""
    root = schema.root
    return unqualified(root.name) if isinstance(root, RecordType | EnumType | FixedType) else "value"


class MisfitFold(FunctionFold[[Any, str], IncompatibleValue | None]):
    """Makes the :data:`FindMisfit` of each type. With ``ignore_unknown``, a value without a field is not a misfit."""

    def __init__(self, schema: AvroSchema, *, ignore_unknown: bool) -> None:
        super().__init__(schema)
        self._ignore_unknown = ignore_unknown

    def primitive(self, avro_type: PrimitiveType) -> FindMisfit:
        """See :data:`FindMisfit`."""
        return _leaf(avro_type)

    def enum(self, avro_type: EnumType) -> FindMisfit:
        """See :data:`FindMisfit`."""
        return _leaf(avro_type)

    def fixed(self, avro_type: FixedType) -> FindMisfit:
        """See :data:`FindMisfit`."""
        return _leaf(avro_type)

    def union(self, avro_type: UnionType, branches: Sequence[FindMisfit]) -> FindMisfit:
        """Return the misfit of the only branch beside null; with several branches, report that none fits."""
        not_null = [
            find
            for branch, find in zip(avro_type.branches, branches, strict=True)
            if not (isinstance(branch, PrimitiveType) and branch.name == "null")
        ]
        names = ", ".join(_name(branch) for branch in avro_type.branches)

        def find(value: Any, path: str) -> IncompatibleValue | None:
            if isinstance(value, tuple) or (isinstance(value, Mapping) and "-type" in value):
                return None
            if any(fits(value, path) is None for fits in branches):
                return None
            if value is not None and len(not_null) == 1:
                return not_null[0](value, path)
            return IncompatibleValue(f"{path} is {_shown(value)}, which fits no branch of the union of {names}.", path=path)

        return find

    def record(self, avro_type: RecordType, fields: Sequence[FindMisfit]) -> FindMisfit:
        """Look for a missing field, then an unknown one, then a field's misfit."""
        parts = {field.name: find for field, find in zip(avro_type.fields, fields, strict=True)}
        required = [field for field in avro_type.fields if not field.has_default and not self._is_lenient(field)]

        def find(value: Any, path: str) -> IncompatibleValue | None:
            if not isinstance(value, Mapping):
                return _wrong(value, f"a record {avro_type.name} (a mapping)", path)
            for field in required:
                if field.name not in value:
                    where = f"{path}.{field.name}"
                    return MissingField(
                        f"{where} is missing: the schema requires {_name(field.type)} there and has no default.", path=where
                    )
            unknown = [key for key in value if key not in parts]
            if unknown and not self._ignore_unknown:
                where = f"{path}.{unknown[0]}"
                return UnknownField(
                    f"{where} is not a field of the schema, so its value would be lost.",
                    path=where,
                    remedy="Register a version that has the field, drop it from the value, or set ignore_unknown_fields.",
                )
            return _first(part(value[name], f"{path}.{name}") for name, part in parts.items() if name in value)

        return find

    def _is_lenient(self, field: AvroField) -> bool:
        return self._ignore_unknown and isinstance(field.type, UnionType) and "null" in map(branch_name, field.type.branches)

    def array(self, avro_type: ArrayType, items: FindMisfit) -> FindMisfit:  # noqa: ARG002
        """Look for an item's misfit."""

        def find(value: Any, path: str) -> IncompatibleValue | None:
            if not isinstance(value, Sequence) or isinstance(value, str | bytes):
                return _wrong(value, "an array", path)
            return _first(items(item, f"{path}[{index}]") for index, item in enumerate(value))

        return find

    def map(self, avro_type: MapType, values: FindMisfit) -> FindMisfit:  # noqa: ARG002
        """Look for a key that is not a string, then a value's misfit."""

        def find(value: Any, path: str) -> IncompatibleValue | None:
            if not isinstance(value, Mapping):
                return _wrong(value, "a map", path)
            wrong_key = next((key for key in value if not isinstance(key, str)), None)
            if wrong_key is not None:
                return IncompatibleValue(f"{path} has the key {_shown(wrong_key)}; a map's keys must be strings.", path=path)
            return _first(values(item, f"{path}[{key!r}]") for key, item in value.items())

        return find


def _first(misfits: Iterator[IncompatibleValue | None]) -> IncompatibleValue | None:
    return next((misfit for misfit in misfits if misfit is not None), None)


def _leaf(avro_type: PrimitiveType | EnumType | FixedType) -> FindMisfit:
    guard = leaf_guard(avro_type)
    plain = logical_type(avro_type) is None
    schema = library_schema(AvroSchema(root=avro_type, names={}))

    def find(value: Any, path: str) -> IncompatibleValue | None:
        expected = _expected(value, avro_type) if plain else None
        if expected is not None:
            return _wrong(value, expected, path)
        try:
            if guard is not None:
                guard(value)
            fastavro.schemaless_writer(BytesIO(), schema, value)
        except (*FAULTS, ArithmeticError, IndexError) as error:
            return _wrong(value, _name(avro_type), path, f" ({' '.join(str(error).split())[:200]})")
        return None

    return find


def _expected(value: Any, avro_type: PrimitiveType | EnumType | FixedType) -> str | None:
    """Return what a plain type expects if the value is not that. fastavro would cut numbers and accept any truth value."""
    if isinstance(avro_type, EnumType):
        return None if value in avro_type.symbols else f"one of the symbols {', '.join(avro_type.symbols)[:200]}"
    if isinstance(avro_type, FixedType):
        return None
    if avro_type.name in _RANGES:
        low, high = _RANGES[avro_type.name]
        fits = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return None if fits else f"{_name(avro_type)} ({low} to {high})"
    fits = {
        "null": value is None,
        "boolean": isinstance(value, bool),
        "float": not isinstance(value, str),
        "double": not isinstance(value, str),
    }.get(avro_type.name, True)
    return None if fits else avro_type.name


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


def _name(avro_type: AvroType) -> str:
    if isinstance(avro_type, UnionType):
        return "a union of " + ", ".join(_name(branch) for branch in avro_type.branches)
    logical = logical_type(avro_type)
    return f"{branch_name(avro_type)} ({logical})" if logical else branch_name(avro_type)
