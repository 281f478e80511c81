"""Evaluates policies: pure functions that decide whether a request is allowed.

The order of IAM (user guide, "Policy evaluation logic"): an explicit deny anywhere decides. Otherwise, within an account, an
identity-based or a resource-based policy has to allow the request; across accounts, both have to. A permissions boundary
limits what the user or role may do, and a session policy what the session may do. Within an account, if a resource's policy
allows a user by its ARN, a boundary limits that only by denying it; the same holds for a session's ARN and session policies.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.access.policies.conditions import ContextKeys
from penstock.access.policies.documents import Policy, Statement
from penstock.access.policies.principals import Match
from penstock.access.principals import Caller

__all__ = ["AccessRequest", "Decision", "applying", "decide", "is_uniform"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRequest:
    """The request to evaluate: may ``caller`` do ``action`` (``glue:GetSchema``) on ``resource``, an ARN.

    ``resource`` is ``*`` for an action without resource types; ``context`` has the condition keys.
    """

    caller: Caller
    action: str
    resource: str
    context: ContextKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Whether the request is allowed; ``reason`` is AWS's text for a denial (``because no identity-based policy ...``)."""

    allowed: bool
    reason: str = ""
    explicit: bool = False
    """Whether a statement denies the request explicitly; False if none allows it."""


_ALLOWED = Decision(allowed=True)


def decide(
    request: AccessRequest,
    identity: Sequence[Policy],
    *,
    boundary: Sequence[Policy] | None = None,
    session: Sequence[Policy] | None = None,
    resource: Policy | None = None,
    own_account: bool = True,
    must_grant: bool = False,
    must_name: bool = False,
) -> Decision:
    """Return the decision on ``request``.

    ``identity`` are the policies of the user or role, ``boundary`` its permissions boundary, ``session`` its session
    policies; if one of the latter two is None, it does not apply. ``resource`` is the resource-based policy, or the trust
    policy of a role. ``own_account`` says whether the resource belongs to the caller's account; with ``must_grant`` the
    resource's policy has to allow the request even then, as a trust policy does. Root needs no policy in its own account.
    With ``must_name`` the resource's policy has to allow the caller by name, not everybody.
    """
    kinds = (
        ("an identity-based policy", identity),
        ("a permissions boundary", boundary or ()),
        ("a session policy", session or ()),
        ("a resource-based policy", [resource] if resource else ()),
    )
    for source, policies in kinds:
        if _denies(policies, request):
            return Decision(allowed=False, reason=f"with an explicit deny in {source}", explicit=True)
    granted = _grant(resource, request) if resource is not None else Match.NONE
    missing = _missing(
        granted,
        by_identity=request.caller.is_root or _allows(identity, request),
        by_boundary=boundary is None or _allows(boundary, request) or (own_account and _given_to_user(granted, request)),
        by_session=session is None or _allows(session, request),
        own_account=own_account,
        must_grant=must_grant or not own_account,
    )
    if must_name and granted < Match.PRINCIPAL:
        missing = "resource-based policy"
    if missing is None:
        return _ALLOWED
    return Decision(allowed=False, reason=f"because no {missing} allows the {request.action} action")


def applying(policy: Policy, request: AccessRequest) -> Sequence[Statement]:
    """Return the statements of a policy that allow or deny the request."""
    return [statement for statement in policy.statements if _applies(statement, request)]


def is_uniform(request: AccessRequest, policies: Iterable[Policy]) -> bool:
    """Return whether :func:`decide` by ``policies`` has one answer for all resources that begin with ``request.resource``.

    That answer is then the one on ``request`` itself. False if that is not known.
    """
    text = request.context.text
    return not any(
        glob.splits(request.resource, text)
        for policy in policies
        for statement in policy.statements
        if any(action.matches(request.action, text) for action in statement.actions) != statement.not_actions
        for glob in statement.resources or ()
    )


def _missing(
    granted: Match, *, by_identity: bool, by_boundary: bool, by_session: bool, own_account: bool, must_grant: bool
) -> str | None:
    """Return the kind of policy that would have to allow the request, or None."""
    if own_account and granted is Match.SESSION:
        return None
    if not by_identity and not (own_account and granted >= Match.EVERYBODY):
        return "identity-based policy"
    if must_grant and granted is Match.NONE:
        return "resource-based policy"
    if not by_boundary:
        return "permissions boundary"
    return None if by_session else "session policy"


def _given_to_user(granted: Match, request: AccessRequest) -> bool:
    """Return whether the resource's policy names a user by its own ARN. A role's boundary still limits its sessions."""
    return granted is Match.PRINCIPAL and request.caller.user_name is not None


def _denies(policies: Sequence[Policy], request: AccessRequest) -> bool:
    return any(
        not statement.allows and _applies(statement, request) for policy in policies for statement in policy.statements
    )


def _allows(policies: Sequence[Policy], request: AccessRequest) -> bool:
    return any(statement.allows and _applies(statement, request) for policy in policies for statement in policy.statements)


def _grant(policy: Policy, request: AccessRequest) -> Match:
    """Return how closely the statements that allow the request match the caller."""
    closest = Match.NONE
    for statement in policy.statements:
        if statement.allows and statement.principals is not None and _applies(statement, request):
            closest = max(closest, statement.principals.match(request.caller))
    return closest


def _applies(statement: Statement, request: AccessRequest) -> bool:
    context = request.context
    if any(glob.matches(request.action, context.text) for glob in statement.actions) == statement.not_actions:
        return False
    if statement.resources is not None:
        covered = any(glob.matches(request.resource, context.text) for glob in statement.resources)
        if covered == statement.not_resources:
            return False
    if statement.principals is not None and statement.principals.match(request.caller) is Match.NONE:
        return False
    return all(condition.matches(context) for condition in statement.conditions)
