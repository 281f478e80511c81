"""DynamoDB's JSON as plain columns: ``{"N": "1"}`` is 1's text, ``{"M": {...}}`` a struct, ``{"L": [...]}`` an array.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.LowLevelAPI.html. As in DynamoDB's
exports, numbers are text.
"""

from collections.abc import Callable, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as s

from penstock.glue.schemas.choices import choice_column, glue_type

__all__ = ["plain_items", "simplified", "unnested_items"]


_CODES = {"S", "N", "B", "BOOL", "SS", "NS", "BS", "NULL", "M", "L"}


def unnested_items(frame: DataFrame) -> DataFrame:
    """Return the fields of the column ``Item``, with the values of attributes in the place of their codes.

    Structs in arrays stay as they are.
    """
    return _frame(frame, deep=False)


def simplified(frame: DataFrame) -> DataFrame:
    """Return the fields of the column ``Item``, with plain values at every depth."""
    return _frame(frame, deep=True)


def plain_items(frame: DataFrame) -> DataFrame:
    """Return what :func:`simplified` does, with binary values decoded; numbers are what they are in ``frame``."""
    return _frame(frame, deep=True, binary=True)


def _frame(frame: DataFrame, *, deep: bool, binary: bool = False) -> DataFrame:
    columns = []
    for field in frame.schema.fields:
        column = F.col(f"`{field.name}`")
        if field.name == "Item" and isinstance(field.dataType, s.StructType):
            columns += [
                _value(column[struct_field.name], struct_field.dataType, deep=deep, binary=binary).alias(struct_field.name)
                for struct_field in field.dataType.fields
            ]
        else:
            columns.append(_value(column, field.dataType, deep=deep, binary=binary).alias(field.name))
    return frame.select(*columns)


def _value(column: Column, data_type: s.DataType, *, deep: bool, binary: bool = False) -> Column:
    if isinstance(data_type, s.ArrayType) and deep:
        element = data_type.elementType
        return F.transform(column, lambda item: _value(item, element, deep=deep, binary=binary))
    if not isinstance(data_type, s.StructType) or not data_type.fields:
        return column
    if not {field.name for field in data_type.fields} <= _CODES:
        fields = [
            _value(column[field.name], field.dataType, deep=deep, binary=binary).alias(field.name)
            for field in data_type.fields
        ]
        return F.when(column.isNotNull(), F.struct(*fields))
    values = {
        field.name: _value(column[field.name], field.dataType, deep=deep, binary=binary)
        for field in data_type.fields
        if field.name != "NULL"
    }
    if binary:
        values |= {code: decode(values[code]) for code, decode in _DECODED.items() if code in values}
    if not values:
        return F.lit(None)
    return next(iter(values.values())) if len(values) == 1 else _one_of(values, data_type, binary=binary)


def _one_of(values: dict[str, Column], data_type: s.StructType, *, binary: bool) -> Column:
    """Return the value of an attribute that has several codes in different items: a choice if their types differ."""
    members: dict[str, list[Column]] = {}
    for code, column in values.items():
        name = "binary" if binary and code == "B" else glue_type(data_type[code].dataType).typeName()
        members.setdefault(name, []).append(column)
    columns = {
        name: candidates[0] if len(candidates) == 1 else F.coalesce(*candidates) for name, candidates in members.items()
    }
    return next(iter(columns.values())) if len(columns) == 1 else choice_column(columns)


_DECODED: Mapping[str, Callable[[Column], Column]] = {
    "B": F.unbase64,
    "BS": lambda column: F.transform(column, F.unbase64),
}
