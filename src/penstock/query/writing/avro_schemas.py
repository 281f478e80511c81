"""Avro's schema of Hive columns, each of which may be null, and values as fastavro writes them."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import fastavro

from penstock.sql.errors import StatementError
from penstock.types.avro import record
from penstock.types.model import LakeType, Struct, TypeMissing

__all__ = ["avro_schema", "avro_value"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def avro_schema(columns: Sequence[tuple[str, LakeType]]) -> Any:
    """Return the parsed schema. Raises :class:`StatementError` for a column that Avro cannot have."""
    for column, type_ in columns:
        for name in (column, *_names(type_)):
            if not _NAME.fullmatch(name):
                raise StatementError("NOT_SUPPORTED", f"'{name}' is not a name that Avro has.", remedy="Rename the column.")
    try:
        return fastavro.parse_schema(record("row", columns))
    except TypeMissing as error:
        raise StatementError("NOT_SUPPORTED", error.message, remedy=error.remedy) from None


def _names(type_: LakeType) -> Iterator[str]:
    if isinstance(type_, Struct):
        yield from (field.name for field in type_)
    for inner in type_.inner:
        yield from _names(inner)


def avro_value(type_: LakeType) -> Callable[[Any], Any]:
    """Return the function from a value of Arrow to what fastavro takes."""
    from datetime import UTC  # noqa: PLC0415

    if type_.name == "map":
        inner = avro_value(type_.inner[1])
        return lambda value: None if value is None else {key: inner(entry) for key, entry in value}
    if type_.name == "array":
        item = avro_value(type_.inner[0])
        return lambda value: None if value is None else [item(entry) for entry in value]
    if isinstance(type_, Struct):
        fields = [(field.name, avro_value(field.type)) for field in type_.fields]
        return lambda value: None if value is None else {name: inner(value[name]) for name, inner in fields}
    if type_.name == "timestamp":
        return lambda value: None if value is None else value.replace(tzinfo=UTC)
    return lambda value: value
