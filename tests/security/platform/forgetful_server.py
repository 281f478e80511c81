"""``penstock`` on a disk that forgets: ``python forgetful_server.py NOTES HOME serve ...``.

What it syncs below HOME is noted in NOTES (:mod:`penstock.testing.powerloss`). SQLite syncs from C, so its files are opened
here through apsw, whose VFS tells of each ``xSync``; to SQLAlchemy these connections look like the standard library's.
``PENSTOCK_TEST_SYNCHRONOUS`` puts another level in the place of the server's own: the check of the check.
"""

import os
import sqlite3
import sys
from pathlib import Path
from typing import Any

import apsw

from penstock.testing.powerloss import ForgetfulDisk

_VFS = "forgetful"
_LEVEL = "PRAGMA synchronous="


class _File(apsw.VFSFile):
    def __init__(self, disk: ForgetfulDisk, name: Any, flags: Any) -> None:
        self._disk = disk
        self._path = Path(name.filename() if isinstance(name, apsw.URIFilename) else name or "/unnamed")
        super().__init__("", name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802 - apsw's name
        super().xSync(flags)
        self._disk.synced(self._path, self.xRead(self.xFileSize(), 0))
        if not self._path.name.endswith(".db"):
            # With a new journal or WAL SQLite's own xSync syncs the folder too (UNIXFILE_DIRSYNC in os_unix.c).
            self._disk.synced(self._path.parent)


class _Vfs(apsw.VFS):
    def __init__(self, disk: ForgetfulDisk) -> None:
        self._disk = disk
        super().__init__(_VFS, "")

    def xOpen(self, name: Any, flags: Any) -> _File:  # noqa: N802 - apsw's name
        return _File(self._disk, name, flags)


class _Cursor:
    """What SQLAlchemy and our own statements use of sqlite3.Cursor. Rows are fetched at once."""

    arraysize = 1

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._rows: list[Any] = []
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid: int | None = None

    def execute(self, sql: str, arguments: Any = ()) -> "_Cursor":
        if sql.startswith(_LEVEL):
            sql = _LEVEL + os.environ.get("PENSTOCK_TEST_SYNCHRONOUS", sql.removeprefix(_LEVEL))
        try:
            before = self._connection.total_changes()
            cursor = self._connection.cursor()
            self.description = None
            cursor.exec_trace = self._describe
            self._rows = cursor.execute(sql, tuple(arguments)).fetchall()
        except apsw.Error as error:
            raise _translated(error) from error
        changed = self._connection.total_changes() - before
        self.rowcount = changed if changed or sql.lstrip()[:6].upper() in {"UPDATE", "DELETE", "INSERT"} else -1
        self.lastrowid = self._connection.last_insert_rowid()
        return self

    def _describe(self, cursor: apsw.Cursor, _sql: str, _bindings: Any) -> bool:
        names = cursor.get_description()
        self.description = tuple((name[0], None, None, None, None, None, None) for name in names) or None
        return True

    def executemany(self, sql: str, rows: Any) -> "_Cursor":
        count = 0
        for row in rows:
            count += max(self.execute(sql, row).rowcount, 0)
        self.rowcount = count
        return self

    def fetchone(self) -> Any:
        return self._rows.pop(0) if self._rows else None

    def fetchmany(self, size: int = 1) -> list[Any]:
        taken, self._rows = self._rows[:size], self._rows[size:]
        return taken

    def fetchall(self) -> list[Any]:
        taken, self._rows = self._rows, []
        return taken

    def close(self) -> None:
        self._rows = []


class _Connection:
    isolation_level: Any = None

    def __init__(self, path: str, timeout: float) -> None:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        self._connection = apsw.Connection(path, flags=flags, vfs=_VFS)
        self._connection.set_busy_timeout(int(timeout * 1000))

    def cursor(self, *_: Any) -> _Cursor:
        return _Cursor(self._connection)

    def execute(self, sql: str, arguments: Any = ()) -> _Cursor:
        return self.cursor().execute(sql, arguments)

    def create_function(self, name: str, count: int, function: Any, *, deterministic: bool = False) -> None:
        self._connection.create_scalar_function(name, function, count, deterministic=deterministic)

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def commit(self) -> None:
        if self.in_transaction:
            self.execute("COMMIT")

    def rollback(self) -> None:
        if self.in_transaction:
            self.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close()


def _translated(error: Any) -> sqlite3.Error:
    kind = sqlite3.IntegrityError if isinstance(error, apsw.ConstraintError) else sqlite3.OperationalError
    result = kind(str(error))
    result.sqlite_errorcode = error.extendedresult
    return result


def _connect(path: str, timeout: float = 5.0, **_: Any) -> _Connection:
    try:
        return _Connection(str(path), timeout)
    except apsw.Error as error:
        raise _translated(error) from error


def main() -> None:
    notes, home = Path(sys.argv[1]), Path(sys.argv[2])
    disk = ForgetfulDisk(home, notes)
    disk.install()
    vfs = _Vfs(disk)
    for module in (sqlite3, sqlite3.dbapi2):
        vars(module)["connect"] = _connect

    from penstock.cli.main import main as penstock

    sys.argv = ["penstock", *sys.argv[3:]]
    try:
        penstock()
    finally:
        vfs.unregister()


if __name__ == "__main__":
    main()
