"""Types of the columns of new tables. The table is on the page docs/pipelines/sink-jdbc.md."""

from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from penstock.errors import InvalidInput
from penstock.spark.types import lake_type
from penstock.types import postgresql
from penstock.types.model import TypeMissing

__all__ = ["NESTED", "column_type"]

NESTED = (ArrayType, MapType, StructType, VariantType)
"""Types whose values become JSON."""


def column_type(data_type: DataType, dialect: postgresql.Dialect, *, column: str) -> str:
    """Return the type of a new column. Raises :class:`InvalidInput` for one that has no counterpart (intervals)."""
    try:
        return postgresql.column_type(lake_type(data_type), dialect)
    except TypeMissing:
        raise InvalidInput(
            f"Column {column} has type {data_type.simpleString()}, which {dialect} has no column for here.",
            remedy="Cast it in the sink's 'sql', to string for example.",
        ) from None
