"""Tests readiness: the store answers and accepts writes, and the disks have space."""

import logging
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import text, update

from penstock import durable
from penstock.store.sql.database import Database
from penstock.store.sql.registry.tables import registry_epoch

__all__ = ["Readiness"]

_PROBE_BYTES = 8_000_000  # twice the size that SQLite's log reaches before it is reset

_log = logging.getLogger("penstock.server")


class Readiness:
    """``folders``, by their contents, need ``minimum_free`` bytes on their disks."""

    def __init__(self, database: Database, folders: Mapping[str, Path], *, minimum_free: int) -> None:
        self._database = database
        self._folders = folders
        self._minimum = minimum_free

    def problems(self) -> Mapping[str, str]:
        """Return the problems, by part: ``store``, ``lake``. Empty if the server is ready. Waits for the store."""
        problems = {
            name: problem for name, folder in self._folders.items() if (problem := self._full(name, folder)) is not None
        }
        try:
            self._check_store()
        except Exception as error:  # noqa: BLE001 -- any error of the driver means: not ready
            # Anybody may read the text of Penstock's errors, but only the name of a driver's.
            problems.setdefault("store", self._database.unwritable or type(error).__name__)
        return problems

    def _full(self, name: str, folder: Path) -> str | None:
        try:
            free = shutil.disk_usage(folder).free
        except OSError as error:
            return f"its folder cannot be used: {error.strerror}"
        if free >= self._minimum:
            return None
        _log.warning("the disk of the %s (%s) has %d bytes left", name, folder, free)
        return f"its disk is full: {free / 1e6:,.1f} MB left, {self._minimum / 1e6:,.1f} MB wanted"

    def _check_store(self) -> None:
        with self._database.read() as connection:
            connection.execute(text("SELECT 1"))
        if self._database.unwritable is None:
            return
        # A write has failed. Further writes that change nothing test whether there is space again. A small one may succeed
        # when a larger one does not.
        if "store" in self._folders:
            _fill(self._folders["store"])
        with self._database.write() as connection:
            connection.execute(update(registry_epoch).values(number=registry_epoch.c.number))
        self._database.unwritable = None


def _fill(folder: Path) -> None:
    with tempfile.TemporaryFile(prefix=".penstock-ready-", dir=folder) as file:
        file.write(bytes(_PROBE_BYTES))
        file.flush()
        durable.sync_file(file.fileno())
