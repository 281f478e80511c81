"""A real PostgreSQL server for tests: Debian's binaries, in a folder of its own, on a free port, never as root."""

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from penstock.errors import EnvironmentProblem
from penstock.local.processes.ports import free_ports
from penstock.retries import wait_until
from penstock.store.sql.database import Database

__all__ = ["PostgresServer", "running_postgres"]

_USER = "penstock"
_START_SECONDS = 60.0
_STOP_SECONDS = 30.0
_DEBIAN = Path("/usr/lib/postgresql")  # one folder a version, not on the PATH
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "60",
    "shared_buffers": "32MB",
    # Data lost by a crash of the machine do not matter in tests; a killed client loses none.
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
}


class PostgresServer:
    """A running server; :meth:`new_database` gives each test one of its own. ``folder`` has its data."""

    def __init__(self, folder: Path, password: str) -> None:
        self._folder = folder
        self._password = password
        self._databases = 0
        (self._port,) = free_ports(1)
        self._process = self._start()

    def restart(self) -> None:
        """End the server at once, as a crash would, and start it again on the same port; return when it answers."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(_STOP_SECONDS)
        self._process = self._start()
        self.wait()

    def wait(self) -> None:
        """Return when the server answers. Raises :class:`EnvironmentProblem`."""
        _await(self._process, self, self._folder / "log")

    def stop(self) -> None:
        """End the server, and the sessions that tests left open."""
        _stop(self._process)

    def _start(self) -> "subprocess.Popen[bytes]":
        settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        command = [_binary("postgres"), "-D", str(self._folder / "data"), "-p", str(self._port), *settings]
        with (self._folder / "log").open("ab") as log:
            return _as(_owner(), command, stdout=log, stderr=subprocess.STDOUT)

    def url(self, database: str) -> str:
        """Return the store URL of a database."""
        return f"postgresql+pg8000://{_USER}:{self._password}@127.0.0.1:{self._port}/{database}"

    def new_database(self, template: str = "template1") -> str:
        """Create a copy of ``template``, to which no client may be connected. Return its store URL."""
        self._databases += 1
        name = f"test_{self._databases}"
        admin = Database(self.url("postgres"))
        try:
            with admin.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.exec_driver_sql(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        finally:
            admin.close()
        return self.url(name)


@contextlib.contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """Run a server during the block.

    Raises :class:`EnvironmentProblem` that says what to install if the machine has no PostgreSQL.
    """
    owner = _owner()
    folder = Path(tempfile.mkdtemp(prefix="penstock-postgresql-"))
    data, password = folder / "data", secrets.token_urlsafe(12)
    try:
        (folder / "password").write_text(password)
        _give(owner, folder, folder / "password")
        command = [_binary("initdb"), "-D", str(data), "-U", _USER, "-E", "UTF8", "-A", "scram-sha-256", "--no-sync"]
        # A collation other than byte order, as many servers have.
        command += [f"--pwfile={folder / 'password'}", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en"]
        initdb = _as(owner, command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output, _ = initdb.communicate(timeout=_START_SECONDS)
        if initdb.returncode != 0:
            raise EnvironmentProblem(f"initdb failed:\n{output.decode(errors='replace')}")
        server = PostgresServer(folder, password)
        try:
            server.wait()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _await(process: "subprocess.Popen[bytes]", server: PostgresServer, log: Path) -> None:
    database = Database(server.url("postgres"))

    def answers() -> bool:
        try:
            with database.read():
                return True
        except Exception:  # noqa: BLE001 -- not ready yet; the driver has many errors for that
            return False

    try:
        wait_until(lambda: answers() or process.poll() is not None, seconds=_START_SECONDS)
        if not answers():
            raise EnvironmentProblem(f"PostgreSQL did not start:\n{log.read_text(errors='replace')}")
    finally:
        database.close()


def _stop(process: "subprocess.Popen[bytes]") -> None:
    # Fast shutdown: sessions that tests left open are ended.
    process.send_signal(signal.SIGINT)
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _binary(name: str) -> str:
    binary = shutil.which(name)
    if binary is None:
        versions = sorted(_DEBIAN.glob(f"*/bin/{name}"), key=lambda path: float(path.parts[-3]))
        binary = str(versions[-1]) if versions else None
    if binary is None:
        raise EnvironmentProblem(
            f"PostgreSQL's '{name}' was not found on the PATH or under {_DEBIAN}, and the tests of stores need it.",
            remedy="Install a server: Debian and Ubuntu: apt install postgresql; Fedora: dnf install postgresql-server; "
            "macOS: brew install postgresql@17.",
        )
    return binary


def _owner() -> pwd.struct_passwd | None:
    """Return the user to run the server as: None for the current one, another for root, whom PostgreSQL refuses."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise EnvironmentProblem("PostgreSQL does not run as root, and there is no user postgres or nobody.")


def _give(owner: pwd.struct_passwd | None, *paths: Path) -> None:
    if owner is not None:
        for path in paths:
            os.chown(path, owner.pw_uid, owner.pw_gid)


def _as(owner: pwd.struct_passwd | None, command: Sequence[str], **more: Any) -> "subprocess.Popen[bytes]":
    if owner is not None:
        more |= {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd="/", env=environment, **more)
