"""Choices in Spark's frames: a choice is a struct with a member for each type, at most one of which is not null.

The members' metadata have a mark, which Spark carries with the type through every operation. So a frame with choices is
an ordinary DataFrame until :func:`without_marks`, which leaves AWS's structs: ADR 40
(docs/adr/0040-choices-are-marked-structs.md).
"""

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as s

from penstock.glue.schemas import gluetypes as g
from penstock.spark import types as spark
from penstock.spark.quoting import quoted
from penstock.spark.types import lake_type
from penstock.types.hive import TypeUnreadable, parse
from penstock.types.model import Scalar, TypeMissing

__all__ = [
    "SPARSE",
    "WIDE",
    "choice_column",
    "choice_type",
    "glue_type",
    "has_choice",
    "is_choice",
    "is_sparse",
    "leaf_name",
    "member",
    "null_of",
    "plain",
    "spark_type",
    "text_choice",
    "without_marks",
]

_MARK = "penstock.glue.choice"

WIDE: Mapping[str, Any] = {"penstock.glue.wide": True}
"""Metadata of a column whose integers are longs, whatever their size: a script may call it int, too."""

SPARSE: Mapping[str, Any] = {"penstock.glue.sparse": True}
"""Metadata of a column that is null where, and only where, the record lacks the field."""

_LEAVES: Mapping[str, type[g.DataType]] = {
    "binary": g.BinaryType,
    "boolean": g.BooleanType,
    "tinyint": g.ByteType,
    "date": g.DateType,
    "double": g.DoubleType,
    "float": g.FloatType,
    "int": g.IntegerType,
    "bigint": g.LongType,
    "void": g.NullType,
    "smallint": g.ShortType,
    "string": g.StringType,
    "timestamp": g.TimestampType,
    "decimal": g.DecimalType,
    "char": g.StringType,
    "varchar": g.StringType,
    "timestamp_ntz": g.TimestampType,
    "timestamptz": g.TimestampType,
}
"""Glue's types by the names of the lake's."""
_NAMES: Mapping[type[g.DataType], str] = {
    **{glue: name for name, glue in reversed(list(_LEAVES.items()))},
    g.EnumType: "string",
    g.UnknownType: "void",
}


def is_choice(data_type: s.DataType) -> bool:
    """Return whether the type is that of a choice."""
    return (
        isinstance(data_type, s.StructType)
        and bool(data_type.fields)
        and all(_MARK in field.metadata for field in data_type.fields)
    )


def choice_type(members: Mapping[str, s.DataType]) -> s.StructType:
    """Return the type of a choice of ``members``, which are in the order of their names."""
    return s.StructType([s.StructField(name, members[name], True, {_MARK: True}) for name in sorted(members)])


def choice_column(members: Mapping[str, Column]) -> Column:
    """Return the choice whose members are these columns; it is null if all of them are."""
    columns = [members[name].alias(name, metadata={_MARK: True}) for name in sorted(members)]
    return F.when(reduce(or_, (column.isNotNull() for column in members.values())), F.struct(*columns))


def text_choice(text: Column, data_type: s.DataType) -> Column:
    """Return text as a choice of ``data_type``, where a value has it, and string; an empty text is null.

    On AWS, too, a column of CSV that the catalog declares to be a number is a choice if some of its values are not.
    """
    value = F.nullif(F.trim(text), F.lit(""))
    typed = value.try_cast(data_type)
    return choice_column(
        {glue_type(data_type).typeName(): typed, "string": F.when(typed.isNull() & value.isNotNull(), text)}
    )


def member(column: Column, name: str) -> Column:
    """Return the values of one type of the choice ``column``, without the mark, which a field of a struct would keep."""
    return F.coalesce(column[name])


def has_choice(data_type: s.DataType) -> bool:
    """Return whether the type is a choice or has one in it."""
    if isinstance(data_type, s.StructType):
        return is_choice(data_type) or any(has_choice(field.dataType) for field in data_type.fields)
    if isinstance(data_type, s.ArrayType):
        return has_choice(data_type.elementType)
    return isinstance(data_type, s.MapType) and has_choice(data_type.valueType)


