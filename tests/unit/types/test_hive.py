"""Types of the catalog: every name that one part writes is read by every other part, as the same type."""

import pytest
from pyspark.sql import types as s

from penstock.crawl.types import widen
from penstock.metastore.shapes import hive_table
from penstock.spark.types import hive_type, spark_type
from penstock.sql.engine_types import trino_text
from penstock.sql.types import duckdb_type
from penstock.types.hive import TypeUnreadable
from penstock.types.hive import canonical as canonical_type
from penstock.types.hive import parse as parse_type

# What writers of the catalog have written: Hive's name of it, DuckDB's type, Trino's words, Spark's type.
SPELLINGS = {
    "void": ("void", '"NULL"', "unknown", s.NullType()),
    "null": ("void", '"NULL"', "unknown", s.NullType()),
    "unknown": ("void", '"NULL"', "unknown", s.NullType()),
    "timestamp_ntz": ("timestamp_ntz", "TIMESTAMP", "timestamp(3)", s.TimestampNTZType()),
    "timestamp_ltz": (
        "timestamp with local time zone", "TIMESTAMPTZ", "timestamp(3) with time zone", s.TimestampType(),
    ),
    "timestamptz": ("timestamp with local time zone", "TIMESTAMPTZ", "timestamp(3) with time zone", s.TimestampType()),
    "timestamp with local time zone": (
        "timestamp with local time zone", "TIMESTAMPTZ", "timestamp(3) with time zone", s.TimestampType(),
    ),
    "timestamp_nano": ("timestamp", "TIMESTAMP", "timestamp(3)", s.TimestampType()),
    "double  PRECISION": ("double", "DOUBLE", "double", s.DoubleType()),
    "real": ("float", "FLOAT", "real", s.FloatType()),
    "INTEGER": ("int", "INTEGER", "integer", s.IntegerType()),
    "long": ("bigint", "BIGINT", "bigint", s.LongType()),
    "numeric(5,2)": ("decimal(5,2)", "DECIMAL(5,2)", "decimal(5,2)", s.DecimalType(5, 2)),
    "dec": ("decimal(10,0)", "DECIMAL(10,0)", "decimal(10,0)", s.DecimalType(10, 0)),
    "VARCHAR ( 3 )": ("varchar(3)", "VARCHAR", "varchar(3)", s.StringType()),
    "STRUCT<A:INT>": ("struct<A:int>", 'STRUCT("A" INTEGER)', "row(A integer)", s.StructType().add("A", s.IntegerType())),
    "array < void >": ("array<void>", '"NULL"[]', "array(unknown)", s.ArrayType(s.NullType())),
    "struct<`a:b,c`:long>": (
        "struct<`a:b,c`:bigint>", 'STRUCT("a:b,c" BIGINT)', "row(a:b,c bigint)", s.StructType().add("a:b,c", s.LongType()),
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", SPELLINGS)
def test_every_reader_has_the_type_that_a_writer_named(text: str) -> None:
    hive, duckdb, trino, spark = SPELLINGS[text]
    assert canonical_type(text) == hive
    assert duckdb_type(text) == duckdb
    assert trino_text(text) == trino
    assert spark_type(text) == spark
    assert canonical_type(widen(text, text.swapcase()) or "").lower() == hive.lower()
    table = {"Name": "t", "DatabaseName": "d", "StorageDescriptor": {"Columns": [{"Name": "c", "Type": text}]}}
    assert hive_table(table).sd.cols[0].type == hive


@pytest.mark.parametrize(
    "kind",
    [
        s.NullType(), s.TimestampNTZType(), s.TimestampType(), s.ByteType(), s.ShortType(), s.DecimalType(38, 18),
        s.ArrayType(s.NullType()), s.StructType().add("a b", s.IntegerType()).add("c:d", s.NullType()),
        s.StructType().add("e`,", s.StringType()),
        s.MapType(s.StringType(), s.StructType().add("x", s.ArrayType(s.BinaryType()))),
    ],
    ids=str,
)  # fmt: skip
def test_what_spark_writes_is_read(kind: s.DataType) -> None:
    text = hive_type(kind)
    assert duckdb_type(text)
    assert canonical_type(text) == text
    assert hive_type(spark_type(text)) == text


def test_a_type_without_values_widens_to_any_other() -> None:
    assert widen("void", "struct<a:int>") == "struct<a:int>"
    assert widen("struct<a:void,b:int>", "struct<a:array<void>>") == "struct<a:array<void>,b:int>"


@pytest.mark.parametrize(
    "text",
    ["", "uniontype<int>", "array<int", "array<int>>", "struct<a>", "struct<>", "map<int>", "int int", "<", "decimal(39)",
     "decimal(2,3)", "array<" * 65 + "int" + ">" * 65, "x" * 131_073, "struct<a:int>(3)"],
)  # fmt: skip
def test_what_is_not_a_type_is_refused(text: str) -> None:
    with pytest.raises(TypeUnreadable):
        parse_type(text)
    assert canonical_type(text) == text
