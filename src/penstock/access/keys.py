"""Access keys, and the store's protocol for them and the users, roles and policies of every account."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from penstock.access.entities import Account, Entity, EntityKind, Identity
from penstock.errors import AlreadyExists, NotFound

__all__ = ["AccessKey", "AccessKeyExists", "AccessKeyNotFound", "AccessStore", "EntityReader"]


class AccessKeyExists(AlreadyExists):
    """The access key id is taken."""

    aws_code = "EntityAlreadyExists"


class AccessKeyNotFound(NotFound):
    """The access key does not exist."""

    aws_code = "NoSuchEntity"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessKey:
    """A long-term credential: whose ``access_key_id`` it is, and the secret of its signatures."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    account: str
    principal: str
    """ARN of the user the key belongs to, or of the account's root."""
    created: datetime
    active: bool = True
    owner_id: str = ""
    """Unique id of the user: a new user with the name of a deleted one does not get the old one's keys."""


class EntityReader(Protocol):
    """Reads entities, all from one moment."""

    def get_entity(self, kind: EntityKind, account: str, name: str) -> Entity | None:
        """Return the entity, or None."""

    def list_identities(self, account: str) -> Sequence[Identity]:
        """Return all users, then all roles, then all groups, each sorted by name in lower case."""

    def list_entities(self, kind: EntityKind, account: str) -> Sequence[Entity]:
        """Return all entities of one kind, sorted by name in lower case."""


class AccessStore(EntityReader, Protocol):
    """Access keys by id, entities by account, kind and name, accounts by id.

    Names are unique regardless of case. Implementations keep secrets encrypted if they outlive the process, audit each
    change except :meth:`put` with its actor, and run :class:`penstock.testing.suites.AccessStoreSuite`.
    """

    def get(self, access_key_id: str) -> AccessKey | None:
        """Return the key, or None."""

    def add(self, key: AccessKey) -> None:
        """Store a new key; raise :class:`AccessKeyExists` if the id is taken."""

    def put(self, key: AccessKey) -> bool:
        """Store a key, or the secret of one with the same id; return whether it is accepted from now on.

        An inactive key stays inactive, and a key that was removed is not stored again.
        """

    def remove(self, access_key_id: str) -> None:
        """Remove a key, whose id is never used again; raise :class:`AccessKeyNotFound` if there is none."""

    def set_active(self, access_key_id: str, active: bool) -> None:
        """Activate or deactivate a key; raise :class:`AccessKeyNotFound`."""

    def list(self, account: str) -> list[AccessKey]:
        """Return the account's keys, by id."""

    def add_entity(self, entity: Entity, operation: str, *, limit: int) -> None:
        """Store a new entity.

        Raises :class:`~penstock.access.entities.EntityExists`, and :class:`~penstock.errors.LimitExceeded` if the
        account has ``limit`` of its kind. ``operation`` is the name of the change in the audit log.
        """

    def change_entity(
        self,
        kind: EntityKind,
        account: str,
        name: str,
        operation: str,
        change: Callable[[Entity], Entity | None],
        *,
        check: Callable[[EntityReader], None] | None = None,
    ) -> None:
        """Replace an entity by the result of ``change``, in one transaction; None deletes it, an exception cancels it.

        ``check`` reads other entities within the transaction, before the change: they do not change meanwhile, and an
        exception of it cancels the change, too. Raises :class:`~penstock.access.entities.NoSuchEntity`.
        """

    def write_audit(self, operation: str, resource: str, outcome: str) -> None:
        """Record an event that changed nothing in the store, such as a role that was assumed."""

    def add_account(self, account: Account) -> None:
        """Store a new account; raise :class:`~penstock.access.entities.AccountExists`."""

    def get_account(self, account: str) -> Account | None:
        """Return the account, or None."""

    def list_accounts(self) -> Sequence[Account]:
        """Return all accounts, by id."""
