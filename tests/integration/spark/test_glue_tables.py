"""What Glue scripts read from tables of the catalog: formats by SerDe, types, partitions and predicates."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from awsglue.context import GlueContext
from penstock.errors import InvalidInput, NotFound
from penstock.testing.server import RunningServer

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CSV = "org.apache.hadoop.hive.serde2.OpenCSVSerde"
LAZY = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
PARQUET = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"


@pytest.fixture
def glue(spark: SparkSession, penstock_server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> GlueContext:
    for name, value in penstock_server.environment().items():
        monkeypatch.setenv(name, value)
    return GlueContext(spark.sparkContext)


class Catalog:
    """A database of the server whose tables are below a folder."""

    def __init__(self, server: RunningServer, folder: Path) -> None:
        self.client, self.folder = server.client("glue"), folder
        self.client.create_database(DatabaseInput={"Name": "shop"})

    def table(
        self, name: str, columns: dict[str, str], serde: str, *, keys: str = "", table: Any = None, **serde_parameters: str
    ) -> None:
        self.client.create_table(
            DatabaseName="shop",
            TableInput={
                "Name": name,
                "Parameters": table or {},
                "PartitionKeys": [{"Name": key, "Type": "int"} for key in keys.split()],
                "StorageDescriptor": {
                    "Columns": [{"Name": column, "Type": kind} for column, kind in columns.items()],
                    "Location": f"file://{self.folder / name}",
                    "SerdeInfo": {"SerializationLibrary": serde, "Parameters": serde_parameters},
                },
            },
        )

    def partition(self, table: str, *values: str, folder: str, text: str) -> None:
        put(self.folder / table / folder, text)
        location = f"file://{self.folder / table / folder}"
        storage = {"Location": location, "Columns": []}
        self.client.create_partition(
            DatabaseName="shop", TableName=table, PartitionInput={"Values": list(values), "StorageDescriptor": storage}
        )


def put(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "part-0").write_text(text)


def rows(glue: GlueContext, table: str, **more: Any) -> list[dict[str, Any]]:
    frame = glue.create_dynamic_frame.from_catalog(database="shop", table_name=table, **more)
    return [row.asDict(recursive=True) for row in frame.toDF().collect()]


def test_tables_are_read_by_their_serde(glue: GlueContext, penstock_server: RunningServer, tmp_path: Path) -> None:
    catalog = Catalog(penstock_server, tmp_path)
    columns = {"id": "bigint", "price": "decimal(6,2)", "note": "string", "mixed": "int"}
    catalog.table("quoted", columns, CSV, table={"skip.header.line.count": "1"}, separatorChar=";", quoteChar="'")
    put(tmp_path / "quoted", "id;price;note;mixed\n1;2.50;'a;b';7\n;;;x\n")
    # What is not of the type stays as it is: the column is a choice, as AWS's tutorial on ResolveChoice shows.
    assert [(str(row["id"]), str(row["price"]), row["note"], row["mixed"]) for row in rows(glue, "quoted")] == [
        ("1", "2.50", "a;b", {"int": 7, "string": None}),
        ("None", "None", "", {"int": None, "string": "x"}),
    ]
    choices = glue.create_dynamic_frame.from_catalog("shop", "quoted")
    assert glue.create_sample_dynamic_frame_from_catalog("shop", "quoted", num=1).count() == 1
    matched = choices.resolveChoice(choice="match_catalog", database="shop", table_name="quoted").toDF()
    assert [row["mixed"] for row in matched.collect()] == [7, None]
    assert dict(glue.get_catalog_schema_as_spark_schema("shop", "quoted")["id"].jsonValue())["type"] == "long"

    catalog.table("events", {"n": "int"}, "org.openx.data.jsonserde.JsonSerDe", keys="year month")
    for number, (year, month) in enumerate([("2025", "12"), ("2026", "1"), ("2026", "2")]):
        folder = f"year={year}/month={month}" if number else "elsewhere"
        catalog.partition("events", year, month, folder=folder, text=f'{{"n": {number}, "more": "x"}}\n')
    results = sorted(rows(glue, "events"), key=lambda row: row["n"])
    assert results[0] == {"n": 0, "more": "x", "year": 2025, "month": 12}
    assert [(row["year"], row["month"]) for row in results] == [(2025, 12), (2026, 1), (2026, 2)]

    def numbers(**more: Any) -> list[int]:
        return sorted(row["n"] for row in rows(glue, "events", **more))

    assert numbers(push_down_predicate="year == '2026' and month < 10") == [1, 2]
    assert numbers(additional_options={"catalogPartitionPredicate": "year = '2026'"}, push_down_predicate="month = 2") == [2]
    assert numbers(push_down_predicate="year = 1999") == []
    # The order of AWS's library: sample_options is the one behind num.
    expected = {"catalogPartitionPredicate": "year = '2026'"}
    sample = glue.create_sample_dynamic_frame_from_catalog("shop", "events", 5, {}, "", "ctx", "month = 2", expected, None)
    assert [row["n"] for row in sample.toDF().collect()] == [2]
    with pytest.raises(InvalidInput, match="sample_options has to be a dict"):
        glue.create_sample_dynamic_frame_from_catalog("shop", "events", 5, "s3://tmp/", "ctx")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="cannot be resolved against the partition keys year, month"):
        numbers(push_down_predicate="n = 1")
    frame = glue.create_data_frame.from_catalog("shop", "events", additional_options={"useCatalogSchema": True})
    assert frame.columns == ["n", "year", "month"]
    assert sorted(row.n for row in frame.collect()) == [0, 1, 2]

    catalog.table("columnar", {"id": "int", "gone": "string"}, PARQUET)
    glue.createDataFrame([(1, 2.5)], "id INT, price DOUBLE").write.parquet((tmp_path / "columnar").as_uri())
    assert rows(glue, "columnar") == [{"id": 1, "price": 2.5}]
    assert rows(glue, "columnar", additional_options={"useCatalogSchema": "true"}) == [{"id": 1, "gone": None}]

    catalog.table("lines", {"a": "string", "b": "date"}, LAZY, **{"field.delim": "|"})
    assert glue.create_dynamic_frame.from_catalog(name_space="shop", table_name="lines").toDF().columns == ["a", "b"]
    put(tmp_path / "lines", 'x|2026-01-02\n"y|z"|\n')
    assert [str(row["b"]) for row in rows(glue, "lines")] == ["2026-01-02", "None"]
    # Options of other sources and formats are ignored, as there.
    assert len(rows(glue, "lines", additional_options={"mergeSchema": "true", "hashfield": "a", "jsonPath": "$"})) == 2
    with pytest.raises(InvalidInput, match="withSchema of the read of a table of csv is not supported"):
        rows(glue, "lines", additional_options={"withSchema": "{}"})
    with pytest.raises(NotFound, match=r"shop\.nothing"):
        rows(glue, "nothing")
    grok = "com.amazonaws.glue.serde.GrokSerDe"
    catalog.table("grok", {"a": "string", "n": "int"}, grok, **{"input.format": "%{WORD:a} %{INT:n:int}"})
    put(tmp_path / "grok", "x 1\ny -2\n")
    assert rows(glue, "grok") == [{"a": "x", "n": 1}, {"a": "y", "n": -2}]
    catalog.table("other", {"a": "string"}, "org.example.SerDe", table={"classification": "apache"})
    with pytest.raises(InvalidInput, match="of a kind that scripts cannot read"):
        rows(glue, "other")
