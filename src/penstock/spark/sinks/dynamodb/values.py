"""Rows as items of DynamoDB, by their columns' types. The table is on the page docs/pipelines/sink-dynamodb.md.

Types: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_AttributeValue.html; limits:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from penstock.errors import DataProblem, InvalidInput
from penstock.spark.quoting import quoted
from penstock.spark.types import lake_type
from penstock.types.dynamodb import code_of
from penstock.types.model import TypeMissing

__all__ = ["Attribute", "Encoder", "encoder", "prepared"]

Attribute = Mapping[str, Any]
"""One value as DynamoDB's API has it: ``{"S": "text"}``."""

Encoder = Callable[[Any], Attribute | None]
"""A value of :func:`prepared` rows to its attribute; None for null."""

_MOMENTS = (DateType, TimestampType, TimestampNTZType, FloatType)
_PLAIN: Mapping[str, Callable[[Any], Any]] = {
    "S": lambda value: value,
    "N": str,
    "B": bytes,
    "BOOL": lambda value: value,
    "NULL": lambda _: True,
}
_SMALLEST, _TOO_LARGE = 1e-130, 1e126


def prepared(rows: DataFrame) -> DataFrame:
    """Return ``rows`` with dates, timestamps and single floats as text, at every depth; :func:`encoder` expects that.

    Python's datetimes would depend on this machine's time zone. The session's time zone has to be UTC.
    """
    columns: list[Column] = []
    for field in rows.schema.fields:
        column = F.col(quoted(field.name))
        columns.append(column.cast(_as_text(field.dataType)).alias(field.name))
    return rows.select(*columns)


def _as_text(data_type: DataType) -> DataType:
    match data_type:
        case ArrayType():
            return ArrayType(_as_text(data_type.elementType), True)
        case MapType():
            return MapType(_as_text(data_type.keyType), _as_text(data_type.valueType), True)
        case StructType():
            return StructType([StructField(field.name, _as_text(field.dataType), True) for field in data_type.fields])
    return StringType() if isinstance(data_type, _MOMENTS) else data_type


def encoder(column: str, data_type: DataType, *, sets: Collection[str] = ()) -> Encoder:
    """Return the encoder of a column, by its type before :func:`prepared`.

    Raises :class:`InvalidInput` for a type that DynamoDB has nothing for. An encoder raises :class:`DataProblem` for a
    value that it does not store, which names the column.
    """
    if column in sets:
        return _nullable(_set(column, data_type))
    return _nullable(_encoder(column, data_type))


def _nullable(encode: Callable[[Any], Attribute]) -> Encoder:
    return lambda value: None if value is None else encode(value)


def _encoder(path: str, data_type: DataType) -> Callable[[Any], Attribute]:
    match data_type:
        case ArrayType():
            return _list(_inner(f"{path}[]", data_type.elementType))
        case MapType():
            return _map(_key(path, data_type.keyType), _inner(f"{path}{{}}", data_type.valueType))
        case StructType():
            return _struct([(field.name, _inner(f"{path}.{field.name}", field.dataType)) for field in data_type.fields])
        case DoubleType() | FloatType() | DecimalType():
            return lambda value: {"N": _number(path, value)}
        case TimestampType() | TimestampNTZType():
            zone = "Z" if isinstance(data_type, TimestampType) else ""
            return lambda value: {"S": value.replace(" ", "T") + zone}
        case _:
            return _scalar(path, data_type)


def _scalar(path: str, data_type: DataType) -> Callable[[Any], Attribute]:
    try:
        code = code_of(lake_type(data_type))
    except TypeMissing:
        raise InvalidInput(
            f"Column {path} has type {data_type.simpleString()}, which DynamoDB has no attribute for.",
            remedy="Cast it in the sink's 'sql', to string for example.",
        ) from None
    encode = _PLAIN[code]
    return lambda value: {code: encode(value)}


def _inner(path: str, data_type: DataType) -> Callable[[Any], Attribute]:
    """Return the encoder of a value inside another one, where null is a value of its own."""
    encode = _encoder(path, data_type)
    return lambda value: {"NULL": True} if value is None else encode(value)


def _number(path: str, value: float | Decimal | str) -> str:
    text = str(value)
    size = abs(float(value))
    if math.isfinite(size) and (size == 0 or _SMALLEST <= size < _TOO_LARGE):
        return text
    raise DataProblem(
        f"Column {path} is {text}, which DynamoDB's numbers do not hold.",
        remedy=f"Make it null in the sink's 'sql': IF(isnan({path}), NULL, {path}), or cast it to string.",
    )


def _list(encode: Callable[[Any], Attribute]) -> Callable[[Any], Attribute]:
    return lambda values: {"L": [encode(value) for value in values]}


def _map(key: Callable[[Any], str], encode: Callable[[Any], Attribute]) -> Callable[[Any], Attribute]:
    return lambda values: {"M": {key(name): encode(value) for name, value in values.items()}}


def _struct(fields: Sequence[tuple[str, Callable[[Any], Attribute]]]) -> Callable[[Any], Attribute]:
    return lambda row: {"M": {name: encode(value) for (name, encode), value in zip(fields, row, strict=True)}}


def _key(path: str, data_type: DataType) -> Callable[[Any], str]:
    """Return how a map's keys become text: numbers and texts as they are, others as their attribute."""
    if isinstance(data_type, BinaryType | ArrayType | MapType | StructType):
        raise InvalidInput(
            f"Column {path} is a map with keys of type {data_type.simpleString()}; DynamoDB's are text.",
            remedy="Convert it in the sink's 'sql': map_entries(…) makes it an array.",
        )
    encode = _encoder(path, data_type)

    def text(value: Any) -> str:
        (encoded,) = encode(value).values()
        return str(encoded).lower() if isinstance(encoded, bool) else str(encoded)

    return text


def _set(column: str, data_type: DataType) -> Callable[[Any], Attribute]:
    names = {"S": "SS", "N": "NS", "B": "BS"}
    if not isinstance(data_type, ArrayType) or isinstance(
        data_type.elementType, BooleanType | ArrayType | MapType | StructType | NullType
    ):
        raise InvalidInput(
            f"Column {column} has type {data_type.simpleString()}, and 'sets' takes arrays of texts, numbers or binary.",
            remedy="Remove it from 'sets'.",
        )
    encode = _encoder(column, data_type.elementType)

    def encoded(values: Sequence[Any]) -> Attribute:
        if not values or any(value is None for value in values):
            raise DataProblem(
                f"Column {column} is {'a set with null' if values else 'an empty set'}, which DynamoDB does not store.",
                remedy=f"Make it null in the sink's 'sql': IF(size({column}) = 0, NULL, array_compact({column})).",
            )
        attributes = [encode(value) for value in values]
        (name,) = attributes[0]
        return {names[name]: list(dict.fromkeys(attribute[name] for attribute in attributes))}

    return encoded
