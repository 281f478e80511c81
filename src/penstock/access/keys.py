"""Access keys, and the port that stores them with the users, roles and policies of every account."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from penstock.access.identities.entities import Account, Entity, EntityKind, Identity
from penstock.errors import AlreadyExists, NotFound

__all__ = ["AccessKey", "AccessKeyExists", "AccessKeyNotFound", "AccessStore", "EntityReader"]


class AccessKeyExists(AlreadyExists):
    """The access key id is taken."""

    aws_code = "EntityAlreadyExists"


class AccessKeyNotFound(NotFound):
    """There is no such access key."""

    aws_code = "NoSuchEntity"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessKey:
    """A long-term credential: who ``access_key_id`` is, and the secret that its signatures are made with."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    account: str
    principal: str
    """ARN of the user the key belongs to, or of the account's root."""
    created: datetime
    active: bool = True
    owner_id: str = ""
    """Unique id of the user: a user made anew under the same name does not get the old one's keys."""


class EntityReader(Protocol):
    """Entities as they are at one moment."""

    def get_entity(self, kind: EntityKind, account: str, name: str) -> Entity | None:
        """The entity, or None."""

    def list_identities(self, account: str) -> Sequence[Identity]:
        """All users, then all roles, then all groups, each by name in small letters."""

    def list_entities(self, kind: EntityKind, account: str) -> Sequence[Entity]:
        """All of one kind, by name in small letters."""


class AccessStore(EntityReader, Protocol):
    """Access keys by id, entities by account, kind and name, accounts by id.

    Names are unique in any spelling of capitals. Implementations keep secrets encrypted wherever they outlive the process,
    record each change but :meth:`put`'s with its actor, and run
    :class:`penstock.testing.suites.AccessStoreSuite`.
    """

    def get(self, access_key_id: str) -> AccessKey | None:
        """The key, or None."""

    def add(self, key: AccessKey) -> None:
        """Store a new key; :class:`AccessKeyExists` where the id is taken."""

    def put(self, key: AccessKey) -> bool:
        """Store a key, or the secret of one with the same id; whether it is taken from now on.

        One that was made inactive stays so, and one that was removed is not stored again.
        """

    def remove(self, access_key_id: str) -> None:
        """Forget a key, whose id is never given again; :class:`AccessKeyNotFound` where there is none."""

    def set_active(self, access_key_id: str, active: bool) -> None:
        """Let a key be taken, or not for now; :class:`AccessKeyNotFound`."""

    def list(self, account: str) -> list[AccessKey]:
        """The account's keys, by id."""

    def add_entity(self, entity: Entity, operation: str, *, limit: int) -> None:
        """Store a new entity.

        :class:`~penstock.access.identities.entities.EntityExists`;
        :class:`~penstock.errors.LimitExceeded` where the account has ``limit`` of its kind.
        ``operation`` is what the record calls the change.
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
        """Replace an entity by what ``change`` makes of it, in one step; None deletes it, and what it raises stops it.

        ``check`` looks at other entities within the step, before the change: nobody changes them meanwhile, and what it
        raises stops it, too. :class:`~penstock.access.identities.entities.NoSuchEntity`.
        """

    def write_audit(self, operation: str, resource: str, outcome: str) -> None:
        """Record something that changed nothing stored, such as a role that was assumed."""

    def add_account(self, account: Account) -> None:
        """Store a new account; :class:`~penstock.access.identities.entities.AccountExists`."""

    def get_account(self, account: str) -> Account | None:
        """The account, or None."""

    def list_accounts(self) -> Sequence[Account]:
        """All accounts, by id."""
