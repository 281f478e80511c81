"""What Confluent's requests need, where the request alone does not say it."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from confluent_face import V1, Face

from penstock.access.authorize import Authorizer
from penstock.access.entities import User
from penstock.access.errors import NotAuthorized
from penstock.access.facts import Origin
from penstock.access.principals import Caller
from penstock.api.aws.gate import Warden
from penstock.api.confluent.authorize import Permissions
from penstock.api.confluent.requests import Query, Request
from penstock.registry.service import RegistryService
from penstock.secrets.service import SecretsService
from penstock.store.memory.access import MemoryAccessStore
from penstock.store.memory.secrets import MemorySecretStore

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


@pytest.mark.parametrize(
    ("query", "allowed"),
    [("", False), ("subjectPrefix=:.ctx:", False), ("subjectPrefix=:.ctx:target", True), ("subjectPrefix=open", True)],
)
def test_the_texts_of_all_are_not_listed_to_who_is_denied_one(face: Face, query: str, allowed: bool) -> None:
    judged = permissions(face, deny("schema/ctx/secret"))
    if allowed:
        judged.check(ANA, "list_schemas", request(query=query), Origin())
    else:
        with pytest.raises(NotAuthorized, match="explicit deny"):
            judged.check(ANA, "list_schemas", request(query=query), Origin())


def test_a_deleted_schema_is_listed_to_nobody_who_is_denied_it(face: Face) -> None:
    assert face.delete("/subjects/:.ctx:secret")[0] == 200
    with pytest.raises(NotAuthorized):
        permissions(face, deny("schema/ctx/secret")).check(ANA, "list_schemas", request(query="deleted=true"), Origin())


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
