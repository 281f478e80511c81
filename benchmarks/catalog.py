"""A table with very many partitions: their creation, and a page of GetPartitions by each kind of expression.

PENSTOCK_BENCH_PARTITIONS sets their number (default: a million). They are created a hundred at a time, as
BatchCreatePartition does, in this process, whose memory is watched. Each page is a signed request to a server, and its
figure the best of five, the first of which warms the store. PENSTOCK_BENCH_STORE=postgresql uses PostgreSQL instead of
SQLite.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import date, timedelta
from itertools import islice
from pathlib import Path

import psutil

from benchmarks.load import measure, sign
from benchmarks.sizes import size
from benchmarks.timing import Row
from penstock.catalog.model import Column, DatabaseInput, PartitionInput, SerDeInfo, StorageDescriptor, TableInput
from penstock.catalog.service import CatalogService
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.store.sql.database import Database
from penstock.testing.postgres import running_postgres
from penstock.testing.server import RunningServer, start_server

__all__ = ["run"]

PARTITIONS = size("PARTITIONS", 1_000_000, 200)
POSTGRESQL = os.environ.get("PENSTOCK_BENCH_STORE") == "postgresql"

_BATCH = 100
_SHOPS = 1_000  # a day
_FIRST_DAY = date(2015, 1, 1)
_ROUNDS = size(None, 5, 1)
_PAGE_AIM, _MEMORY_AIM = 100.0, 50.0
_HIVE = "org.apache.hadoop.hive.ql.io.parquet"

EXPRESSIONS = (
    "dt = '2015-03-01'",
    "dt >= '2015-03-01' AND dt < '2015-04-01'",
    "dt = '2015-03-01' AND shop = 7 AND region = 'r3'",
    "shop = 77",
    "shop = 77 AND dt > '2015-02-01'",
    "shop BETWEEN 500 AND 520",
    "shop > 900 AND region = 'r3'",
    "shop <> 5",
    "region = 'r7'",
    "region LIKE '%7'",
    "region = 'nowhere'",
    "dt = '2015-03-01' OR shop = 5",
    "region <> 'r3' AND shop IN (1, 2, 3)",
)


def run() -> list[Row]:
    """Return a row for the memory of the creation, and one for each expression's first page."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-bench-")))
        environment = {}
        if POSTGRESQL:
            environment["PENSTOCK_STORE_URL"] = stack.enter_context(running_postgres()).new_database()
        start_server(home, environment=environment).stop()
        url = environment.get("PENSTOCK_STORE_URL", f"sqlite:///{home / 'store' / 'penstock.db'}")
        grown, seconds = _create(url)
        server = start_server(home, environment=environment)
        stack.callback(server.stop)
        kind = "PostgreSQL" if POSTGRESQL else "SQLite"
        rows = [
            Row(f"memory that {PARTITIONS:,} partitions took to create, {PARTITIONS / seconds:,.0f}/s, {kind}",
                f"{grown:.0f} MB", f"{_MEMORY_AIM:.0f} MB", grown / _MEMORY_AIM, "1 or less", grown <= _MEMORY_AIM)
        ]  # fmt: skip
        for text in EXPRESSIONS:
            spent = _page(server, text)
            what = f"a page of 1,000 of {PARTITIONS:,} partitions, {text.replace('|', '')}, {kind}"
            rows.append(
                Row(what, f"{spent:.0f} ms", f"{_PAGE_AIM:.0f} ms", spent / _PAGE_AIM, "1 or less", spent <= _PAGE_AIM)
            )
        return rows


def _values() -> Iterator[tuple[str, str, str]]:
    for number in range(PARTITIONS):
        day, shop = divmod(number, _SHOPS)
        yield (_FIRST_DAY + timedelta(day)).isoformat(), str(shop), f"r{shop * 7919 % 25}"


def _storage(location: str) -> StorageDescriptor:
    return StorageDescriptor(
        columns=tuple(Column(name=f"c{number}", type="string") for number in range(8)),
        location=location,
        input_format=f"{_HIVE}.MapredParquetInputFormat",
        output_format=f"{_HIVE}.MapredParquetOutputFormat",
        serde_info=SerDeInfo(serialization_library=f"{_HIVE}.serde.ParquetHiveSerDe"),
    )


def _create(url: str) -> tuple[float, float]:
    """Return the megabytes that this process grew by after the first tenth, and the seconds that it all took."""
    database = Database(url)
    catalog = CatalogService(SqlCatalogStore(database))
    catalog.create_database(DatabaseInput(name="sales"))
    keys = (Column(name="dt", type="date"), Column(name="shop", type="int"), Column(name="region", type="string"))
    catalog.create_table("sales", TableInput(name="orders", storage=_storage("s3://lake/orders/"), partition_keys=keys))
    process, values, began = psutil.Process(), _values(), time.monotonic()
    settled, made = 0, 0
    while batch := list(islice(values, _BATCH)):
        expected = [
            PartitionInput(values=pair, storage=_storage("s3://lake/orders/dt={}/shop={}/region={}/".format(*pair)))
            for pair in batch
        ]
        if failed := catalog.create_partitions("sales", "orders", expected):
            raise RuntimeError(f"{len(failed)} partitions failed, the first with {failed[0][1]}")
        made += len(batch)
        settled = settled or (process.memory_info().rss if made >= PARTITIONS // 10 else 0)
    spent = time.monotonic() - began
    database.close()
    return (process.memory_info().rss - settled) / 1e6, spent


def _page(server: RunningServer, expression: str) -> float:
    """Return the milliseconds of a page, the best of several."""
    key = (server.access_key_id, server.secret_access_key)
    body = {"DatabaseName": "sales", "TableName": "orders", "Expression": expression, "MaxResults": 1000}
    requests = [sign(server.endpoint_url, "GetPartitions", body, key)]
    best = float("inf")
    for _ in range(_ROUNDS):
        rate = measure(server.endpoint_url, requests, seconds=60, connections=1, repeat=False)
        if rate.refused or not rate.answered:
            raise RuntimeError(f"GetPartitions was refused with {rate.first_refusal[:500]!r}")
        best = min(best, rate.seconds * 1e3)
    return best
