"""Signals that stop a command cleanly."""

import os
import signal
import threading
from types import FrameType

import click

__all__ = ["stop_on_signals"]


def stop_on_signals(after: str, *, at_once: bool = False) -> threading.Event:
    """Return an event that SIGTERM and SIGINT set; ``after`` names the work that is finished first.

    A second signal stops sooner, which is safe, but the current work is repeated later: by KeyboardInterrupt, or with
    ``at_once`` by exiting immediately, for commands whose threads would delay the end.
    """
    stop = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        if stop.is_set():
            if at_once:
                os._exit(128 + number)
            raise KeyboardInterrupt
        click.echo(f"penstock: stopping after {after}.", err=True)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)
    return stop
