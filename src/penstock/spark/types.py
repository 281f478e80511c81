"""The lake's types as Spark's, and back; and Spark's own text for a type."""

from collections.abc import Callable, Mapping
from typing import cast

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    CharType,
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
    TimeType,
    VarcharType,
    VariantType,
)

from penstock.errors import DataProblem
from penstock.types import spark
from penstock.types.hive import TypeUnreadable, parse, render, stored
from penstock.types.model import Array, Field, LakeType, Map, Scalar, Struct, TypeMissing, scalar_of

__all__ = ["ddl", "hive_type", "lake_type", "spark_columns", "spark_type"]

_SCALARS: Mapping[str, DataType] = {
    "boolean": BooleanType(),
    "tinyint": ByteType(),
    "smallint": ShortType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "string": StringType(),
    "binary": BinaryType(),
    "date": DateType(),
    "time": TimeType(),
    "timestamp": TimestampType(),
    "timestamp_ntz": TimestampNTZType(),
    "void": NullType(),
    "variant": VariantType(),
    # Only columns of tables have lengths of texts in Spark.
    "varchar": StringType(),
    "char": StringType(),
    "uuid": StringType(),
    "timestamptz": TimestampType(),
}
_NAMES = {type(data_type): name for name, data_type in reversed(list(_SCALARS.items()))}


def lake_type(data_type: DataType) -> LakeType:
    """Return the lake's type. Raises :class:`TypeMissing` if it has none of these values, such as intervals."""
    return _lake_type(data_type, _missing)


def hive_type(data_type: DataType) -> str:
    """Return the catalog's text for a column.

    A timestamp without a zone is ``timestamp`` there, too. What the lake has no type for has Spark's own name.
    """
    return stored(_lake_type(data_type, _spark_name))


def spark_columns(columns: Mapping[str, str]) -> StructType:
    """Return Spark's columns of a table whose columns are given with the catalog's types. Raises as :func:`spark_type`."""
    return StructType([StructField(name, spark_type(data_type)) for name, data_type in columns.items()])


def spark_type(data_type: LakeType | str) -> DataType:
    """Return Spark's type for one of the lake, or for the catalog's text of one.

    Raises :class:`DataProblem` for a text that is not a type, and for a type that Spark lacks.
    """
    try:
        return _spark_type(parse(data_type) if isinstance(data_type, str) else data_type)
    except (TypeUnreadable, TypeMissing) as error:
        text = data_type if isinstance(data_type, str) else render(data_type)
        raise DataProblem(
            f"'{text[:200]}' is not a type of the catalog that Spark has: {error.message}", remedy=error.remedy
        ) from None


def ddl(data_type: DataType) -> str:
    """Return the type as Spark SQL writes it, with all names of fields quoted; every field can be null."""
    return spark.ddl(_lake_type(data_type, _spark_name))


def _spark_type(data_type: LakeType) -> DataType:
    match data_type:
        case Array():
            return ArrayType(_spark_type(data_type.element))
        case Map():
            return MapType(_spark_type(data_type.key), _spark_type(data_type.value))
        case Struct():
            return StructType([StructField(field.name, _spark_type(field.type), field.nullable) for field in data_type])
        case Scalar(name="decimal"):
            return DecimalType(*data_type.numbers)
        case _:
            return cast("DataType", scalar_of(_SCALARS, data_type, "Spark"))


def _lake_type(data_type: DataType, missing: Callable[[DataType], Scalar]) -> LakeType:
    def inner(part: DataType) -> LakeType:
        return _lake_type(part, missing)

    match data_type:
        case StructType():
            return Struct(tuple(Field(field.name, inner(field.dataType), field.nullable) for field in data_type.fields))
        case ArrayType():
            return Array(inner(data_type.elementType))
        case MapType():
            return Map(inner(data_type.keyType), inner(data_type.valueType))
        case DecimalType():
            return Scalar("decimal", (data_type.precision, data_type.scale))
        case VarcharType() | CharType():
            return Scalar("varchar" if isinstance(data_type, VarcharType) else "char", (data_type.length,))
    name = _NAMES.get(type(data_type))
    return missing(data_type) if name is None else Scalar(name)


def _spark_name(data_type: DataType) -> Scalar:
    return Scalar(data_type.simpleString())


def _missing(data_type: DataType) -> Scalar:
    raise TypeMissing(
        f"The lake has no type for Spark's {data_type.simpleString()}.", remedy="Cast the column, to string for example."
    )
