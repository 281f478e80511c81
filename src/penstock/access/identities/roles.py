"""Roles. Source: IAM API reference."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from penstock.access.identities.entities import DeleteConflict, EntityKind, Identity, InstanceProfile, Role, new_id
from penstock.access.identities.identities import Identities, check_boundary, check_empty, dense_length
from penstock.access.identities.lookup import entities_below, entity_named
from penstock.access.identities.tags import checked_tags
from penstock.access.keys import AccessStore, EntityReader
from penstock.access.policies.documents import Kind, parse_policy
from penstock.errors import LimitExceeded

__all__ = ["Roles"]

_MAX_ROLES = 1_000
_MAX_TRUST = 2_048  # characters without white space


class Roles:
    """Roles of any account."""

    def __init__(
        self, store: AccessStore, identities: Identities, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._store = store
        self._identities = identities
        self._now = now

    def create(
        self,
        account: str,
        name: str,
        trust: str,
        *,
        path: str = "/",
        description: str | None = None,
        max_session: int = 3600,
        tags: Mapping[str, str] | None = None,
        boundary: str | None = None,
    ) -> Role:
        """Create a role without policies; the trust policy ``trust`` names who may assume it.

        Raises :class:`EntityExists`, :class:`LimitExceeded`, :class:`MalformedPolicy`; :class:`NoSuchEntity` for the
        boundary.
        """
        check_boundary(self._store, account, boundary)
        role = Role(
            account=account,
            name=name,
            id=new_id("AROA"),
            created=self._now().replace(microsecond=0),
            path=path,
            tags=checked_tags(tags or {}),
            trust=_checked_trust(trust),
            description=description,
            max_session=max_session,
            boundary=boundary,
        )
        self._store.add_entity(role, "CreateRole", limit=_MAX_ROLES)
        return role

    def get(self, account: str, name: str) -> Role:
        """Return the role, or raise :class:`NoSuchEntity`."""
        return entity_named(self._store, Role, account, name)

    def list(self, account: str, path_prefix: str = "/") -> Sequence[Role]:
        """Return roles by name, with paths that begin with ``path_prefix``."""
        return entities_below(self._store, Role, account, path_prefix)

    def update(self, account: str, name: str, *, description: str | None = None, max_session: int | None = None) -> Role:
        """Change the given settings, and return the role; raise :class:`NoSuchEntity`."""

        def change(role: Identity) -> Identity:
            assert isinstance(role, Role)
            return replace(
                role,
                description=role.description if description is None else description,
                max_session=max_session or role.max_session,
            )

        self._identities.change(EntityKind.ROLE, account, name, "UpdateRole", change)
        return self.get(account, name)

    def trust(self, account: str, name: str, text: str) -> None:
        """Replace the trust policy; raise :class:`NoSuchEntity`, :class:`MalformedPolicy`, :class:`LimitExceeded`."""
        checked = _checked_trust(text)

        def change(role: Identity) -> Identity:
            assert isinstance(role, Role)
            return replace(role, trust=checked)

        self._identities.change(EntityKind.ROLE, account, name, "UpdateAssumeRolePolicy", change)

    def delete(self, account: str, name: str) -> None:
        """Delete a role, and with it all its sessions; raise :class:`NoSuchEntity`, :class:`DeleteConflict`."""

        def check(entities: EntityReader) -> None:
            profiles = entities.list_entities(EntityKind.PROFILE, account)
            if any(isinstance(each, InstanceProfile) and (each.role or "").lower() == name.lower() for each in profiles):
                raise DeleteConflict("Cannot delete entity, must remove roles from instance profile first.")

        def change(role: Identity) -> None:
            check_empty(role)

        self._identities.change(EntityKind.ROLE, account, name, "DeleteRole", change, check=check)


def _checked_trust(text: str) -> str:
    parse_policy(text, Kind.TRUST)
    if dense_length(text) > _MAX_TRUST:
        raise LimitExceeded(f"Cannot exceed quota for ACLSizePerRole: {_MAX_TRUST}")
    return text
