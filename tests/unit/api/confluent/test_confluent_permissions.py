"""Actions that Confluent's requests need and that depend on more than the request."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock.access.authorize import Authorizer
from penstock.access.context_keys import Origin
from penstock.access.entities import User
from penstock.access.errors import NotAuthorized
from penstock.access.principals import Caller
from penstock.api.access_checker import AccessChecker
from penstock.api.confluent.authorize import Permissions
from penstock.api.confluent.requests import Query, Request
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.sealing import Sealer
from penstock.testing.sqlite import new_database
from tests.unit.api.confluent.confluent_api import V1, ConfluentApi
from tests.unit.api.memory_tenant import memory_tenant

ACCOUNT = "000000000000"
ANA = Caller(account=ACCOUNT, principal=f"arn:aws:iam::{ACCOUNT}:user/ana", user_id="AIDAANA")


def glue(*resources: str) -> list[str]:
    return [f"arn:aws:glue:us-east-1:{ACCOUNT}:{resource}" for resource in resources]


def permissions(api: ConfluentApi, *statements: dict[str, Any]) -> Permissions:
    """Return the permissions of ana, who may do everything except what ``statements`` deny."""
    everything = {"Effect": "Allow", "Action": "glue:*", "Resource": "*"}
    text = json.dumps({"Version": "2012-10-17", "Statement": [everything, *statements]})
    store = SqlAccessStore(new_database(), Sealer(bytes(32)))
    user = User(account=ACCOUNT, name="ana", id="AIDAANA", created=datetime.now(UTC), inline={"p": text})
    store.add_entity(user, "CreateUser", limit=10)
    tenant = memory_tenant(api.service)
    return Permissions(AccessChecker(Authorizer(store), region="us-east-1"), tenant)


def request(subject: str = "", query: str = "", **body: Any) -> Request:
    return Request(parts={"subject": subject}, context=".", query=Query(query), raw=body, extras=True)


def deny(*resources: str) -> dict[str, Any]:
    return {"Effect": "Deny", "Action": "glue:GetSchemaVersion", "Resource": glue(*resources)}


@pytest.fixture
def api() -> ConfluentApi:
    api = ConfluentApi()
    for subject in ("open", ":.ctx:secret", ":.ctx:target"):
        assert api.post(f"/subjects/{subject}/versions", schema=V1)[0] == 200
    return api


def listed(api: ConfluentApi, allowed: Permissions, query: str) -> list[str]:
    """The subjects whose texts ``GET /schemas`` gives."""
    allowed.check(ANA, "list_schemas", request(query=query), Origin())
    answer = api.get(f"/schemas?{query}")[1]
    return [item["subject"] for item in allowed.shown(ANA, "list_schemas", answer, Origin())]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["open", ":.ctx:target"]),
        ("subjectPrefix=:.ctx:", [":.ctx:target"]),
        ("subjectPrefix=:.ctx:target", [":.ctx:target"]),
        ("subjectPrefix=open", ["open"]),
        ("deleted=true", ["open", ":.ctx:target"]),
    ],
)
def test_the_list_of_all_leaves_out_denied_texts(api: ConfluentApi, query: str, expected: list[str]) -> None:
    if query == "deleted=true":
        assert api.delete("/subjects/:.ctx:secret")[0] == 200
    assert sorted(listed(api, permissions(api, deny("schema/ctx/secret")), query)) == sorted(expected)


def test_a_caller_who_is_denied_a_whole_context_may_not_list_it(api: ConfluentApi) -> None:
    with pytest.raises(NotAuthorized, match="explicit deny"):
        listed(api, permissions(api, deny("registry/ctx")), "subjectPrefix=:.ctx:")
    assert listed(api, permissions(api, deny("registry/ctx")), "") == ["open"]


def test_references_are_authorized_in_the_context_where_they_are_looked_up(api: ConfluentApi) -> None:
    assert api.put("/config/old", alias=":.ctx:target")[0] == 200
    references = [{"name": "R", "subject": "secret", "version": 1}]
    for route in ("register", "test_all", "look_up"):
        with pytest.raises(NotAuthorized, match="schema/ctx/secret"):
            permissions(api, deny("schema/ctx/secret")).check(
                ANA, route, request("old", schema=V1, references=references), Origin()
            )


def test_setting_an_alias_needs_permission_to_read_its_target(api: ConfluentApi) -> None:
    allowed = permissions(api, deny("schema/ctx/secret"))
    with pytest.raises(NotAuthorized, match="schema/ctx/secret"):
        allowed.check(ANA, "set_config", request("new", alias=":.ctx:secret"), Origin())
    allowed.check(ANA, "set_config", request("new", alias=":.ctx:target"), Origin())
    allowed.check(ANA, "set_config", request("new", alias=""), Origin())
