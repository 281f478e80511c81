"""Decisions, in the order of IAM's user guide ("Policy evaluation logic")."""

import json
from typing import Any

import pytest

from penstock.access.context_keys import Origin, RequestContextKeys
from penstock.access.policies.documents import Policy, PolicyType, parse_policy
from penstock.access.policies.evaluate import AccessRequest, Decision, decide
from penstock.access.principals import Caller, SessionContext, root_arn, session_arn

A, B = "111122223333", "444455556666"
SCHEMA = f"arn:aws:glue:us-east-1:{A}:schema/streams/sensor"
GET = "glue:GetSchema"
ANA = Caller(account=A, principal=f"arn:aws:iam::{A}:user/ana", user_id="AIDAANA")
BEN = Caller(account=B, principal=f"arn:aws:iam::{B}:user/ben", user_id="AIDABEN")
ROLE = f"arn:aws:iam::{A}:role/data/reader"
SESSION = Caller(
    account=A,
    principal=session_arn(A, "reader", "job"),
    user_id="AROAX:job",
    session=SessionContext(issued=0, expires=1, role=ROLE, session_name="job"),
)


def policy(effect: str, *, action: Any = GET, principal: Any = None, **more: Any) -> Policy:
    statement = {"Effect": effect, "Action": action, "Resource": SCHEMA} | more
    if "NotResource" in more:
        del statement["Resource"]
    if "NotAction" in more:
        del statement["Action"]
    if principal is not None:
        statement["Principal"] = principal
    policy_type = PolicyType.IDENTITY if principal is None and "NotPrincipal" not in more else PolicyType.RESOURCE
    return parse_policy(json.dumps({"Version": "2012-10-17", "Statement": statement}), policy_type)


def ask(caller: Caller, *identity: Policy, action: str = GET, resource: str = SCHEMA, **more: Any) -> Decision:
    own = more.pop("own_account", caller.account == A)
    context = RequestContextKeys(caller, Origin(client="10.0.0.7"), resource_account=A)
    request = AccessRequest(caller=caller, action=action, resource=resource, context=context)
    return decide(
        request, identity, boundary=more.get("boundary"), session=more.get("session"), resource=more.get("policy"),
        own_account=own, must_grant=more.get("must_grant", False),
    )  # fmt: skip


ALLOW, DENY = policy("Allow"), policy("Deny")
NO_IDENTITY = f"because no identity-based policy allows the {GET} action"


def named(arn: str, effect: str = "Allow", **more: Any) -> Policy:
    return policy(effect, principal={"AWS": arn}, **more)


def test_nothing_is_allowed_by_itself() -> None:
    assert ask(ANA) == Decision(allowed=False, reason=NO_IDENTITY)


def test_one_policy_allows() -> None:
    assert ask(ANA, policy("Allow", action="glue:Put*"), ALLOW).allowed


def test_a_deny_in_any_policy_wins() -> None:
    assert ask(ANA, ALLOW, DENY).reason == "with an explicit deny in an identity-based policy"
    assert ask(SESSION, ALLOW, session=[ALLOW, DENY]).reason == "with an explicit deny in a session policy"
    denied = ask(ANA, ALLOW, policy=named(A, "Deny"))
    assert denied.reason == "with an explicit deny in a resource-based policy"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ({"action": "*"}, True),
        ({"action": "GLUE:getschema"}, True),
        ({"action": "glue:Get*"}, True),
        ({"action": "glue:GetSchem?"}, True),
        ({"action": "glue:GetSchemas"}, False),
        ({"NotAction": "glue:Delete*"}, True),
        ({"NotAction": ["iam:*", "glue:*"]}, False),
        ({"Resource": "*"}, True),
        ({"Resource": f"arn:aws:glue:*:{A}:schema/streams/*"}, True),
        ({"Resource": f"arn:aws:glue:*:{A}:schema/streams"}, False),
        ({"NotResource": f"arn:aws:glue:*:{A}:schema/private/*"}, True),
        ({"NotResource": SCHEMA}, False),
        ({"Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}}, True),
        ({"Condition": {"StringEquals": {"aws:username": "ben"}}}, False),
        ({"Condition": {"Bool": {"aws:SecureTransport": "false"}, "Null": {"aws:TokenIssueTime": "true"}}}, True),
        ({"Resource": "arn:aws:glue:*:${aws:PrincipalAccount}:schema/streams/*"}, True),
    ],
)
def test_which_requests_a_statement_applies_to(statement: dict[str, Any], expected: bool) -> None:
    assert ask(ANA, policy("Allow", **statement)).allowed is expected


def test_actions_without_resources_need_a_star() -> None:
    assert ask(ANA, policy("Allow", Resource="*"), resource="*").allowed
    assert not ask(ANA, ALLOW, resource="*").allowed


