"""Hive's types, as the catalog writes them, and Spark's.

Grammar: Apache Hive language manual, "Types" (https://cwiki.apache.org/confluence/display/hive/languagemanual+types).
"""

import re
from collections.abc import Mapping

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from penstock.errors import DataProblem

__all__ = ["hive_type", "spark_columns", "spark_type"]

_PRIMITIVES: Mapping[str, DataType] = {
    "boolean": BooleanType(),
    "tinyint": ByteType(),
    "smallint": ShortType(),
    "int": IntegerType(),
    "integer": IntegerType(),
    "bigint": LongType(),
    "float": FloatType(),
    "real": FloatType(),
    "double": DoubleType(),
    "double precision": DoubleType(),
    "string": StringType(),
    "varchar": StringType(),
    "char": StringType(),
    "binary": BinaryType(),
    "date": DateType(),
    "timestamp": TimestampType(),
    "timestamptz": TimestampType(),
    "timestamp with local time zone": TimestampType(),
    "timestamp_ltz": TimestampType(),
    "timestamp_ntz": TimestampNTZType(),
    "void": NullType(),
}
_WORD = re.compile(r"\s*([a-z][a-z_ ]*?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*(?=[<,>]|$)", re.IGNORECASE)
_NAME = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([^:,<>`]+?))\s*:")
_MAX_DEPTH = 60


def hive_type(kind: DataType) -> str:
    """Return the catalog's type of a column. A timestamp without a zone is Hive's ``timestamp``, too."""
    match kind:
        case StructType():
            return f"struct<{','.join(f'{field.name}:{hive_type(field.dataType)}' for field in kind.fields)}>"
        case ArrayType():
            return f"array<{hive_type(kind.elementType)}>"
        case MapType():
            return f"map<{hive_type(kind.keyType)},{hive_type(kind.valueType)}>"
        case TimestampNTZType():
            return "timestamp"
        case _:
            return kind.simpleString()


def spark_columns(columns: Mapping[str, str]) -> StructType:
    """Return Spark's columns of a table whose columns are given with Hive's types. Raises as :func:`spark_type` does."""
    return StructType([StructField(name, spark_type(kind)) for name, kind in columns.items()])


def spark_type(text: str) -> DataType:
    """Return Spark's type for a type of the catalog. Raises :class:`DataProblem` if it is not one of Hive's."""
    kind, end = _read(text, 0, 0)
    if text[end:].strip():
        raise _wrong(text, end)
    return kind


def _read(text: str, at: int, depth: int) -> tuple[DataType, int]:
    found = _WORD.match(text, at)
    if found is None or depth > _MAX_DEPTH:
        raise _wrong(text, at)
    word, end = found[1].lower(), found.end()
    if text[end : end + 1] == "<":
        return _read_nested(word, text, end + 1, depth + 1)
    if word in ("decimal", "numeric", "dec"):
        return DecimalType(int(found[2] or 10), int(found[3] or 0)), end
    if word not in _PRIMITIVES:
        raise _wrong(text, at)
    return _PRIMITIVES[word], end


def _read_nested(word: str, text: str, at: int, depth: int) -> tuple[DataType, int]:
    if word == "array":
        element, at = _read(text, at, depth)
        return ArrayType(element), _expect(text, at, ">")
    if word == "map":
        key, at = _read(text, at, depth)
        value, at = _read(text, _expect(text, at, ","), depth)
        return MapType(key, value), _expect(text, at, ">")
    if word != "struct":
        raise _wrong(text, at)
    fields: list[StructField] = []
    while True:
        name = _NAME.match(text, at)
        if name is None:
            raise _wrong(text, at)
        kind, at = _read(text, name.end(), depth)
        fields.append(StructField(name[1].replace("``", "`") if name[1] is not None else name[2], kind))
        if not text.startswith(",", _skip(text, at)):
            return StructType(fields), _expect(text, at, ">")
        at = _expect(text, at, ",")


def _expect(text: str, at: int, mark: str) -> int:
    at = _skip(text, at)
    if not text.startswith(mark, at):
        raise _wrong(text, at)
    return at + 1


def _skip(text: str, at: int) -> int:
    while text.startswith(" ", at):
        at += 1
    return at


def _wrong(text: str, at: int) -> DataProblem:
    return DataProblem(
        f"'{text[:200]}' is not a type of the catalog that Spark has (at character {at + 1}).",
        remedy="Correct the column's type in the catalog.",
    )
