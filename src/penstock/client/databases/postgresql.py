"""One connection to PostgreSQL or Redshift: login, TLS, statements, COPY, and errors in Penstock's words.

The driver is pg8000, pure Python, so that neither Spark's class path nor an executor needs anything (ADR 30).
"""

import contextlib
import socket
import ssl
from collections.abc import Iterable, Iterator
from typing import Any

from penstock.client.databases.jdbc_url import DatabaseAddress
from penstock.errors import AccessDenied, DataProblem, EnvironmentProblem, InvalidInput, NotFound, PenstockError

__all__ = ["Database", "connected", "database_error"]

_LOGIN_SECONDS = 15.0
# A server that went away is noticed after a minute, and a client that did: its transaction then frees its locks.
_IDLE, _INTERVAL, _PROBES = 30, 10, 3
_LOCK_SECONDS = 60

_NO_NUL = frozenset({"22021", "22P05"})
_REMOVE_NUL = "Set 'nul_characters: remove' of the sink, or replace them in its 'sql'."


class Database:
    """An open connection in ``address``; statements run outside a transaction until :meth:`transaction`."""

    def __init__(self, connection: Any, address: DatabaseAddress, owner: str) -> None:
        self._connection = connection
        self._address = address
        self._owner = owner

    @property
    def doubles_backslashes(self) -> bool:
        """Whether a backslash in a text literal has to be doubled, as on Redshift."""
        return bool(self._connection.parameter_statuses.get("standard_conforming_strings") != "on")

    def run(self, sql: str, **parameters: Any) -> list[list[Any]]:
        """Run one statement with parameters ``:name``, or several without; return its rows."""
        with self._translated():
            return list(self._connection.run(sql, **parameters) or ())

    def count(self, sql: str, **parameters: Any) -> int:
        """Run one statement as :meth:`run` does; return how many rows it inserted, updated or deleted."""
        self.run(sql, **parameters)
        return max(int(self._connection.row_count or 0), 0)

    def copy(self, sql: str, chunks: Iterable[bytes]) -> int:
        """Run ``COPY … FROM STDIN`` with ``chunks``; return the number of rows.

        An error of ``chunks`` itself leaves the connection unusable: close it, and the server forgets the transaction.
        """
        with self._translated():
            self._connection.run(sql, stream=iter(chunks))
        return int(self._connection.row_count)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit at the end of the block; an error leaves that to the server, which rolls back when this is closed."""
        self.run("BEGIN")
        yield
        self.run("COMMIT")

    def close(self) -> None:
        """End the connection, and with it what was not committed."""
        with contextlib.suppress(Exception):
            self._connection.close()

    def _translated(self) -> contextlib.AbstractContextManager[None]:
        return _translated(self._address, self._owner)


@contextlib.contextmanager
def connected(address: DatabaseAddress, owner: str) -> Iterator[Database]:
    """Open a connection for the block; ``owner`` is named in errors, such as "Sink orders".

    Raises :class:`EnvironmentProblem` if no server answers, :class:`AccessDenied` if it refuses the login and
    :class:`NotFound` if it has no such database.
    """
    import pg8000.native  # noqa: PLC0415 -- only pipelines with such a sink need it

    with _translated(address, owner):
        wire = socket.create_connection((address.host, address.port), _LOGIN_SECONDS)
        try:
            _keep_alive(wire)
            connection = pg8000.native.Connection(
                address.user or "",
                host=address.host,
                port=address.port,
                database=address.database,
                password=address.password,
                ssl_context=_tls(address),
                application_name="penstock",
                sock=wire,
            )
        except BaseException:
            wire.close()
            raise
        # The time limit is for the login alone: a merge may take long.
        connection._usock.settimeout(None)
    database = Database(connection, address, owner)
    try:
        _prepare(database, address)
        yield database
    finally:
        database.close()


def _keep_alive(wire: socket.socket) -> None:
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", _IDLE), ("TCP_KEEPINTVL", _INTERVAL), ("TCP_KEEPCNT", _PROBES)):
        if hasattr(socket, name):
            wire.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _prepare(database: Database, address: DatabaseAddress) -> None:
    if address.schema is not None:
        database.run("SELECT set_config('search_path', :schema, false)", schema=address.schema)
    if address.dialect == "postgresql":
        database.run(
            f"SET tcp_keepalives_idle = {_IDLE}; SET tcp_keepalives_interval = {_INTERVAL}; "
            f"SET tcp_keepalives_count = {_PROBES}; SET lock_timeout = '{_LOCK_SECONDS}s'; SET timezone = 'UTC'"
        )


def _tls(address: DatabaseAddress) -> Any:
    """Return pg8000's ``ssl_context``: False for none, None for TLS if the server has it, else a context."""
    if address.ssl_mode in {"disable", "prefer"}:
        return False if address.ssl_mode == "disable" else None
    try:
        context = ssl.create_default_context(cafile=address.certificate)
    except (OSError, ssl.SSLError) as error:
        raise InvalidInput(f"The certificate {address.certificate} cannot be read: {error}.") from None
    if address.ssl_mode != "verify-full":
        context.check_hostname = False
    if address.ssl_mode == "require" and address.certificate is None:
        context.verify_mode = ssl.CERT_NONE
    return context


