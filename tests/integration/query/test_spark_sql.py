"""Statements of a work group that selects Spark SQL, by boto3, beside those of the other engine over the same tables."""

import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.testing.server import start_server

SECRET = "open-sesame-77"
ENGINE = "Spark SQL engine version 4"
SETUP = (
    "CREATE EXTERNAL TABLE sales (id int, big bigint, name string, x double, price decimal(10,2), day date, at timestamp, "
    "items array<int>) PARTITIONED BY (year int, shop string) STORED AS PARQUET LOCATION 's3://lake/sales/'",
    "MSCK REPAIR TABLE sales",
    "CREATE TABLE ice (id int, name string, at timestamp) LOCATION 's3://lake/ice/' TBLPROPERTIES ('table_type'='ICEBERG')",
    "INSERT INTO ice VALUES (1, 'one', TIMESTAMP '2024-01-01 00:00:00'), (2, 'two', NULL), (3, 'gone', NULL)",
    "DELETE FROM ice WHERE id = 3",
    "CREATE VIEW named AS SELECT id, upper(name) AS loud, year FROM sales WHERE id > 0",
)
QUERIES = (
    "SELECT * FROM sales ORDER BY year, id",
    "SELECT year, shop, count(*) AS n, sum(big), sum(price) FROM sales WHERE year >= 2020 GROUP BY year, shop ORDER BY 1, 2",
    "SELECT ID, x AS Foo, CAST(x AS decimal(12,1)), big / 2, x / id, x / 0, -price FROM sales WHERE x < 2 ORDER BY year, id",
    "SELECT date_trunc('month', day), year(at), day + INTERVAL '1' MONTH, extract(week FROM day) FROM sales ORDER BY 1, 2",
    "SELECT s.id, v.loud, i.name FROM sales s JOIN named v ON s.id = v.id AND s.year = v.year JOIN ice i ON i.id = s.id "
    "ORDER BY 1, 2, 3, s.year",
    "SELECT * FROM ice ORDER BY id, name",
    "SELECT id, row_number() OVER (PARTITION BY year ORDER BY id DESC) AS n, lag(id) OVER (ORDER BY year, id) FROM sales "
    "ORDER BY year, id NULLS FIRST",
    "SELECT name, min(x), count(DISTINCT id) FILTER (WHERE price > 0) FROM sales GROUP BY GROUPING SETS ((name), ()) "
    "ORDER BY 1, 2",
    r"SELECT name || '\n', strpos(name, '\'), length(name) FROM sales WHERE name LIKE 'x%' AND at > DATE '2020-01-01'",
    "SELECT id FROM sales WHERE id NOT IN (SELECT id FROM ice) UNION ALL SELECT id FROM ice ORDER BY 1 DESC LIMIT 3",
    "SELECT a.id, b.name FROM ice a JOIN ice b ON a.id = b.id AND a.name = b.name ORDER BY 1, 2",
    "SELECT id FROM sales WHERE id = 77",
    "SELECT * FROM made ORDER BY year",
)


