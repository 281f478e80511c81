"""``forEachBatch``: a function for each batch of a stream, with a checkpoint, retries and a stop on request.

Source: https://docs.aws.amazon.com/glue/latest/dg/aws-glue-api-crawler-pyspark-extensions-glue-context.html. A batch that
fails is run again from its records, after 1, 2 and then 5 seconds; its earlier writes are not undone.
"""

import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import InvalidInput, NotFound, OperationNotServed
from penstock.glue.jobs.stopping import keep_signal_handlers, stop_requested
from penstock.glue.options import Options
from penstock.glue.sources.listing import check_bucket
from penstock.retries import MICRO_BATCH, wait_until
from penstock.spark.problems import error_of_ours, first_cause, is_replay_failure

__all__ = ["ONCE", "BatchFunction", "BatchOptions", "batch_options", "for_each_batch", "let_end"]

BatchFunction = Callable[[DataFrame, int], object]

ONCE = "PENSTOCK_GLUE_ONCE"
"""Environment variable; 1 ends every stream that is waited for after the available records."""

# Refusals are not failures of the batch: a retry would end in the same way.
_REFUSALS = (InvalidInput, NotFound, OperationNotServed)

_log = logging.getLogger("awsglue")

_POLL_SECONDS = 1
_TICK_SECONDS = 0.05
_MOST_RETRIES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """``window`` is Spark's trigger interval; ``storage`` is None if batches are not cached while the function runs."""

    window: str
    checkpoint: str
    storage: StorageLevel | None
    retries: int


def batch_options(script_options: Mapping[str, Any]) -> BatchOptions:
    """Return the options of ``forEachBatch``. Raises :class:`InvalidInput` for missing, unknown or wrong ones."""
    options = Options("forEachBatch", script_options)
    window, checkpoint = options.text("windowSize"), options.text("checkpointLocation")
    for name, value in (("windowSize", window), ("checkpointLocation", checkpoint)):
        if not value:
            raise InvalidInput(
                f"Missing {name} argument of forEachBatch.",
                remedy='For example "100 seconds" and "s3://BUCKET/checkpoint/".',
            )
    assert window is not None
    assert checkpoint is not None
    retries = options.number("batchMaxRetries", 3) or 0
    if retries > _MOST_RETRIES:
        raise InvalidInput(f"batchMaxRetries is {retries}.", remedy="Use a number from 0 to 100.")
    keep = options.flag("persistDataFrame", default=True)
    level = (options.text("storageLevel") or "MEMORY_AND_DISK").upper()
    storage = getattr(StorageLevel, level, None) if level.replace("_", "").isalnum() else None
    if not isinstance(storage, StorageLevel):
        raise InvalidInput(f"storageLevel is {level!r}.", remedy="Use one of Spark's, such as MEMORY_AND_DISK.")
    return BatchOptions(window=window, checkpoint=checkpoint, storage=storage if keep else None, retries=retries)


class _Batches:
    """Spark's callback: skips empty batches, caches the others for the function, and stores the last failure."""

    def __init__(self, function: BatchFunction, storage: StorageLevel | None) -> None:
        self._function = function
        self._storage = storage
        self.done = 0
        self.failure: Exception | None = None

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        if stop_requested.is_set():
            raise _Stopped
        try:
            self._run(frame, batch_id)
            self.done += 1
        except Exception as error:
            self.failure = error
            raise

    def _run(self, frame: DataFrame, batch_id: int) -> None:
        if self._storage is None:
            if frame.take(1):
                self._function(frame, batch_id)
            return
        frame.persist(self._storage)
        try:
            if frame.count():
                self._function(frame, batch_id)
        finally:
            frame.unpersist()


class _Stopped(Exception):
    """A batch was not begun because the stream is stopping."""


def for_each_batch(
    frame: DataFrame,
    function: BatchFunction,
    script_options: Mapping[str, Any],
    *,
    wait: Callable[[float], object] = time.sleep,
) -> None:
    """Call ``function(batch, batch id)`` for each batch of the stream ``frame``, until it ends or is stopped.

    Raises the error of ``function`` when ``batchMaxRetries`` retries of a batch have failed; failures of Spark count, too.
    A refusal of ours is raised at once, and so is :class:`NotFound` for the bucket of the checkpoint.
    ``wait`` waits the seconds before the next try.
    """
    options = batch_options(script_options)
    if not frame.isStreaming:
        raise InvalidInput("forEachBatch needs a stream.", remedy="Get one from create_data_frame.from_options.")
    check_bucket(frame.sparkSession, options.checkpoint)
    batches, failed = _Batches(function, options.storage), 0
    while True:
        before = batches.done
        try:
            _run(frame, options, batches)
            return
        except Exception as error:
            if stop_requested.is_set() and batches.failure is None:
                return
            cause, batches.failure = batches.failure or error_of_ours(str(error)) or error, None
            if isinstance(cause, _REFUSALS):
                raise cause from error
            if cause is error and batches.done > before and is_replay_failure(error):
                continue
            failed = 1 if batches.done > before else failed + 1
            if failed > options.retries or stop_requested.is_set():
                if cause is error:
                    raise
                raise cause from error
            pause = MICRO_BATCH.pause(failed)
            _log.warning(
                "The batch failed and is run again in %g s (try %d of %d): %s",
                pause,
                failed,
                options.retries,
                first_cause(cause),
            )
            wait(pause)


def _run(frame: DataFrame, options: BatchOptions, batches: _Batches) -> None:
    once = os.environ.get(ONCE) == "1"
    keep_signal_handlers(frame.sparkSession.sparkContext)
    writer = frame.writeStream.foreachBatch(batches).option("checkpointLocation", options.checkpoint)
    query = writer.trigger(processingTime="0 seconds" if once else options.window).start()
    try:
        if once:
            # Not the trigger availableNow: with it, Spark 4.1 does not pass the start position to a Python source.
            query.processAllAvailable()
            return
        while not query.awaitTermination(_POLL_SECONDS):
            if stop_requested.is_set():
                let_end(query)
                return
    finally:
        query.stop()


def let_end(query: StreamingQuery) -> None:
    """Wait until the current batch is done and in the checkpoint; the next one is not begun."""
    wait_until(lambda: not (query.isActive and query.status["isTriggerActive"]), seconds=None, every=_TICK_SECONDS)