@contextlib.contextmanager
def _translated(address: DatabaseAddress, owner: str) -> Iterator[None]:
    from pg8000.exceptions import DatabaseError, InterfaceError  # noqa: PLC0415 -- see connected()

    try:
        yield
    except DatabaseError as error:
        fields = error.args[0] if error.args and isinstance(error.args[0], dict) else {"M": str(error)}
        raise database_error(fields, address, owner) from error
    except (InterfaceError, OSError) as error:
        if "no password" in str(error):
            raise AccessDenied(
                f"{owner}: {address.text} wants a password, and none was given.",
                remedy="Give 'secret', or 'username' and 'password'.",
            ) from None
        cause = error.__cause__ or error
        raise EnvironmentProblem(
            f"{owner}: {address.text} cannot be reached: {str(cause).rstrip('.')}.",
            remedy="Check that it runs, its address, and sslmode.",
        ) from error


def database_error(fields: dict[str, str], address: DatabaseAddress, owner: str) -> PenstockError:
    """Return the error for what a server answered.

    ``fields`` are those of its ErrorResponse (https://www.postgresql.org/docs/current/protocol-error-fields.html); states:
    https://www.postgresql.org/docs/current/errcodes-appendix.html.
    """
    state, message = fields.get("C", ""), fields.get("M", "no reason given").rstrip(".")
    where = f"{owner}: {address.text}"
    details = "".join(f"; {fields[key].splitlines()[0][:200].rstrip('.')}" for key in ("D", "W") if fields.get(key))
    error_class, what, remedy = _answer(state, address)
    return error_class(f"{where} {what}: {message}{details}." if what else f"{where}: {message}{details}.", remedy=remedy)


def _answer(state: str, address: DatabaseAddress) -> tuple[type[PenstockError], str, str]:
    """Return an error's class, what it says before the server's message, and its remedy."""
    answers: tuple[tuple[bool, type[PenstockError], str, str], ...] = (
        (
            state.startswith("28"),
            AccessDenied,
            "refused the login",
            "Check the user name and password or the secret, and the server's pg_hba.conf.",
        ),
        (state == "42501", AccessDenied, "refused", f"Grant it to {address.user}."),
        (
            state in {"3D000", "3F000", "42P01"},
            NotFound,
            "",
            "Create it, or correct the sink's url and table.",
        ),
        (state in _NO_NUL, DataProblem, "cannot store a text with U+0000", _REMOVE_NUL),
        (
            state[:2] in {"22", "23"},
            DataProblem,
            "refuses a row",
            "Correct the row in the sink's 'sql', or the table's columns and constraints; nothing was written.",
        ),
        (state[:2] == "42", InvalidInput, "", "Compare the table's columns with those of the rows."),
        (
            state == "55P03",
            EnvironmentProblem,
            "waited for a lock",
            "Another transaction holds the table or the batch's marker: end it (pg_stat_activity).",
        ),
    )
    payload = next((answer[1:] for answer in answers if answer[0]), None)
    return payload or (EnvironmentProblem, f"failed ({state})", "It is retried; see the server's log.")
