"""The lake's types, and what each system has for them, as the adapters say; the page docs/lake/types.md is made of it."""

import json
import re
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import duckdb

from penstock.errors import PenstockError
from penstock.schema.avro.columns import columns
from penstock.schema.avro.parse import parse_avro
from penstock.spark.types import lake_type as of_spark
from penstock.spark.types import spark_type
from penstock.sql.engine_types import lake_type as of_trino
from penstock.sql.engine_types import trino_text, type_of_engine
from penstock.sql.types import duckdb_type
from penstock.types import arrow, avro, dynamodb, hive, iceberg, postgresql, spark
from penstock.types.model import LakeType

__all__ = ["READERS", "SYSTEMS", "TYPES", "shown"]

TYPES = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(12,4)"),
    *("string", "varchar(9)", "char(3)", "binary", "uuid"),
    *("date", "time", "timestamp", "timestamp_ntz", "timestamp with local time zone"),
    *("void", "variant", "geometry", "geography"),
    *("array<int>", "map<string,bigint>", "struct<a:int,b:array<date>>"),
)
"""Each of the lake's types, as the catalog spells it."""
NOTHING = "–"

SYSTEMS: Mapping[str, Callable[[LakeType], str]] = {
    "type": hive.render,
    "Glue's catalog": hive.stored,
    "SQL": lambda kind: trino_text(hive.render(kind)) if duckdb_type(hive.render(kind)) else NOTHING,
    "Parquet, in Arrow's words": lambda kind: str(arrow.render(kind)),
    "crawlers, of Parquet": lambda kind: hive.render(arrow.in_hive_table(arrow.parse(arrow.render(kind)))),
    "Iceberg": lambda kind: _iceberg_text(iceberg.render(kind, count(1))),
    "Spark, Glue's scripts": lambda kind: spark_type(kind).simpleString(),
    "Avro": lambda kind: _avro_text(avro.record("row", [("c", kind)])["fields"][0]["type"]),
    "PostgreSQL": lambda kind: postgresql.column_type(kind, "postgresql"),
    "Redshift": lambda kind: postgresql.column_type(kind, "redshift"),
    "DynamoDB": dynamodb.code_of,
}
"""What each system has for a type, in its own words. A function raises for a type that the system lacks."""

READERS: Mapping[str, Callable[[LakeType], LakeType]] = {
    "catalog": lambda kind: hive.parse(hive.stored(kind)),
    "SQL": lambda kind: of_trino(type_of_engine(_engine_type(duckdb_type(hive.render(kind))))),
    "Parquet": lambda kind: arrow.parse(arrow.render(kind)),
    "crawler": lambda kind: arrow.in_hive_table(arrow.parse(arrow.render(kind))),
    "Iceberg": lambda kind: iceberg.parse(_json(iceberg.render(kind, count(1), small_integers=True))),
    "Iceberg in Glue": lambda kind: hive.parse(hive.render(iceberg.in_glue(kind))),
    "Spark": lambda kind: of_spark(spark_type(kind)),
    "Delta": lambda kind: spark.of_json(spark_type(kind).jsonValue()),
    "Avro": lambda kind: hive.parse(columns(parse_avro(json.dumps(avro.record("row", [("c", kind)]))))[0].type),
    "PostgreSQL": lambda kind: _database_type(kind, "postgresql"),
    "Redshift": lambda kind: _database_type(kind, "redshift"),
}
"""As what a system has the values of a type that were written to it, or are read by it."""


def shown(kind: LakeType, system: str) -> str:
    """Return the cell of the page."""
    try:
        return SYSTEMS[system](kind)
    except PenstockError:
        return NOTHING


def _iceberg_text(kind: Any) -> str:
    if isinstance(kind, str):
        return kind
    match kind["type"]:
        case "list":
            return f"list of {_iceberg_text(kind['element'])}"
        case "map":
            return f"map of {_iceberg_text(kind['key'])} to {_iceberg_text(kind['value'])}"
    fields = [f"{field['name']}: {_iceberg_text(field['type'])}" for field in kind["fields"]]
    return f"struct of {', '.join(fields)}"


def _avro_text(kind: Any) -> str:
    if isinstance(kind, list):
        return _avro_text(kind[1])
    if isinstance(kind, str):
        return kind
    match kind["type"]:
        case "array":
            return f"array of {_avro_text(kind['items'])}"
        case "map":
            return f"map of {_avro_text(kind['values'])}"
        case "record":
            fields = [f"{field['name']}: {_avro_text(field['type'])}" for field in kind["fields"]]
            return f"record of {', '.join(fields)}"
    return f"{kind['logicalType']} as {kind['type']}"


def _engine_type(name: str) -> Any:
    return duckdb.execute(f"SELECT CAST(NULL AS {name}) AS c").description[0][1]


def _json(kind: Any) -> Any:
    return json.loads(json.dumps(kind))


def _database_type(kind: LakeType, dialect: postgresql.Dialect) -> LakeType:
    text = postgresql.column_type(kind, dialect)
    return postgresql.of_text(_LONGEST.get(text) or re.sub(r"^(var)?char\b", _written_out, text))


def _written_out(match: re.Match[str]) -> str:
    return "character varying" if match[1] else "character"


_LONGEST = {"varchar(65535)": "character varying", "varbyte(1024000)": "varbyte"}  # that has no shorter name
