"""Managed policies and their versions. Source: IAM API reference."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from penstock.access.authorize import Authorizer
from penstock.access.entities import (
    DeleteConflict,
    Entity,
    EntityKind,
    Identity,
    ManagedPolicy,
    NoSuchEntity,
    PolicyVersion,
    Principal,
    new_id,
)
from penstock.access.identities.identities import dense_length
from penstock.access.identities.tags import changed_tags, checked_tags
from penstock.access.keys import AccessStore, EntityReader
from penstock.access.policies.aws_managed import AWS_MANAGED
from penstock.access.policies.documents import PolicyType, check_current_version, parse_policy
from penstock.errors import LimitExceeded

__all__ = ["ManagedPolicies", "PolicyUsage"]

_MAX_POLICIES = 1_500
_MAX_VERSIONS = 5
_MAX_LENGTH = 6_144  # characters without white space
_PUBLISHED = datetime(2020, 11, 20, 0, 19, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyUsage:
    """Numbers by policy ARN: of identities that it is attached to, and of those whose boundary it is. Others have 0."""

    attached: Mapping[str, int]
    bounding: Mapping[str, int]


class ManagedPolicies:
    """Managed policies of any account, by ARN; AWS's can be read and attached."""

    def __init__(
        self, store: AccessStore, authorizer: Authorizer, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._store = store
        self._authorizer = authorizer
        self._now = now

    def create(
        self,
        account: str,
        name: str,
        text: str,
        *,
        path: str = "/",
        description: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> ManagedPolicy:
        """Create a policy with version 1; raise :class:`EntityExists`, :class:`MalformedPolicy`, :class:`LimitExceeded`."""
        now = self._now().replace(microsecond=0)
        first = PolicyVersion(number=1, document=_checked(text), created=now)
        policy = ManagedPolicy(
            account=account,
            name=name,
            id=new_id("ANPA"),
            created=now,
            updated=now,
            path=path,
            tags=checked_tags(tags or {}),
            description=description,
            versions=(first,),
            default=1,
            next_number=2,
        )
        self._store.add_entity(policy, "CreatePolicy", limit=_MAX_POLICIES)
        return policy

    def get(self, account: str, arn: str) -> ManagedPolicy:
        """Return the policy of the account or of AWS; raise :class:`NoSuchEntity`."""
        if arn in AWS_MANAGED:
            return _aws(arn)
        policy = self._store.get_entity(EntityKind.POLICY, account, arn.rpartition("/")[2])
        if not isinstance(policy, ManagedPolicy) or policy.arn != arn:
            raise _no_policy(arn)
        return policy

    def list(self, account: str, *, local: bool = True, aws: bool = True, path_prefix: str = "/") -> Sequence[ManagedPolicy]:
        """Return policies by name: the account's, AWS's, or both."""
        own = self._store.list_entities(EntityKind.POLICY, account) if local else ()
        policies = [policy for policy in own if isinstance(policy, ManagedPolicy)]
        policies += [_aws(arn) for arn in AWS_MANAGED] if aws else []
        return sorted((policy for policy in policies if policy.path.startswith(path_prefix)), key=lambda policy: policy.arn)

    def attached_identities(self, account: str, arn: str) -> Sequence[Identity]:
        """Return the users, roles and groups of the account that the policy is attached to."""
        return [identity for identity in self._store.list_identities(account) if arn in identity.attached]

    def bounded(self, account: str, arn: str) -> Sequence[Principal]:
        """Return the users and roles of the account whose permissions boundary is the policy."""
        return _bounded(self._store, account, arn)

    def usage(self, account: str) -> PolicyUsage:
        """Return how often each policy of the account is used, by ARN."""
        identities = self._store.list_identities(account)
        return PolicyUsage(
            attached=Counter(arn for identity in identities for arn in identity.attached),
            bounding=Counter(
                identity.boundary for identity in identities if isinstance(identity, Principal) and identity.boundary
            ),
        )

    def delete(self, account: str, arn: str) -> None:
        """Delete a policy; raise :class:`NoSuchEntity`, :class:`DeleteConflict` if it is attached or has other versions."""

        def check(entities: EntityReader) -> None:
            attached = any(arn in identity.attached for identity in entities.list_identities(account))
            if attached or _bounded(entities, account, arn):
                raise DeleteConflict("Cannot delete a policy attached to entities.")

        def change(policy: ManagedPolicy) -> None:
            if len(policy.versions) > 1:
                raise DeleteConflict("This policy has more than one version. Delete all but the default one first.")

        self._change(account, arn, "DeletePolicy", change, check=check)

    def add_version(self, account: str, arn: str, text: str, *, default: bool) -> PolicyVersion:
        """Add a text, which is in force from now on if ``default``; raise :class:`LimitExceeded` for a sixth version."""
        checked, now = _checked(text), self._now().replace(microsecond=0)
        added: list[PolicyVersion] = []

        def change(policy: ManagedPolicy) -> ManagedPolicy:
            if len(policy.versions) >= _MAX_VERSIONS:
                raise LimitExceeded(
                    f"A managed policy can have up to {_MAX_VERSIONS} versions. Before you create a new version, you must "
                    "delete an existing version."
                )
            version = PolicyVersion(number=policy.next_number, document=checked, created=now)
            added.append(version)
            return replace(
                policy,
                versions=(*policy.versions, version),
                default=version.number if default else policy.default,
                next_number=policy.next_number + 1,
                updated=now,
            )

        self._change(account, arn, "CreatePolicyVersion", change)
        return added[-1]

    def version(self, account: str, arn: str, number: int) -> PolicyVersion:
        """Return a version, or raise :class:`NoSuchEntity`."""
        return _version(self.get(account, arn), number)

    def set_default(self, account: str, arn: str, number: int) -> None:
        """Make another version the default; raise :class:`NoSuchEntity`."""

        def change(policy: ManagedPolicy) -> ManagedPolicy:
            return replace(policy, default=_version(policy, number).number)

        self._change(account, arn, "SetDefaultPolicyVersion", change)

    def delete_version(self, account: str, arn: str, number: int) -> None:
        """Delete a version; raise :class:`DeleteConflict` for the default one, :class:`NoSuchEntity`."""

        def change(policy: ManagedPolicy) -> ManagedPolicy:
            version = _version(policy, number)
            if version.number == policy.default:
                raise DeleteConflict("Cannot delete the default version of a policy.")
            return replace(
                policy, versions=tuple(policy_version for policy_version in policy.versions if policy_version is not version)
            )

        self._change(account, arn, "DeletePolicyVersion", change)

    def tag(self, account: str, arn: str, *, add: Mapping[str, str] | None = None, remove: Sequence[str] = ()) -> None:
        """Add or replace tags, and remove others; raise :class:`NoSuchEntity`, and the errors of :func:`changed_tags`."""

        def change(policy: ManagedPolicy) -> ManagedPolicy:
            return replace(policy, tags=changed_tags(policy.tags, add or {}, remove))

        self._change(account, arn, "UntagPolicy" if add is None else "TagPolicy", change)

    def _check_own(self, account: str, arn: str) -> None:
        if self.get(account, arn).account != account:
            raise NoSuchEntity(f"Policy {arn} is AWS's own and cannot be changed.")

    def _change(
        self,
        account: str,
        arn: str,
        operation: str,
        change: Callable[[ManagedPolicy], ManagedPolicy | None],
        *,
        check: Callable[[EntityReader], None] | None = None,
    ) -> None:
        def checked(entity: Entity) -> Entity | None:
            if not isinstance(entity, ManagedPolicy) or entity.arn != arn:
                raise _no_policy(arn)
            return change(entity)

        self._check_own(account, arn)
        self._store.change_entity(EntityKind.POLICY, account, arn.rpartition("/")[2], operation, checked, check=check)
        self._authorizer.forget()


def _bounded(entities: EntityReader, account: str, arn: str) -> Sequence[Principal]:
    return [
        identity
        for identity in entities.list_identities(account)
        if isinstance(identity, Principal) and identity.boundary == arn
    ]


def _aws(arn: str) -> ManagedPolicy:
    path, _, name = arn.partition(":policy")[2].rpartition("/")
    version = PolicyVersion(number=1, document=AWS_MANAGED[arn], created=_PUBLISHED)
    return ManagedPolicy(
        account="aws",
        name=name,
        id=f"ANPAAWS{name.upper()}"[:32],
        created=_PUBLISHED,
        updated=_PUBLISHED,
        path=f"{path}/",
        versions=(version,),
        default=1,
        next_number=2,
    )


def _checked(text: str) -> str:
    parse_policy(text, PolicyType.IDENTITY)
    check_current_version(text)
    if dense_length(text) > _MAX_LENGTH:
        raise LimitExceeded(f"Cannot exceed quota for PolicySize: {_MAX_LENGTH}")
    return text


def _version(policy: ManagedPolicy, number: int) -> PolicyVersion:
    for version in policy.versions:
        if version.number == number:
            return version
    raise NoSuchEntity(f"Policy {policy.arn} version v{number} does not exist or is not attachable.")


def _no_policy(arn: str) -> NoSuchEntity:
    return NoSuchEntity(f"Policy {arn[:400]} was not found.")
