"""The options of a run beside the declaration, and its report."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from penstock.client.secrets import secret_login
from penstock.spark.commit.failpoints import Failpoint
from penstock.spark.decode.versions import VersionSource
from penstock.spark.kafka import Credentials
from penstock.spark.metrics import BatchMetrics
from penstock.spark.tables.catalog import CatalogCalls

__all__ = ["RunOptions", "RunReport"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of a run beside the declaration.

    ``jars``, ``more_jars``, ``master``, ``log``, ``lake``, ``driver_memory``, ``archive`` and ``spark_configuration`` are
    for a session that :func:`run` starts itself. ``once`` reads the available records and ends. ``stop`` ends the stream
    after the current batch when it is set. A session that :func:`run` starts is started again up to ``jvm_restarts``
    times in a row if its JVM dies (None: the pipeline's ``batch_max_retries``); ``on_restart`` gets a sentence and the
    restarts so far.
    ``on_files`` gets the locations of each batch's published files. ``registry`` and
    ``catalog`` default to clients of the endpoint that the environment names, or AWS.
    """

    master: str = "local[*]"
    jars: Sequence[Path] = ()
    more_jars: Sequence[Path] = ()
    log: Path = Path("penstock-spark.log")
    lake: Path | None = None
    driver_memory: str = "1g"
    archive: Path | None = None
    spark_configuration: Mapping[str, str] = field(default_factory=dict)
    once: bool = False
    metrics: Path | None = None
    resume_from_ledger: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    registry: VersionSource | None = None
    catalog: CatalogCalls | None = None
    fetch_secret: Callable[[str], Credentials] = secret_login
    on_files: Callable[[Sequence[str]], None] = lambda _: None
    on_batch: Callable[[BatchMetrics], None] = lambda _: None
    on_start: Callable[[], None] = lambda: None
    jvm_restarts: int | None = None
    on_restart: Callable[[str, int], None] = lambda *_: None
    failpoint: Failpoint = field(default_factory=Failpoint)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """The result of a run: committed batches, written rows, dead-lettered records.

    ``read`` counts the records that Spark's source emitted in the last 100 batches, each read of a record separately.
    """

    batches: int
    rows: int
    dead: int
    read: int
    stopped: bool
