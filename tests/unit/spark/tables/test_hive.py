"""Hive's types of the catalog to Spark's, and back."""

import pytest
from pyspark.sql.types import ArrayType, DecimalType, IntegerType, MapType, StringType, StructType, TimestampNTZType

from penstock.errors import DataProblem
from penstock.spark.types import hive_type, spark_type

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
