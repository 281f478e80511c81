"""Glue's connections: named settings with which jobs connect to a data store. Stores encrypt the passwords in them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Protocol

from penstock.errors import AlreadyExists, InvalidInput, NotFound
from penstock.paging import Page, page
from penstock.tags import changed_tags, check_tags

__all__ = [
    "Connection",
    "ConnectionExists",
    "ConnectionNotFound",
    "ConnectionService",
    "ConnectionStore",
    "without_passwords",
]

_BROKERS = "KAFKA_BOOTSTRAP_SERVERS"
_BROKER = re.compile(r"[^\s,:/]+:\d{1,5}")


class ConnectionNotFound(NotFound):
    """No connection has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Connection {name} not found.", remedy="GetConnections lists the existing ones.")


class ConnectionExists(AlreadyExists):
    """The connection's name is taken."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Connection {name} already exists.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A connection. ``type`` is Glue's (``KAFKA``, ``JDBC``, ...); ``properties`` have Glue's keys and may be secret.

    ``place`` is the shape PhysicalConnectionRequirements; times are aware UTC datetimes, ``updated_by`` an ARN.
    """

    name: str
    type: str
    properties: Mapping[str, str] = field(repr=False)
    description: str | None = None
    match_criteria: Sequence[str] = ()
    place: Mapping[str, object] | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    created: datetime
    updated: datetime
    updated_by: str = ""


def without_passwords(connection: Connection) -> Connection:
    """Return the connection without the properties that have a password, encrypted or not."""
    visible = {key: value for key, value in connection.properties.items() if "PASSWORD" not in key}
    return replace(connection, properties=visible)


class ConnectionStore(Protocol):
    """Connections by name; each call is one transaction. Implementations encrypt them if they outlive the process."""

    def create(self, connection: Connection) -> None:
        """Add a connection. Raises ConnectionExists."""

    def get(self, name: str) -> Connection | None:
        """Return the connection, or None."""

    def list(self, *, after: str | None, limit: int) -> Sequence[Connection]:
        """Return up to ``limit`` connections by name, after ``after``."""

    def change(self, name: str, change: Callable[[Connection], Connection]) -> None:
        """Replace the connection by the value that ``change`` returns. Raises ConnectionNotFound."""

    def delete(self, name: str) -> None:
        """Remove the connection. Raises ConnectionNotFound."""


class ConnectionService:
    """Create, read, change and delete connections; ``now`` is the clock (aware UTC)."""

    def __init__(self, store: ConnectionStore, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store = store
        self._now = now

    def create(self, connection: Connection) -> None:
        """Add a connection. Raises :class:`ConnectionExists`, :class:`InvalidInput`."""
        _check(connection)
        check_tags(connection.tags)
        now = self._now()
        self._store.create(replace(connection, created=now, updated=now))

    def get(self, name: str) -> Connection:
        """Return the connection. Raises :class:`ConnectionNotFound`."""
        connection = self._store.get(name)
        if connection is None:
            raise ConnectionNotFound(name)
        return connection

    def page(self, *, limit: int, token: str | None = None) -> Page[Connection]:
        """Return up to ``limit`` connections by name."""

        def read(after: str | None, count: int) -> Sequence[Connection]:
            return self._store.list(after=after, limit=count)

        return page("connections", token, limit, read, lambda connection: connection.name, kind=str)

    def update(self, name: str, connection: Connection) -> None:
        """Replace the connection by ``connection``. Raises :class:`ConnectionNotFound`, :class:`InvalidInput`."""
        _check(connection)
        if connection.name != name:
            raise InvalidInput(
                f"Connection {name} cannot be renamed to {connection.name}.",
                remedy="Create one with the new name and delete this one.",
            )
        self._store.change(name, lambda old: replace(connection, created=old.created, tags=old.tags, updated=self._now()))

    def tags(self, name: str) -> Mapping[str, str]:
        """Return the connection's tags. Raises :class:`ConnectionNotFound`."""
        return self.get(name).tags

    def change_tags(self, name: str, *, add: Mapping[str, str] | None = None, remove: Sequence[str] = ()) -> None:
        """Add or replace tags, then remove some.

        Raises :class:`ConnectionNotFound`, :class:`~penstock.errors.LimitExceeded`.
        """
        check_tags(add or {})
        self._store.change(name, lambda old: replace(old, tags=changed_tags(old.tags, add or {}, remove)))

    def delete(self, name: str) -> None:
        """Remove the connection. Raises :class:`ConnectionNotFound`."""
        self._store.delete(name)


def _check(connection: Connection) -> None:
    """Check the properties of the type: https://docs.aws.amazon.com/glue/latest/webapi/API_ConnectionInput.html."""
    if connection.type != "KAFKA":
        return
    brokers = connection.properties.get(_BROKERS, "")
    if not all(_BROKER.fullmatch(part.strip()) for part in brokers.split(",")):
        raise InvalidInput(
            f"Connection {connection.name}: {_BROKERS} is {brokers!r}.",
            remedy="List the brokers as HOST:PORT, separated by commas.",
        )
