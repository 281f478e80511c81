"""Streams that a script starts with Spark's own writer and waits for: they end as those of ``forEachBatch`` do.

``query.awaitTermination()`` and ``spark.streams.awaitAnyTermination()`` wait in the JVM, where a signal is not seen.
"""

import os
from collections.abc import Callable
from functools import wraps
from typing import Any

from pyspark import SparkContext
from pyspark.sql.streaming.query import StreamingQuery, StreamingQueryManager

from penstock.glue.context.streaming import ONCE, let_end
from penstock.glue.jobs.stopping import keep_signal_handlers, stop_requested

__all__ = ["guard_waits"]

_POLL_SECONDS = 0.5
_PATCHED = "_penstock_waits"


def guard_waits() -> None:
    """Guard the waits of Spark's streams in this process; a second call changes nothing."""
    if hasattr(StreamingQuery, _PATCHED):
        return
    setattr(StreamingQuery, _PATCHED, True)
    StreamingQuery.awaitTermination = _guarded(  # type: ignore[method-assign]
        StreamingQuery.awaitTermination, lambda query: [query]
    )
    StreamingQueryManager.awaitAnyTermination = _guarded(  # type: ignore[method-assign]
        StreamingQueryManager.awaitAnyTermination, lambda manager: manager.active
    )


def _guarded(original: Any, queries: Callable[[Any], list[StreamingQuery]]) -> Any:
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
