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


def ddl(type_: LakeType) -> str:
    """Return the type as Spark SQL writes it, with all names of fields quoted; every field can be null."""
    return fold(type_, scalar=_word, array="ARRAY<{}>".format, mapping="MAP<{}, {}>".format, struct=_struct)


def _word(type_: Scalar) -> str:
    numbers = f"({','.join(map(str, type_.numbers))})" if type_.numbers and not type_.name.startswith("timestamp") else ""
    return f"{_WORDS.get(type_.name, type_.name)}{numbers}".upper()


def _struct(type_: Struct, types: tuple[str, ...]) -> str:
    names = (field.name.replace("`", "``") for field in type_)
    return f"STRUCT<{', '.join(f'`{name}`: {text}' for name, text in zip(names, types, strict=True))}>"


def of_json(type_: Any) -> LakeType:
    """Return the type of a value of JSON: a name, or an object with ``type``. Raises :class:`TypeMissing`."""
    if isinstance(type_, str) and type_ in _NAMES:
        return Scalar(_NAMES[type_])
    if isinstance(type_, str) and _DECIMAL.fullmatch(type_):
        try:
            return parse(type_)
        except TypeUnreadable as error:
            raise TypeMissing(error.message) from None
    match type_:
        case {"type": "array"}:
            return Array(of_json(type_["elementType"]))
        case {"type": "map"}:
            return Map(of_json(type_["keyType"]), of_json(type_["valueType"]))
        case {"type": "struct"}:
            fields = (Field(field["name"], of_json(field["type"]), field.get("nullable", True)) for field in type_["fields"])
            return Struct(tuple(fields))
    raise TypeMissing(f"The lake has no type for Spark's {str(type_)[:100]}.")
