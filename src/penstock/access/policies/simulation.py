"""What policies would decide on requests that nobody sent. Source: IAM API reference, SimulatePrincipalPolicy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.access.context_keys import Origin, RequestContextKeys
from penstock.access.policies.documents import Policy
from penstock.access.policies.evaluate import AccessRequest, applying, decide
from penstock.access.principals import Caller

__all__ = ["NamedPolicy", "Outcome", "Simulation"]

Values = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPolicy:
    """A policy with its name or ARN, and where it is from: ``user``, ``group``, ``role``, ``aws-managed``, ..."""

    name: str
    source_type: str
    policy: Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The decision on one action and resource.

    ``decision`` is ``allowed``, ``explicitDeny`` or ``implicitDeny``; ``matched`` are the policies with a statement for it.
    ``missing`` are the keys of conditions that the simulated request lacks. ``within_boundary``: whether the permissions
    boundary allows it; None without one.
    """

    action: str
    resource: str
    decision: str
    matched: Sequence[NamedPolicy]
    missing: Sequence[str]
    within_boundary: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """Policies, and the request that they are evaluated on; ``keys`` are condition keys in lower case."""

    caller: Caller
    identity: Sequence[NamedPolicy]
    boundary: Sequence[Policy] | None = None
    resource_policy: NamedPolicy | None = None
    owner: str
    keys: Mapping[str, Values] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)

    def run(self, action: str, resource: str) -> Outcome:
        """Return what the policies decide."""
        keys = RequestContextKeys(self.caller, Origin(), resource_account=self.owner, tags=self.tags)
        context = _Keys(self.keys, keys)
        request = AccessRequest(caller=self.caller, action=action, resource=resource, context=context)
        own_policy = self.resource_policy
        decision = decide(
            request,
            [named_policy.policy for named_policy in self.identity],
            boundary=self.boundary,
            resource=None if own_policy is None else own_policy.policy,
            own_account=self.owner == self.caller.account,
        )
        matched = [
            policy for policy in (*self.identity, *([own_policy] if own_policy else ())) if applying(policy.policy, request)
        ]
        within = None
        if self.boundary is not None:
            statements = [statement for policy in self.boundary for statement in applying(policy, request)]
            within = bool(statements) and all(statement.allows for statement in statements)
        text = "allowed" if decision.allowed else "explicitDeny" if decision.explicit else "implicitDeny"
        return Outcome(
            action=action,
            resource=resource,
            decision=text,
            matched=matched,
            missing=sorted(context.missing),
            within_boundary=within,
        )


class _Keys:
    """The keys that were given, then those that every request of the caller has; notes what was looked up in vain."""

    def __init__(self, supplied: Mapping[str, Values], request: RequestContextKeys) -> None:
        self._given = supplied
        self._known = request
        self.missing: set[str] = set()

    def get(self, key: str) -> Values | None:
        values = self._given.get(key) or self._known.get(key)
        if values is None:
            self.missing.add(key)
        return values

    def text(self, key: str) -> str | None:
        values = self.get(key)
        return values[0] if values is not None and len(values) == 1 else None
