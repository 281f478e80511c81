"""Trino's types in Spark SQL's words."""

from sqlglot import exp

from penstock.sql.trino_types import Type
from penstock.types.model import Array, Field, LakeType, Map, Scalar, Struct
from penstock.types.spark import ddl
from penstock.types.trino import lake_scalar

__all__ = ["cast_to", "spark_type"]

_SCALARS = frozenset(
    {
        *("boolean", "tinyint", "smallint", "integer", "bigint", "real", "double", "decimal"),
        *("varchar", "varbinary", "date"),
    }
)
"""Trino's types whose values Spark has, too, under the lake's names."""


def spark_type(type_: Type) -> str | None:
    """Return Spark's type for Trino's, None if it has none of the same values or a type inside it is not known."""
    lake_type = _lake_type(type_)
    return None if lake_type is None else ddl(lake_type)


def _lake_type(type_: Type | None) -> LakeType | None:
    if type_ is None:
        return None
    if type_.name == "timestamp":
        return Scalar("timestamp_ntz")  # Spark's TIMESTAMP is an instant; Trino's has no time zone
    if type_.name in _SCALARS:
        return lake_scalar(type_.name, type_.numbers if type_.name == "decimal" else ())
    inner = [lake_type for lake_type in map(_lake_type, type_.inner) if lake_type is not None]
    if type_.name not in {"row", "array", "map"} or not inner or len(inner) < len(type_.inner):
        return None
    if type_.name == "row":
        fields = [Field(name, lake_type) for name, lake_type in zip(type_.fields, inner, strict=True) if name is not None]
        return Struct(tuple(fields)) if len(fields) == len(inner) else None
    return Array(*inner) if type_.name == "array" else Map(*inner)


def cast_to(value: exp.Expr, spark: str) -> exp.Expr:
    """Return the cast of ``value`` to a type in Spark's words."""
    return exp.Cast(this=value, to=exp.DataType.build(spark, dialect="spark"))
