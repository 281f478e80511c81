"""What the process of Spark SQL does, which :mod:`penstock.spark.sql.confined` starts with a socket to its owner.

The first message has the members of :class:`penstock.spark.sql.engine.SparkSqlSettings`, ``lake``, ``log`` and ``files``,
the parent of the folders that rows are written to. Then requests come: ``run`` with a
``number``, ``sql``, what it ``reads``, the ``types`` of its columns, the ``file`` for its rows (Arrow's file format), a
``limit`` of bytes and ``explain``; and ``cancel`` with the number. The answers are ``done`` with ``order`` (the batches of
the file in the order of the rows) or ``lines``, and ``failed`` with ``code`` and ``message``. All are JSON. The process ends
when the socket closes, or when no query came for as long as the settings say.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import unwrap_spark_exception
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.serializers import ArrowCollectSerializer
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.util import _load_from_socket

from penstock.spark.jvm import Jvm
from penstock.spark.session import NO_VARIABLES, SessionSettings, open_session
from penstock.spark.sql.faults import TooLarge, failure, loss
from penstock.spark.sql.views import make_views

__all__ = ["SEMANTICS", "main"]

_PATIENCE = 2.0  # seconds

SEMANTICS: Mapping[str, str] = {
    # Errors where Trino has errors, and no instants where Trino has none.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    # Names mean what they mean in Trino.
    "spark.sql.caseSensitive": "false",
    "spark.sql.groupByAliases": "false",
    "spark.sql.lateralColumnAlias.enableImplicitResolution": "false",
    "spark.sql.crossJoin.enabled": "true",
    # Values as they are in the files, as the other engine reads them.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.filterPushdown": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    # Rows go to a file as they come; its size is limited.
    "spark.driver.maxResultSize": "0",
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    # Iceberg tables are read by their metadata file, without a catalog.
    "spark.sql.catalog.default_iceberg": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.default_iceberg.type": "hadoop",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.scheduler.mode": "FAIR",
}
"""Spark's settings under which the translated queries have Trino's results."""


def main(channel: "Connection[Any, Any]", settings: Mapping[str, Any]) -> None:
    """Serve the owner, whose first message the settings were."""
    spark = _session(settings)
    pool = ThreadPoolExecutor(settings["at_once"], thread_name_prefix="penstock-spark-sql")
    with suppress(EOFError, OSError):
        _Service(channel, spark, pool).serve(settings["idle_seconds"])
    # Threads that still compute are not waited for, and the JVM ends with this process.
    os._exit(0)


def _session(settings: Mapping[str, Any]) -> SparkSession:
    lake = Path(settings["lake"])
    buckets = [each.name for each in lake.iterdir() if each.is_dir() and not each.name.startswith(".")]
    scratch = Path(os.environ["TMPDIR"], "spark-sql-warehouse")
    return open_session(
        SessionSettings(
            master=settings["master"],
            jars=[Path(each) for each in settings["jars"]],
            more_jars=[Path(each) for each in settings["more_jars"]],
            log=Path(settings["log"]),
            lake=lake,
            driver_memory=settings["driver_memory"],
            archive=Path(settings["archive"]) if settings["archive"] else None,
            extra={
                **SEMANTICS,
                "spark.sql.catalog.default_iceberg.warehouse": scratch.as_uri(),
                "spark.sql.warehouse.dir": scratch.as_uri(),
                **dict(settings["configuration"]),
                **NO_VARIABLES,
            },
        ),
        name="sql",
        locations=[f"s3://{each}/" for each in buckets],
    )


class _Service:
    def __init__(self, channel: "Connection[Any, Any]", spark: SparkSession, pool: ThreadPoolExecutor) -> None:
        self._channel = channel
        self._spark = spark
        self._pool = pool
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._cancelled: set[int] = set()
        self._idle_since = time.monotonic()

    def serve(self, idle: float) -> None:
        """Answer until the socket closes, or nothing has come or run for ``idle`` seconds."""
        while True:
            if not self._channel.poll(min(idle, 1.0)):
                with self._lock:
                    if not self._running and time.monotonic() - self._idle_since > idle:
                        return
                continue
            request = json.loads(self._channel.recv_bytes())
            number = int(request["number"])
            with self._lock:
                if request["kind"] == "cancel":
                    self._cancelled.add(number)
                else:
                    self._running.add(number)
            if request["kind"] == "cancel":
                self._stop(number)
            else:
                self._pool.submit(self._answer, request)

    def _stop(self, number: int) -> None:
        self._spark.sparkContext.cancelJobGroup(_group(number))

    def _answer(self, request: Mapping[str, Any]) -> None:
        number = int(request["number"])
        died = None
        try:
            answer = {"kind": "done", **self._computed(request)}
        except Exception as error:  # noqa: BLE001 every failure is one of the query, told to its owner
            jvm = Jvm.current()
            # What is no error of Spark's own may be that of a JVM whose end is not known yet.
            known = isinstance(error, PySparkException | TooLarge | InterruptedError)
            died = jvm.exit(patience=0.0 if known else _PATIENCE) if jvm is not None else None
            answer = {"kind": "failed", "ending": died is not None, **(failure(error) if died is None else loss(died))}
        with self._lock:
            self._running.discard(number)
            self._cancelled.discard(number)
            self._idle_since = time.monotonic()
            with suppress(OSError):
                self._channel.send_bytes(json.dumps({**answer, "number": number}).encode())
        if died is not None:
            os._exit(1)  # the next query gets a process with a JVM

    def _computed(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        number = int(request["number"])
        self._spark.sparkContext.setJobGroup(_group(number), "SQL", interruptOnCancel=True)
        session = self._spark.newSession()
        make_views(session, request["reads"])
        frame = session.sql(request["sql"])
        names = [f"c{at}" for at in range(len(frame.columns))]
        typed = frame.toDF(*names).selectExpr(
            *(f"CAST({name} AS {kind}) AS {name}" for name, kind in zip(names, request["types"], strict=True))
        )
        if request["explain"]:
            return {"lines": _plan(typed)}
        if number in self._cancelled:
            raise InterruptedError
        return {"order": _write(typed, Path(request["file"]), int(request["limit"]), lambda: self._stop(number))}


def _group(number: int) -> str:
    return f"statement-{number}"


def _plan(frame: DataFrame) -> list[str]:
    inner: Any = frame._jdf
    text = f"Spark {frame.sparkSession.version}\n{inner.queryExecution().simpleString()}"
    return [line for line in text.splitlines() if line.strip()]


def _write(frame: DataFrame, file: Path, limit: int, stop: Callable[[], None]) -> list[int]:
    """Write the rows as they come from the executors. Return the batches' numbers in the order of the rows."""
    schema = to_arrow_schema(frame.schema)
    inner: Any = frame._jdf
    port, secret, server = inner.collectAsArrowToPython()
    order: list[int] | None = None
    count = 0
    try:
        with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            for each in _load_from_socket((port, secret), ArrowCollectSerializer()):  # type: ignore[no-untyped-call]
                if not isinstance(each, pa.RecordBatch):
                    order = each
                    continue
                writer.write_batch(pa.RecordBatch.from_arrays(each.columns, schema=schema))
                count += 1
                if sink.tell() > limit:
                    raise TooLarge(limit)
    except TooLarge:
        stop()
        raise
    except Exception:
        # A query that fails ends the stream, and its error is here.
        with unwrap_spark_exception():
            server.getResult()
        raise
    with unwrap_spark_exception():
        server.getResult()
    if order is None or len(order) != count:
        raise EOFError("Spark's rows are not complete")
    return order
