"""Users and their access keys. Source: IAM API reference."""

import base64
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from penstock.access.entities import DeleteConflict, EntityKind, Identity, User, new_id
from penstock.access.identities.identities import Identities, check_boundary, check_empty
from penstock.access.identities.lookup import entities_below, entity_named
from penstock.access.identities.tags import checked_tags
from penstock.access.keys import AccessKey, AccessKeyNotFound, AccessStore
from penstock.access.principals import root_arn
from penstock.errors import LimitExceeded

__all__ = ["Users"]

_MAX_USERS = 5_000
_MAX_KEYS = 2


class Users:
    """Users of any account, and keys of users and of an account's root (name None)."""

    def __init__(
        self,
        store: AccessStore,
        identities: Identities,
        *,
        keys_changed: Callable[[str], None],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store = store
        self._identities = identities
        self._keys_changed = keys_changed
        self._now = now

    def create(
        self,
        account: str,
        name: str,
        *,
        path: str = "/",
        tags: Mapping[str, str] | None = None,
        boundary: str | None = None,
    ) -> User:
        """Create a user without policies; raise :class:`EntityExists`, :class:`LimitExceeded`, :class:`NoSuchEntity`."""
        check_boundary(self._store, account, boundary)
        user = User(
            account=account,
            name=name,
            id=new_id("AIDA"),
            created=self._now().replace(microsecond=0),
            path=path,
            tags=checked_tags(tags or {}),
            boundary=boundary,
        )
        self._store.add_entity(user, "CreateUser", limit=_MAX_USERS)
        return user

    def get(self, account: str, name: str) -> User:
        """Return the user, or raise :class:`NoSuchEntity`."""
        return entity_named(self._store, User, account, name)

    def list(self, account: str, path_prefix: str = "/") -> Sequence[User]:
        """Return users by name, with paths that begin with ``path_prefix``."""
        return entities_below(self._store, User, account, path_prefix)

    def delete(self, account: str, name: str) -> None:
        """Delete a user; raise :class:`NoSuchEntity`, :class:`DeleteConflict` while it has keys or policies."""
        if self.keys(account, name):
            raise DeleteConflict("Cannot delete entity, must delete access keys first.")

        def change(user: Identity) -> None:
            assert isinstance(user, User)
            if user.groups:
                raise DeleteConflict("Cannot delete entity, must remove users from group first.")
            check_empty(user)

        self._identities.change(EntityKind.USER, account, name, "DeleteUser", change)

    def create_key(self, account: str, name: str | None) -> AccessKey:
        """Create a key, whose secret is not returned again; raise :class:`NoSuchEntity`, :class:`LimitExceeded`."""
        user = None if name is None else self.get(account, name)
        if len(self.keys(account, name)) >= _MAX_KEYS:
            raise LimitExceeded(f"Cannot exceed quota for AccessKeysPerUser: {_MAX_KEYS}")
        key = AccessKey(
            access_key_id=new_id("AKIA", 16),
            secret_access_key=base64.b64encode(secrets.token_bytes(30)).decode(),
            account=account,
            principal=root_arn(account) if user is None else user.arn,
            created=self._now().replace(microsecond=0),
            owner_id="" if user is None else user.id,
        )
        self._store.add(key)
        return key

    def keys(self, account: str, name: str | None) -> Sequence[AccessKey]:
        """Return keys by id; raise :class:`NoSuchEntity`."""
        owner = "" if name is None else self.get(account, name).id
        principal = root_arn(account)
        return [
            key
            for key in self._store.list(account)
            if key.owner_id == owner and (name is not None or key.principal == principal)
        ]

    def set_active(self, account: str, name: str | None, access_key_id: str, active: bool) -> None:
        """Activate or deactivate a key; raise :class:`AccessKeyNotFound`, :class:`NoSuchEntity`."""
        self._check_owned(account, name, access_key_id)
        self._store.set_active(access_key_id, active)
        self._keys_changed(access_key_id)

    def delete_key(self, account: str, name: str | None, access_key_id: str) -> None:
        """Delete a key; raise :class:`AccessKeyNotFound`, :class:`NoSuchEntity`."""
        self._check_owned(account, name, access_key_id)
        self._store.remove(access_key_id)
        self._keys_changed(access_key_id)

    def _check_owned(self, account: str, name: str | None, access_key_id: str) -> None:
        if access_key_id not in {key.access_key_id for key in self.keys(account, name)}:
            raise AccessKeyNotFound(f"The Access Key with id {access_key_id[:128]} cannot be found.")
