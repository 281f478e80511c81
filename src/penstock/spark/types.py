"""The lake's types as Spark's, and back; and Spark's own text for a type."""

from collections.abc import Callable, Mapping

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
    # Spark has lengths of texts in the columns of tables alone.
    "varchar": StringType(),
    "char": StringType(),
    "uuid": StringType(),
    "timestamptz": TimestampType(),
}
_NAMES = {type(kind): name for name, kind in reversed(list(_SCALARS.items()))}


def lake_type(kind: DataType) -> LakeType:
    """Return the lake's type. Raises :class:`TypeMissing` if it has none of these values, such as intervals."""
    return _lake_type(kind, _missing)


def hive_type(kind: DataType) -> str:
    """Return the catalog's text for a column.

    A timestamp without a zone is ``timestamp`` there, too. What the lake has no type for has Spark's own name.
    """
    return stored(_lake_type(kind, _named))


def spark_columns(columns: Mapping[str, str]) -> StructType:
    """Return Spark's columns of a table whose columns are given with the catalog's types. Raises as :func:`spark_type`."""
    return StructType([StructField(name, spark_type(kind)) for name, kind in columns.items()])


def spark_type(kind: LakeType | str) -> DataType:
    """Return Spark's type for one of the lake, or for the catalog's text of one.

    Raises :class:`DataProblem` for a text that is no type, and for a type that Spark lacks.
    """
    try:
        return _spark_type(parse(kind) if isinstance(kind, str) else kind)
    except (TypeUnreadable, TypeMissing) as error:
        text = kind if isinstance(kind, str) else render(kind)
        raise DataProblem(
            f"'{text[:200]}' is not a type of the catalog that Spark has: {error.message}", remedy=error.remedy
        ) from None


def ddl(kind: DataType) -> str:
    """Return the type as Spark SQL writes it, with all names of fields quoted; every field can be null."""
    return spark.ddl(_lake_type(kind, _named))


def _spark_type(kind: LakeType) -> DataType:
    match kind:
        case Array():
            return ArrayType(_spark_type(kind.element))
        case Map():
            return MapType(_spark_type(kind.key), _spark_type(kind.value))
        case Struct():
            return StructType([StructField(field.name, _spark_type(field.type), field.nullable) for field in kind])
        case Scalar(name="decimal"):
            return DecimalType(*kind.numbers)
        case _:
            data_type: DataType = scalar_of(_SCALARS, kind, "Spark")
            return data_type


def _lake_type(kind: DataType, missing: Callable[[DataType], Scalar]) -> LakeType:
    def inner(part: DataType) -> LakeType:
        return _lake_type(part, missing)

    match kind:
        case StructType():
            return Struct(tuple(Field(field.name, inner(field.dataType), field.nullable) for field in kind.fields))
        case ArrayType():
            return Array(inner(kind.elementType))
        case MapType():
            return Map(inner(kind.keyType), inner(kind.valueType))
        case DecimalType():
            return Scalar("decimal", (kind.precision, kind.scale))
        case VarcharType() | CharType():
            return Scalar("varchar" if isinstance(kind, VarcharType) else "char", (kind.length,))
    name = _NAMES.get(type(kind))
    return missing(kind) if name is None else Scalar(name)


def _named(kind: DataType) -> Scalar:
    return Scalar(kind.simpleString())


def _missing(kind: DataType) -> Scalar:
    raise TypeMissing(
        f"The lake has no type for Spark's {kind.simpleString()}.", remedy="Cast the column, to string for example."
    )
