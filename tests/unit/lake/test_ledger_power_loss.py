"""The ledger on a disk without its unsynced writes: after a power loss, any part of them may exist or be lost.

What :mod:`test_ledger` shows for a process that dies is also true for the machine, because each step is synced before
the next one relies on it.
"""

import random
from collections.abc import Callable, Iterable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from penstock.lake.files import MemoryFiles
from tests.unit.lake.test_ledger import Catalog, Crash, Crashes, commit, opened


class ForgetfulFiles(MemoryFiles):
    """Files in memory, and their state on the disk. Staged files are Spark's, which does not sync them."""

    def __init__(self, *arguments: Callable[..., Any]) -> None:
        super().__init__(*arguments)
        self.disk: dict[str, bytes] = {}
        self.unsynced: set[str] = set()  # files whose content is not on the disk

    def write(self, path: str, data: bytes) -> None:
        super().write(path, data)
        if "/staging/" in path:
            self.unsynced.add(path)
        else:
            self.disk[path] = data

    def move(self, source: str, target: str) -> None:
        super().move(source, target)
        self.unsynced.discard(target)
        if source in self.unsynced:
            self.unsynced.remove(source)
            self.unsynced.add(target)

    def sync(self, paths: Iterable[str], *, below: str) -> None:
        self._before("sync")
        for path in paths:
            assert path.startswith(f"{below}/")
            self.unsynced.discard(path)
            if path in self.files:
                self.disk[path] = self.files[path]
            else:
                self.disk.pop(path, None)

    def lose_power(self, chance: random.Random) -> None:
        """Set each name to its synced or its last state; unsynced content is lost, but its name may exist."""
        for path in sorted({*self.files, *self.disk}):
            if path in self.files and chance.random() < 0.5:
                self.disk[path] = b"" if path in self.unsynced else self.files[path]
            elif path not in self.files and chance.random() < 0.5:
                self.disk.pop(path)
        self.files = dict(self.disk)
        self.unsynced.clear()


class PowerLosses(Crashes):
    """A stream on a machine that loses power before any change to the file system, and at its end."""

    def __init__(self) -> None:
        super().__init__()
        self.files: ForgetfulFiles = ForgetfulFiles(self.before)
        self.files.files.update(self.foreign)
        self.files.disk.update(self.foreign)

    @rule(steps=st.integers(0, 40), seed=st.integers(0, 10_000))
    def lose_power(self, steps: int, seed: int) -> None:
        self.countdown, self.attempt = steps, self.attempt + 1
        done = self.next
        try:
            ledger = opened(self.files)
            ledger.clear_staging()
            commit(self.files, ledger, self.next, b"%d/%d:" % (self.next, self.attempt), Catalog(self))
            done += 1
        except Crash:
            pass
        finally:
            self.countdown = None
        self.files.lose_power(random.Random(seed))
        self.next = done

    def lose_a_staged_file(self, parts: Any) -> None:
        """Do nothing: another test has a disk that loses more."""


PowerLosses.TestCase.settings = settings(max_examples=150, stateful_step_count=20, deadline=None)
TestPowerLosses = PowerLosses.TestCase
