"""Query time over a table of small files, before and after ``penstock compact``'s work, through a real server's SQL.

The table has a partition for each day, each with as many files as a stream leaves that commits every few minutes. Both
queries run in turn, over two copies of the table. PENSTOCK_BENCH_FILES sets the files of a partition (default 200).
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.sizes import size
from benchmarks.timing import Row, in_turn
from penstock.cli.platform.fetch import spark_archive
from penstock.client.catalog import CatalogClient
from penstock.local.artefacts import class_path
from penstock.local.java import find_java
from penstock.pipelines.sections import CatalogTarget
from penstock.retries import wait_until
from penstock.spark.maintenance.settings import CompactionSettings
from penstock.spark.maintenance.table import compact_table
from penstock.spark.session import SessionSettings, open_session
from penstock.spark.tables.catalog import PARQUET, CatalogTable
from penstock.testing.server import RunningServer, running_server

__all__ = ["run"]

DAYS = size(None, 7, 4)
FILES = size("FILES", 200, 3)
ROWS = 2_000

_QUERIES = {
    "count by carrier, all days": "SELECT carrier, count(*), avg(delay) FROM bench.{} GROUP BY carrier",
    "one flight of one day": "SELECT * FROM bench.{} WHERE day = 'd3' AND id = 300000",
}
_AIM = 3.0


def run() -> list[Row]:
    """Return a row for each query: after against before."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as name, running_server(Path(name) / "home") as server:
        os.environ.update(server.environment())
        for table in ("before", "after"):
            _fill(server, table)
        _compact(server, Path(name))
        athena = server.client("athena")
        return [_compared(what, sql, athena) for what, sql in _QUERIES.items()]


def _compared(what: str, sql: str, athena: Any) -> Row:
    def query(table: str) -> Callable[[], None]:
        return lambda: _query(athena, sql.format(table))

    measured = in_turn({"before": query("before"), "after": query("after")}, rounds=5)
    before, after = measured.seconds["before"], measured.seconds["after"]
    return Row(
        f"SQL, {what}: {DAYS * FILES} files compacted to {DAYS}",
        f"{after * 1000:.0f} ms",
        f"{before * 1000:.0f} ms",
        before / after,
        f"{_AIM:.0f} or more",
        before / after >= _AIM,
    )


def _fill(server: RunningServer, name: str) -> None:
    table = CatalogTable(
        CatalogClient(),
        CatalogTarget(database="bench", table=name, create=True),
        location=f"s3://lake/{name}",
        keys=["day"],
        files=PARQUET,
        table_input=lambda found: found,
    )
    for day in range(DAYS):
        folder = server.lake / "lake" / name / f"day=d{day}"
        folder.mkdir(parents=True)
        for number in range(FILES):
            first = (day * FILES + number) * ROWS
            ids = range(first, first + ROWS)
            rows = {
                "id": pa.array(ids, pa.int64()),
                "carrier": [f"C{id_ % 16}" for id_ in ids],
                "delay": [id_ % 100 / 2 for id_ in ids],
                "note": [f"note {id_ % 1000}" for id_ in ids],
            }
            pq.write_table(pa.table(rows), folder / f"part-{number:05d}.parquet", compression="snappy")
    columns = {"id": "bigint", "carrier": "string", "delay": "double", "note": "string", "day": "string"}
    table.sync(columns, [f"day=d{day}" for day in range(DAYS)])


def _compact(server: RunningServer, folder: Path) -> None:
    archive = spark_archive(find_java(os.environ).home)
    settings = SessionSettings(
        master="local[2]", jars=class_path("spark"), lake=server.lake, log=folder / "spark.log", archive=archive
    )
    spark = open_session(settings, name="bench", locations=["s3://lake/after"])
    try:
        reports = compact_table(spark, "bench", "after", CompactionSettings(older_than=0, grace=0))
    finally:
        spark.stop()
    before, after = (
        sum(sizes) for sizes in zip(*((report.bytes_before, report.bytes_after or 0) for report in reports), strict=True)
    )
    print(f"{before:,} bytes before, {after:,} after")


def _query(athena: Any, sql: str) -> None:
    number = athena.start_query_execution(QueryString=sql)["QueryExecutionId"]

    def state() -> str:
        return str(athena.get_query_execution(QueryExecutionId=number)["QueryExecution"]["Status"]["State"])

    wait_until(lambda: state() not in {"QUEUED", "RUNNING"}, seconds=120, every=0.005)
    if state() != "SUCCEEDED":
        raise RuntimeError(athena.get_query_execution(QueryExecutionId=number)["QueryExecution"]["Status"])
