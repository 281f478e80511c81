"""Engines that a process opens before a statement needs one, because opening takes longer than a small statement.

An engine runs one statement. Used ones are closed after the statement's answer is sent, because
that takes as long.
"""

from collections.abc import Mapping
from pathlib import Path

import duckdb

from penstock.query.dialect.types import quote_text
from penstock.query.settings import QuerySettings

__all__ = ["SpareEngines", "spares"]

_CLOSED: Mapping[str, bool] = {
    "python_enable_replacements": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
}

Limits = tuple[int, int, int]  # threads, bytes of memory, bytes of spilled data


class SpareEngines:
    """At most one engine for the next statement, and one without files that evaluates conditions for all of them."""

    def __init__(self) -> None:
        self._limits: Limits | None = None
        self._session: duckdb.DuckDBPyConnection | None = None
        self._sandbox: duckdb.DuckDBPyConnection | None = None
        self._used: list[duckdb.DuckDBPyConnection] = []

    def session(self, settings: QuerySettings, scratch: Path) -> duckdb.DuckDBPyConnection:
        """Return an engine with the limits of ``settings`` that may still open any file; it spills to ``scratch``."""
        limits = (settings.threads, settings.memory_bytes, settings.spill_bytes)
        if limits != self._limits and self._session is not None:
            self._session.close()
            self._session = None
        self._limits = limits
        taken, self._session = self._session or _opened_session(limits), None
        taken.execute(f"SET temp_directory = {quote_text(str(scratch))}")
        taken.execute(f"SET max_temp_directory_size = '{settings.spill_bytes}B'")
        return taken

    def sandbox(self) -> duckdb.DuckDBPyConnection:
        """Return the process's small engine without files, whose configuration is locked. Its users drop their tables."""
        if self._sandbox is None:
            self._sandbox = _opened_sandbox()
        return self._sandbox

    def take_back(self, engine: duckdb.DuckDBPyConnection) -> None:
        """Close ``engine`` with the next :meth:`prepare`. Its limits hold until then."""
        self._used.append(engine)

    def prepare(self) -> None:
        """Close used engines, and open those for the next statement, with the limits of the last one."""
        while self._used:
            self._used.pop().close()
        if self._limits is not None and self._session is None:
            self._session = _opened_session(self._limits)
        if self._sandbox is None:
            self._sandbox = _opened_sandbox()


spares = SpareEngines()
"""Those of this process, which runs one statement at a time."""


def _opened_session(limits: Limits) -> duckdb.DuckDBPyConnection:
    threads, memory, _ = limits
    connection = duckdb.connect(":memory:", config={**_CLOSED, "threads": threads, "memory_limit": f"{memory}B"})
    connection.execute("SET parquet_metadata_cache = true")
    return _in_utc(connection)


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
