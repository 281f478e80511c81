"""The accounts of the server. Source: AWS Organizations API reference, CreateAccount."""

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from penstock.access.entities import Account, AccountExists, EntityKind
from penstock.access.identities.identities import Identities
from penstock.access.identities.roles import Roles
from penstock.access.keys import AccessStore
from penstock.access.principals import root_arn
from penstock.errors import LimitExceeded, NotFound
from penstock.names import arn

__all__ = ["ACCESS_ROLE", "ORGANIZATION", "AccountNotFound", "Accounts", "TooManyAccounts", "account_arn"]

ACCESS_ROLE = "OrganizationAccountAccessRole"
"""The role of a new account that the first account may assume."""

ORGANIZATION = "o-penstock00"
"""The id of the organization that all accounts of a server belong to."""

_ADMINISTRATOR = "arn:aws:iam::aws:policy/AdministratorAccess"
_MAX_ACCOUNTS = 100  # each has connections and a database of its own
_ATTEMPTS = 10


class AccountNotFound(NotFound):
    """The account does not exist."""

    aws_code = "AccountNotFoundException"


class TooManyAccounts(LimitExceeded):
    """The server has its maximal number of accounts."""

    aws_code = "ConstraintViolationException"


def account_arn(account: str, manager: str) -> str:
    """Return the ARN of an account in the organization of the account ``manager``."""
    return arn("organizations", "", manager, f"account/{ORGANIZATION}/{account}")


class Accounts:
    """Accounts, created by ``first``, the server's own."""

    def __init__(
        self,
        store: AccessStore,
        roles: Roles,
        identities: Identities,
        *,
        first: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store = store
        self._roles = roles
        self._identities = identities
        self._first = first
        self._now = now

    def create(self, name: str, email: str, *, role: str | None = None, tags: Mapping[str, str] | None = None) -> Account:
        """Create an account with a random id and the role for the first account; raise :class:`TooManyAccounts`."""
        if len(self._store.list_accounts()) >= _MAX_ACCOUNTS:
            raise TooManyAccounts(f"The server has {_MAX_ACCOUNTS} accounts already.")
        account = self._add(name, email)
        trusted = {"Effect": "Allow", "Principal": {"AWS": root_arn(self._first)}, "Action": "sts:AssumeRole"}
        trust = json.dumps({"Version": "2012-10-17", "Statement": [trusted]})
        name = role or ACCESS_ROLE
        self._roles.create(account.id, name, trust, tags=tags)
        self._identities.attach(EntityKind.ROLE, account.id, name, _ADMINISTRATOR)
        return account

    def ensure_first(self) -> None:
        """Store the server's own account if it is missing."""
        if self._store.get_account(self._first) is None:
            created = self._now().replace(microsecond=0)
            # Another server that starts at the same time on the same store may be faster.
            with suppress(AccountExists):
                self._store.add_account(Account(id=self._first, name="penstock", email="root@localhost", created=created))

    def get(self, account: str) -> Account:
        """Return the account, or raise :class:`AccountNotFound`."""
        existing = self.find(account)
        if existing is None:
            raise AccountNotFound(f"There is no account {account}.", remedy="ListAccounts lists the accounts.")
        return existing

    def find(self, account: str) -> Account | None:
        """Return the account, or None."""
        return self._store.get_account(account)

    def list(self) -> Sequence[Account]:
        """Return all accounts, by id."""
        return self._store.list_accounts()

    def _add(self, name: str, email: str) -> Account:
        for _ in range(_ATTEMPTS):
            number = f"{secrets.randbelow(9 * 10**11) + 10**11:012}"
            account = Account(id=number, name=name, email=email, created=self._now().replace(microsecond=0))
            try:
                self._store.add_account(account)
            except AccountExists:
                continue
            return account
        raise TooManyAccounts("No free account id was found.")
