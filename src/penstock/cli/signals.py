"""Signals that ask a command to end in good order."""

import os
import signal
import threading
from types import FrameType

import click

__all__ = ["stop_on_signals"]


def stop_on_signals(after: str, *, at_once: bool = False) -> threading.Event:
    """An event that SIGTERM and SIGINT set; ``after`` says what is finished first.

    A second signal ends sooner, which is safe but leaves what is in hand to be repeated: by KeyboardInterrupt, or with
    ``at_once`` without another word, for commands whose threads would be waited for.
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
