"""Avro's schema of Hive columns, each of which may be null, and values as fastavro writes them."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import fastavro

from penstock.sql.errors import StatementError
from penstock.types.model import LakeType, Struct

__all__ = ["avro_schema", "avro_value"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIMPLE: dict[str, Any] = {
    "boolean": "boolean",
    "tinyint": "int",
    "smallint": "int",
    "int": "int",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "varchar": "string",
    "char": "string",
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "timestamptz": {"type": "long", "logicalType": "timestamp-micros"},
    "void": "null",
}


def avro_schema(columns: Sequence[tuple[str, LakeType]]) -> Any:
    """Return the parsed schema. Raises :class:`StatementError` for a column that Avro cannot have."""
    return fastavro.parse_schema(_record("row", columns))


def _record(name: str, columns: Sequence[tuple[str, LakeType]]) -> Any:
    fields = []
    for column, type_ in columns:
        if not _NAME.fullmatch(column):
            raise StatementError("NOT_SUPPORTED", f"'{column}' is not a name that Avro has.", remedy="Rename the column.")
        fields.append({"name": column, "type": _nullable(_type(f"{name}_{column}", type_)), "default": None})
    return {"type": "record", "name": name, "fields": fields}


def _nullable(type_: Any) -> Any:
    return type_ if type_ == "null" else ["null", type_]


def _type(name: str, type_: LakeType) -> Any:
    if type_.name == "array":
        return {"type": "array", "items": _nullable(_type(f"{name}_item", type_.inner[0]))}
    if type_.name == "map":
        if type_.inner[0].name not in {"string", "varchar", "char"}:
            raise StatementError("NOT_SUPPORTED", "Avro's maps have texts as keys.", remedy="CAST the keys to varchar.")
        return {"type": "map", "values": _nullable(_type(f"{name}_value", type_.inner[1]))}
    if isinstance(type_, Struct):
        return _record(name, [(field.name, field.type) for field in type_.fields])
    if type_.name == "decimal":
        return {"type": "bytes", "logicalType": "decimal", "precision": type_.numbers[0], "scale": type_.numbers[1]}
    return _SIMPLE[type_.name]


def avro_value(type_: LakeType) -> Callable[[Any], Any]:
    """Return the function from a value of Arrow to what fastavro takes."""
    from datetime import UTC  # noqa: PLC0415

    if type_.name == "map":
        inner = avro_value(type_.inner[1])
        return lambda value: None if value is None else {key: inner(each) for key, each in value}
    if type_.name == "array":
        item = avro_value(type_.inner[0])
        return lambda value: None if value is None else [item(each) for each in value]
    if isinstance(type_, Struct):
        fields = [(field.name, avro_value(field.type)) for field in type_.fields]
        return lambda value: None if value is None else {name: inner(value[name]) for name, inner in fields}
    if type_.name == "timestamp":
        return lambda value: None if value is None else value.replace(tzinfo=UTC)
    return lambda value: value
