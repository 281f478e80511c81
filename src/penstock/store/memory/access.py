"""Access keys, users, roles, policies and accounts in memory."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from penstock.access.identities.entities import Account, AccountExists, Entity, EntityKind, Identity, kind_of, missing, taken
from penstock.access.keys import AccessKey, AccessKeyExists, AccessKeyNotFound, EntityReader
from penstock.errors import LimitExceeded

__all__ = ["MemoryAccessStore"]

_Place = tuple[EntityKind, str, str]
_IDENTITY_KINDS = (EntityKind.USER, EntityKind.ROLE, EntityKind.GROUP)


class MemoryAccessStore:
    """An :class:`~penstock.access.keys.AccessStore` in memory, without an audit log."""

    def __init__(self) -> None:
        self._keys: dict[str, AccessKey] = {}
        self._removed: set[str] = set()
        self._entities: dict[_Place, Entity] = {}
        self._accounts: dict[str, Account] = {}
        # A change of one entity reads others.
        self._lock = threading.RLock()

    def get(self, access_key_id: str) -> AccessKey | None:
        return self._keys.get(access_key_id)

    def add(self, key: AccessKey) -> None:
        with self._lock:
            if key.access_key_id in self._keys or key.access_key_id in self._removed:
                raise AccessKeyExists(f"Access key {key.access_key_id} already exists.")
            self._keys[key.access_key_id] = key

    def put(self, key: AccessKey) -> bool:
        with self._lock:
            if key.access_key_id in self._removed:
                return False
            known = self._keys.get(key.access_key_id)
            active = key.active if known is None else known.active
            self._keys[key.access_key_id] = replace(key, active=active)
            return active

    def remove(self, access_key_id: str) -> None:
        with self._lock:
            if self._keys.pop(access_key_id, None) is None:
                raise AccessKeyNotFound(f"The Access Key with id {access_key_id} cannot be found.")
            self._removed.add(access_key_id)

    def set_active(self, access_key_id: str, active: bool) -> None:
        with self._lock:
            key = self._keys.get(access_key_id)
            if key is None:
                raise AccessKeyNotFound(f"The Access Key with id {access_key_id} cannot be found.")
            self._keys[access_key_id] = replace(key, active=active)

    def list(self, account: str) -> list[AccessKey]:
        with self._lock:
            return sorted((key for key in self._keys.values() if key.account == account), key=lambda key: key.access_key_id)

    def get_entity(self, kind: EntityKind, account: str, name: str) -> Entity | None:
        return self._entities.get((kind, account, name.lower()))

    def list_entities(self, kind: EntityKind, account: str) -> Sequence[Entity]:
        with self._lock:
            found = [entity for place, entity in self._entities.items() if place[:2] == (kind, account)]
        return sorted(found, key=lambda entity: entity.name.lower())

    def list_identities(self, account: str) -> Sequence[Identity]:
        with self._lock:
            found = [each for each in self._entities.values() if each.account == account and isinstance(each, Identity)]
        return sorted(found, key=lambda identity: (_IDENTITY_KINDS.index(kind_of(identity)), identity.name.lower()))

    def add_entity(self, entity: Entity, operation: str, *, limit: int) -> None:  # noqa: ARG002
        kind = kind_of(entity)
        place = (kind, entity.account, entity.name.lower())
        with self._lock:
            if place in self._entities:
                raise taken(kind, entity.name)
            if sum(known[:2] == place[:2] for known in self._entities) >= limit:
                raise LimitExceeded(f"The account has {limit} of its kind already: {kind.value}.")
            self._entities[place] = entity

    def change_entity(
        self,
        kind: EntityKind,
        account: str,
        name: str,
        operation: str,  # noqa: ARG002
        change: Callable[[Entity], Entity | None],
        *,
        check: Callable[[EntityReader], None] | None = None,
    ) -> None:
        place = (kind, account, name.lower())
        with self._lock:
            stored = self._entities.get(place)
            if stored is None:
                raise missing(kind, name)
            if check is not None:
                check(self)
            changed = change(stored)
            if changed is None:
                del self._entities[place]
            else:
                self._entities[place] = changed

    def write_audit(self, operation: str, resource: str, outcome: str) -> None:
        """Nothing is recorded in memory."""

    def add_account(self, account: Account) -> None:
        with self._lock:
            if account.id in self._accounts:
                raise AccountExists(f"The account {account.id} already exists.")
            self._accounts[account.id] = account

    def get_account(self, account: str) -> Account | None:
        return self._accounts.get(account)

    def list_accounts(self) -> Sequence[Account]:
        with self._lock:
            return [self._accounts[account] for account in sorted(self._accounts)]
