"""The demo's output: numbered steps with their time, live on a terminal, plain lines elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.status import Status

__all__ = ["Steps"]


@dataclass(slots=True)
class Steps:
    """Prints steps as they end. ``seconds`` maps each title to its duration."""

    console: Console
    total: int
    seconds: dict[str, float] = field(default_factory=dict)
    _status: Status | None = None

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Time the block; a failing one is marked, and its error is raised."""
        number = len(self.seconds) + 1
        label = f"[{number}/{self.total}] {title}"
        began = time.monotonic()
        if self.console.is_terminal:
            self._status = self.console.status(label)
            self._status.start()
        else:
            self.console.print(label, highlight=False, markup=False)
        try:
            yield
        except BaseException:
            self._end()
            self.console.print(f"{label}  failed after {time.monotonic() - began:.1f} s", style="red", markup=False)
            raise
        self._end()
        self.seconds[title] = time.monotonic() - began
        lines = (
            f"{label}  {self.seconds[title]:.1f} s"
            if self.console.is_terminal
            else f"    done in {self.seconds[title]:.1f} s"
        )
        self.console.print(lines, highlight=False, markup=False)

    def report(self, text: str) -> None:
        """Print a line of the step."""
        self.console.print(f"    {text}", highlight=False, markup=False, soft_wrap=True)

    def progress(self, text: str) -> None:
        """Replace the progress line on a terminal; print nothing elsewhere."""
        if self._status is not None:
            self._status.update(f"    {text}")

    def _end(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None
