"""Every type that rows of the runner can have, and what each reader of its tables makes of it."""

from dataclasses import dataclass
from typing import Any

__all__ = ["COLUMNS", "LakeColumn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeColumn:
    """A column: what Spark computes, its type in the catalog, in Iceberg's metadata, in a Glue script, and its value in SQL.

    ``moment`` is the value in SQL of an Iceberg table, whose timestamps have six digits, and a zone.
    """

    spark: str
    catalog: str
    iceberg: str
    glue: str
    value: str
    moment: str | None = None


def _column(spark: str, catalog: str, iceberg: str, glue: str, value: str, **more: Any) -> LakeColumn:
    return LakeColumn(spark=spark, catalog=catalog, iceberg=iceberg, glue=glue, value=value, **more)


_AT = "2024-05-01 01:02:03.456"

COLUMNS = {
    "flag": _column("true", "boolean", "boolean", "boolean", "true"),
    "tiny": _column("CAST(1 AS TINYINT)", "tinyint", "int", "byte", "1"),
    "small": _column("CAST(2 AS SMALLINT)", "smallint", "int", "short", "2"),
    "whole": _column("3", "int", "int", "int", "3"),
    "big": _column("4L", "bigint", "long", "long", "4"),
    "single": _column("CAST(1.5 AS FLOAT)", "float", "float", "float", "1.5"),
    "real": _column("2.5D", "double", "double", "double", "2.5"),
    "price": _column("CAST(12.34 AS DECIMAL(10,2))", "decimal(10,2)", "decimal(10, 2)", "decimal", "12.34"),
    "word": _column("'a'", "string", "string", "string", "a"),
    "raw": _column("X'01ff'", "binary", "binary", "binary", "01 ff"),
    "day": _column("DATE'2024-05-01'", "date", "date", "date", "2024-05-01"),
    "at": _column(f"TIMESTAMP'{_AT}Z'", "timestamp", "timestamptz", "timestamp", _AT, moment=f"{_AT}000 UTC"),
    "local": _column(f"TIMESTAMP_NTZ'{_AT}'", "timestamp", "timestamp", "timestamp", _AT, moment=f"{_AT}000"),
    "items": _column("array(1, 2)", "array<int>", "list<int>", "array", "[1, 2]"),
    "sizes": _column("map('k', 1L)", "map<string,bigint>", "map<string, long>", "map", "{k=1}"),
    "pair": _column(
        "named_struct('a', 1, 'b', array('x'))",
        "struct<a:int,b:array<string>>",
        "struct<20: a: optional int, 21: b: optional list<string>>",
        "struct",
        "{a=1, b=[x]}",
    ),
}
"""By name. A column without values (void) has no place in files, and the runner refuses it."""
