"""New schema versions in a running pipeline: columns added, widened and renamed in a table of Parquet files."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_type

from penstock.client.catalog import CatalogClient
from penstock.local.broker import Broker
from penstock.pipelines import Pipeline, parse_pipeline
from penstock.retries import wait_until
from penstock.spark.commit.drift import DriftStop
from penstock.spark.metrics import BatchMetrics
from penstock.spark.running.runner import RunOptions, run
from penstock.spark.types import spark_columns, spark_type
from penstock.sql.types import duckdb_type
from penstock.testing.server import RunningServer
from tests.integration.spark import stream
from tests.integration.spark.stream import Registry, Topic, declaration, frame, rows

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

INNER = {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "int"}]}
WIDER = {
    "type": "record",
    "name": "Inner",
    "fields": [
        {"name": "wide_x", "type": "long", "aliases": ["x"]},
        {"name": "y", "type": ["null", "string"], "default": None},
    ],
}


def flight(*fields: Mapping[str, Any]) -> Mapping[str, Any]:
    day = {"name": "day", "type": "string"}
    return {"type": "record", "name": "Flight", "fields": [{"name": "id", "type": "long"}, day, *fields]}


FIRST = flight(
    {"name": "seats", "type": "int"},
    {"name": "delay", "type": "float"},
    {"name": "carrier", "type": "string"},
    {"name": "detail", "type": INNER},
)
SECOND = flight(
    {"name": "seats", "type": "long"},
    {"name": "delay", "type": "double"},
    {"name": "airline", "type": "string", "aliases": ["carrier"]},
    {"name": "detail", "type": WIDER},
    {"name": "gate", "type": ["null", "string"], "default": None},
)
THIRD = flight({"name": "seats", "type": "double"}, *SECOND["fields"][3:])  # long to double is promoted with a loss
FOURTH = flight(*SECOND["fields"][2:], {"name": "note", "type": ["null", "string"], "default": None})


@pytest.fixture
def catalog(penstock_server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> CatalogClient:
    """The server's catalog, without the database of an earlier test."""
    for name, value in penstock_server.environment().items():
        monkeypatch.setenv(name, value)
    glue = penstock_server.client("glue")
    if "evolution" in {database["Name"] for database in glue.get_databases()["DatabaseList"]}:
        glue.delete_database(Name="evolution")
    return CatalogClient()


def pipeline(topic: Topic, lake: Path, *, sink: str = "", extra: str = "") -> Pipeline:
    target = "    catalog: {database: evolution, table: flights, create: true}\n"
    text = declaration(topic, lake, extra="batchMaxRetries: 0\n" + extra, transform="transform: {}")
    return parse_pipeline(
        text.replace("    partition_by: [day]\n", f"    partition_by: [day]\n{target}{sink}"), environment={}
    )


