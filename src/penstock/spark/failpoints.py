"""Points of a batch at which a test can have the driver killed: PENSTOCK_FAILPOINT=POINT:BATCH, never set otherwise."""

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
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

    def reach(self, point: str, batch: int, jvm: int | None) -> None:
        """Die if this is the point; ``jvm`` is the process id of the JVM, which goes first."""
        if (point, batch) == (self.point, self.batch):
            _die(jvm)

    def watch(self, point: str, batch: int, jvm: int | None, condition: Callable[[], bool]) -> None:
        """Die as soon as ``condition`` holds, while the caller goes on with the step."""
        if (point, batch) != (self.point, self.batch):
            return

        def wait() -> None:
            while not condition():
                time.sleep(0.005)
            _die(jvm)

        threading.Thread(target=wait, daemon=True).start()


def _die(jvm: int | None) -> NoReturn:
    if jvm is not None:
        os.kill(jvm, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit(137)
