"""Converts values of files to values of an Avro schema. Converters are compiled once per schema: a cell costs one call.

Input is *text* (CSV cells: an empty cell is null for an optional field; arrays, maps and records are written as JSON) or
*typed* (JSON lines, Parquet). A converter raises :class:`ValueError` or :class:`TypeError`; the reader adds the row and the
field.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from penstock.schema.avro.fold import Fold
from penstock.schema.avro.logical import logical_type
from penstock.schema.avro.model import (
    ArrayType,
    AvroField,
    AvroType,
    EnumType,
    FixedType,
    MapType,
    PrimitiveType,
    RecordType,
    UnionType,
    branch_name,
)
from penstock.serdes.avro.codec import AvroSchema

__all__ = ["Converter", "FieldConverter", "compile_fields"]

Converter = Callable[[Any], Any]

_TRUE = frozenset({"true", "t", "yes", "1"})
_FALSE = frozenset({"false", "f", "no", "0"})
_BOUNDS = {"int": 2**31, "long": 2**63}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldConverter:
    """The conversion of one field of a record. A row may omit the field if it is ``optional``: it is then null if
    ``null_if_missing``, and otherwise the serializer uses its default.
    """

    name: str
    convert: Converter
    optional: bool
    null_if_missing: bool


def compile_fields(schema: AvroSchema, *, text: bool) -> list[FieldConverter]:
    """Return converters for the fields of a record schema, in its order. ``text``: the input is CSV cells."""
    root = schema.tree.root
    assert isinstance(root, RecordType)
    fold = _ConverterFold(schema.tree)
    return [_field(field, fold.of(field.type), text=text) for field in root.fields]


def _field(field: AvroField, converters: "_Converters", *, text: bool) -> FieldConverter:
    branches = field.type.branches if isinstance(field.type, UnionType) else (field.type,)
    nullable = any(map(_is_null, branches))
    return FieldConverter(
        name=field.name,
        convert=converters.text if text else converters.typed,
        optional=nullable or field.has_default,
        null_if_missing=nullable and not field.has_default,
    )


def _is_null(avro_type: AvroType) -> bool:
    return isinstance(avro_type, PrimitiveType) and avro_type.name == "null"


@dataclass(frozen=True, slots=True)
class _Converters:
    """A type's converters of typed values and of CSV cells."""

    typed: Converter
    text: Converter


def _same(convert: Converter) -> _Converters:
    return _Converters(convert, convert)


def _container(convert: Converter) -> _Converters:
    """Return a container's converters. A cell holds it as JSON, whose values are typed."""
    return _Converters(convert, lambda cell: convert(json.loads(cell)))


class _ConverterFold(Fold[_Converters]):
    def primitive(self, avro_type: PrimitiveType) -> _Converters:
        logical = _LOGICAL.get(logical_type(avro_type) or "")
        return (
            _same(logical) if logical is not None else _Converters(_FROM_TYPED[avro_type.name], _FROM_TEXT[avro_type.name])
        )

    def enum(self, avro_type: EnumType) -> _Converters:
        return _same(_enum(avro_type.symbols))

    def fixed(self, avro_type: FixedType) -> _Converters:
        return _same(_LOGICAL.get(logical_type(avro_type) or "") or _fixed(avro_type.size))

    def array(self, avro_type: ArrayType, items: _Converters) -> _Converters:  # noqa: ARG002
        return _container(_array(items.typed))

    def map(self, avro_type: MapType, values: _Converters) -> _Converters:  # noqa: ARG002
        return _container(_map(values.typed))

    def record(self, avro_type: RecordType, fields: Sequence[_Converters]) -> _Converters:
        parts = {field.name: converters.typed for field, converters in zip(avro_type.fields, fields, strict=True)}

        def convert(value: Any) -> Any:
            if not isinstance(value, Mapping):
                raise TypeError(f"{_shown(value)} is not a record {avro_type.name}")
            return {key: parts[key](member) if key in parts else member for key, member in value.items()}

        return _container(convert)

    def recursive(self, avro_type: RecordType) -> _Converters:
        return _same(lambda value: self.result_of(avro_type.name).typed(value))

    def union(self, avro_type: UnionType, branches: Sequence[_Converters]) -> _Converters:
        non_null = [
            (branch_name(branch), converters)
            for branch, converters in zip(avro_type.branches, branches, strict=True)
            if not _is_null(branch)
        ]
        nullable = len(non_null) < len(branches)
        typed = _choice([(name, converters.typed) for name, converters in non_null], nulls=(), nullable=nullable)
        if len(non_null) == 1:
            only = non_null[0][1].text
            return _Converters(typed, (lambda cell: None if cell in (None, "") else only(cell)) if nullable else only)
        return _Converters(
            typed, _choice([(name, converters.text) for name, converters in non_null], nulls=("",), nullable=nullable)
        )


def _choice(branches: Sequence[tuple[str, Converter]], *, nulls: tuple[str, ...], nullable: bool) -> Converter:
    """Return a converter to the first of the ``branches`` that fits a value, or the one it names; ``nulls`` mean null."""

    def convert(value: Any) -> Any:
        if value is None or value in nulls:
            if nullable:
                return None
            raise ValueError("is empty and may not be null")
        # Avro's JSON encoding tags a union's value with its branch: {"int": 5}.
        if isinstance(value, Mapping) and len(value) == 1:
            tag = next(iter(value))
            for name, branch in branches:
                if name == tag:
                    return branch(value[tag])
        for _, branch in branches:
            try:
                return branch(value)
            except (ValueError, TypeError, ArithmeticError):
                continue
        raise ValueError(f"{_shown(value)} fits none of {', '.join(name for name, _ in branches)}")

    return convert