def plain(data_type: s.DataType) -> s.DataType:
    """Return the type with structs in the place of choices."""
    if isinstance(data_type, s.StructType):
        fields = [
            s.StructField(struct_field.name, plain(struct_field.dataType), struct_field.nullable, {**struct_field.metadata})
            for struct_field in data_type.fields
        ]
        for field in fields:
            field.metadata.pop(_MARK, None)
        return s.StructType(fields)
    if isinstance(data_type, s.ArrayType):
        return s.ArrayType(plain(data_type.elementType), data_type.containsNull)
    if isinstance(data_type, s.MapType):
        return s.MapType(data_type.keyType, plain(data_type.valueType), data_type.valueContainsNull)
    return data_type


def without_marks(frame: DataFrame) -> DataFrame:
    """Return the frame with structs in the place of choices, as AWS's ``toDF`` gives them; a null is a null there."""
    if not any(has_choice(field.dataType) or is_sparse(field) for field in frame.schema.fields):
        return frame
    return frame.select(*map(_without_marks, frame.schema.fields))


def _without_marks(field: s.StructField) -> Column:
    column = F.col(quoted(field.name))
    if has_choice(field.dataType):
        return column.cast(plain(field.dataType)).alias(field.name)
    return null_of(field) if is_sparse(field) else column


def null_of(field: s.StructField) -> Column:
    """Return the column of a sparse field, in which a null is a null: no record lacks it."""
    rest = {name: value for name, value in field.metadata.items() if name not in SPARSE}
    return F.coalesce(F.col(quoted(field.name))).alias(field.name, metadata=rest)


def is_sparse(field: s.StructField) -> bool:
    """Return whether the column is null where records lack the field."""
    return SPARSE.items() <= field.metadata.items()


def glue_type(data_type: s.DataType) -> g.DataType:
    """Return Glue's type of a type of Spark."""
    match data_type:
        case s.StructType() if is_choice(data_type):
            return g.ChoiceType([glue_type(field.dataType) for field in data_type.fields])
        case s.StructType():
            return g.StructType([g.Field(field.name, glue_type(field.dataType)) for field in data_type.fields])
        case s.ArrayType():
            return g.ArrayType(glue_type(data_type.elementType))
        case s.MapType():
            return g.MapType(glue_type(data_type.valueType))
        case s.DecimalType():
            return g.DecimalType(data_type.precision, data_type.scale)
        case _:
            return _leaf(data_type)


def _leaf(data_type: s.DataType) -> g.DataType:
    try:
        return _LEAVES.get(lake_type(data_type).name, g.UnknownType)()
    except TypeMissing:
        return g.UnknownType()


def spark_type(data_type: g.DataType) -> s.DataType:
    """Return Spark's type of a type of Glue, with marked structs for choices."""
    if isinstance(data_type, g.StructType):
        return s.StructType([s.StructField(field.name, spark_type(field.dataType)) for field in data_type])
    if isinstance(data_type, g.ChoiceType):
        return choice_type({name: spark_type(choice) for name, choice in data_type.choices.items()})
    if isinstance(data_type, g.ArrayType):
        return s.ArrayType(spark_type(data_type.elementType))
    if isinstance(data_type, g.MapType):
        return s.MapType(s.StringType(), spark_type(data_type.valueType))
    if isinstance(data_type, g.DecimalType):
        return s.DecimalType(data_type.precision, data_type.scale)
    return spark.spark_type(Scalar(_NAMES[type(data_type)]))


def leaf_name(text: str) -> str | None:
    """Return what Glue calls the type of the catalog that ``text`` names, such as ``long``.

    None for other leaves: only Spark has ``timestamp_ntz``.
    """
    try:
        name = parse(text).name
    except TypeUnreadable:
        return None
    return _LEAVES[name].typeName() if name in _LEAVES and name != "timestamp_ntz" else None
