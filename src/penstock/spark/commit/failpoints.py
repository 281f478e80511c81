"""Points of a batch at which a test can kill the driver: PENSTOCK_FAILPOINT=POINT:BATCH, which only tests set."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from penstock.errors import InvalidInput

__all__ = ["POINTS", "Failpoint"]

POINTS = (
    "batch-start",
    "during-stage",
    "after-stage",
    "after-stage-files",
    "after-drift",
    "after-dead-letters",
    "after-state",
    "after-prepare",
    "mid-publish",
    "after-publish",
    "mid-sinks",
    "after-sinks",
    "after-accounts",
    "after-catalog",
    "after-commit",
)
"""In the order of a batch; not every batch has all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failpoint:
    """Kill this process and its JVM with SIGKILL at ``point`` of batch ``batch``. An empty point does nothing."""

    point: str = ""
    batch: int = -1

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Failpoint":
        """Return the point that PENSTOCK_FAILPOINT names. Raises :class:`InvalidInput` for an unknown point."""
        text = environment.get("PENSTOCK_FAILPOINT", "")
        if not text:
            return cls()
        point, _, batch = text.partition(":")
        if point not in POINTS or not batch.isdigit():
            raise InvalidInput(
                f"PENSTOCK_FAILPOINT is '{text}'.", remedy=f"Write it as POINT:BATCH, with POINT one of {', '.join(POINTS)}."
            )
        return cls(point=point, batch=int(batch))

    def hit(self, point: str, batch: int, jvm: int | None) -> None:
        """Kill the process if this is the point; ``jvm`` is the process id of the JVM, which is killed first."""
        if (point, batch) == (self.point, self.batch):
            _die(jvm)

    @contextmanager
    def watch(self, point: str, batch: int, jvm: int | None, condition: Callable[[], bool]) -> Iterator[None]:
        """Kill the process as soon as ``condition`` is true inside the block, at the latest at its end."""
        if (point, batch) != (self.point, self.batch):
            yield
            return

        def wait() -> None:
            try:
                while not condition():
                    time.sleep(0.005)
            finally:  # a listing fails if a file is deleted during it, so a file existed
                _die(jvm)

        threading.Thread(target=wait, daemon=True).start()
        yield
        _die(jvm)


def _die(jvm: int | None) -> NoReturn:
    if jvm is not None:
        os.kill(jvm, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit(137)
