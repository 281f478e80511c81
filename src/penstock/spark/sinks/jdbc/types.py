"""Spark's types as columns of PostgreSQL and Redshift, and back. The table is on the page docs/pipelines/sink-jdbc.md."""

from collections.abc import Mapping, Sequence

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
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
    VariantType,
)

from penstock.client.databases.jdbc_url import Dialect
from penstock.errors import InvalidInput

__all__ = ["NESTED", "column_type", "spark_type"]

NESTED = (ArrayType, MapType, StructType, VariantType)
"""Types whose values become JSON."""

_PLAIN: Mapping[type[DataType], str] = {
    BooleanType: "boolean",
    ByteType: "smallint",
    ShortType: "smallint",
    IntegerType: "integer",
    LongType: "bigint",
    FloatType: "real",
    DoubleType: "double precision",
    DateType: "date",
    TimestampType: "timestamp with time zone",
    TimestampNTZType: "timestamp without time zone",
}
# Redshift's text without a length would have 256 bytes; these are the longest.
_OWN: Mapping[Dialect, Mapping[str, str]] = {
    "postgresql": {"text": "text", "binary": "bytea", "nested": "jsonb"},
    "redshift": {"text": "varchar(65535)", "binary": "varbyte(1024000)", "nested": "super"},
}
_ANY = VariantType()
_BACK: Mapping[str, DataType] = {
    **{text: kind() for kind, text in _PLAIN.items() if kind is not ByteType},
    "text": StringType(),
    "bytea": BinaryType(),
    "binary varying": BinaryType(),
    "varbyte": BinaryType(),
    "json": _ANY,
    "jsonb": _ANY,
    "super": _ANY,
}


def column_type(kind: DataType, dialect: Dialect, *, column: str) -> str:
    """Return the type of a new column. Raises :class:`InvalidInput` for one that has no counterpart (intervals)."""
    own = _OWN[dialect]
    if isinstance(kind, VarcharType | CharType):
        return f"{'varchar' if isinstance(kind, VarcharType) else 'char'}({kind.length})"
    if isinstance(kind, StringType | NullType):
        return own["text"]
    if isinstance(kind, BinaryType):
        return own["binary"]
    if isinstance(kind, DecimalType):
        return f"numeric({kind.precision},{kind.scale})"
    if isinstance(kind, NESTED):
        return own["nested"]
    found = _PLAIN.get(type(kind))
    if found is None:
        raise InvalidInput(
            f"Column {column} has type {kind.simpleString()}, which {dialect} has no column for here.",
            remedy="Cast it in the sink's 'sql', to string for example.",
        )
    return found


def spark_type(name: str, numbers: Sequence[int | None]) -> DataType:
    """Return Spark's type for a column of a table: ``name`` as information_schema has it, in lower case.

    ``numbers`` are its length, precision and scale. :class:`VariantType` is a column that takes any value (JSON, numeric
    without digits); types that Spark lacks are text, as which they are written: uuid, inet, an enumeration.
    """
    length, precision, scale = numbers
    if name == "numeric":
        return DecimalType(precision, scale or 0) if precision is not None and precision <= 38 else _ANY
    if name == "character varying":
        return VarcharType(length) if length is not None else StringType()
    if name == "character":
        return CharType(length or 1)
    return _BACK.get(name, StringType())
