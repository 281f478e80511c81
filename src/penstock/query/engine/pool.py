"""Engines that a process opens before a statement needs one, because opening takes longer than a small statement.

Closing takes as long, so used engines are closed after the statement's answer is sent. An engine may open only the files
of its statement, and that cannot be changed any more. So it is kept for a later statement only if that reads the same
files, with the same limits, and only once all that the earlier statement made in it is gone.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb

from penstock.query.settings import QuerySettings
from penstock.query.tables.port import SCHEMA
from penstock.sql.types import quote_text

__all__ = ["Engine", "EnginePool"]

_KEPT = 2  # engines; each holds 75 MB of address space, which the limit of a statement's memory counts

_CLOSED: Mapping[str, bool] = {
    "python_enable_replacements": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
}

# Python's relations are registered as views, too.
_LEFT = """
SELECT (SELECT count(*) FROM duckdb_views() WHERE NOT internal) + (SELECT count(*) FROM duckdb_tables() WHERE NOT internal)
"""

Limits = tuple[int, int, int]  # threads, bytes of memory, bytes of spilled data


@dataclass(slots=True)
class Engine:
    """An engine, and the files that it may open once it is ``locked``."""

    connection: duckdb.DuckDBPyConnection
    limits: Limits
    paths: Sequence[str]
    locked: bool = False
    untouched: bool = False
    """Whether its last statement made nothing in it but our own functions."""

    def lock(self) -> None:
        """Let the engine open its files alone, and keep its configuration, for as long as it is open."""
        allowed = ", ".join(quote_text(path) for path in self.paths)
        self.connection.execute(f"SET allowed_paths = [{allowed}]")
        self.connection.execute("SET enable_external_access = false")
        self.connection.execute("SET lock_configuration = true")
        self.locked = True


class EnginePool:
    """The engines of one process, which runs one statement at a time.

    One for the next statement, those of earlier ones, and one without files that evaluates conditions for all.
    """

    def __init__(self, scratch: Path | None = None) -> None:
        """``scratch`` is the process's own folder for what engines spill: without it no engine is kept, as a statement's
        folder is not.
        """
        self._scratch = scratch
        self._limits: Limits | None = None
        self._session: duckdb.DuckDBPyConnection | None = None
        self._sandbox: duckdb.DuckDBPyConnection | None = None
        self._used: list[tuple[Engine, bool]] = []
        self._kept: OrderedDict[tuple[Limits, tuple[str, ...]], Engine] = OrderedDict()

    def session(self, settings: QuerySettings, scratch: Path, paths: Sequence[str]) -> Engine:
        """Return an engine with the limits of ``settings`` for the files ``paths``, locked if an earlier statement had it.

        It spills to ``scratch`` if the process has no folder for that.
        """
        limits = (settings.threads, settings.memory_bytes, settings.spill_bytes)
        kept = self._kept.pop((limits, tuple(paths)), None)
        if kept is not None:
            return kept
        if limits != self._limits and self._session is not None:
            self._session.close()
            self._session = None
        self._limits = limits
        taken, self._session = self._session or _opened_session(limits), None
        taken.execute(f"SET temp_directory = {quote_text(str(self._scratch or scratch))}")
        taken.execute(f"SET max_temp_directory_size = '{settings.spill_bytes}B'")
        return Engine(taken, limits, tuple(paths))

    def sandbox(self) -> duckdb.DuckDBPyConnection:
        """Return the process's small engine without files, whose configuration is locked. Its users drop their tables."""
        if self._sandbox is None:
            self._sandbox = _opened_sandbox()
        return self._sandbox

    def give_back(self, engine: Engine, *, sound: bool) -> None:
        """Close ``engine`` with the next :meth:`prepare`, or keep it if its statement did not fail in it."""
        self._used.append((engine, sound))

    def prepare(self) -> None:
        """Clean or close used engines, and open those for the next statement, with the limits of the last one."""
        while self._used:
            engine, sound = self._used.pop()
            if sound and engine.locked and self._scratch is not None and _cleaned(engine):
                self._kept[engine.limits, tuple(engine.paths)] = engine
            else:
                engine.connection.close()
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)[1].connection.close()
        if self._limits is not None and self._session is None:
            self._session = _opened_session(self._limits)
        if self._sandbox is None:
            self._sandbox = _opened_sandbox()


def _opened_session(limits: Limits) -> duckdb.DuckDBPyConnection:
    threads, memory, _ = limits
    connection = duckdb.connect(":memory:", config={**_CLOSED, "threads": threads, "memory_limit": f"{memory}B"})
    connection.execute("SET parquet_metadata_cache = true")
    # It would hold data of files beyond the statement, which counts as the next one's memory.
    connection.execute("SET enable_external_file_cache = false")
    return _in_utc(connection)


def _cleaned(engine: Engine) -> bool:
    """Remove what the statement made. Return whether nothing is left of it but our own functions."""
    if engine.untouched:
        return True
    with suppress(duckdb.Error):
        engine.connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        return engine.connection.execute(_LEFT).fetchall() == [(0,)]
    return False


def _opened_sandbox() -> duckdb.DuckDBPyConnection:
    config: dict[str, str | bool | int | float | list[str]] = {
        **_CLOSED,
        "enable_external_access": False,
        "threads": 1,
        "memory_limit": "256MB",
        "temp_directory": "",
    }
    connection = _in_utc(duckdb.connect(":memory:", config=config))
    connection.execute("SET lock_configuration = true")
    return connection


def _in_utc(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    connection.execute("SET TimeZone = 'UTC'")
    return connection
