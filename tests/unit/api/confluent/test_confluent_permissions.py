"""What Confluent's requests need, where the request alone does not say it."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock.access.authorize import Authorizer
from penstock.access.errors import NotAuthorized
from penstock.access.facts import Origin
from penstock.access.identities.entities import User
from penstock.access.principals import Caller
from penstock.api.access_checker import Warden
from penstock.api.confluent.authorize import Permissions
from penstock.api.confluent.requests import Query, Request
from penstock.registry.service import RegistryService
from penstock.secrets.service import SecretsService
from penstock.store.memory.access import MemoryAccessStore
from penstock.store.memory.secrets import MemorySecretStore
from tests.unit.api.confluent.confluent_face import V1, Face

ACCOUNT = "000000000000"
ANA = Caller(account=ACCOUNT, principal=f"arn:aws:iam::{ACCOUNT}:user/ana", user_id="AIDAANA")


@dataclass(frozen=True)
class Realm:
    account: str
    schemas: RegistryService
    secrets: SecretsService


def glue(*resources: str) -> list[str]:
    return [f"arn:aws:glue:us-east-1:{ACCOUNT}:{resource}" for resource in resources]


def permissions(face: Face, *statements: dict[str, Any]) -> Permissions:
    """The permissions of ana, who may do everything but for ``statements``."""
    everything = {"Effect": "Allow", "Action": "glue:*", "Resource": "*"}
    text = json.dumps({"Version": "2012-10-17", "Statement": [everything, *statements]})
    store = MemoryAccessStore()
    user = User(account=ACCOUNT, name="ana", id="AIDAANA", created=datetime.now(UTC), inline={"p": text})
    store.add_entity(user, "CreateUser", limit=10)
    realm = Realm(ACCOUNT, face.service, SecretsService(MemorySecretStore(), region="us-east-1"))
    return Permissions(Warden(Authorizer(store), region="us-east-1"), realm)


def request(subject: str = "", query: str = "", **body: Any) -> Request:
    return Request(parts={"subject": subject}, context=".", query=Query(query), raw=body, extras=True)


def deny(*resources: str) -> dict[str, Any]:
    return {"Effect": "Deny", "Action": "glue:GetSchemaVersion", "Resource": glue(*resources)}


@pytest.fixture
def face() -> Face:
    face = Face()
    for subject in ("open", ":.ctx:secret", ":.ctx:target"):
        assert face.post(f"/subjects/{subject}/versions", schema=V1)[0] == 200
    return face


def listed(face: Face, judged: Permissions, query: str) -> list[str]:
    """The subjects whose texts ``GET /schemas`` gives."""
    judged.check(ANA, "list_schemas", request(query=query), Origin())
    answer = face.get(f"/schemas?{query}")[1]
    return [item["subject"] for item in judged.shown(ANA, "list_schemas", answer, Origin())]


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
def test_the_texts_of_all_are_listed_without_those_that_are_denied(face: Face, query: str, expected: list[str]) -> None:
    if query == "deleted=true":
        assert face.delete("/subjects/:.ctx:secret")[0] == 200
    assert sorted(listed(face, permissions(face, deny("schema/ctx/secret")), query)) == sorted(expected)


def test_who_is_denied_a_whole_context_may_not_list_it(face: Face) -> None:
    with pytest.raises(NotAuthorized, match="explicit deny"):
        listed(face, permissions(face, deny("registry/ctx")), "subjectPrefix=:.ctx:")
    assert listed(face, permissions(face, deny("registry/ctx")), "") == ["open"]


def test_references_are_judged_in_the_context_where_they_are_looked_up(face: Face) -> None:
    assert face.put("/config/old", alias=":.ctx:target")[0] == 200
    references = [{"name": "R", "subject": "secret", "version": 1}]
    for route in ("register", "test_all", "look_up"):
        with pytest.raises(NotAuthorized, match="schema/ctx/secret"):
            permissions(face, deny("schema/ctx/secret")).check(
                ANA, route, request("old", schema=V1, references=references), Origin()
            )


def test_an_alias_is_given_by_who_may_read_what_it_stands_for(face: Face) -> None:
    judged = permissions(face, deny("schema/ctx/secret"))
    with pytest.raises(NotAuthorized, match="schema/ctx/secret"):
        judged.check(ANA, "set_config", request("new", alias=":.ctx:secret"), Origin())
    judged.check(ANA, "set_config", request("new", alias=":.ctx:target"), Origin())
    judged.check(ANA, "set_config", request("new", alias=""), Origin())
