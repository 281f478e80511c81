"""SQL through Athena's API of a real server beside plain DuckDB on the same files, in one run.

The files are a year's flights as Parquet, and made-up orders. PENSTOCK_BENCH_ROWS sets the rows of the large result (default
a million). A statement counts from the request to the answer that it is done, asked for without pauses, or every tenth of
a second where many run. DuckDB runs in this process, on one connection with as many threads as a statement of the server.
"""

import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.sizes import size
from benchmarks.timing import Row, in_turn
from penstock.demo.flights import load_flights
from penstock.testing.server import RunningServer, running_server

__all__ = ["asked", "created", "run"]

ROWS = size("ROWS", 1_000_000, 1_000)

_THREADS = 2
_AT_ONCE = size(None, 50, 4)
_LOCATION = {"OutputLocation": "s3://lake/results/"}
_SMALL = {
    "one row": "SELECT 1",
    "count of 336,776 flights": "SELECT count(*) FROM {flights}",
    "average delay by carrier": "SELECT carrier, avg(dep_delay), count(*) FROM {flights} GROUP BY carrier",
    "longest flight by origin in June": "SELECT origin, max(distance) FROM {flights} WHERE month = 6 GROUP BY origin",
}
_LONG = "SELECT count(*) FROM {orders} a JOIN {orders} b ON a.id % 50 = b.id % 50 WHERE a.amount + b.amount < 0"
_HIVE = {"int32": "int", "int64": "bigint", "double": "double", "string": "string", "date32[day]": "date"}
_PARQUET = "org.apache.hadoop.hive.ql.io.parquet"


def run() -> list[Row]:
    """Return rows for small statements, a large result, and many statements at once."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as name, running_server(Path(name) / "home") as server:
        places = _fill(server)
        athena = server.client("athena")
        engine = duckdb.connect(config={"threads": _THREADS})
        rows = [_small(what, sql, athena, engine, places) for what, sql in _SMALL.items()]
        rows.append(_large(server, athena, engine, places, Path(name)))
        rows.append(_many(athena))
        return rows


def _fill(server: RunningServer) -> dict[str, str]:
    """Make the tables, and return DuckDB's source of each."""
    glue = server.client("glue")
    glue.create_database(DatabaseInput={"Name": "bench"})
    flights = load_flights()
    kept = [field.name for field in flights.schema if str(field.type) in _HIVE]
    tables = {"flights": flights.select(kept), "orders": _orders()}
    places = {}
    for name, table in tables.items():
        folder = server.lake / "lake" / name
        folder.mkdir(parents=True)
        pq.write_table(table, folder / "rows.parquet")
        places[name] = f"read_parquet('{folder / 'rows.parquet'}')"
        created(glue, name, {field.name: _HIVE[str(field.type)] for field in table.schema}, f"s3://lake/{name}/")
    return places


def created(glue: Any, name: str, columns: Mapping[str, str], location: str) -> None:
    """Create a table of Parquet files in the database ``bench``, with Hive's types of its columns."""
    storage = {
        "Columns": [{"Name": column, "Type": kind} for column, kind in columns.items()],
        "Location": location,
        "InputFormat": f"{_PARQUET}.MapredParquetInputFormat",
        "OutputFormat": f"{_PARQUET}.MapredParquetOutputFormat",
        "SerdeInfo": {"SerializationLibrary": f"{_PARQUET}.serde.ParquetHiveSerDe"},
    }
    glue.create_table(DatabaseName="bench", TableInput={"Name": name, "StorageDescriptor": storage})


def _orders() -> pa.Table:
    numbers = range(ROWS)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "customer": [f"customer {number % 5_000}" for number in numbers],
            "amount": [number * 0.37 for number in numbers],
            "day": pa.array([15_000 + number % 365 for number in numbers], pa.int32()).cast(pa.date32()),
        }
    )


def asked(athena: Any, sql: str, *, pause: float = 0.0) -> dict[str, Any]:
    """Run a statement to its end, asking for its state every ``pause`` seconds; return Athena's QueryExecution."""
    started = athena.start_query_execution(
        QueryString=sql, QueryExecutionContext={"Database": "bench"}, ResultConfiguration=_LOCATION
    )["QueryExecutionId"]
    while True:
        results: dict[str, Any] = athena.get_query_execution(QueryExecutionId=started)["QueryExecution"]
        state = results["Status"]["State"]
        if state not in {"QUEUED", "RUNNING"}:
            if state != "SUCCEEDED":
                raise RuntimeError(str(results["Status"].get("StateChangeReason")))
            return results
        time.sleep(pause)


def _small(what: str, sql: str, athena: Any, engine: duckdb.DuckDBPyConnection, places: dict[str, str]) -> Row:
    names = {name: name for name in places}
    took = _best(
        ours=lambda: asked(athena, sql.format(**names)), other=lambda: engine.execute(sql.format(**places)).fetchall()
    )
    ours, other = took["ours"] * 1000, took["other"] * 1000
    aim = "5 ms" if what == "one row" else "DuckDB's time and 5 ms"
    limit = 5.0 if what == "one row" else other + 5.0
    return Row(f"SQL: {what}", f"{ours:.1f} ms", f"DuckDB {other:.1f} ms", ours / other, aim, ours <= limit)


def _large(
    server: RunningServer, athena: Any, engine: duckdb.DuckDBPyConnection, places: dict[str, str], folder: Path
) -> Row:
    def download() -> None:
        uri = asked(athena, "SELECT * FROM orders")["ResultConfiguration"]["OutputLocation"]
        (folder / "downloaded.csv").write_bytes((server.lake / uri.removeprefix("s3://")).read_bytes())

    copy = f"COPY (SELECT * FROM {places['orders']}) TO '{folder / 'copied.csv'}' (FORCE_QUOTE *)"
    took = _best(ours=download, other=lambda: engine.execute(copy), rounds=3)
    ratio = took["ours"] / took["other"]
    return Row(
        f"SQL: {ROWS:,} rows as CSV", f"{took['ours']:.2f} s", f"DuckDB {took['other']:.2f} s", ratio, "1.5", ratio <= 1.5
    )


def _many(athena: Any) -> Row:
    """Small statements beside one for each worker that runs all the while, against as many statements alone."""

    def at_once() -> float:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            began = time.perf_counter()
            list(pool.map(lambda number: asked(athena, f"SELECT {number}", pause=0.1), range(_AT_ONCE)))
            return time.perf_counter() - began

    alone = at_once()
    long = [
        athena.start_query_execution(
            QueryString=_LONG.format(orders="orders"),
            QueryExecutionContext={"Database": "bench"},
            ResultConfiguration=_LOCATION,
        )["QueryExecutionId"]
        for _ in range(2)
    ]
    beside = at_once()
    running = sum(
        athena.get_query_execution(QueryExecutionId=item)["QueryExecution"]["Status"]["State"] == "RUNNING" for item in long
    )
    for item in long:
        athena.stop_query_execution(QueryExecutionId=item)
    what = f"SQL: {_AT_ONCE} statements at once beside {running} that still run"
    return Row(what, f"{beside:.2f} s", f"alone {alone:.2f} s", beside / alone, "all end first", running == len(long))


def _best(*, ours: Callable[[], object], other: Callable[[], object], rounds: int = 10) -> dict[str, float]:
    return in_turn({"ours": ours, "other": other}, rounds).seconds
