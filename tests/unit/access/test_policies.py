"""Policy documents: what is refused, and the place in the message."""

import json
from typing import Any

import pytest

from penstock.access.policies.documents import MAX_POLICY_BYTES, PolicyType, parse_policy
from penstock.access.policies.errors import MalformedPolicy

IDENTITY, RESOURCE, TRUST_POLICY = PolicyType.IDENTITY, PolicyType.RESOURCE, PolicyType.TRUST

ALLOW = {"Effect": "Allow", "Action": "glue:GetSchema", "Resource": "*"}
GRANT = ALLOW | {"Principal": {"AWS": "111122223333"}}
TRUST = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "arn:aws:iam::111122223333:root"}}


def text(*statements: Any, **more: Any) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)} | more)


def without(statement: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in statement.items() if key != name}


@pytest.mark.parametrize(
    ("policy_type", "document"),
    [
        (IDENTITY, text(ALLOW)),
        (IDENTITY, json.dumps({"Statement": ALLOW})),
        (IDENTITY, text(ALLOW | {"Sid": "One"}, ALLOW | {"Sid": "Two"}, Id="x")),
        (IDENTITY, text(without(ALLOW, "Action") | {"NotAction": ["iam:*", "sts:*"]})),
        (IDENTITY, text(without(ALLOW, "Resource") | {"NotResource": "arn:aws:glue:*:*:schema/*"})),
        (IDENTITY, text(ALLOW | {"Condition": {"IpAddress": {"aws:SourceIp": ["10.0.0.0/8", "::1"]}}})),
        (IDENTITY, text(ALLOW | {"Condition": {"ForAnyValue:StringLikeIfExists": {"aws:PrincipalTag/team": "data*"}}})),
        (RESOURCE, text(GRANT)),
        (RESOURCE, text(GRANT | {"Principal": "*"})),
        (RESOURCE, text(without(GRANT, "Principal") | {"NotPrincipal": {"AWS": "arn:aws:iam::111122223333:user/a"}})),
        (TRUST_POLICY, text(TRUST)),
        (TRUST_POLICY, text(TRUST | {"Principal": {"Service": "lambda.amazonaws.com", "AWS": ["111122223333", "*"]}})),
    ],
)
def test_takes(policy_type: PolicyType, document: str) -> None:
    assert parse_policy(document, policy_type).statements


CONDITION = "Statement[0].Condition"


