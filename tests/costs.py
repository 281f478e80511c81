"""Processor seconds of each test file, its child processes included: ``python -m pytest -p tests.costs -n 0 PATH``.

They hardly depend on what else the machine does, so they show what a change of a fixture saves. What a session's fixture
costs is counted where it is first used.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import psutil
import pytest

_SHOWN = 40


@dataclass
class _Costs:
    seconds: dict[str, float] = field(default_factory=dict)
    """Of processor time, by file."""
    waits: dict[str, float] = field(default_factory=dict)
    """Seconds that passed, by file."""
    file: str = ""
    began: tuple[float, float] = (0.0, 0.0)

    def enter(self, file: str) -> None:
        """Count the time so far for the file before."""
        now = (_processor_seconds(), time.monotonic())
        if self.file:
            self.seconds[self.file] = self.seconds.get(self.file, 0.0) + now[0] - self.began[0]
            self.waits[self.file] = self.waits.get(self.file, 0.0) + now[1] - self.began[1]
        self.file, self.began = file, now


_costs = _Costs()


def _processor_seconds() -> float:
    """Return those of this process, of its children that have ended, and of its descendants that run."""
    total = sum(os.times()[:4])
    for child in psutil.Process().children(recursive=True):
        try:
            total += sum(child.cpu_times()[:4])
        except psutil.Error:  # it has ended meanwhile
            continue
    return total


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note the file of each test."""
    file = item.nodeid.partition("::")[0]
    if file != _costs.file:
        _costs.enter(file)
    return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the files that cost most."""
    _costs.enter("")
    terminalreporter.section("processor seconds by file, and seconds that passed")
    for file, seconds in sorted(_costs.seconds.items(), key=lambda pair: -pair[1])[:_SHOWN]:
        terminalreporter.write_line(f"{seconds:8.1f} {_costs.waits[file]:8.1f}  {file}")
    terminalreporter.write_line(f"{sum(_costs.seconds.values()):8.1f} {sum(_costs.waits.values()):8.1f}  all")
