"""Targets outside the lake, as far as the operator of the server allows: databases by their hosts, and DynamoDB."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.catalog.connections import ConnectionService
from penstock.crawl.model import DynamoTarget, JdbcTarget
from penstock.crawl.targets.dynamodb import dynamodb_table
from penstock.crawl.targets.port import DescribedTable, Scope
from penstock.crawl.targets.postgresql import SecretReader, address_of, database_tables, path_of
from penstock.errors import AccessDenied, InvalidInput
from penstock.secrets.service import SecretsService

__all__ = ["Sources", "login_of"]


def login_of(secrets: SecretsService, account: str, secret_id: str) -> Mapping[str, str]:
    """Return the members of a secret, such as ``username`` and ``password``.

    Raises the errors of the secrets' service, and :class:`InvalidInput` for a secret that is not a JSON object.
    """
    _, version = secrets.value(account, secret_id)
    try:
        login = json.loads(version.value.text or "")
    except (ValueError, RecursionError):
        login = None
    if not isinstance(login, dict):
        raise InvalidInput(f"Secret {secret_id} is not a login.", remedy='Store {"username": "...", "password": "..."}.')
    return {name: str(value) for name, value in login.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """A :class:`~penstock.crawl.targets.port.SourceFinder`.

    ``hosts`` are those that crawls may connect to, as ``HOST`` or ``HOST:PORT``; ``secret_of`` reads a secret with a login;
    ``dynamodb`` makes a client of DynamoDB, None if this account may not read it.
    """

    connections: ConnectionService
    secret_of: SecretReader
    hosts: Sequence[str] = ()
    dynamodb: Callable[[], Any] | None = None

    def check(self, target: JdbcTarget | DynamoTarget) -> None:
        """See the protocol."""
        if isinstance(target, DynamoTarget):
            self._client()
            return
        path_of(target)
        address = address_of(self.connections.get(target.connection), None)
        if not {address.host, f"{address.host}:{address.port}"} & set(self.hosts):
            raise AccessDenied(
                f"Crawls may not connect to {address.host}:{address.port}, where connection {target.connection} leads.",
                remedy=f"The server's operator allows it by --crawl-host {address.host}:{address.port}.",
            )

    def find(
        self, target: JdbcTarget | DynamoTarget, check: Callable[[], None]
    ) -> tuple[Sequence[DescribedTable], Sequence[Scope]]:
        """See the protocol."""
        self.check(target)
        if isinstance(target, DynamoTarget):
            return dynamodb_table(self._client()(), target, check)
        return database_tables(target, address_of(self.connections.get(target.connection), self.secret_of))

    def _client(self) -> Callable[[], Any]:
        if self.dynamodb is None:
            raise InvalidInput(
                "DynamoDB targets are not crawled by this server.",
                remedy="The server's operator gives --crawl-dynamodb; it is for the server's first account alone.",
            )
        return self.dynamodb
