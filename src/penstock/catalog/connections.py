"""Glue's connections: how jobs reach a data store, under a name. They hold passwords, which stores keep encrypted."""

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
    """There is no connection of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Connection {name} not found.", remedy="GetConnections lists the ones there are.")


class ConnectionExists(AlreadyExists):
    """The connection's name is taken."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Connection {name} already exists.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A connection. ``type`` is Glue's (``KAFKA``, ``JDBC``, ...), ``properties`` have Glue's keys and may be secret.

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
    """The connection without the properties that hold a password, encrypted or not."""
    kept = {key: value for key, value in connection.properties.items() if "PASSWORD" not in key}
    return replace(connection, properties=kept)


class ConnectionStore(Protocol):
    """Connections by name, each call one transaction. Implementations keep them encrypted where they outlive the process."""

    def create(self, connection: Connection) -> None:
        """Add; raise ConnectionExists."""

    def get(self, name: str) -> Connection | None:
        """The connection, or None."""

    def list(self, *, after: str | None, limit: int) -> Sequence[Connection]:
        """Up to ``limit`` connections by name, behind ``after``."""

    def change(self, name: str, change: Callable[[Connection], Connection]) -> None:
        """Replace the connection with what ``change`` makes of it; raise ConnectionNotFound."""

    def delete(self, name: str) -> None:
        """Remove; raise ConnectionNotFound."""


class ConnectionService:
    """Create, read, change and delete connections; ``now`` is the clock (aware UTC)."""

    def __init__(self, store: ConnectionStore, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store = store
        self._now = now

    def create(self, wanted: Connection) -> None:
        """Add a connection; :class:`ConnectionExists`, :class:`InvalidInput`."""
        _check(wanted)
        check_tags(wanted.tags)
        now = self._now()
        self._store.create(replace(wanted, created=now, updated=now))

    def get(self, name: str) -> Connection:
        """The connection; :class:`ConnectionNotFound`."""
        found = self._store.get(name)
        if found is None:
            raise ConnectionNotFound(name)
        return found

    def page(self, *, limit: int, token: str | None = None) -> Page[Connection]:
        """Up to ``limit`` connections by name."""

        def read(after: str | None, count: int) -> Sequence[Connection]:
            return self._store.list(after=after, limit=count)

        return page("connections", token, limit, read, lambda each: each.name, kind=str)

    def update(self, name: str, wanted: Connection) -> None:
        """Put ``wanted`` in place of the connection; :class:`ConnectionNotFound`, :class:`InvalidInput`."""
        _check(wanted)
        if wanted.name != name:
            raise InvalidInput(
                f"Connection {name} cannot be renamed to {wanted.name}.", remedy="Create the other one and delete this one."
            )
        self._store.change(name, lambda old: replace(wanted, created=old.created, tags=old.tags, updated=self._now()))

    def tags(self, name: str) -> Mapping[str, str]:
        """The connection's tags; :class:`ConnectionNotFound`."""
        return self.get(name).tags

    def change_tags(self, name: str, *, add: Mapping[str, str] | None = None, remove: Sequence[str] = ()) -> None:
        """Add or replace tags, then remove some; :class:`ConnectionNotFound`, :class:`~penstock.errors.LimitExceeded`."""
        check_tags(add or {})
        self._store.change(name, lambda old: replace(old, tags=changed_tags(old.tags, add or {}, remove)))

    def delete(self, name: str) -> None:
        """Remove the connection; :class:`ConnectionNotFound`."""
        self._store.delete(name)


def _check(wanted: Connection) -> None:
    """What each type needs: https://docs.aws.amazon.com/glue/latest/webapi/API_ConnectionInput.html."""
    if wanted.type != "KAFKA":
        return
    brokers = wanted.properties.get(_BROKERS, "")
    if not all(_BROKER.fullmatch(each.strip()) for each in brokers.split(",")):
        raise InvalidInput(
            f"Connection {wanted.name}: {_BROKERS} is {brokers!r}.",
            remedy="It has to list the brokers as HOST:PORT, separated by commas.",
        )
