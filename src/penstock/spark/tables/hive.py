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
from penstock.types import hive
from penstock.types.model import LakeType, Struct

__all__ = ["hive_type", "spark_columns", "spark_type"]

_PRIMITIVES: Mapping[str, DataType] = {
    "boolean": BooleanType(),
    "tinyint": ByteType(),
    "smallint": ShortType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "string": StringType(),
    "varchar": StringType(),
    "char": StringType(),
    "binary": BinaryType(),
    "date": DateType(),
    "timestamp": TimestampType(),
    "timestamptz": TimestampType(),
    "timestamp_ntz": TimestampNTZType(),
    "void": NullType(),
}
_QUOTED = re.compile(r"[:,<>`]")


def hive_type(kind: DataType) -> str:
    """Return the catalog's type of a column. A timestamp without a zone is Hive's ``timestamp``, too."""
    match kind:
        case StructType():
            return f"struct<{','.join(f'{_name(field.name)}:{hive_type(field.dataType)}' for field in kind.fields)}>"
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
    try:
        return _spark_type(hive.parse(text))
    except hive.TypeUnreadable as error:
        raise DataProblem(
            f"'{text[:200]}' is not a type of the catalog that Spark has: {error.message}", remedy=error.remedy
        ) from None


def _spark_type(kind: LakeType) -> DataType:
    inner = [_spark_type(each) for each in kind.inner]
    if isinstance(kind, Struct):
        return StructType([StructField(field.name, each) for field, each in zip(kind.fields, inner, strict=True)])
    match kind.name:
        case "array":
            return ArrayType(inner[0])
        case "map":
            return MapType(inner[0], inner[1])
        case "decimal":
            return DecimalType(*kind.numbers)
        case name:
            return _PRIMITIVES[name]


def _name(name: str) -> str:
    """Return a field's name, quoted where it has a mark of the grammar."""
    return f"`{name.replace('`', '``')}`" if _QUOTED.search(name) else name
