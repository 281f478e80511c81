"""Columns of one type as columns of a type that has it as a part: for unions of frames whose schemas differ."""

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from penstock.glue.schemas import gluetypes as g
from penstock.glue.schemas.choices import choice_column, glue_type, is_sparse, member, null_of, spark_type

__all__ = ["aligned", "extended", "union_of"]


def union_of(one: DataFrame, other: DataFrame) -> DataFrame:
    """Return the rows of both frames: fields that a frame lacks are null, those whose types differ are choices."""
    merged = _merged(one, glue_type(other.schema))
    return _as(_with_nulls_of(one, other), merged).union(_as(other, merged))


def extended(frame: DataFrame, schema: g.DataType) -> DataFrame:
    """Return the frame with the fields of the struct ``schema``, too, as :func:`union_of` makes them."""
    return _as(frame, _merged(frame, schema))


def _merged(frame: DataFrame, other: g.DataType) -> g.StructType:
    merged = g.mergeDataTypes(glue_type(frame.schema), other)
    assert isinstance(merged, g.StructType)
    return merged


def _with_nulls_of(one: DataFrame, other: DataFrame) -> DataFrame:
    """Return ``one`` without the marks of sparse fields that ``other`` may have as null: a union has those of the first."""
    null = {field.name for field in other.schema.fields if not is_sparse(field)}
    marked = {field.name: null_of(field) for field in one.schema.fields if is_sparse(field) and field.name in null}
    return one.withColumns(marked) if marked else one


def _as(frame: DataFrame, data_type: g.StructType) -> DataFrame:
    own = glue_type(frame.schema)
    assert isinstance(own, g.StructType)
    return frame.select(*_fields(lambda name: F.col(f"`{name}`"), own, data_type))


def _fields(column: Callable[[str], Column], own: g.StructType, data_type: g.StructType) -> list[Column]:
    return [
        (
            aligned(column(field.name), own.getField(field).dataType, field.dataType)
            if own.hasField(field)
            else _null(field.dataType)
        ).alias(field.name)
        for field in data_type
    ]


def aligned(column: Column, own: g.DataType, data_type: g.DataType) -> Column:
    """Return ``column``, whose type is ``own``, as ``data_type``, which is ``own`` merged with another."""
    if own == data_type:
        return column
    if isinstance(own, g.NullType | g.UnknownType):
        return _null(data_type)
    part = _PARTS.get(type(data_type))
    return column.cast(spark_type(data_type)) if part is None else part(column, own, data_type)


def _choice(column: Column, own: g.DataType, data_type: Any) -> Column:
    chosen = isinstance(own, g.ChoiceType)
    members = own.choices if isinstance(own, g.ChoiceType) else {own.typeName(): own}
    return choice_column(
        {
            name: aligned(member(column, name) if chosen else column, members[name], choice)
            if name in members
            else _null(choice)
            for name, choice in data_type.choices.items()
        }
    )


def _struct(column: Column, own: Any, data_type: Any) -> Column:
    return F.when(column.isNotNull(), F.struct(*_fields(lambda name: column[name], own, data_type)))


def _array(column: Column, own: Any, data_type: Any) -> Column:
    return F.transform(column, lambda item: aligned(item, own.elementType, data_type.elementType))


def _map(column: Column, own: Any, data_type: Any) -> Column:
    return F.transform_values(column, lambda _, entry: aligned(entry, own.valueType, data_type.valueType))


_PARTS: Mapping[type[g.DataType], Callable[[Column, Any, Any], Column]] = {
    g.ChoiceType: _choice,
    g.StructType: _struct,
    g.ArrayType: _array,
    g.MapType: _map,
}


def _null(data_type: g.DataType) -> Column:
    return F.lit(None).cast(spark_type(data_type))