@pytest.mark.parametrize(
    ("policy_type", "document", "place"),
    [
        (IDENTITY, "", "the document is not JSON"),
        (IDENTITY, "[" * 3_000, "the document is not JSON"),
        (IDENTITY, "[]", "the document has to be an object"),
        (IDENTITY, " " * MAX_POLICY_BYTES + text(ALLOW), "the document has more than 10,240 bytes"),
        (IDENTITY, '{"Statement": [], "Statement": []}', "the document has 'Statement' twice"),
        (IDENTITY, text(ALLOW, Statements=[]), "the document has the member 'Statements'"),
        (IDENTITY, text(ALLOW, Version="2012-10-18"), "Version has to be 2012-10-17"),
        (IDENTITY, text(ALLOW, Id=1), "Id has to be"),
        (IDENTITY, "{}", "Statement is missing"),
        (IDENTITY, text(), "Statement is empty"),
        (IDENTITY, text("x"), "Statement[0] has to be an object"),
        (IDENTITY, text(ALLOW, ALLOW | {"Effects": 1}), "Statement[1] has the member 'Effects'"),
        (IDENTITY, text(ALLOW | {"Effect": "allow"}), "Statement[0].Effect"),
        (IDENTITY, text(ALLOW | {"Sid": "a"}, ALLOW | {"Sid": "a"}), "Statement has the same Sid twice"),
        (IDENTITY, text(without(ALLOW, "Action")), "Statement[0] needs either Action or NotAction"),
        (IDENTITY, text(ALLOW | {"NotAction": "iam:*"}), "Statement[0] needs either Action or NotAction, not both"),
        (IDENTITY, text(ALLOW | {"Action": "GetSchema"}), "Statement[0].Action 'GetSchema' is not an action"),
        (IDENTITY, text(ALLOW | {"Action": []}), "Statement[0].Action has to be"),
        (IDENTITY, text(ALLOW | {"Action": ["glue:*", 1]}), "Statement[0].Action has to be"),
        (IDENTITY, text(ALLOW | {"Resource": "schema/r/s"}), "Statement[0].Resource 'schema/r/s'"),
        (IDENTITY, text(without(ALLOW, "Resource")), "Statement[0] needs either Resource"),
        (IDENTITY, text(GRANT), "Statement[0] has the member 'Principal'"),
        (RESOURCE, text(ALLOW), "Statement[0] needs either Principal"),
        (RESOURCE, text(GRANT | {"Principal": {}}), "Statement[0].Principal has to be"),
        (RESOURCE, text(GRANT | {"Principal": {"AWS": "ana"}}), "Statement[0].Principal.AWS 'ana' is not a principal"),
        (RESOURCE, text(GRANT | {"Principal": {"User": "ana"}}), "Statement[0].Principal has the kind 'User'"),
        (
            RESOURCE,
            text(GRANT | {"Principal": {"AWS": "arn:aws:iam::111122223333:user/*"}}),
            "Statement[0].Principal.AWS",
        ),
        (TRUST_POLICY, text(TRUST | {"Resource": "*"}), "Statement[0] has the member 'Resource'"),
        (IDENTITY, text(ALLOW | {"Condition": []}), f"{CONDITION} has to be an object"),
        (
            IDENTITY,
            text(ALLOW | {"Condition": {"StringIs": {"aws:x": "y"}}}),
            f"{CONDITION}.StringIs is not an operator",
        ),
        (IDENTITY, text(ALLOW | {"Condition": {"StringEquals": "y"}}), f"{CONDITION}.StringEquals has to be"),
        (IDENTITY, text(ALLOW | {"Condition": {"StringEquals": {"": "y"}}}), "'' is not a condition key"),
        (IDENTITY, text(ALLOW | {"Condition": {"StringEquals": {"aws:x": ["y"] * 1_001}}}), "has more than 1,000"),
        (IDENTITY, text(ALLOW | {"Condition": {"StringEquals": {"aws:x": {}}}}), "has to be a string"),
        (IDENTITY, text(ALLOW | {"Condition": {"IpAddress": {"aws:x": "10.0.0.0/40"}}}), "is not an IP address"),
        (IDENTITY, text(ALLOW | {"Condition": {"NumericEquals": {"aws:x": "NaN"}}}), "is not a number"),
        (IDENTITY, text(ALLOW | {"Condition": {"DateEquals": {"aws:x": "soon"}}}), "is not a date"),
        (IDENTITY, text(ALLOW | {"Condition": {"Bool": {"aws:x": "yes"}}}), "is neither true nor false"),
        (IDENTITY, text(ALLOW | {"Condition": {"Null": {"aws:x": "1"}}}), "has to be true or false"),
        (IDENTITY, text(ALLOW | {"Condition": {"ArnLike": {"aws:x": "user/a"}}}), "is not an ARN"),
        (IDENTITY, text(ALLOW | {"Action": "glue:\u0000"}), "Statement[0].Action contains the character NUL"),
        (TRUST_POLICY, text(TRUST | {"Principal": {"Service": "x\u0000"}}), "Principal.Service contains the character NUL"),
    ],
)
def test_refuses_and_names_the_place(policy_type: PolicyType, document: str, place: str) -> None:
    with pytest.raises(MalformedPolicy) as refusal:
        parse_policy(document, policy_type)
    assert place in str(refusal.value)
    assert refusal.value.aws_code == "MalformedPolicyDocument"
