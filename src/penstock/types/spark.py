"""Texts of Spark's types: in its SQL, and in JSON, as Delta's log has them.

Sources: Spark SQL reference, "Data Types"; Delta transaction log protocol, "Schema Serialization Format". Spark's own
objects are the lake's types in :mod:`penstock.spark.types`.
"""

import re
from collections.abc import Mapping
from typing import Any

from penstock.types.hive import TypeUnreadable, parse
from penstock.types.model import Array, Field, LakeType, Map, Scalar, Struct, TypeMissing, fold

__all__ = ["ddl", "of_json"]

_NAMES: Mapping[str, str] = {
    "string": "string",
    "long": "bigint",
    "integer": "int",
    "short": "smallint",
    "byte": "tinyint",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
}
_WORDS: Mapping[str, str] = {"timestamptz": "timestamp", "uuid": "string"}
"""What Spark SQL has under another name than the lake."""

_DECIMAL = re.compile(r"decimal\(\d+,-?\d+\)")


def ddl(kind: LakeType) -> str:
    """Return the type as Spark SQL writes it, with all names of fields quoted; every field can be null."""
    return fold(kind, scalar=_word, array="ARRAY<{}>".format, mapping="MAP<{}, {}>".format, struct=_struct)


def _word(kind: Scalar) -> str:
    numbers = f"({','.join(map(str, kind.numbers))})" if kind.numbers and not kind.name.startswith("timestamp") else ""
    return f"{_WORDS.get(kind.name, kind.name)}{numbers}".upper()


def _struct(kind: Struct, types: tuple[str, ...]) -> str:
    names = (field.name.replace("`", "``") for field in kind)
    return f"STRUCT<{', '.join(f'`{name}`: {text}' for name, text in zip(names, types, strict=True))}>"


def of_json(kind: Any) -> LakeType:
    """Return the type of a value of JSON: a name, or an object with ``type``. Raises :class:`TypeMissing`."""
    if isinstance(kind, str) and kind in _NAMES:
        return Scalar(_NAMES[kind])
    if isinstance(kind, str) and _DECIMAL.fullmatch(kind):
        try:
            return parse(kind)
        except TypeUnreadable as error:
            raise TypeMissing(error.message) from None
    match kind:
        case {"type": "array"}:
            return Array(of_json(kind["elementType"]))
        case {"type": "map"}:
            return Map(of_json(kind["keyType"]), of_json(kind["valueType"]))
        case {"type": "struct"}:
            fields = (Field(field["name"], of_json(field["type"]), field.get("nullable", True)) for field in kind["fields"])
            return Struct(tuple(fields))
    raise TypeMissing(f"The lake has no type for Spark's {str(kind)[:100]}.")