def test_in_one_account_either_kind_of_policy_allows() -> None:
    assert ask(ANA, policy=named(ANA.principal)).allowed
    assert ask(ANA, policy=policy("Allow", principal="*")).allowed
    assert not ask(ANA, policy=named(f"arn:aws:iam::{A}:user/ben")).allowed
    # The account as a principal leaves the decision to its own policies.
    assert ask(ANA, policy=named(A)).reason == NO_IDENTITY
    assert ask(ANA, ALLOW, policy=named(A)).allowed


def test_across_accounts_both_have_to_allow() -> None:
    assert ask(BEN, ALLOW).reason == f"because no resource-based policy allows the {GET} action"
    assert ask(BEN, policy=named(BEN.principal)).reason == NO_IDENTITY
    assert ask(BEN, ALLOW, policy=named(BEN.principal)).allowed
    assert ask(BEN, ALLOW, policy=named(root_arn(B))).allowed
    assert not ask(BEN, ALLOW, policy=named(A)).allowed


def test_a_session_policy_limits_what_the_identity_may_do() -> None:
    other = policy("Allow", action="glue:ListSchemas")
    assert ask(SESSION, ALLOW, session=[ALLOW]).allowed
    assert ask(SESSION, ALLOW, session=[other]).reason == f"because no session policy allows the {GET} action"
    assert ask(SESSION, other, session=[ALLOW]).reason == NO_IDENTITY
    # The session policy limits what a resource grants the role, but not what it grants the session itself.
    assert not ask(SESSION, session=[other], policy=named(ROLE)).allowed
    assert ask(SESSION, session=[ALLOW], policy=named(ROLE)).allowed
    assert ask(SESSION, session=[other], policy=named(SESSION.principal)).allowed


def test_a_trust_policy_has_to_name_somebody_in_any_case() -> None:
    assert not ask(ANA, ALLOW, must_grant=True).allowed
    assert not ask(ANA, ALLOW, policy=named(B), must_grant=True).allowed
    assert ask(ANA, ALLOW, policy=named(A), must_grant=True).allowed
    assert ask(ANA, policy=named(ANA.principal), must_grant=True).allowed
    assert not ask(ANA, policy=named(A), must_grant=True).allowed


def test_root_needs_no_policy_at_home_and_one_abroad() -> None:
    home = Caller(account=A, principal=root_arn(A), user_id=A)
    abroad = Caller(account=B, principal=root_arn(B), user_id=B)
    assert ask(home).allowed
    assert not ask(abroad).allowed
    assert ask(abroad, policy=named(B)).allowed


def test_which_callers_a_not_principal_matches() -> None:
    denied = policy("Deny", NotPrincipal={"AWS": [ANA.principal, ROLE]})
    assert ask(ANA, ALLOW, policy=denied).allowed
    assert ask(SESSION, ALLOW, policy=denied).allowed
    assert not ask(Caller(account=A, principal=f"arn:aws:iam::{A}:user/eve"), ALLOW, policy=denied).allowed


def test_the_principal_arn_of_a_session_in_conditions() -> None:
    by_role = {"Condition": {"ArnEquals": {"aws:PrincipalArn": ROLE}, "StringLike": {"aws:userid": "AROAX:*"}}}
    assert ask(SESSION, policy("Allow", **by_role)).allowed
    assert not ask(SESSION, policy("Allow", Condition={"Null": {"aws:username": "false"}})).allowed


def test_a_boundary_grants_nothing_and_limits_what_policies_grant() -> None:
    assert ask(ANA, boundary=[ALLOW]).reason == NO_IDENTITY
    assert ask(ANA, ALLOW, boundary=[]).reason == f"because no permissions boundary allows the {GET} action"
    assert ask(ANA, ALLOW, boundary=[ALLOW]).allowed
    assert ask(ANA, ALLOW, boundary=[ALLOW, DENY]).reason == "with an explicit deny in a permissions boundary"
    everything = policy("Allow", NotAction="iam:*", Resource="*")
    assert ask(ANA, policy("Allow", action="*", Resource="*"), boundary=[everything]).allowed
    assert not ask(ANA, policy("Allow", action="*", Resource="*"), boundary=[everything], action="iam:ListUsers").allowed


def test_a_boundary_does_not_limit_what_a_resource_grants_a_user_by_its_arn() -> None:
    own = named(ANA.principal)
    assert ask(ANA, policy=own, boundary=[]).allowed
    assert not ask(ANA, policy=own, boundary=[DENY]).allowed
    for others in ("*", A):  # everybody, and the account
        assert not ask(ANA, ALLOW, policy=named(others), boundary=[]).allowed
    assert not ask(BEN, ALLOW, policy=named(BEN.principal), boundary=[], own_account=False).allowed


def test_a_boundary_limits_what_a_resource_grants_a_role() -> None:
    assert ask(SESSION, policy=named(ROLE)).allowed
    assert not ask(SESSION, policy=named(ROLE), boundary=[]).allowed
    assert ask(SESSION, policy=named(SESSION.principal), boundary=[], session=[]).allowed
    assert not ask(SESSION, ALLOW, boundary=[ALLOW], session=[]).allowed
    assert not ask(SESSION, ALLOW, boundary=[], session=[ALLOW]).allowed
