"""Hive's types of the catalog to Spark's, and back."""

import pytest
from pyspark.sql.types import (
    ArrayType,
    DayTimeIntervalType,
    DecimalType,
    IntegerType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
)

from penstock.errors import DataProblem
from penstock.spark.types import ddl, hive_type, lake_type, spark_type
from penstock.types.model import TypeMissing

SIMPLE = ["boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp"]


@pytest.mark.parametrize(
    "text",
    [*SIMPLE, "decimal(38,18)", "array<int>", "map<string,array<double>>", "struct<a:int,B c:struct<d_1:decimal(3,1)>>"],
)
def test_a_round_trip(text: str) -> None:
    assert hive_type(spark_type(text)) == text


def test_spaces_case_and_other_spellings() -> None:
    assert spark_type("ARRAY < STRUCT< a : Integer, `b:c` : varchar(10) > >") == ArrayType(
        StructType().add("a", IntegerType()).add("b:c", StringType())
    )
    assert spark_type("decimal") == DecimalType(10, 0)
    assert spark_type("map<char(3), decimal(5)>") == MapType(StringType(), DecimalType(5, 0))
    assert hive_type(TimestampNTZType()) == "timestamp"


@pytest.mark.parametrize("text", ["", "uniontype<int>", "array<int", "array<int>>", "struct<a>", "map<int>", "int int", "<"])
def test_what_is_not_a_type_is_refused(text: str) -> None:
    with pytest.raises(DataProblem, match="is not a type of the catalog that Spark has"):
        spark_type(text)


def test_deep_types_are_refused_and_do_not_exhaust_the_stack() -> None:
    with pytest.raises(DataProblem):
        spark_type("array<" * 1000 + "int" + ">" * 1000)


def test_what_the_lake_lacks_has_sparks_own_name_in_the_catalog_and_no_type_of_the_lake() -> None:
    kind = StructType().add("a", DayTimeIntervalType()).add("b", TimestampNTZType())
    assert hive_type(kind) == "struct<a:interval day to second,b:timestamp>"
    assert ddl(kind) == "STRUCT<`a`: INTERVAL DAY TO SECOND, `b`: TIMESTAMP_NTZ>"
    with pytest.raises(TypeMissing, match="interval day to second"):
        lake_type(kind)
    with pytest.raises(DataProblem, match="Spark has no type for geometry"):
        spark_type("array<geometry>")
