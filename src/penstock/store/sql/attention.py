"""Which accounts have something to do: read for all of them at once, so that an idle account costs next to nothing."""

import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import text

from penstock.store.sql.database import Database
from penstock.store.sql.tenancy import beside, schema_of

__all__ = ["WorkFinder"]

# Returns '' if something is to be done now: for unfinished statements and crawls, runs whose end was not dealt with,
# triggers that wait for crawls. Else the time at which the next schedule is due, as ISO 8601 in UTC, which sorts as time;
# or NULL.
_DUE = """
CASE WHEN EXISTS (SELECT 1 FROM {at}statements WHERE state IN ('QUEUED', 'RUNNING'))
  OR EXISTS (SELECT 1 FROM {at}crawl_crawler WHERE state <> 'READY')
  OR EXISTS (SELECT 1 FROM {at}job_entry WHERE active AND (kind <> 'trigger' OR body LIKE '%"CrawlerName"%'))
THEN '' ELSE (SELECT min(due) FROM (
  SELECT {next_run} AS due FROM {at}crawl_crawler
  UNION ALL SELECT {next_run} FROM {at}job_entry WHERE active) AS schedules) END
"""
_SQLITE_NEXT = "json_extract(body, '$.next_run')"
_DUE_IN_FILE = f"SELECT {_DUE.format(at='', next_run=_SQLITE_NEXT)}"
_POSTGRESQL_NEXT = "(CAST(body AS json) ->> 'next_run')"
# Tables are created in one transaction: a schema that has one has all.
_WITH_TABLES = text(
    "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = 'job_entry'"
)
_SETTLED_NS = 1_000_000_000  # a file that changed within this time may change again without a new time or size

_Marks = tuple[tuple[int, int], ...]


class WorkFinder:
    """Finds the accounts that have something to do. ``first`` is the database of the account ``main``.

    It reads PostgreSQL with two statements for all accounts, and of SQLite's files only those that have changed.
    """

    def __init__(self, first: Database, main: str) -> None:
        self._first = first
        self._main = main
        # By file: its marks, and the time that its database gave.
        self._answers: dict[Path, tuple[_Marks, str | None]] = {}

    def find(self, others: Sequence[str], *, now: datetime) -> Sequence[str]:
        """Return those of ``main`` and ``others`` that have something to do at ``now``; none without a database has.

        Of a store in memory all accounts are returned: each one's database is seen by its own services alone.
        """
        if self._first.in_memory:
            return [self._main, *others]
        times = self._in_files(others) if self._first.is_sqlite else self._in_schemas(others)
        moment = now.astimezone(UTC).isoformat()
        return [account for account, due in times.items() if due is not None and due <= moment]

    def _in_files(self, others: Sequence[str]) -> Mapping[str, str | None]:
        file = Path(str(self._first.url.database))
        files = {self._main: file, **{account: beside(file, account) for account in others}}
        return {account: self._in_file(path) for account, path in files.items()}

    def _in_file(self, file: Path) -> str | None:
        marks = _marks(file)
        if not marks:
            return None
        answer = self._answers.get(file)
        if answer is not None and answer[0] == marks:
            return answer[1]
        try:
            with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True, timeout=1.0)) as connection:
                due: str | None = connection.execute(_DUE_IN_FILE).fetchone()[0]
        except sqlite3.Error:
            return ""  # the account's services say what is wrong
        if time.time_ns() - max(changed for changed, _ in marks) > _SETTLED_NS:
            self._answers[file] = (marks, due)
        return due

    def _in_schemas(self, others: Sequence[str]) -> Mapping[str, str | None]:
        with self._first.read() as connection:
            there = set(connection.execute(_WITH_TABLES).scalars())
            places = {self._main: "", **{name: f'"{schema_of(name)}".' for name in others if schema_of(name) in there}}
            selects = (
                f"SELECT '{account}', {_DUE.format(at=at, next_run=_POSTGRESQL_NEXT)}" for account, at in places.items()
            )
            rows = connection.exec_driver_sql(" UNION ALL ".join(selects).replace("%", "%%"))
            return {row[0]: row[1] for row in rows}


def _marks(file: Path) -> _Marks:
    """Return times and sizes of a database's file and its log, which every commit changes; nothing if there is no file."""
    marks: list[tuple[int, int]] = []
    for path in (file, file.with_name(f"{file.name}-wal")):
        try:
            stat = path.stat()
        except FileNotFoundError:
            break
        marks.append((stat.st_mtime_ns, stat.st_size))
    return tuple(marks)
