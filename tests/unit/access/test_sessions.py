"""Temporary credentials: when a token is valid, and the durations of sessions as in AWS."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from penstock.access.authorize import Authorizer
from penstock.access.context_keys import Origin
from penstock.access.entities import Role, User
from penstock.access.errors import ExpiredToken, NotAuthorized, UnrecognizedClient
from penstock.access.policies.errors import MalformedPolicy
from penstock.access.principals import Caller, SessionContext, root_arn
from penstock.access.sessions import Sessions
from penstock.access.sts import AssumeRoleRequest, BadDuration, BadRole, PackedPolicyTooLarge, TokenService
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.sealing import Sealer
from penstock.testing.sqlite import new_database

A = "111122223333"
NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)
ANA = Caller(account=A, principal=f"arn:aws:iam::{A}:user/ana", user_id="AIDAANA")
FACTS = SessionContext(issued=1, expires=2, role=f"arn:aws:iam::{A}:role/r", session_name="s", policies=("{}",))


def allow(action: str, **more: Any) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": action} | more})


@pytest.fixture
def store() -> SqlAccessStore:
    store = SqlAccessStore(new_database(), Sealer(bytes(32)))
    user = User(account=A, name="ana", id="AIDAANA", created=NOW)
    trust = allow("sts:AssumeRole", Principal={"AWS": ANA.principal})
    role = Role(account=A, name="reader", id="AROAREADER", created=NOW, path="/data/", trust=trust, max_session=7200)
    chain = replace(
        role,
        name="next",
        id="AROANEXT",
        trust=allow("sts:AssumeRole", Principal={"AWS": role.arn}),
    )
    for entity in (user, role, chain):
        store.add_entity(entity, "Create", limit=10)
    return store


@pytest.fixture
def tokens(store: SqlAccessStore) -> TokenService:
    return TokenService(store, Authorizer(store), Sessions(Sealer(bytes(32))), now=lambda: NOW)


def expected(role: str = "reader", **more: Any) -> AssumeRoleRequest:
    return AssumeRoleRequest(role_arn=f"arn:aws:iam::{A}:role/data/{role}", session_name="job-1", **more)


def test_a_token_contains_what_it_was_issued_for() -> None:
    made = Sessions(Sealer(bytes(32))).issue(A, "arn", FACTS, user_id="AROA:s")
    again = Sessions(Sealer(bytes(32))).open(made.access_key_id, made.token)
    assert again == made
    assert again.caller == Caller(account=A, principal="arn", user_id="AROA:s", session=FACTS)
    assert made.access_key_id.startswith("ASIA")
    assert made.secret_access_key not in repr(made)
    assert made.token not in repr(made)


def test_a_token_is_only_valid_with_its_own_key() -> None:
    sessions = Sessions(Sealer(bytes(32)))
    one, two = (sessions.issue(A, "arn", FACTS, user_id="x") for _ in range(2))
    strangers = Sessions(Sealer(b"1" * 32)).issue(A, "arn", FACTS, user_id="x")
    for key, token in [
        (one.access_key_id, two.token),
        (one.access_key_id, one.token[:-4]),
        (one.access_key_id, one.token + "AAAA"),
        (one.access_key_id, "no base64"),
        (one.access_key_id, ""),
        (one.access_key_id, "A" * 20_000),
        (strangers.access_key_id, strangers.token),
    ]:
        with pytest.raises(UnrecognizedClient):
            sessions.open(key, token)


def test_a_credential_ends() -> None:
    key = Sessions(Sealer(bytes(32))).issue(A, "arn", replace(FACTS, expires=int(NOW.timestamp())), user_id="x")
    key.check_current(NOW - timedelta(seconds=1))
    with pytest.raises(ExpiredToken, match=r"The security token included in the request is expired$"):
        key.check_current(NOW)


def test_a_role_lasts_an_hour_unless_it_says_otherwise(tokens: TokenService) -> None:
    made = tokens.assume_role(ANA, expected(), Origin())
    assert made.key.expires == NOW + timedelta(hours=1)
    assert made.key.caller.principal == f"arn:aws:sts::{A}:assumed-role/reader/job-1"
    assert made.key.caller.user_id == "AROAREADER:job-1"
    assert made.packed_percent is None
    longer = tokens.assume_role(ANA, expected(seconds=7200), Origin())
    assert longer.key.expires == NOW + timedelta(hours=2)
    with pytest.raises(BadDuration, match="exceeds the MaxSessionDuration set for this role"):
        tokens.assume_role(ANA, expected(seconds=7201), Origin())


def test_a_role_assumed_with_a_roles_credentials_lasts_an_hour_at_most(tokens: TokenService) -> None:
    first = tokens.assume_role(ANA, expected(), Origin()).key.caller
    assert tokens.assume_role(first, expected("next", seconds=3600), Origin()).key.caller.role_name == "next"
    with pytest.raises(BadDuration, match="1 hour session limit for roles assumed by role chaining"):
        tokens.assume_role(first, expected("next", seconds=3601), Origin())
    with pytest.raises(NotAuthorized):
        tokens.assume_role(ANA, expected("next"), Origin())


def test_session_policies_are_checked_and_bounded(tokens: TokenService) -> None:
    text = allow("glue:*", Resource="*")
    assert tokens.assume_role(ANA, expected(policy=text), Origin()).packed_percent == 5
    with pytest.raises(MalformedPolicy):
        tokens.assume_role(ANA, expected(policy="{}"), Origin())
    read = "arn:aws:iam::aws:policy/AWSGlueSchemaRegistryReadonlyAccess"
    session = tokens.assume_role(ANA, expected(policy_arns=(read,)), Origin()).key.caller.session
    assert session is not None
    assert session.policy_arns == (read,)
    for missing in ("no arn of a policy at all", f"arn:aws:iam::{A}:policy/missing", "arn:aws:iam::aws:policy/Nothing"):
        with pytest.raises(MalformedPolicy, match="PolicyArns names"):
            tokens.assume_role(ANA, expected(policy_arns=(missing,)), Origin())
    with pytest.raises(PackedPolicyTooLarge):
        tokens.assume_role(ANA, expected(policy=text, policy_arns=("arn:" + "x" * 2_000,)), Origin())


def test_an_administrator_assumes_only_roles_that_trust_it(store: SqlAccessStore, tokens: TokenService) -> None:
    boss = User(account=A, name="boss", id="AIDABOSS", created=NOW, inline={"all": allow("*", Resource="*")})
    store.add_entity(boss, "Create", limit=10)
    with pytest.raises(NotAuthorized):
        tokens.assume_role(Caller(account=A, principal=boss.arn, user_id=boss.id), expected(), Origin())


@pytest.mark.parametrize("text", ["reader", "arn:aws:iam::111122223333:user/ana", "arn:aws:s3:::role/x"])
def test_an_arn_that_is_not_a_roles_is_refused(tokens: TokenService, text: str) -> None:
    with pytest.raises(BadRole):
        tokens.assume_role(ANA, AssumeRoleRequest(role_arn=text, session_name="job-1"), Origin())


def test_a_role_is_named_with_its_path(tokens: TokenService) -> None:
    with pytest.raises(NotAuthorized):
        tokens.assume_role(ANA, AssumeRoleRequest(role_arn=f"arn:aws:iam::{A}:role/reader", session_name="job-1"), Origin())


def test_session_tokens_are_for_users_and_short_for_root(tokens: TokenService) -> None:
    assert tokens.session_token(ANA, None).expires == NOW + timedelta(hours=12)
    assert tokens.session_token(ANA, 900).expires == NOW + timedelta(minutes=15)
    root = Caller(account=A, principal=root_arn(A), user_id=A)
    given = tokens.session_token(root, None)
    assert given.expires == NOW + timedelta(hours=1)
    assert given.caller.is_root
    with pytest.raises(NotAuthorized, match="Cannot call GetSessionToken with session credentials"):
        tokens.session_token(given.caller, None)
