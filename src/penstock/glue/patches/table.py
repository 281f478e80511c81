"""Every change of pyspark's own objects, with its reason: Spark has no setting, subclass or listener for these.

``spark.read``, ``frame.write``, ``SparkConf()`` and the streams' queries are made by pyspark from its own classes, which no
setting replaces, and Python's listeners hear of streams alone. Scripts for AWS Glue use them as they are.
"""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.conf import RuntimeConfig
from pyspark.sql.streaming.query import StreamingQuery, StreamingQueryManager

from penstock.glue.context.streaming import ONCE, let_end
from penstock.glue.datalake import is_lock
from penstock.glue.frames import studio
from penstock.glue.jobs.stopping import keep_signal_handlers, stop_requested
from penstock.glue.patches.overwrites import guard_overwrites
from penstock.glue.patches.own_readers import name_drivers, read_text_with_checksums

__all__ = ["PATCHES", "Patch", "apply_patches", "guard_waits", "leave_out_locks"]

_POLL_SECONDS = 0.5
_LOCKS, _WAITS = "_penstock_locks", "_penstock_waits"

_log = logging.getLogger("awsglue")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """``names`` are the methods that ``apply`` replaces or adds: ``Class.method``, or ``Class.prefix_*``.

    ``at_start`` is whether the process of every script has it; ``apply`` a second time changes nothing.
    """

    names: Sequence[str]
    reason: str
    apply: Callable[[], None]
    at_start: bool = True


def leave_out_locks() -> None:
    """Let Spark's settings pass over Iceberg's locks in DynamoDB, with a warning; a second call changes nothing.

    Scripts for Glue 3.0 name ``org.apache.iceberg.aws.glue.DynamoLockManager``, which Iceberg no longer has, or the one of
    ``aws.dynamodb``, which needs a table of DynamoDB. Since Iceberg 1.0 a commit to Glue's catalog names the version that
    it replaces, and the catalog refuses it if there is another by now. Source: "Using the Iceberg framework in AWS Glue",
    https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-format-iceberg.html.
    """
    if hasattr(SparkConf, _LOCKS):
        return
    setattr(SparkConf, _LOCKS, True)
    SparkConf.set = _without_locks(SparkConf.set)  # type: ignore[method-assign]
    RuntimeConfig.set = _without_locks(RuntimeConfig.set)  # type: ignore[method-assign]
    SparkSession.Builder.config = _without_locks(SparkSession.Builder.config)  # type: ignore[method-assign]


def _without_locks(original: Any) -> Any:
    @wraps(original)
    def setting(self: Any, key: Any = None, value: Any = None, **more: Any) -> Any:
        if _is_lock(key, value):
            return self
        if isinstance(more.get("map"), Mapping):
            more["map"] = {name: item for name, item in more["map"].items() if not _is_lock(name, item)}
        return original(self, **{name: item for name, item in (("key", key), ("value", value)) if item is not None}, **more)

    return setting


def _is_lock(name: Any, value: Any) -> bool:
    is_one = isinstance(name, str) and is_lock(name, value)
    if is_one:
        _log.warning("%s has no effect: commits to Glue's catalog are checked by their versions.", name)
    return is_one


def guard_waits() -> None:
    """Let a stop request, and ``--once``, end the streams that a script waits for; a second call changes nothing.

    ``query.awaitTermination()`` and ``spark.streams.awaitAnyTermination()`` wait in the JVM, where a signal is not seen.
    """
    if hasattr(StreamingQuery, _WAITS):
        return
    setattr(StreamingQuery, _WAITS, True)
    StreamingQuery.awaitTermination = _interruptible(  # type: ignore[method-assign]
        StreamingQuery.awaitTermination, lambda query: [query]
    )
    StreamingQueryManager.awaitAnyTermination = _interruptible(  # type: ignore[method-assign]
        StreamingQueryManager.awaitAnyTermination, lambda manager: manager.active
    )


def _interruptible(original: Any, queries: Callable[[Any], list[StreamingQuery]]) -> Any:
    @wraps(original)
    def wait(self: Any, timeout: float | None = None) -> bool | None:
        if timeout is not None:
            ended: bool | None = original(self, timeout)
            return ended
        if os.environ.get(ONCE) == "1":
            for query in queries(self):
                query.processAllAvailable()
                query.stop()
            return None
        keep_signal_handlers(SparkContext.getOrCreate())
        while not original(self, _POLL_SECONDS):
            if stop_requested.is_set():
                for query in queries(self):
                    let_end(query)
                    query.stop()
                return None
        return None

    return wait


_WRITES = ("mode", "save", "parquet", "json", "csv", "orc", "text")

PATCHES: Sequence[Patch] = (
    Patch(
        names=[f"DataFrameWriter.{name}" for name in _WRITES],
        reason="Spark deletes what an overwrite replaces before it reads it, also where the same query reads it. Its commit "
        "protocols delete at once, and partitionOverwriteMode is for partitions alone.",
        apply=guard_overwrites,
    ),
    Patch(
        names=["StreamingQuery.awaitTermination", "StreamingQueryManager.awaitAnyTermination"],
        reason="Spark waits in the JVM: a stop request and --once must end the streams that the script waits for. "
        "A listener is called when a stream has ended, and not when a script waits for it.",
        apply=guard_waits,
    ),
    Patch(
        names=[
            *(f"DataFrameReader.{name}" for name in ("format", "option", "options", "load", "jdbc")),
            *(f"DataFrameWriter.{name}" for name in ("format", "option", "options", "save", "jdbc")),
        ],
        reason="Java's DriverManager finds no driver of spark.jars by its URL, and spark.driver.extraClassPath has to be "
        "that of the class archive.",
        apply=name_drivers,
    ),
    Patch(
        names=["SparkContext.textFile"],
        reason="Hadoop's older interface reads local files with checksums alone; fs.file.impl is the lake's, without them.",
        apply=read_text_with_checksums,
    ),
    Patch(
        names=["SparkConf.set", "RuntimeConfig.set", "Builder.config"],
        reason="Scripts for Glue 3.0 set lock managers that Iceberg no longer has; no setting overrides a catalog's.",
        apply=leave_out_locks,
    ),
    Patch(
        names=["DataFrame.gs_*"],
        reason="Glue Studio's scripts call its transforms as methods of Spark's DataFrame, as AWS's modules gs_* add them.",
        apply=studio.attach,
        at_start=False,
    ),
)


def apply_patches() -> None:
    """Apply what every script has; the transforms of Glue Studio come with the import of their modules."""
    for patch in PATCHES:
        if patch.at_start:
            patch.apply()
