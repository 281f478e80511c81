"""Groups of users. A group's policies apply to its users. Source: IAM API reference."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from penstock.access.entities import DeleteConflict, EntityKind, Group, Identity, User, missing, new_id
from penstock.access.identities.identities import Identities, check_empty
from penstock.access.identities.lookup import entities_below, entity_named
from penstock.access.keys import AccessStore, EntityReader
from penstock.errors import LimitExceeded

__all__ = ["Groups"]

_MAX_GROUPS = 300
_MAX_GROUPS_PER_USER = 10


class Groups:
    """Groups of any account. Membership is stored with the users; names are case-insensitive."""

    def __init__(
        self, store: AccessStore, identities: Identities, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._store = store
        self._identities = identities
        self._now = now

    def create(self, account: str, name: str, *, path: str = "/") -> Group:
        """Create a group without users and policies; raise :class:`EntityExists`, :class:`LimitExceeded`."""
        created = self._now().replace(microsecond=0)
        group = Group(account=account, name=name, id=new_id("AGPA"), created=created, path=path)
        self._store.add_entity(group, "CreateGroup", limit=_MAX_GROUPS)
        return group

    def get(self, account: str, name: str) -> Group:
        """Return the group, or raise :class:`NoSuchEntity`."""
        return entity_named(self._store, Group, account, name)

    def list(self, account: str, path_prefix: str = "/") -> Sequence[Group]:
        """Return groups by name, with paths that begin with ``path_prefix``."""
        return entities_below(self._store, Group, account, path_prefix)

    def users(self, account: str, name: str) -> Sequence[User]:
        """Return the users in the group, by name; raise :class:`NoSuchEntity`."""
        return _users(self._store, account, self.get(account, name).name)

    def of_user(self, account: str, user: str) -> Sequence[Group]:
        """Return the groups that a user is in; raise :class:`NoSuchEntity`."""
        return [self.get(account, name) for name in entity_named(self._store, User, account, user).groups]

    def add_user(self, account: str, name: str, user: str) -> None:
        """Add a user to the group if it is not a member yet; raise :class:`NoSuchEntity`, :class:`LimitExceeded`."""
        stored_names: list[str] = []

        def check(entities: EntityReader) -> None:
            group = entities.get_entity(EntityKind.GROUP, account, name)
            if group is None:
                raise missing(EntityKind.GROUP, name)
            stored_names[:] = [group.name]

        def change(identity: Identity) -> Identity:
            assert isinstance(identity, User)
            group = stored_names[0]
            if group in identity.groups:
                return identity
            if len(identity.groups) >= _MAX_GROUPS_PER_USER:
                raise LimitExceeded(f"Cannot exceed quota for GroupsPerUser: {_MAX_GROUPS_PER_USER}")
            return replace(identity, groups=(*identity.groups, group))

        self._identities.change(EntityKind.USER, account, user, "AddUserToGroup", change, check=check)

    def remove_user(self, account: str, name: str, user: str) -> None:
        """Remove a user from the group; raise :class:`NoSuchEntity`, also for a user that is not a member."""
        group = self.get(account, name).name

        def change(identity: Identity) -> Identity:
            assert isinstance(identity, User)
            if group not in identity.groups:
                raise missing(EntityKind.USER, user)
            return replace(identity, groups=tuple(name for name in identity.groups if name != group))

        self._identities.change(EntityKind.USER, account, user, "RemoveUserFromGroup", change)

    def delete(self, account: str, name: str) -> None:
        """Delete a group; raise :class:`NoSuchEntity`, :class:`DeleteConflict` while it has users or policies."""

        def check(entities: EntityReader) -> None:
            group = entities.get_entity(EntityKind.GROUP, account, name)
            if group is not None and _users(entities, account, group.name):
                raise DeleteConflict("Cannot delete entity, must remove users from group first.")

        def change(group: Identity) -> None:
            check_empty(group)

        self._identities.change(EntityKind.GROUP, account, name, "DeleteGroup", change, check=check)


def _users(entities: EntityReader, account: str, group: str) -> Sequence[User]:
    users = entities.list_entities(EntityKind.USER, account)
    return [user for user in users if isinstance(user, User) and group in user.groups]
