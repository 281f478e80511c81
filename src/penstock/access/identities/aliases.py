"""Aliases of accounts: one for each, unique among all. Source: IAM API reference, CreateAccountAlias."""

import re
from collections.abc import Callable
from datetime import UTC, datetime

from penstock.access.entities import AccountAlias, EntityKind, new_id, taken
from penstock.access.keys import AccessStore
from penstock.errors import InvalidInput

__all__ = ["Aliases", "InvalidAlias"]

_ALIAS = re.compile(r"[a-z0-9](?:[a-z0-9]|-(?!-)){1,61}[a-z0-9]", re.ASCII)


class InvalidAlias(InvalidInput):
    """The name is not one of an alias."""

    aws_code = "ValidationError"


class Aliases:
    """The aliases of accounts."""

    def __init__(self, store: AccessStore, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store = store
        self._now = now

    def create(self, account: str, name: str) -> None:
        """Give the account this alias, in place of the one that it had; raise :class:`EntityExists`, InvalidAlias."""
        if not 3 <= len(name) <= 63 or _ALIAS.fullmatch(name) is None:
            raise InvalidAlias(
                f"'{name[:63]}' is not an account alias.",
                remedy="Take 3 to 63 lower-case letters, digits and single hyphens, none of them first or last.",
            )
        for other in self._store.list_accounts():
            if other.id != account and self._store.get_entity(EntityKind.ALIAS, other.id, name) is not None:
                raise taken(EntityKind.ALIAS, name)
        alias = AccountAlias(account=account, name=name, id=new_id("ALIA"), created=self._now().replace(microsecond=0))
        former = [former_name for former_name in self.list(account) if former_name != name]
        self._store.add_entity(alias, "CreateAccountAlias", limit=2)
        for former_name in former:
            self.delete(account, former_name)

    def list(self, account: str) -> list[str]:
        """Return the alias of the account, if it has one."""
        return [entity.name for entity in self._store.list_entities(EntityKind.ALIAS, account)]

    def delete(self, account: str, name: str) -> None:
        """Remove the alias; raise :class:`NoSuchEntity`."""
        self._store.change_entity(EntityKind.ALIAS, account, name, "DeleteAccountAlias", lambda _: None)
