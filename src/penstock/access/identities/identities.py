"""The policies of a user, group or role: inline ones by name, and managed ones by ARN. Source: IAM API reference."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from penstock.access.authorize import Authorizer
from penstock.access.entities import (
    DeleteConflict,
    Entity,
    EntityKind,
    Identity,
    ManagedPolicy,
    NoSuchEntity,
    Principal,
    Role,
    UnmodifiableEntity,
    missing,
)
from penstock.access.identities.tags import changed_tags
from penstock.access.keys import AccessStore, EntityReader
from penstock.access.policies.aws_managed import AWS_MANAGED
from penstock.access.policies.documents import PolicyType, parse_policy
from penstock.errors import LimitExceeded

__all__ = ["Identities", "check_boundary", "check_empty", "dense_length", "policy_exists"]

_MAX_ATTACHED = 10
# Characters without white space of all inline policies together: IAM's quotas.
_MAX_INLINE = {EntityKind.USER: 2_048, EntityKind.ROLE: 10_240, EntityKind.GROUP: 5_120}
_OPERATION = {EntityKind.USER: "User", EntityKind.ROLE: "Role", EntityKind.GROUP: "Group"}


class Identities:
    """What users, groups and roles have in common. Each change clears the cache of ``authorizer``."""

    def __init__(self, store: AccessStore, authorizer: Authorizer) -> None:
        self._store = store
        self._authorizer = authorizer

    def get(self, entity_type: EntityKind, account: str, name: str) -> Identity:
        """Return the user, group or role, or raise :class:`NoSuchEntity`."""
        entity = self._store.get_entity(entity_type, account, name)
        if not isinstance(entity, Identity):
            raise missing(entity_type, name)
        return entity

    def put_inline(self, entity_type: EntityKind, account: str, name: str, policy: str, text: str) -> None:
        """Put an inline policy; raise :class:`MalformedPolicy`, :class:`LimitExceeded`, :class:`NoSuchEntity`."""
        parse_policy(text, PolicyType.IDENTITY)

        def change(identity: Identity) -> Identity:
            inline = {**identity.inline, policy: text}
            if sum(map(dense_length, inline.values())) > _MAX_INLINE[entity_type]:
                raise LimitExceeded(
                    f"Maximum policy size of {_MAX_INLINE[entity_type]} bytes exceeded for {entity_type.value} {name}"
                )
            return replace(identity, inline=inline)

        self.change(entity_type, account, name, f"Put{_OPERATION[entity_type]}Policy", change)

    def inline(self, entity_type: EntityKind, account: str, name: str, policy: str) -> str:
        """Return an inline policy's text, or raise :class:`NoSuchEntity`."""
        text = self.get(entity_type, account, name).inline.get(policy)
        if text is None:
            raise _no_inline(entity_type, policy)
        return text

    def delete_inline(self, entity_type: EntityKind, account: str, name: str, policy: str) -> None:
        """Delete an inline policy, or raise :class:`NoSuchEntity`."""

        def change(identity: Identity) -> Identity:
            if policy not in identity.inline:
                raise _no_inline(entity_type, policy)
            return replace(identity, inline={key: text for key, text in identity.inline.items() if key != policy})

        self.change(entity_type, account, name, f"Delete{_OPERATION[entity_type]}Policy", change)

    def attach(self, entity_type: EntityKind, account: str, name: str, arn: str) -> None:
        """Attach a managed policy of the account or of AWS; raise :class:`NoSuchEntity`, :class:`LimitExceeded`."""

        def check(entities: EntityReader) -> None:
            if not policy_exists(entities, account, arn):
                raise NoSuchEntity(f"Policy {arn[:400]} does not exist or is not attachable.", remedy=_remedy(arn))

        def change(identity: Identity) -> Identity:
            if arn in identity.attached:
                return identity
            if len(identity.attached) >= _MAX_ATTACHED:
                raise LimitExceeded(f"Cannot exceed quota for PoliciesPer{_OPERATION[entity_type]}: {_MAX_ATTACHED}")
            return replace(identity, attached=(*identity.attached, arn))

        self.change(entity_type, account, name, f"Attach{_OPERATION[entity_type]}Policy", change, check=check)

    def detach(self, entity_type: EntityKind, account: str, name: str, arn: str) -> None:
        """Detach a managed policy, or raise :class:`NoSuchEntity`."""

        def change(identity: Identity) -> Identity:
            if arn not in identity.attached:
                raise NoSuchEntity(f"Policy {arn[:400]} was not found.")
            return replace(identity, attached=tuple(policy for policy in identity.attached if policy != arn))

        self.change(entity_type, account, name, f"Detach{_OPERATION[entity_type]}Policy", change)

    def bound(self, entity_type: EntityKind, account: str, name: str, arn: str | None) -> None:
        """Set the permissions boundary of a user or role, or with None remove it; raise :class:`NoSuchEntity`."""

        def check(entities: EntityReader) -> None:
            check_boundary(entities, account, arn)

        def change(identity: Identity) -> Identity:
            assert isinstance(identity, Principal)
            return replace(identity, boundary=arn)

        verb = "Delete" if arn is None else "Put"
        self.change(entity_type, account, name, f"{verb}{_OPERATION[entity_type]}PermissionsBoundary", change, check=check)

    def tag(
        self,
        entity_type: EntityKind,
        account: str,
        name: str,
        *,
        add: Mapping[str, str] | None = None,
        remove: Sequence[str] = (),
    ) -> None:
        """Add or replace tags, and remove others; raise :class:`NoSuchEntity`, and the errors of :func:`changed_tags`."""

        def change(identity: Identity) -> Identity:
            return replace(identity, tags=changed_tags(identity.tags, add or {}, remove))

        self.change(entity_type, account, name, f"{'Untag' if add is None else 'Tag'}{_OPERATION[entity_type]}", change)

    def change(
        self,
        entity_type: EntityKind,
        account: str,
        name: str,
        operation: str,
        change: Callable[[Identity], Identity | None],
        *,
        check: Callable[[EntityReader], None] | None = None,
    ) -> None:
        """Change a user, group or role in one step, as the store's ``change_entity`` does."""

        def checked(entity: Entity) -> Entity | None:
            assert isinstance(entity, Identity)
            if isinstance(entity, Role) and entity.is_service_linked and operation not in _OF_LINKED_ROLES:
                raise UnmodifiableEntity(
                    f"Cannot perform the operation on the protected role '{entity.name}' - "
                    "this role is only modifiable by AWS"
                )
            return change(entity)

        self._store.change_entity(entity_type, account, name, operation, checked, check=check)
        self._authorizer.forget()


