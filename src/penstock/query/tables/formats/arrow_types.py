"""Hive's types as Arrow's, for rows that Python makes."""

import pyarrow as pa

from penstock.types.model import LakeType, Struct

__all__ = ["arrow_type"]

_SIMPLE = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "varchar": pa.string(),
    "char": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "void": pa.null(),
}


def arrow_type(kind: LakeType) -> pa.DataType:
    """Return the Arrow type whose values are those of ``kind``."""
    if kind.name == "array":
        return pa.list_(arrow_type(kind.inner[0]))
    if kind.name == "map":
        return pa.map_(arrow_type(kind.inner[0]), arrow_type(kind.inner[1]))
    if isinstance(kind, Struct):
        return pa.struct([(field.name, arrow_type(field.type)) for field in kind.fields])
    if kind.name == "decimal":
        return pa.decimal128(*kind.numbers)
    return _SIMPLE[kind.name]