def _array(convert_item: Converter) -> Converter:
    def convert(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise TypeError(f"{_shown(value)} is not an array")
        return [convert_item(part) for part in value]

    return convert


def _map(convert_value: Converter) -> Converter:
    def convert(value: Any) -> Any:
        # Parquet's maps arrive as lists of pairs.
        pairs = value.items() if isinstance(value, Mapping) else value
        if not isinstance(value, Mapping | list):
            raise TypeError(f"{_shown(value)} is not a map")
        return {str(key): convert_value(part) for key, part in pairs}

    return convert


def _enum(symbols: Sequence[str]) -> Converter:
    allowed = frozenset(symbols)

    def convert(value: Any) -> Any:
        if value not in allowed:
            raise ValueError(f"{_shown(value)} is none of the symbols {', '.join(symbols)[:200]}")
        return value

    return convert


def _fixed(size: int) -> Converter:
    def convert(value: Any) -> bytes:
        bytes_ = _to_bytes(value)
        if len(bytes_) != size:
            raise ValueError(f"has {len(bytes_)} bytes, not {size}")
        return bytes_

    return convert


def _whole(type_name: str) -> Converter:
    bound = _BOUNDS[type_name]

    def convert(value: Any) -> int:
        try:
            number = int(value) if isinstance(value, str) else value
        except ValueError:
            raise ValueError(f"{_shown(value)} is not of type {type_name}") from None
        if isinstance(number, float) and number.is_integer():
            number = int(number)
        if not isinstance(number, int) or isinstance(number, bool):
            raise TypeError(f"{_shown(value)} is not of type {type_name}")
        if not -bound <= number < bound:
            raise ValueError(f"{number} is out of the range of {type_name}")
        return number

    return convert


def _real(value: Any) -> float:
    if isinstance(value, bool) or value is None:
        raise TypeError(f"{_shown(value)} is not a number")
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"{_shown(value)} is not a number") from None


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise TypeError(f"{_shown(value)} is not a boolean")


def _boolean_text(cell: str) -> bool:
    lower = cell.strip().lower()
    if lower in _TRUE or lower in _FALSE:
        return lower in _TRUE
    raise ValueError(f"{_shown(cell)} is not a boolean")


def _string(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise TypeError(f"{_shown(value)} is not a string")


def _to_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        # Avro's JSON encoding: code points 0 to 255 are the bytes.
        return value.encode("latin-1")
    raise TypeError(f"{_shown(value)} is not bytes")


def _null(value: Any) -> None:
    if value not in (None, ""):
        raise ValueError(f"{_shown(value)} is not null")


def _date(value: Any) -> Any:
    if isinstance(value, str):
        return int(value) if value.lstrip("-").isdigit() else date.fromisoformat(value)
    return _instance(value, (date, int), "date")


def _time(value: Any) -> Any:
    if isinstance(value, str):
        return int(value) if value.isdigit() else time.fromisoformat(value)
    return _instance(value, (time, int), "time")


def _timestamp(value: Any) -> Any:
    if isinstance(value, str):
        if value.lstrip("-").isdigit():
            return int(value)
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        # A time without a zone is UTC. The machine's zone would make the result depend on where this runs.
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return _instance(value, (int,), "timestamp")


def _local_timestamp(value: Any) -> Any:
    if isinstance(value, str):
        return int(value) if value.lstrip("-").isdigit() else datetime.fromisoformat(value)
    return _instance(value, (datetime, int), "timestamp")


def _decimal(value: Any) -> Decimal:
    if isinstance(value, Decimal):
        return value
    if (
        isinstance(value, bool)
        or not isinstance(value, str | int | float)
        or (isinstance(value, float) and not math.isfinite(value))
    ):
        raise TypeError(f"{_shown(value)} is not a decimal")
    try:
        return Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{_shown(value)} is not a decimal") from None


def _uuid(value: Any) -> UUID:
    try:
        return value if isinstance(value, UUID) else UUID(value)
    except (ValueError, AttributeError):
        raise ValueError(f"{_shown(value)} is not a UUID") from None


def _instance(value: Any, types: tuple[type, ...], name: str) -> Any:
    if isinstance(value, types) and not isinstance(value, bool):
        return value
    raise TypeError(f"{_shown(value)} is not a {name}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "…"


_LOGICAL: dict[str, Converter] = {
    "date": _date,
    "time-millis": _time,
    "time-micros": _time,
    "timestamp-millis": _timestamp,
    "timestamp-micros": _timestamp,
    "timestamp-nanos": _timestamp,
    "local-timestamp-millis": _local_timestamp,
    "local-timestamp-micros": _local_timestamp,
    "decimal": _decimal,
    "uuid": _uuid,
}
_FROM_TYPED: dict[str, Converter] = {
    "null": _null,
    "boolean": _boolean,
    "int": _whole("int"),
    "long": _whole("long"),
    "float": _real,
    "double": _real,
    "string": _string,
    "bytes": _to_bytes,
}
_FROM_TEXT: dict[str, Converter] = {**_FROM_TYPED, "boolean": _boolean_text}
