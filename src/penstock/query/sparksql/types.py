"""Trino's types in Spark SQL's words."""

from sqlglot import exp

from penstock.sql.trino_types import Type

__all__ = ["cast_to", "spark_type"]

_NAMES = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "integer": "INT",
    "bigint": "BIGINT",
    "real": "FLOAT",
    "double": "DOUBLE",
    "varchar": "STRING",
    "varbinary": "BINARY",
    "date": "DATE",
    # Spark's TIMESTAMP is an instant; Trino's has no time zone.
    "timestamp": "TIMESTAMP_NTZ",
}


def spark_type(type_: Type) -> str | None:
    """Return Spark's type for Trino's, None if it has none of the same values or a type inside it is not known."""
    if type_.name == "decimal":
        return f"DECIMAL({type_.numbers[0]},{type_.numbers[1]})"
    if not type_.inner:
        return _NAMES.get(type_.name)
    inner = [spark_type(each) if each is not None else None for each in type_.inner]
    if None in inner or (type_.name == "row" and None in type_.fields):
        return None
    if type_.name == "row":
        fields = (f"`{str(name).replace('`', '``')}`: {each}" for name, each in zip(type_.fields, inner, strict=True))
        return f"STRUCT<{', '.join(fields)}>"
    return f"{type_.name.upper()}<{', '.join(map(str, inner))}>"


def cast_to(value: exp.Expr, spark: str) -> exp.Expr:
    """Return the cast of ``value`` to a type in Spark's words."""
    return exp.Cast(this=value, to=exp.DataType.build(spark, dialect="spark"))