@dataclass(frozen=True)
class World:
    athena: Any
    server: int
    """The server's process."""

    def execution(self, sql: str, group: str) -> dict[str, Any]:
        """Run a statement to its end."""
        started = self.athena.start_query_execution(
            QueryString=sql, WorkGroup=group, QueryExecutionContext={"Database": "db"}
        )["QueryExecutionId"]
        return self.end(started)

    def is_refused(self, sql: str) -> bool:
        """Whether a statement of Spark's work group is refused, at once or in its run."""
        try:
            return bool(self.execution(sql, "big")["Status"]["State"] == "FAILED")
        except self.athena.exceptions.InvalidRequestException:
            return True

    def end(self, execution: str) -> dict[str, Any]:
        """Wait for a statement's end."""
        deadline = time.monotonic() + 120
        while True:
            result = self.athena.get_query_execution(QueryExecutionId=execution)["QueryExecution"]
            if result["Status"]["State"] in {"SUCCEEDED", "FAILED", "CANCELLED"}:
                return result  # type: ignore[no-any-return]
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def answer(self, sql: str, group: str) -> Any:
        """Return the rows and the columns of a statement, which has to succeed."""
        done = self.execution(sql, group)
        assert done["Status"]["State"] == "SUCCEEDED", (sql, group, done["Status"].get("StateChangeReason"))
        results = self.athena.get_query_results(QueryExecutionId=done["QueryExecutionId"])["ResultSet"]
        rows = [[item.get("VarCharValue") for item in row["Data"]] for row in results["Rows"]]
        return rows, results["ResultSetMetadata"]["ColumnInfo"], done["Statistics"]["DataScannedInBytes"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    home = tmp_path_factory.mktemp("spark-sql")
    secrets = home / "spark.conf"
    secrets.touch(mode=0o600)
    # The operator's own setting does not switch substitution on either.
    secrets.write_text(f"spark.hadoop.test.password={SECRET}\nspark.sql.variable.substitute=true\n")
    # The process lives too briefly for the JDK's second compiler to pay off; it does not inherit the tests' variables.
    quick = "spark.driver.defaultJavaOptions=-XX:TieredStopAtLevel=1"
    arguments = ["--spark-master", "local[1]", "--spark-driver-memory", "700m"]
    arguments += ["--spark-conf", f"@{secrets}", "--spark-conf", quick]
    server = start_server(home, arguments=arguments)
    try:
        server.client("glue").create_database(DatabaseInput={"Name": "db"})
        athena = server.client("athena")
        for name, engine in (("small", "AUTO"), ("big", ENGINE)):
            configuration = {
                "EngineVersion": {"SelectedEngineVersion": engine},
                "ResultConfiguration": {"OutputLocation": "s3://lake/results/"},
            }
            athena.create_work_group(Name=name, Configuration=configuration)
        for year, shop in ((2020, "a b"), (2021, "é%:")):
            folder = home / "lake/lake/sales" / f"year={year}" / f"shop={shop.replace('%', '%25').replace(':', '%3A')}"
            folder.mkdir(parents=True)
            pq.write_table(_sales(year), folder / "part-0.parquet")
        made = World(athena, server.process.pid)
        for sql in SETUP:
            made.answer(sql, "big")
        yield made
    finally:
        server.stop()


def _sales(year: int) -> pa.Table:
    at = [datetime(2020, 1, 1, 1, 2, 3, 456000)] * 2
    return pa.table(
        {
            "id": pa.array([1, 2, None], pa.int32()),
            "big": [year, 2**40, -3],
            "name": ["x'\\y", "é", None],
            "x": [1.5, -0.25, 1e10],
            "price": pa.array([Decimal("1.25"), None, Decimal("-3.10")], pa.decimal128(10, 2)),
            "day": [date(2020, 1, 31), None, date(1999, 12, 1)],
            "at": pa.array([*at, None], pa.timestamp("us")),
            "items": pa.array([[1, 2], None, []], pa.list_(pa.int32())),
        }
    )


def test_a_statement_reads_no_variable_and_no_file_of_the_process(world: World) -> None:
    """Texts are texts, in each of Spark's spellings of something else."""
    names = ("env:HOME", "system:user.home", "system:spark.hadoop.test.password", "hiveconf:spark.hadoop.test.password")
    for name in names:
        # Beside a table, so that Spark SQL computes it.
        sql = f"SELECT DISTINCT '${{{name}}}' || '' FROM sales"
        assert world.answer(sql, "big")[0][1:] == [[f"${{{name}}}"]], name
    for sql in (
        "SELECT reflect('java.lang.System', 'getenv', 'HOME') FROM sales",
        "SELECT java_method('java.lang.System', 'getProperty', 'user.home') FROM sales",
        "SELECT try_reflect('java.lang.System', 'getProperty', 'user.home') FROM sales",
        'SELECT * FROM json."/etc/passwd"',
        'SELECT * FROM sales JOIN text."/etc/passwd" ON true',
        "SELECT input_file_name() FROM sales",
        "SELECT spark_partition_id(), current_user() FROM sales",
        "SET spark.sql.variable.substitute=true",
        "ADD JAR '/tmp/x.jar'",
        "CREATE FUNCTION f AS 'java.lang.Runtime' USING JAR '/tmp/x.jar'",
        "CREATE TABLE p USING jdbc OPTIONS (url 'jdbc:h2:mem:')",
        "SELECT /*+ COALESCE(1) */ transform(name) USING 'cat' FROM sales",
    ):
        assert world.is_refused(sql), sql


def test_a_secret_of_sparks_settings_is_in_no_command_line(world: World) -> None:
    world.answer("SELECT count(*) FROM sales WHERE id + 1 > 0", "big")
    processes = psutil.Process(world.server).children(recursive=True)
    lines = []
    for process in [psutil.Process(world.server), *processes]:
        with suppress(psutil.ZombieProcess, psutil.NoSuchProcess):
            lines.append(" ".join(process.cmdline()))
    assert any("java" in line for line in lines)
    assert [line for line in lines if SECRET in line or "--conf" in line.split()] == []


def test_both_engines_answer_alike(world: World) -> None:
    written = (
        "CREATE TABLE made WITH (external_location='s3://lake/made/') AS SELECT year, count(*) AS n FROM sales GROUP BY year"
    )
    world.answer(written, "big")
    world.answer("INSERT INTO ice SELECT id, name, at FROM sales WHERE year = 2020 AND id = 2", "big")
    for sql in QUERIES:
        assert world.answer(sql, "big") == world.answer(sql, "small"), sql
    first = world.answer('SELECT min_by(snapshot_id, committed_at) FROM "ice$snapshots"', "small")[0][1][0]
    earlier = f"SELECT * FROM ice FOR VERSION AS OF {first} ORDER BY id"
    assert world.answer(earlier, "big") == world.answer(earlier, "small")
    both = world.execution(f"SELECT count(*) FROM ice a, ice FOR VERSION AS OF {first} b", "big")
    assert "two versions of one table in a query" in both["Status"]["StateChangeReason"]


def test_what_fails_and_what_is_stopped_says_so(world: World) -> None:
    failed = world.execution("SELECT big / (id - id) FROM sales WHERE id = 1", "big")
    assert failed["Status"]["StateChangeReason"] == "DIVISION_BY_ZERO: Division by zero"
    assert failed["EngineVersion"] == {"SelectedEngineVersion": ENGINE, "EffectiveEngineVersion": ENGINE}
    # Rows are made faster than one core can count them.
    wide = ", ".join(f"sales s{at}" for at in range(20))
    running = world.athena.start_query_execution(
        QueryString=f"SELECT count(DISTINCT s1.big + s7.id + s9.id) FROM {wide}",
        WorkGroup="big",
        QueryExecutionContext={"Database": "db"},
    )["QueryExecutionId"]
    while world.athena.get_query_execution(QueryExecutionId=running)["QueryExecution"]["Status"]["State"] == "QUEUED":
        time.sleep(0.05)
    world.athena.stop_query_execution(QueryExecutionId=running)
    assert world.end(running)["Status"]["State"] == "CANCELLED"
    assert world.answer("SELECT count(*) FROM sales", "big")[0] == [["_col0"], ["6"]]
    # A shell that spark-class started may have ended before the JVM took its starter's place, and the JVM waits for none.
    started = psutil.Process(world.server).children(recursive=True)
    below = [process for process in started if process.status() != psutil.STATUS_ZOMBIE]
    engines = [
        process for process in below if process.name() == "java" or "penstock.spark.sql.confined" in process.cmdline()
    ]
    if sys.platform == "linux":
        assert all("Seccomp:\t2" in Path(f"/proc/{engine.pid}/status").read_text() for engine in engines)
    for java in [engine for engine in engines if engine.name() == "java"]:
        java.kill()
    lost = world.execution("SELECT count(*) FROM sales", "big")["Status"]
    assert "Spark's JVM was killed by signal 9 (SIGKILL)" in lost["StateChangeReason"]
    assert world.answer("SELECT count(*) FROM sales", "big")[0] == [["_col0"], ["6"]]


def test_explain_tells_the_engine_and_its_plan(world: World) -> None:
    lines = [row[0] for row in world.answer("EXPLAIN SELECT id FROM sales WHERE year = 2020", "big")[0]]
    assert lines[0] == "Engine: Spark SQL"
    assert lines[1] == "db.sales: Spark SQL reads 1 Parquet files of db.sales"
    assert "== Physical Plan ==" in lines
