"""Iceberg's types as DuckDB's, and as the texts of the catalog's columns. Source: Iceberg table specification, "Types"."""

from decimal import Decimal
from typing import Any
from uuid import UUID

from pyiceberg.schema import Schema
from pyiceberg.types import DateType, IcebergType, NestedField, TimestampType, TimestamptzType, TimeType

from penstock.sql.errors import StatementError
from penstock.sql.types import quote_text
from penstock.types import duckdb, hive, iceberg
from penstock.types.model import LakeType, TypeMissing

__all__ = ["all_fields", "engine_type", "hive_type", "lake_type", "literal"]

# SQL for values that pyiceberg holds as numbers.
_COUNTED: dict[type[IcebergType], str] = {
    DateType: "(DATE '1970-01-01' + {})",
    TimeType: "CAST(make_timestamp({}) AS TIME)",
    TimestampType: "make_timestamp({})",
    TimestamptzType: "CAST(make_timestamp({}) AS TIMESTAMPTZ)",
}


def lake_type(type_: IcebergType) -> LakeType:
    """Return the lake's type; its times have their digits."""
    return iceberg.parse(type_.model_dump(mode="json"))


def engine_type(type_: IcebergType) -> str:
    """Return DuckDB's type. Raises :class:`StatementError` for a type without one: geometry, geography."""
    try:
        return duckdb.render(lake_type(type_))
    except TypeMissing:
        raise StatementError(
            "NOT_SUPPORTED", f"Iceberg's type {type_} is not supported.", remedy="Select other columns."
        ) from None


def hive_type(type_: IcebergType, *, precise: bool = False) -> str:
    """Return the type as a text of the catalog; ``precise`` is for the planner, which has to know the digits of times."""
    lake = lake_type(type_)
    return hive.render(lake if precise else iceberg.without_digits(lake))


def literal(value: Any, type_: IcebergType) -> str:
    """Return SQL for a default value or a partition's value, in pyiceberg's form: dates are days, times microseconds."""
    name = engine_type(type_)
    if value is None:
        return f"CAST(NULL AS {name})"
    counted = _COUNTED.get(type(type_)) if isinstance(value, int) else None
    if counted is not None:
        return counted.format(value)
    if isinstance(value, bytes):
        return f"CAST(unhex('{value.hex()}') AS {name})"
    if isinstance(value, bool | int | float | Decimal | UUID | str):
        return f"CAST({quote_text(str(value))} AS {name})"
    raise StatementError("NOT_SUPPORTED", f"A default value of Iceberg's type {type_} is not supported.")


def all_fields(schema: Schema) -> list[NestedField]:
    """Return the columns. Raises :class:`StatementError` if two names differ in case only: SQL cannot tell them apart."""
    names: dict[str, str] = {}
    for field in schema.fields:
        other = names.setdefault(field.name.lower(), field.name)
        if other != field.name:
            raise StatementError(
                "NOT_SUPPORTED", f"The columns '{other}' and '{field.name}' differ in case only.", remedy="Rename one."
            )
    return list(schema.fields)
