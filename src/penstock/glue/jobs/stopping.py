"""SIGTERM and SIGINT end the streams of a script that ``penstock glue run`` started, after the current batch."""

import signal
import sys
import threading
from types import FrameType

from pyspark import SparkContext

from penstock.spark.session import ignore_sigterm

__all__ = ["handle_signals", "keep_signal_handlers", "stop_requested"]

stop_requested = threading.Event()
"""Set to end every ``forEachBatch`` of this process after the current batch."""

_ours = threading.Event()


def _handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    if stop_requested.is_set():
        raise KeyboardInterrupt
    print("penstock: stopping after the current batch.", file=sys.stderr, flush=True)
    stop_requested.set()


def handle_signals() -> None:
    """Handle both signals; a second one ends the process at once, and its batch is run again at the next start."""
    _ours.set()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _handle)


def keep_signal_handlers(context: SparkContext) -> None:
    """Set the handlers again, which a SparkContext replaces; does nothing unless :func:`handle_signals` was called."""
    if _ours.is_set() and threading.current_thread() is threading.main_thread():
        handle_signals()
        ignore_sigterm(context)
