"""The rows of docs/pipelines/types.md are what the decoders, the catalog and Iceberg's own conversion give."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import DataType, NullType, StructField, StructType

from penstock.errors import DataProblem
from penstock.pipelines.decode import Decode
from penstock.schema.formats import format_of
from penstock.spark.decode.records import body_columns, decoded
from penstock.spark.decode.versions import SchemaVersions
from penstock.spark.types import hive_type
from tests.integration.spark.decode import type_cases
from tests.integration.spark.decode.decoding import Listed, version

pytestmark = pytest.mark.spark

PAGE = Path(__file__).parents[4] / "docs" / "pipelines" / "types.md"
RECORDS = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp"
FORMATS: dict[str, tuple[dict[str, Any], Any]] = {
    "AVRO": (type_cases.AVRO, type_cases.avro_schema()),
    "JSON": (type_cases.JSON, type_cases.json_schema()),
    "PROTOBUF": (type_cases.PROTOBUF, type_cases.protobuf_schema()),
}


def iceberg_type(spark: SparkSession, kind: DataType) -> str:
    """The type of a column that Iceberg's Spark module makes of ``kind``, without ids of fields."""
    if isinstance(kind, NullType):
        return "–"
    jvm: Any = spark._jvm
    columns = jvm.org.apache.spark.sql.types.DataType.fromJson(StructType([StructField("c", kind)]).json())
    text = str(jvm.org.apache.iceberg.spark.SparkSchemaUtil.convert(columns).findType("c").toString())
    return re.sub(r"\d+: (\w+): (?:optional|required) ", r"\1: ", text)


def rows(spark: SparkSession, data_format: str, empty_folder: Path) -> list[str]:
    cases, definition = FORMATS[data_format]
    written = version(1, definition, data_format)
    versions = SchemaVersions(Listed([written]), Decode(registry="tests", schema="things"))
    versions.refresh()
    empty = spark.read.schema(RECORDS).parquet(f"file://{empty_folder}")
    frame = decoded(empty, versions.plan(), branches=40, zlib=False)
    types = frame.select(*body_columns(frame)).schema
    kinds = [field.dataType for field in types]
    cells = [(kind.simpleString(), hive_type(kind), iceberg_type(spark, kind)) for kind in kinds]
    return [f"| {shown} | `{'` | `'.join(three)}` |" for shown, three in zip(cases, cells, strict=True)]


@pytest.mark.parametrize("data_format", FORMATS)
def test_the_page_has_the_types_that_the_code_gives(spark: SparkSession, data_format: str, tmp_path: Path) -> None:
    section = PAGE.read_text().split(f"## {data_format}\n")[1].split("\n## ")[0]
    assert [line for line in section.splitlines() if line.startswith("| ") and not line.startswith("| type")] == rows(
        spark, data_format, tmp_path
    )


@pytest.mark.parametrize("data_format", FORMATS)
def test_the_registry_makes_the_same_columns_as_the_sinks(spark: SparkSession, data_format: str, tmp_path: Path) -> None:
    _, definition = FORMATS[data_format]
    text = definition if isinstance(definition, str) else json.dumps(definition)
    columns = format_of(data_format).columns(format_of(data_format).parse(text))
    assert [f"`{column.type}`" for column in columns] == [row.split(" | ")[-2] for row in rows(spark, data_format, tmp_path)]


@pytest.mark.parametrize(
    ("data_format", "definition"),
    [
        ("AVRO", {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}),
        ("JSON", {"type": "object", "properties": {"next": {"$ref": "#"}}}),
        ("PROTOBUF", 'syntax = "proto3"; message N { N next = 1; }'),
    ],
)
def test_a_type_that_contains_itself_is_refused_and_said_so(data_format: str, definition: Any) -> None:
    versions = SchemaVersions(Listed([version(1, definition, data_format)]), Decode(registry="tests", schema="things"))
    versions.refresh()
    with pytest.raises(DataProblem, match="contains itself"):
        versions.plan()
