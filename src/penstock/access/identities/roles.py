"""Roles. Source: IAM API reference."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from penstock.access.entities import (
    SERVICE_PATH,
    DeleteConflict,
    EntityKind,
    Identity,
    InstanceProfile,
    Role,
    missing,
    new_id,
)
from penstock.access.identities.identities import Identities, check_boundary, check_empty, dense_length
from penstock.access.identities.lookup import entities_below, entity_named
from penstock.access.identities.tags import checked_tags
from penstock.access.keys import AccessStore, EntityReader
from penstock.access.policies.documents import PolicyType, parse_policy
from penstock.errors import InvalidInput, LimitExceeded

__all__ = ["InvalidServiceName", "Roles"]

# The services that have roles of their own and that this server's users set up: "Using service-linked roles" of each.
_LINKED = {
    "athena.amazonaws.com": "AmazonAthena",
    "autoscaling.amazonaws.com": "AutoScaling",
    "cloudtrail.amazonaws.com": "CloudTrail",
    "elasticmapreduce.amazonaws.com": "EMRCleanup",
    "kafka.amazonaws.com": "Kafka",
    "kafkaconnect.amazonaws.com": "KafkaConnect",
    "lakeformation.amazonaws.com": "LakeFormationDataAccess",
    "organizations.amazonaws.com": "Organizations",
    "redshift.amazonaws.com": "Redshift",
}
_WITH_SUFFIX = frozenset({"autoscaling.amazonaws.com"})

_MAX_ROLES = 1_000
_MAX_TRUST = 2_048  # characters without white space


class InvalidServiceName(InvalidInput):
    """The service has no role of its own, or none with a suffix."""

    aws_code = "InvalidInput"


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
        if path.startswith(SERVICE_PATH):
            raise InvalidServiceName(
                f"The specified path is reserved: {SERVICE_PATH} is of service-linked roles.",
                remedy="CreateServiceLinkedRole makes those.",
            )
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

    def create_linked(self, account: str, service: str, *, suffix: str = "", description: str | None = None) -> Role:
        """Create the role of a service, which nobody but the service may assume.

        Raises :class:`InvalidServiceName`, also if the role is there already, and :class:`LimitExceeded`.
        """
        linked = _LINKED.get(service)
        if linked is None:
            raise InvalidServiceName(
                f"{service[:100]} has no service-linked role here.", remedy=f"Known are {', '.join(sorted(_LINKED))}."
            )
        if suffix and service not in _WITH_SUFFIX:
            raise InvalidServiceName(f"Custom suffix is not allowed for {service}.", remedy="Leave CustomSuffix out.")
        name = f"AWSServiceRoleFor{linked}{'_' if suffix else ''}{suffix}"
        if self._store.get_entity(EntityKind.ROLE, account, name) is not None:
            raise InvalidServiceName(
                f"Service role name {name} has been taken in this account, please try a different suffix."
            )
        trusted = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
        role = Role(
            account=account,
            name=name,
            id=new_id("AROA"),
            created=self._now().replace(microsecond=0),
            path=f"{SERVICE_PATH}{service}/",
            trust=json.dumps({"Version": "2012-10-17", "Statement": [trusted]}),
            description=description,
        )
        self._store.add_entity(role, "CreateServiceLinkedRole", limit=_MAX_ROLES)
        return role

    def delete_linked(self, account: str, name: str) -> Role:
        """Delete a service's role, and return it; raise :class:`NoSuchEntity` for all other roles."""
        role = self.get(account, name)
        if not role.is_service_linked:
            raise missing(EntityKind.ROLE, name)
        self._identities.change(EntityKind.ROLE, account, name, "DeleteServiceLinkedRole", lambda _: None)
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
            if any(
                isinstance(profile, InstanceProfile) and (profile.role or "").lower() == name.lower() for profile in profiles
            ):
                raise DeleteConflict("Cannot delete entity, must remove roles from instance profile first.")

        def change(role: Identity) -> None:
            check_empty(role)

        self._identities.change(EntityKind.ROLE, account, name, "DeleteRole", change, check=check)


def _checked_trust(text: str) -> str:
    parse_policy(text, PolicyType.TRUST)
    if dense_length(text) > _MAX_TRUST:
        raise LimitExceeded(f"Cannot exceed quota for ACLSizePerRole: {_MAX_TRUST}")
    return text