@pytest.fixture
def topic(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Topic:
    """A topic whose records have these versions."""
    monkeypatch.setattr(stream, "DEFINITIONS", (FIRST, SECOND, THIRD, FOURTH))
    return Topic(broker)


def test_old_and_new_rows_are_in_one_table(
    spark: SparkSession, lake: Path, topic: Topic, catalog: CatalogClient, penstock_server: RunningServer
) -> None:
    batches = list[BatchMetrics]()
    registry = Registry(numbers=[1])
    options = RunOptions(registry=registry, once=True, on_batch=batches.append, catalog=catalog)
    old = {"id": 1, "day": "d", "seats": 7, "delay": 1.5, "carrier": "UA", "detail": {"x": 5}}
    new = {
        "id": 2,
        "day": "d",
        "seats": 2**40,
        "delay": 0.1,
        "airline": "AA",
        "detail": {"wide_x": 2**41, "y": "b"},
        "gate": "B",
    }
    topic.send([frame(1, old)])
    run(pipeline(topic, lake), spark, options)
    registry.numbers = [1, 2]
    topic.send([frame(2, new), frame(1, {**old, "id": 3})])
    run(pipeline(topic, lake), spark, options)

    columns = catalog.table("evolution", "flights")["StorageDescriptor"]["Columns"]
    assert {column["Name"]: column["Type"] for column in columns} == {
        "id": "bigint",
        "seats": "bigint",
        "delay": "double",
        "carrier": "string",
        "detail": "struct<x:bigint,y:string>",
        "gate": "string",
    }
    expected = {
        1: (7, 1.5, "UA", (5, None), None),
        2: (2**40, 0.1, "AA", (2**41, "b"), "B"),
        3: (7, 1.5, "UA", (5, None), None),
    }
    schema = spark_columns({column["Name"]: column["Type"] for column in columns} | {"day": "string"})
    results = spark.read.schema(schema).parquet("s3://lk/flights").collect()
    assert {row.id: (row.seats, row.delay, row.carrier, tuple(row.detail), row.gate) for row in results} == expected

    # SQL, over the same files in the server's lake.
    shutil.copytree(lake / "lk" / "flights", penstock_server.lake / "lk" / "flights", dirs_exist_ok=True)
    sql = "SELECT id, seats, delay, carrier, detail.x, detail.y, gate FROM evolution.flights ORDER BY id"
    assert _sql(penstock_server, sql) == [
        ["1", "7", "1.5", "UA", "5", None, None],
        ["2", str(2**40), "0.1", "AA", str(2**41), "b", "B"],
        ["3", "7", "1.5", "UA", "5", None, None],
    ]

    # What no table takes stops the stream, and a version that it takes goes on with the same batch.
    before = count(spark)
    registry.numbers = [1, 2, 3]
    topic.send([frame(2, {**new, "id": 4})])
    message = (
        r"batch 2 of flights, .*field 'seats' of schema version 3 is double, and bigint in table evolution\.flights: .*noth"
    )
    with pytest.raises(DriftStop, match=message):
        run(pipeline(topic, lake), spark, options)
    assert count(spark) == before
    registry.numbers = [1, 2]
    run(pipeline(topic, lake), spark, options)
    assert count(spark) == before + 1


def test_what_is_frozen_stops_or_is_said_once(spark: SparkSession, lake: Path, topic: Topic, catalog: CatalogClient) -> None:
    batches = list[BatchMetrics]()
    registry = Registry(numbers=[2])
    options = RunOptions(registry=registry, once=True, on_batch=batches.append, catalog=catalog)
    record = {"id": 2, "day": "d", "seats": 1, "delay": 0.1, "airline": "AA", "detail": {"wide_x": 1, "y": "b"}, "gate": "B"}
    topic.send([frame(2, record)])
    run(pipeline(topic, lake), spark, options)
    registry.numbers = [2, 4]
    topic.send([frame(4, {**record, "note": "n"})])
    frozen = pipeline(topic, lake, sink="    evolution: {add: freeze}\n")
    message = (
        r"schema version 4 has field 'note' \(string\), which table evolution\.flights lacks, and evolution\.add is freeze"
    )
    with pytest.raises(DriftStop, match=message) as stopped:
        run(frozen, spark, options)
    assert stopped.value.remedy is not None
    assert stopped.value.remedy.startswith("Set evolution.add of the sink to evolve")
    assert len(rows(lake)) == 1

    lenient = pipeline(topic, lake, sink="    evolution: {add: freeze}\n", extra="drift: {on_missing_field: warn}")
    for _ in range(2):
        run(lenient, spark, options)
        topic.send([frame(4, {**record, "note": "n"})])
    run(lenient, spark, options)
    assert [len(batch.warnings) for batch in batches[1:]] == [1, 0, 0], "said once, also over restarts"
    assert "note" not in {column["Name"] for column in catalog.table("evolution", "flights")["StorageDescriptor"]["Columns"]}
    assert len(rows(lake)) == 4


def test_a_rename_without_a_catalog_keeps_the_column(
    spark: SparkSession, lake: Path, broker: Broker, monkeypatch: Any
) -> None:
    monkeypatch.setattr(stream, "DEFINITIONS", (FIRST, SECOND))
    topic, registry = Topic(broker), Registry(numbers=[1])
    options = RunOptions(registry=registry, once=True)
    declared = parse_pipeline(declaration(topic, lake, transform="transform: {}"), environment={})
    topic.send([frame(1, {"id": 1, "day": "d", "seats": 7, "delay": 1.5, "carrier": "UA", "detail": {"x": 5}})])
    run(declared, spark, options)
    registry.numbers = [1, 2]
    record = {"id": 2, "day": "d", "seats": 1, "delay": 0.1, "airline": "AA", "detail": {"wide_x": 1, "y": "b"}, "gate": "B"}
    for number in (2, 3):
        topic.send([frame(2, {**record, "id": number})])
        run(declared, spark, options)
    results = (
        spark.read.schema("id bigint, carrier string, detail struct<x:bigint,y:string>").parquet("s3://lk/flights").collect()
    )
    assert {row.id: (row.carrier, row.detail.x) for row in results} == {1: ("UA", 5), 2: ("AA", 1), 3: ("AA", 1)}


def count(spark: SparkSession) -> int:
    return spark.read.schema("id bigint").parquet("s3://lk/flights").count()


WIDENED = [
    ("int", "bigint", "7"),
    ("tinyint", "int", "7"),
    ("smallint", "bigint", "7"),
    ("float", "double", "1.5"),
    ("int", "double", "7"),
    ("decimal(9,2)", "decimal(18,2)", "1.25"),
    ("decimal(9,2)", "decimal(20,2)", "1.25"),
    ("decimal(18,2)", "decimal(38,2)", "1.25"),
    ("decimal(9,2)", "decimal(12,4)", "1.25"),
    ("decimal(20,2)", "decimal(24,4)", "1.25"),
    ("struct<a:int>", "struct<a:bigint,b:string>", "named_struct('a', 7)"),
    ("array<int>", "array<bigint>", "array(7)"),
    ("map<int,float>", "map<bigint,double>", "map(7, 1.5)"),
    ("array<struct<a:float>>", "array<struct<a:double>>", "array(named_struct('a', 1.5))"),
]


def test_old_files_are_read_with_the_wider_types_by_spark_duckdb_and_pyarrow(spark: SparkSession, lake: Path) -> None:
    columns = [f"CAST({value} AS {old}) AS c{number}" for number, (old, _, value) in enumerate(WIDENED)]
    spark.sql(f"SELECT {', '.join(columns)}").coalesce(1).write.parquet("s3://lk/old")
    types = [spark_type(new) for _, new, _ in WIDENED]
    schema = spark_columns({f"c{number}": new for number, (_, new, _) in enumerate(WIDENED)})
    (by_spark,) = spark.read.schema(schema).parquet("s3://lk/old").collect()
    (file,) = (lake / "lk" / "old").glob("*.parquet")
    arrow = pa.schema([(f"c{number}", to_arrow_type(kind)) for number, kind in enumerate(types)])
    by_arrow = ds.dataset(str(file), schema=arrow).to_table()
    assert by_arrow.schema == arrow
    casts = [f"CAST(c{number} AS {duckdb_type(new)})" for number, (_, new, _) in enumerate(WIDENED)]
    (by_duckdb,) = duckdb.execute(f"SELECT {', '.join(casts)} FROM read_parquet('{file}')").fetchall()
    for number, (old, new, _) in enumerate(WIDENED):
        values = [by_spark[number], by_arrow.column(number)[0].as_py(), by_duckdb[number]]
        assert _plain(values[0]) == _plain(values[1]) == _plain(values[2]), (old, new, values)


def _plain(value: Any) -> Any:
    """A value as all three libraries give it: rows as mappings, maps as pairs, without fields that are null."""
    if hasattr(value, "asDict"):
        return _plain(value.asDict())
    if isinstance(value, dict):
        kept = {key: _plain(inner) for key, inner in value.items() if inner is not None}
        return kept if all(isinstance(key, str) for key in kept) else sorted(kept.items())
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _sql(server: RunningServer, statement: str) -> list[list[str | None]]:
    """Run a statement on the server's Athena API; return its rows without the header."""
    athena = server.client("athena")
    execution = athena.start_query_execution(QueryString=statement)["QueryExecutionId"]

    def state() -> str:
        return str(athena.get_query_execution(QueryExecutionId=execution)["QueryExecution"]["Status"]["State"])

    wait_until(lambda: state() not in {"QUEUED", "RUNNING"}, seconds=240)
    assert state() == "SUCCEEDED"
    result = athena.get_query_results(QueryExecutionId=execution)["ResultSet"]["Rows"][1:]
    return [[cell.get("VarCharValue") for cell in row["Data"]] for row in result]
