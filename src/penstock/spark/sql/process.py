"""What the process of Spark SQL does, which :mod:`penstock.spark.sql.confined` starts with a socket to its owner.

The messages are those of :mod:`penstock.spark.sql.messages`. The process ends when the socket closes, or when no query came
for as long as the settings say.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import unwrap_spark_exception
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.serializers import ArrowCollectSerializer
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.util import _load_from_socket

from penstock.children.frames import Channel
from penstock.children.messages import MessageReader, encode, printable
from penstock.spark.jvm import Jvm
from penstock.spark.session import NO_VARIABLES, SessionSettings, open_session
from penstock.spark.sql.faults import TooLarge, failure, loss
from penstock.spark.sql.messages import Answer, Compute, Computed, Failed, Open, Request
from penstock.spark.sql.views import make_views
from penstock.sql.spark_query import SparkRows

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


def main(channel: Channel, message: Open) -> None:
    """Serve the owner, whose first message this was."""
    spark = _session(message)
    pool = ThreadPoolExecutor(message.settings.at_once, thread_name_prefix="penstock-spark-sql")
    with suppress(EOFError, OSError):
        _Service(channel, spark, pool).serve(message.settings.idle_seconds)
    # Threads that still compute are not waited for, and the JVM ends with this process.
    os._exit(0)


def _session(message: Open) -> SparkSession:
    settings, lake = message.settings, message.lake
    buckets = [folder.name for folder in lake.iterdir() if folder.is_dir() and not folder.name.startswith(".")]
    scratch = Path(os.environ["TMPDIR"], "spark-sql-warehouse")
    return open_session(
        SessionSettings(
            master=settings.master,
            jars=[Path(jar) for jar in settings.jars],
            more_jars=[Path(jar) for jar in settings.more_jars],
            log=message.log,
            lake=lake,
            driver_memory=settings.driver_memory,
            archive=Path(settings.archive) if settings.archive else None,
            extra={
                **SEMANTICS,
                "spark.sql.catalog.default_iceberg.warehouse": scratch.as_uri(),
                "spark.sql.warehouse.dir": scratch.as_uri(),
                **dict(settings.configuration),
                **NO_VARIABLES,
            },
        ),
        name="sql",
        locations=[f"s3://{bucket}/" for bucket in buckets],
    )


class _Service:
    def __init__(self, channel: Channel, spark: SparkSession, pool: ThreadPoolExecutor) -> None:
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
            try:
                head, _ = self._channel.receive(min(idle, 1.0))
            except TimeoutError:
                with self._lock:
                    if not self._running and time.monotonic() - self._idle_since > idle:
                        return
                continue
            request = _READER.read(head)
            with self._lock:
                (self._running if isinstance(request, Compute) else self._cancelled).add(request.number)
            if isinstance(request, Compute):
                self._pool.submit(self._answer, request)
            else:
                self._stop(request.number)

    def _stop(self, number: int) -> None:
        self._spark.sparkContext.cancelJobGroup(_group(number))

    def _answer(self, request: Compute) -> None:
        died = None
        answer: Answer
        try:
            answer = Computed(number=request.number, rows=self._computed(request))
        except Exception as error:  # noqa: BLE001 every failure is one of the query, and its owner gets it
            jvm = Jvm.current()
            # What is no error of Spark's own may be that of a JVM whose end is not known yet.
            expected = isinstance(error, PySparkException | TooLarge | InterruptedError)
            died = jvm.exit(patience=0.0 if expected else _PATIENCE) if jvm is not None else None
            code, message = failure(error) if died is None else loss(died)
            answer = Failed(number=request.number, code=code, message=printable(message), ending=died is not None)
        with self._lock:
            self._running.discard(request.number)
            self._cancelled.discard(request.number)
            self._idle_since = time.monotonic()
            with suppress(OSError):
                self._channel.send(encode(answer))
        if died is not None:
            os._exit(1)  # the next query gets a process with a JVM

    def _computed(self, request: Compute) -> SparkRows:
        number, query = request.number, request.query
        self._spark.sparkContext.setJobGroup(_group(number), "SQL", interruptOnCancel=True)
        session = self._spark.newSession()
        make_views(session, query.reads)
        frame = session.sql(query.sql)
        names = [f"c{at}" for at in range(len(frame.columns))]
        typed = frame.toDF(*names).selectExpr(
            *(f"CAST({name} AS {type_}) AS {name}" for name, type_ in zip(names, query.types, strict=True))
        )
        if query.explain:
            return SparkRows(lines=_plan(typed))
        if number in self._cancelled:
            raise InterruptedError
        return SparkRows(order=_write(typed, request.file, query.limit, lambda: self._stop(number)))


_READER: MessageReader[Request] = MessageReader(Request, most=None)


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
            for batch in _load_from_socket((port, secret), ArrowCollectSerializer()):  # type: ignore[no-untyped-call]
                if not isinstance(batch, pa.RecordBatch):
                    order = batch
                    continue
                writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
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
