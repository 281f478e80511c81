"""Iceberg's types as DuckDB's, and as the texts of the catalog's columns. Source: Iceberg table specification, "Types"."""

from decimal import Decimal
from typing import Any
from uuid import UUID

from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UUIDType,
)

from penstock.sql.errors import StatementError
from penstock.sql.types import quote_name, quote_text

__all__ = ["all_fields", "engine_type", "hive_type", "literal"]

_ENGINE: dict[type[IcebergType], str] = {
    BooleanType: "BOOLEAN",
    IntegerType: "INTEGER",
    LongType: "BIGINT",
    FloatType: "FLOAT",
    DoubleType: "DOUBLE",
    DateType: "DATE",
    TimeType: "TIME",
    TimestampType: "TIMESTAMP",
    TimestamptzType: "TIMESTAMPTZ",
    StringType: "VARCHAR",
    UUIDType: "UUID",
    FixedType: "BLOB",
    BinaryType: "BLOB",
    UnknownType: "INTEGER",
}
# What the planner's types are read from; in the catalog itself, Iceberg's Java library writes some of them as strings.
_HIVE: dict[type[IcebergType], str] = {
    BooleanType: "boolean",
    IntegerType: "int",
    LongType: "bigint",
    FloatType: "float",
    DoubleType: "double",
    DateType: "date",
    TimeType: "time",
    TimestampType: "timestamp",
    TimestamptzType: "timestamp with local time zone",
    StringType: "string",
    UUIDType: "uuid",
    FixedType: "binary",
    BinaryType: "binary",
    UnknownType: "int",
}

# Iceberg's times have microseconds, Hive's milliseconds.
_PRECISE: dict[type[IcebergType], str] = {
    TimeType: "time(6)",
    TimestampType: "timestamp(6)",
    TimestamptzType: "timestamp(6) with local time zone",
}

# SQL for values that pyiceberg holds as numbers.
_COUNTED: dict[type[IcebergType], str] = {
    DateType: "(DATE '1970-01-01' + {})",
    TimeType: "CAST(make_timestamp({}) AS TIME)",
    TimestampType: "make_timestamp({})",
    TimestamptzType: "CAST(make_timestamp({}) AS TIMESTAMPTZ)",
}


def engine_type(kind: IcebergType) -> str:
    """Return DuckDB's type. Raises :class:`StatementError` for a type without one: geometry, geography."""
    if isinstance(kind, DecimalType):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if isinstance(kind, ListType):
        return f"{engine_type(kind.element_type)}[]"
    if isinstance(kind, MapType):
        return f"MAP({engine_type(kind.key_type)}, {engine_type(kind.value_type)})"
    if isinstance(kind, StructType):
        return f"STRUCT({', '.join(f'{quote_name(each.name)} {engine_type(each.field_type)}' for each in kind.fields)})"
    found = _ENGINE.get(type(kind))
    if found is None:
        raise StatementError("NOT_SUPPORTED", f"Iceberg's type {kind} is not supported.", remedy="Select other columns.")
    return found


def hive_type(kind: IcebergType, *, precise: bool = False) -> str:
    """Return the type as a text of the catalog; ``precise`` is for the planner, which has to know the digits of times."""
    if isinstance(kind, DecimalType):
        return f"decimal({kind.precision},{kind.scale})"
    if isinstance(kind, ListType):
        return f"array<{hive_type(kind.element_type, precise=precise)}>"
    if isinstance(kind, MapType):
        key, value = (hive_type(each, precise=precise) for each in (kind.key_type, kind.value_type))
        return f"map<{key},{value}>"
    if isinstance(kind, StructType):
        return f"struct<{','.join(f'{each.name}:{hive_type(each.field_type, precise=precise)}' for each in kind.fields)}>"
    return (_PRECISE.get(type(kind)) if precise else None) or _HIVE.get(type(kind), "binary")


def literal(value: Any, kind: IcebergType) -> str:
    """Return SQL for a default value or a partition's value, in pyiceberg's form: dates are days, times microseconds."""
    name = engine_type(kind)
    if value is None:
        return f"CAST(NULL AS {name})"
    counted = _COUNTED.get(type(kind)) if isinstance(value, int) else None
    if counted is not None:
        return counted.format(value)
    if isinstance(value, bytes):
        return f"CAST(unhex('{value.hex()}') AS {name})"
    if isinstance(value, bool | int | float | Decimal | UUID | str):
        return f"CAST({quote_text(str(value))} AS {name})"
    raise StatementError("NOT_SUPPORTED", f"A default value of Iceberg's type {kind} is not supported.")


def all_fields(schema: Schema) -> list[NestedField]:
    """Return the columns. Raises :class:`StatementError` if two names differ in case only: SQL cannot tell them apart."""
    names: dict[str, str] = {}
    for each in schema.fields:
        other = names.setdefault(each.name.lower(), each.name)
        if other != each.name:
            raise StatementError(
                "NOT_SUPPORTED", f"The columns '{other}' and '{each.name}' differ in case only.", remedy="Rename one."
            )
    return list(schema.fields)
