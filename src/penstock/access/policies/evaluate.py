"""Whether a request is allowed: pure functions over parsed policies.

The order of IAM (user guide, "Policy evaluation logic"): an explicit deny anywhere decides; otherwise, within an account,
either an identity-based or a resource-based policy has to allow it; across accounts, both; a permissions boundary bounds
what the user or role may do, and a session policy what the session may do. Within an account, what a resource's policy gives
to a user by its ARN a boundary bounds only by denying it; what it gives to a session by its ARN, a session policy likewise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.access.policies.conditions import Facts
from penstock.access.policies.documents import Policy, Statement
from penstock.access.principals import Caller, Match

__all__ = ["Decision", "Question", "decide"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """May ``caller`` do ``action`` (``glue:GetSchema``) with ``resource`` (an ARN, or ``*`` where the action has none)?"""

    caller: Caller
    action: str
    resource: str
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The answer, and for a refusal AWS's words for why (``because no identity-based policy allows the ... action``)."""

    allowed: bool
    why: str = ""
    explicit: bool = False
    """Whether a statement denies it, and not only none allows it."""


_ALLOWED = Decision(allowed=True)


def decide(
    question: Question,
    identity: Sequence[Policy],
    *,
    boundary: Sequence[Policy] | None = None,
    session: Sequence[Policy] | None = None,
    resource: Policy | None = None,
    own_account: bool = True,
    must_grant: bool = False,
    must_name: bool = False,
) -> Decision:
    """The decision on ``question``.

    ``identity`` are the policies of the user or role, ``boundary`` what bounds them, and ``session`` are those of its
    session; the latter two bound nothing where they are None. ``resource`` is the policy of the resource, or the trust
    policy of a role. ``own_account`` says whether the resource is of the caller's account; ``must_grant`` that the
    resource's policy has to allow it even then, as a role's trust policy has. A caller who is root needs no policy in its
    own account. ``must_name`` says that the resource's policy has to allow the caller by name: everybody is not enough.
    """
    kinds = (
        ("an identity-based policy", identity),
        ("a permissions boundary", boundary or ()),
        ("a session policy", session or ()),
        ("a resource-based policy", [resource] if resource else ()),
    )
    for kind, policies in kinds:
        if _denies(policies, question):
            return Decision(allowed=False, why=f"with an explicit deny in {kind}", explicit=True)
    granted = _grant(resource, question) if resource is not None else Match.NONE
    missing = _missing(
        granted,
        by_identity=question.caller.is_root or _allows(identity, question),
        by_boundary=boundary is None or _allows(boundary, question) or (own_account and _given_to_user(granted, question)),
        by_session=session is None or _allows(session, question),
        own_account=own_account,
        must_grant=must_grant or not own_account,
    )
    if must_name and granted < Match.PRINCIPAL:
        missing = "resource-based policy"
    if missing is None:
        return _ALLOWED
    return Decision(allowed=False, why=f"because no {missing} allows the {question.action} action")


def _missing(
    granted: Match, *, by_identity: bool, by_boundary: bool, by_session: bool, own_account: bool, must_grant: bool
) -> str | None:
    """What would have had to allow it, or None."""
    if own_account and granted is Match.SESSION:
        return None
    if not by_identity and not (own_account and granted >= Match.EVERYBODY):
        return "identity-based policy"
    if must_grant and granted is Match.NONE:
        return "resource-based policy"
    if not by_boundary:
        return "permissions boundary"
    return None if by_session else "session policy"


def _given_to_user(granted: Match, question: Question) -> bool:
    """Whether the resource's policy means a user by its own ARN: a role's sessions stay bounded."""
    return granted is Match.PRINCIPAL and question.caller.user_name is not None


def _denies(policies: Sequence[Policy], question: Question) -> bool:
    return any(
        not statement.allows and _applies(statement, question) for policy in policies for statement in policy.statements
    )


def _allows(policies: Sequence[Policy], question: Question) -> bool:
    return any(statement.allows and _applies(statement, question) for policy in policies for statement in policy.statements)


def _grant(policy: Policy, question: Question) -> Match:
    """How closely the statements that allow it mean the caller."""
    found = Match.NONE
    for statement in policy.statements:
        if statement.allows and statement.principals is not None and _applies(statement, question):
            found = max(found, statement.principals.match(question.caller))
    return found


def _applies(statement: Statement, question: Question) -> bool:
    facts = question.facts
    if any(glob.matches(question.action, facts.text) for glob in statement.actions) == statement.not_actions:
        return False
    if statement.resources is not None:
        covered = any(glob.matches(question.resource, facts.text) for glob in statement.resources)
        if covered == statement.not_resources:
            return False
    if statement.principals is not None and statement.principals.match(question.caller) is Match.NONE:
        return False
    return all(condition.holds(facts) for condition in statement.conditions)
