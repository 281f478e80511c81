"""Spark's schemas as JSON, as Delta's log and Spark's own parameters of tables have them.

Source: Delta transaction log protocol, "Schema Serialization Format".
"""

import re
from collections.abc import Mapping
from typing import Any

from penstock.types.hive import TypeUnreadable, parse
from penstock.types.model import Array, Field, LakeType, Map, Scalar, Struct, TypeMissing

__all__ = ["of_json"]

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
_DECIMAL = re.compile(r"decimal\(\d+,-?\d+\)")


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
