"""Authorizes callers: reads a caller's policies, caches them, and evaluates them by :mod:`evaluate`."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.access.context_keys import Origin, RequestContextKeys
from penstock.access.entities import EntityKind, Group, Identity, ManagedPolicy, Principal, User, kind_of
from penstock.access.errors import NotAuthorized, UnrecognizedClient
from penstock.access.keys import AccessStore
from penstock.access.policies.aws_managed import AWS_MANAGED
from penstock.access.policies.documents import Policy, PolicyType, parse_policy, parsed_policy
from penstock.access.policies.evaluate import AccessRequest, Decision, decide, is_uniform
from penstock.access.principals import Caller, root_arn
from penstock.access.sessions import UNRECOGNIZED
from penstock.caching import SharedCache

__all__ = ["Authorizer", "CallerPolicies", "PolicySource", "denial"]

_MAX_CACHED = 2_000  # callers; one with session policies may take 100 kB
_MAX_DECIDED = 1_000  # cached decisions of a caller


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerPolicies:
    """The policies of a caller and its groups; ``boundary`` and ``session`` are None if there is no such bound.

    ``decided`` has decisions by action, resource and owner if all of the policies are constant; None otherwise.
    """

    identity: Sequence[Policy] = ()
    boundary: Sequence[Policy] | None = None
    session: Sequence[Policy] | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    decided: dict[tuple[str, str, str], Decision] | None = None


class PolicySource(NamedTuple):
    """One policy of an identity: its name or ARN, and where it is from (``user``, ``group``, ``aws-managed``, ...)."""

    name: str
    source_type: str
    text: str


_ROOT = CallerPolicies()
_EVERYTHING = "arn:aws:iam::aws:policy/AdministratorAccess"


class Authorizer:
    """Decides by the policies in ``store``; each caller's are cached for ``ttl`` seconds.

    A change by this process takes effect at once (:meth:`forget`), one by another process after ``ttl`` at the latest.
    """

    def __init__(self, store: AccessStore, *, ttl: float = 5.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._cache: SharedCache[Caller, CallerPolicies] = SharedCache(_MAX_CACHED, seconds=ttl, clock=clock)

    def forget(self) -> None:
        """Clear the cache, after a change of users, roles or policies."""
        self._cache.clear()

    def fresh(self, caller: Caller) -> CallerPolicies | None:
        """Return the policies as they were within the last ``ttl`` seconds; None if :meth:`fetch` has to be called."""
        return _ROOT if caller.is_root else self._cache.peek(caller)

    def fetch(self, caller: Caller) -> CallerPolicies:
        """Return the policies; may read the store. Raise :class:`UnrecognizedClient` if the user or role is deleted."""
        return self.fresh(caller) or self._cache.load(caller, lambda: self._load(caller))

    def decide(
        self,
        caller: Caller,
        action: str,
        resource: str,
        origin: Origin,
        *,
        owner: str,
        policy: Policy | None = None,
        must_grant: bool = False,
        extra: Mapping[str, str] | None = None,
    ) -> Decision:
        """Return the decision whether ``caller`` may do ``action`` with ``resource`` of the account ``owner``.

        ``policy`` is the resource's; with ``must_grant`` it has to allow the request in any case. ``extra`` are the
        service's condition keys. Reads the store unless :meth:`fresh` returns the policies.
        """
        policies = self.fetch(caller)
        # A resource's policy may depend on more than action, resource and owner.
        decided = policies.decided if policy is None and not must_grant else None
        decision = decided.get((action, resource, owner)) if decided is not None else None
        if decision is not None:
            return decision
        context = RequestContextKeys(caller, origin, resource_account=owner, tags=policies.tags, extra=extra)
        decision = decide(
            AccessRequest(caller=caller, action=action, resource=resource, context=context),
            policies.identity,
            boundary=policies.boundary,
            session=policies.session,
            resource=policy,
            own_account=owner == caller.account,
            must_grant=must_grant,
        )
        if decided is not None and len(decided) < _MAX_DECIDED:
            decided[action, resource, owner] = decision
        return decision

    def sources(self, identity: Identity) -> Sequence[PolicySource]:
        """Return the policies of a user, role or group, those of a user's groups too; reads the store."""
        source_type = kind_of(identity).value
        sources = [PolicySource(name, source_type, text) for name, text in identity.inline.items()]
        for arn, text in self.managed(identity.attached):
            sources.append(PolicySource(arn, "aws-managed" if arn in AWS_MANAGED else "user-managed", text))
        for group in self._groups(identity):
            sources += self.sources(group)
        return sources

    def decide_below(
        self,
        caller: Caller,
        action: str,
        prefix: str,
        origin: Origin,
        *,
        owner: str,
        policy: Policy | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> Decision | None:
        """As :meth:`decide`, for all resources that begin with ``prefix``; None if the answer may differ among them."""
        policies = self.fetch(caller)
        context = RequestContextKeys(caller, origin, resource_account=owner, tags=policies.tags, extra=extra)
        request = AccessRequest(caller=caller, action=action, resource=prefix, context=context)
        policy_layers = (
            *policies.identity,
            *(policies.boundary or ()),
            *(policies.session or ()),
            *([policy] if policy else ()),
        )
        if not is_uniform(request, policy_layers):
            return None
        return self.decide(caller, action, prefix, origin, owner=owner, policy=policy, extra=extra)

    def _load(self, caller: Caller) -> CallerPolicies:
        if caller.federated_by == root_arn(caller.account):
            return CallerPolicies(identity=_parsed([AWS_MANAGED[_EVERYTHING]]), session=self._session(caller))
        principal = self._principal(caller)
        texts = [source.text for source in self.sources(principal)]
        # A boundary that does not exist allows nothing.
        boundary = None if principal.boundary is None else _parsed(self._texts([principal.boundary]))
        bounds = self._session(caller)
        identity = _parsed(texts)
        constant = all(policy.constant for policy in (*identity, *(boundary or ()), *(bounds or ())))
        decided: dict[tuple[str, str, str], Decision] | None = {} if constant else None
        return CallerPolicies(identity=identity, boundary=boundary, session=bounds, tags=principal.tags, decided=decided)

    def _session(self, caller: Caller) -> Sequence[Policy] | None:
        session = caller.session
        if session is None or not session.narrowed:
            return None
        # Parsed without the shared cache: each session may have other texts.
        own = [parse_policy(text, PolicyType.IDENTITY, stored=True) for text in session.policies]
        return [*own, *_parsed(self._texts(session.policy_arns))]

    def _groups(self, principal: Identity) -> Sequence[Group]:
        names = principal.groups if isinstance(principal, User) else ()
        groups = [self._store.get_entity(EntityKind.GROUP, principal.account, name) for name in names]
        return [group for group in groups if isinstance(group, Group)]

    def _principal(self, caller: Caller) -> Principal:
        entity_type, name, unique_id = EntityKind.ROLE, caller.role_name, caller.user_id.partition(":")[0]
        if name is None:
            entity_type, name = EntityKind.USER, caller.user_name
        if caller.session is not None and caller.federated_by is not None:
            name, unique_id = caller.federated_by.rpartition("/")[2], caller.session.federated_by_id
        entity = None if name is None else self._store.get_entity(entity_type, caller.account, name)
        # A user or role with the name of a deleted one is not the same: its id differs.
        if not isinstance(entity, Principal) or unique_id != entity.id:
            raise UnrecognizedClient(UNRECOGNIZED, remedy=f"{caller.principal} does not exist any more.")
        return entity

    def _texts(self, arns: Sequence[str]) -> Sequence[str]:
        return [text for _, text in self.managed(arns)]

    def managed(self, arns: Sequence[str]) -> Sequence[tuple[str, str]]:
        """Return the texts in force of the managed policies that exist, each with its ARN; reads the store."""
        policies: list[tuple[str, str]] = []
        for arn in arns:
            text = AWS_MANAGED.get(arn)
            if text is None:
                account, name = arn.split(":")[4], arn.rpartition("/")[2]
                policy = self._store.get_entity(EntityKind.POLICY, account, name)
                if not isinstance(policy, ManagedPolicy) or policy.arn != arn:
                    continue
                text = policy.document
            policies.append((arn, text))
        return policies


def denial(caller: Caller, action: str, resource: str, reason: str = "") -> NotAuthorized:
    """Return the error for a denial, in AWS's words; ``reason`` is the decision's."""
    reason = f" {reason}" if reason else ""
    return NotAuthorized(f"User: {caller.principal} is not authorized to perform: {action} on resource: {resource}{reason}")


def _parsed(texts: Sequence[str]) -> tuple[Policy, ...]:
    return tuple(parsed_policy(text, PolicyType.IDENTITY) for text in texts)