# What callers may do with a service's own role (IAM user guide, "Create a service-linked role").
_OF_LINKED_ROLES = frozenset({"DeleteServiceLinkedRole", "TagRole", "UntagRole", "UpdateRole"})


def policy_exists(entities: EntityReader, account: str, arn: str) -> bool:
    """Return whether a managed policy exists, as AWS's or as the account's."""
    if arn in AWS_MANAGED:
        return True
    policy = entities.get_entity(EntityKind.POLICY, account, arn.rpartition("/")[2])
    return isinstance(policy, ManagedPolicy) and policy.arn == arn


def check_boundary(entities: EntityReader, account: str, arn: str | None) -> None:
    """Raise :class:`NoSuchEntity` for a boundary that is not a policy of the account or of AWS."""
    if arn is not None and not policy_exists(entities, account, arn):
        raise NoSuchEntity(f"Scope ARN: {arn[:400]} does not exist or is not attachable.", remedy=_remedy(arn))


def _remedy(arn: str) -> str | None:
    """Return the remedy for an unknown ARN of AWS; None for the account's own policies."""
    if not arn.startswith("arn:aws:iam::aws:policy/"):
        return None
    return "ListPolicies with Scope=AWS lists the policies of AWS that exist here; create others by CreatePolicy."


def check_empty(identity: Identity) -> None:
    """Raise :class:`DeleteConflict` if the identity has policies."""
    if identity.inline:
        raise DeleteConflict("Cannot delete entity, must delete policies first.")
    if identity.attached:
        raise DeleteConflict("Cannot delete entity, must detach all policies first.")


def dense_length(text: str) -> int:
    """Return the number of characters that IAM's quotas count: all but white space."""
    return len("".join(text.split()))


def _no_inline(entity_type: EntityKind, policy: str) -> NoSuchEntity:
    return NoSuchEntity(f"The {entity_type.value} policy with name {policy} cannot be found.")
