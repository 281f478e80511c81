"""Points of a batch at which a test can have the driver killed: PENSTOCK_FAILPOINT=POINT:BATCH, never set otherwise."""

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
    "after-drift",
    "after-dead-letters",
    "after-prepare",
    "mid-publish",
    "after-publish",
    "after-catalog",
    "after-commit",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failpoint:
    """Kill this process and its JVM with SIGKILL at ``point`` of batch ``batch``. An empty point does nothing."""

    point: str = ""
    batch: int = -1

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Failpoint":
        """The point that PENSTOCK_FAILPOINT names; :class:`InvalidInput` where there is no such point."""
        text = environment.get("PENSTOCK_FAILPOINT", "")
        if not text:
            return cls()
        point, _, batch = text.partition(":")
        if point not in POINTS or not batch.isdigit():
            raise InvalidInput(
                f"PENSTOCK_FAILPOINT is '{text}'.", remedy=f"It reads POINT:BATCH, POINT one of {', '.join(POINTS)}."
            )
        return cls(point=point, batch=int(batch))

    def hit(self, point: str, batch: int, jvm: int | None) -> None:
        """Die if this is the point; ``jvm`` is the process id of the JVM, which goes first."""
        if (point, batch) == (self.point, self.batch):
            _die(jvm)

    @contextmanager
    def watch(self, point: str, batch: int, jvm: int | None, condition: Callable[[], bool]) -> Iterator[None]:
        """Die as soon as ``condition`` holds inside the block, at the latest where the block ends."""
        if (point, batch) != (self.point, self.batch):
            yield
            return

        def wait() -> None:
            try:
                while not condition():
                    time.sleep(0.005)
            finally:  # a listing fails where a file goes while it is listed: then there was one
                _die(jvm)

        threading.Thread(target=wait, daemon=True).start()
        yield
        _die(jvm)


def _die(jvm: int | None) -> NoReturn:
    if jvm is not None:
        os.kill(jvm, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit(137)
