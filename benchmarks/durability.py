"""The cost of syncs before acknowledgement, against the same work without a sync: registrations and batches.

Both alternate in one run, on one disk. Registrations are signed and sent over HTTP, from 16 connections at once and from
one, which waits for the disk each time. A batch is Spark's: it writes eight partition folders, then the ledger commits.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import boto3
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from benchmarks.definitions import definition
from benchmarks.load import measure, sign
from benchmarks.sizes import size
from benchmarks.timing import Row
from penstock import durable
from penstock.interpreter import python_module
from penstock.lake.ledger import Batch, Ledger, Manifest, plan_moves
from penstock.local.artefacts import class_path
from penstock.spark.hadoop import HadoopFiles
from penstock.spark.session import SessionSettings, open_session
from penstock.testing.server import RunningServer, start_server

__all__ = ["run"]

_SECONDS = size(None, 3.0, 0.2)
_ROUNDS = size(None, 5, 1)
_SCHEMAS = 40
_ROWS = size(None, 200_000, 100)
_BATCHES = size(None, 20, 1)
_MANY_AIM, _ONE_AIM, _BATCH_AIM = 0.7, 0.2, 0.8


def run() -> list[Row]:
    """Return three rows: registrations at 16 and at 1 at once, and batches."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-", dir=Path.cwd()) as folder:
        return [*_registrations(Path(folder)), _batches(Path(folder))]


def _registrations(folder: Path) -> list[Row]:
    servers = [
        start_server(folder / "synced", program=python_module("penstock")),
        start_server(folder / "unsynced", program=[sys.executable, "-m", "benchmarks.unsynced"]),
    ]
    try:
        loads = [_Load(server) for server in servers]
        rows = []
        for connections, aim in ((16, _MANY_AIM), (1, _ONE_AIM)):
            rates: list[list[float]] = [[], []]
            for number in range(_ROUNDS + 1):
                for load, found in zip(loads, rates, strict=True):
                    rate = load.register(connections)
                    if number:
                        found.append(rate)
            what = f"register a version, {connections} at once, synced against not"
            rows.append(_row(what, "/s", median(rates[0]), median(rates[1]), aim))
        return rows
    finally:
        for server in servers:
            server.stop()


class _Load:
    def __init__(self, server: RunningServer) -> None:
        self._server = server
        self._key = (server.access_key_id, server.secret_access_key)
        self._next = 0
        glue: Any = boto3.client(
            "glue",
            endpoint_url=server.endpoint_url,
            region_name="us-east-1",
            aws_access_key_id=self._key[0],
            aws_secret_access_key=self._key[1],
        )
        glue.create_registry(RegistryName="bench")
        for number in range(_SCHEMAS):
            glue.create_schema(
                RegistryId={"RegistryName": "bench"},
                SchemaName=f"schema-{number}",
                DataFormat="AVRO",
                Compatibility="NONE",
                SchemaDefinition=definition(number),
            )

    def register(self, connections: int) -> float:
        """Return registrations a second, each of a new definition."""
        requests = []
        for _ in range(int(3_000 * _SECONDS)):
            self._next += 1
            text = definition(_SCHEMAS + self._next)
            schema = {"RegistryName": "bench", "SchemaName": f"schema-{self._next % _SCHEMAS}"}
            body = {"SchemaId": schema, "SchemaDefinition": text}
            requests.append(sign(self._server.endpoint_url, "RegisterSchemaVersion", body, self._key))
        rate = measure(self._server.endpoint_url, requests, seconds=_SECONDS, connections=connections, repeat=False)
        if rate.refused:
            raise RuntimeError(f"{rate.refused} requests were refused, the first with {rate.first_refusal[:500]!r}")
        return rate.per_second


def _batches(folder: Path) -> Row:
    (folder / "lake" / "bench").mkdir(parents=True)
    settings = SessionSettings(
        master="local[2]", jars=class_path("spark"), lake=folder / "lake", log=folder / "spark.log", driver_memory="1g"
    )
    spark = open_session(settings, name="bench", locations=["s3://bench/any"])
    try:
        seconds: list[list[float]] = [[], []]
        runs = [_Stream(spark, "synced"), _Stream(spark, "unsynced")]
        for number in range(_BATCHES + 3):
            for run_, found, sync in zip(runs, seconds, (True, False), strict=True):
                spent = _without_sync(run_.batch) if not sync else _timed(run_.batch)
                if number >= 3:
                    found.append(spent)
    finally:
        spark.stop()
    ours, other = (1 / median(item) for item in seconds)
    return _row("a batch of Spark's to its commit, synced against not", "/s", ours, other, _BATCH_AIM)


class _Stream:
    """Batches of one table: staged, recorded in a manifest, renamed, committed, as in penstock.spark."""

    def __init__(self, spark: SparkSession, table: str) -> None:
        self._spark = spark
        self._table = f"s3://bench/{table}"
        self._query = "0" * 31 + "1"
        self._files = HadoopFiles(spark)
        self._ledger = Ledger(self._files, table=self._table, pipeline="p", query=self._query)
        self._ledger.open()
        self._number = 0

    def batch(self) -> None:
        batch = Batch(self._number, "{}", f'{{"t": {{"0": {self._number}}}}}')
        self._number += 1
        self._ledger.run(batch, lambda: self._stage(batch))

    def _stage(self, batch: Batch) -> Manifest:
        staging = self._ledger.staging(batch.id)
        rows = self._spark.range(_ROWS).withColumn("day", F.col("id") % 8).withColumn("text", F.col("id").cast("string"))
        rows.coalesce(1).write.mode("append").option("compression", "snappy").partitionBy("day").parquet(staging)
        staged = self._files.walk(staging)
        moves = plan_moves(staged, folder=staging, table=self._table, query=self._query, batch=batch.id)
        return Manifest(batch=batch, moves=moves)


def _timed(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _without_sync(work: Callable[[], None]) -> float:
    real = durable.sync_file
    vars(durable)["sync_file"] = lambda _descriptor: None
    try:
        return _timed(work)
    finally:
        vars(durable)["sync_file"] = real


def _row(what: str, unit: str, ours: float, other: float, aim: float) -> Row:
    ratio = ours / other
    return Row(what, f"{ours:,.2f}{unit}", f"{other:,.2f}{unit}", ratio, f"{aim} or more", ratio >= aim)
