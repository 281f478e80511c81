"""Compaction of a table that a stream writes and SQL reads: catalog, files, types of several versions, the command."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.client.catalog import CatalogClient, table_input
from penstock.errors import ConcurrentModification, DataProblem, EnvironmentProblem, InvalidInput
from penstock.pipelines import parse_pipeline
from penstock.retries import wait_until
from penstock.spark.maintenance.lease import LEASE, table_lease
from penstock.spark.maintenance.rewrite import SparkRewriter
from penstock.spark.maintenance.settings import CompactionSettings
from penstock.spark.maintenance.table import compact_table
from penstock.spark.running.runner import RunOptions, run
from penstock.testing.server import RunningServer
from tests.integration.spark import stream
from tests.integration.spark.stream import Registry, Topic, declaration, frame

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

ID, DAY = {"name": "id", "type": "long"}, {"name": "day", "type": "string"}
TAGS = {"name": "tags", "type": {"type": "map", "values": "string"}}
FIRST = {"type": "record", "name": "Flight", "fields": [ID, DAY, {"name": "seats", "type": "int"}, TAGS]}
SECOND = {"type": "record", "name": "Flight", "fields": [ID, DAY, {"name": "seats", "type": "long"}, TAGS]}
NOW = CompactionSettings(older_than=0, grace=3600)


class Table:
    """The table ``compaction.flights``, written by a pipeline over one topic."""

    def __init__(self, spark: SparkSession, lake: Path, topic: Topic, server: RunningServer) -> None:
        self.spark, self.lake, self.topic, self.server = spark, lake, topic, server
        self.catalog = CatalogClient()
        self.registry = Registry(numbers=[1])

    def write(self, version: int, ids: range, *, per_trigger: int | None = None) -> None:
        """Let the pipeline write rows with these ids over two days."""
        self.registry.numbers = list(range(1, version + 1))
        rows = ({"id": number, "day": f"d{number % 2}", "seats": number, "tags": {"k": "v"}} for number in ids)
        self.topic.send(frame(version, row) for row in rows)
        target = "    partition_by: [day]\n    catalog: {database: compaction, table: flights, create: true}\n"
        text = declaration(self.topic, self.lake, transform="transform: {}", per_trigger=per_trigger)
        pipeline = parse_pipeline(text.replace("    partition_by: [day]\n", target), environment={})
        run(pipeline, self.spark, RunOptions(registry=self.registry, once=True, catalog=self.catalog))

    def read(self) -> list[int]:
        """The ids that SQL reads, from a copy of the lake in the server's."""
        shutil.rmtree(self.server.lake / "lk", ignore_errors=True)
        shutil.copytree(self.lake / "lk", self.server.lake / "lk")
        athena = self.server.client("athena")
        execution = athena.start_query_execution(
            QueryString="SELECT id FROM compaction.flights WHERE seats = id ORDER BY id"
        )
        number = execution["QueryExecutionId"]

        def state() -> str:
            return str(athena.get_query_execution(QueryExecutionId=number)["QueryExecution"]["Status"]["State"])

        wait_until(lambda: state() not in {"QUEUED", "RUNNING"}, seconds=240)
        assert state() == "SUCCEEDED"
        rows = athena.get_query_results(QueryExecutionId=number)["ResultSet"]["Rows"][1:]
        return [int(row["Data"][0]["VarCharValue"]) for row in rows]

    def files(self, folder: str) -> int:
        return len(list((self.lake / "lk" / "flights" / folder).glob("*.parquet")))

    def locations(self) -> Mapping[str, str]:
        partitions = self.catalog.partitions("compaction", "flights")
        return {item["Values"][0]: item["StorageDescriptor"]["Location"] for item in partitions}

    def command(self, *arguments: str) -> list[Any]:
        """What ``penstock compact`` prints for the table, as JSON."""
        ended = subprocess.run(
            [sys.executable, "-m", "penstock", "compact", "--table", "compaction.flights", "--json", "--master", "local[1]",
             "--lake", str(self.lake), "--home", str(self.lake.parent / "compact-home"), *arguments],
            env={**self._environment(), "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr[-3000:]
        return [json.loads(line) for line in ended.stdout.splitlines()]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self.server.environment()}


@pytest.fixture
def table(
    spark: SparkSession, spark_lake: Path, broker: Any, penstock_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> Table:
    for entry in (spark_lake / "lk").iterdir():
        shutil.rmtree(entry)
    for name, value in penstock_server.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(stream, "DEFINITIONS", (FIRST, SECOND))
    return Table(spark, spark_lake, Topic(broker), penstock_server)


def test_a_table_is_compacted_while_a_stream_writes_to_it(table: Table) -> None:
    table.write(1, range(30), per_trigger=10)
    table.write(2, range(30, 40))
    assert table.files("day=d0") == 4
    before = table.read()
    assert before == list(range(40))

    reports = compact_table(table.spark, "compaction", "flights", NOW)
    results = [(report.partition, report.done, report.files_before, report.files_after) for report in reports]
    assert results == [("day=d0", "swapped", 4, 1), ("day=d1", "swapped", 4, 1)]
    assert table.locations() == {day: f"s3://lk/flights/_compacted/000000/day={day}/" for day in ("d0", "d1")}
    assert table.files("day=d0") == 4, "old files stay for the grace time"
    assert table.read() == before
    assert LEASE not in table.catalog.table("compaction", "flights")["Parameters"]

    # The stream's next rows go where readers look, and a later run deletes what is not read any more.
    table.write(2, range(40, 50))
    assert table.files("_compacted/000000/day=d0") == 2
    assert table.read() == list(range(50))
    done = table.command("--older-than", "0s", "--grace", "0s")
    assert [(item["partition"], item["done"], item["files_after"]) for item in done] == [
        ("day=d0", "deleted", 1),
        ("day=d1", "deleted", 1),
        ("day=d0", "deleted", 1),
        ("day=d1", "deleted", 1),
    ], "the first compaction is completed, and the late file makes another one worthwhile"
    assert table.files("day=d0") == table.files("_compacted/000000/day=d0") == 0
    assert table.read() == list(range(50))


def test_files_that_differ_from_what_was_read_are_not_used(spark: SparkSession, table: Table) -> None:
    spark.sql("SELECT 1 AS id, map('k', 1) AS m UNION ALL SELECT 2, NULL").coalesce(1).write.parquet("s3://lk/old")
    inputs = [f"s3://lk/old/{path.name}" for path in (table.lake / "lk" / "old").glob("*.parquet")]
    assert SparkRewriter(spark).rewrite(inputs, "s3://lk/good", files=1, compression="snappy") == 2
    spark.sql("SELECT 3 AS id, CAST(NULL AS MAP<STRING, INT>) AS m").write.parquet("s3://lk/bad")
    message = "differs from its 1 files in rows, hashes, nulls of m: 2 and 3. The table still has the old files"
    with pytest.raises(DataProblem, match=message):
        SparkRewriter(spark).rewrite(inputs, "s3://lk/bad", files=1, compression="snappy")
    with pytest.raises(EnvironmentProblem, match="Spark could not write 1 files anew into s3://lk/none"):
        SparkRewriter(spark).rewrite(["s3://lk/old/missing.parquet"], "s3://lk/none", files=1, compression="snappy")


def test_one_process_compacts_a_table_and_says_what_cannot_be(table: Table) -> None:
    table.write(1, range(4))
    held = pytest.raises(ConcurrentModification, match=r"Table compaction\.flights is being compacted by ")
    with table_lease(table.catalog, "compaction", "flights", table_input=table_input), held:
        compact_table(table.spark, "compaction", "flights", NOW)
    definition = dict(table_input(table.catalog.table("compaction", "flights")))
    definition["PartitionKeys"], definition["Name"] = [], "plain"
    table.catalog.create_table("compaction", definition)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"Table compaction\.plain has no partitions"):
        compact_table(table.spark, "compaction", "plain", NOW)
