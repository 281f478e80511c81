"""Instance profiles: containers of one role each, which tools create along with a role. Source: IAM API reference.

They give no credentials to machines here: there is no instance metadata service.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from penstock.access.entities import DeleteConflict, Entity, EntityKind, InstanceProfile, Role, missing, new_id
from penstock.access.identities.lookup import entities_below, entity_named
from penstock.access.identities.tags import changed_tags, checked_tags
from penstock.access.keys import AccessStore, EntityReader
from penstock.errors import LimitExceeded

__all__ = ["InstanceProfiles"]

_MAX_PROFILES = 1_000


class InstanceProfiles:
    """Instance profiles of any account."""

    def __init__(self, store: AccessStore, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store = store
        self._now = now

    def create(self, account: str, name: str, *, path: str = "/", tags: Mapping[str, str] | None = None) -> InstanceProfile:
        """Create a profile without a role; raise :class:`EntityExists`, :class:`LimitExceeded`."""
        profile = InstanceProfile(
            account=account,
            name=name,
            id=new_id("AIPA"),
            created=self._now().replace(microsecond=0),
            path=path,
            tags=checked_tags(tags or {}),
        )
        self._store.add_entity(profile, "CreateInstanceProfile", limit=_MAX_PROFILES)
        return profile

    def get(self, account: str, name: str) -> InstanceProfile:
        """Return the profile, or raise :class:`NoSuchEntity`."""
        return entity_named(self._store, InstanceProfile, account, name)

    def list(self, account: str, path_prefix: str = "/") -> Sequence[InstanceProfile]:
        """Return profiles by name, with paths that begin with ``path_prefix``."""
        return entities_below(self._store, InstanceProfile, account, path_prefix)

    def role(self, profile: InstanceProfile) -> Role | None:
        """Return the role in a profile; None if it has none."""
        role = None if profile.role is None else self._store.get_entity(EntityKind.ROLE, profile.account, profile.role)
        return role if isinstance(role, Role) else None

    def of_role(self, account: str, role: str) -> Sequence[InstanceProfile]:
        """Return the profiles that a role is in; raise :class:`NoSuchEntity`."""
        entity = self._store.get_entity(EntityKind.ROLE, account, role)
        if entity is None:
            raise missing(EntityKind.ROLE, role)
        return [profile for profile in self.list(account) if profile.role == entity.name]

    def add_role(self, account: str, name: str, role: str) -> None:
        """Put a role into an empty profile; raise :class:`NoSuchEntity`, :class:`LimitExceeded`."""
        stored_names: list[str] = []

        def check(entities: EntityReader) -> None:
            entity = entities.get_entity(EntityKind.ROLE, account, role)
            if entity is None:
                raise missing(EntityKind.ROLE, role)
            stored_names[:] = [entity.name]

        def change(profile: InstanceProfile) -> InstanceProfile:
            if profile.role is not None:
                raise LimitExceeded("Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1")
            return replace(profile, role=stored_names[0])

        self._change(account, name, "AddRoleToInstanceProfile", change, check=check)

    def remove_role(self, account: str, name: str, role: str) -> None:
        """Remove the role; raise :class:`NoSuchEntity`, also for a role that is not in the profile."""

        def change(profile: InstanceProfile) -> InstanceProfile:
            if profile.role is None or profile.role.lower() != role.lower():
                raise missing(EntityKind.ROLE, role)
            return replace(profile, role=None)

        self._change(account, name, "RemoveRoleFromInstanceProfile", change)

    def tag(self, account: str, name: str, *, add: Mapping[str, str] | None = None, remove: Sequence[str] = ()) -> None:
        """Add or replace tags, and remove others; raise :class:`NoSuchEntity`, and the errors of :func:`changed_tags`."""

        def change(profile: InstanceProfile) -> InstanceProfile:
            return replace(profile, tags=changed_tags(profile.tags, add or {}, remove))

        self._change(account, name, "UntagInstanceProfile" if add is None else "TagInstanceProfile", change)

    def delete(self, account: str, name: str) -> None:
        """Delete a profile; raise :class:`NoSuchEntity`, :class:`DeleteConflict` while it has a role."""

        def change(profile: InstanceProfile) -> None:
            if profile.role is not None:
                raise DeleteConflict("Cannot delete entity, must remove roles from instance profile first.")

        self._change(account, name, "DeleteInstanceProfile", change)

    def _change(
        self,
        account: str,
        name: str,
        operation: str,
        change: Callable[[InstanceProfile], InstanceProfile | None],
        *,
        check: Callable[[EntityReader], None] | None = None,
    ) -> None:
        def checked(entity: Entity) -> Entity | None:
            assert isinstance(entity, InstanceProfile)
            return change(entity)

        self._store.change_entity(EntityKind.PROFILE, account, name, operation, checked, check=check)
