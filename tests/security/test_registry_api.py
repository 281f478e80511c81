"""Confluent's registry API: read-only holds for every operation, and hostile input registers nothing."""

import base64
import http.client
import json
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

import pytest

from tests.security.targets import Target

V1 = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
V2 = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"int","default":0}]}'
OTHER = '{"type":"record","name":"R","fields":[{"name":"z","type":"int","default":0}]}'


class Registry:
    """Requests as root in a separate context, to the servers in turn."""

    def __init__(self, target: Target) -> None:
        self.target, self.calls = target, 0
        self.context = f".attack-{uuid4().hex[:12]}"
        login = f"{target.access_key_id}:{target.secret_access_key}"
        self.login = "Basic " + base64.b64encode(login.encode()).decode()

    def subject(self, name: str) -> str:
        return quote(f":{self.context}:{name}", safe="")

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        self.calls += 1
        url = self.target.urls[self.calls % len(self.target.urls)]
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=600)
        named = {"authorization": self.login, "content-type": "application/json"}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, None if body is None else json.dumps(body), named)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text) if text else None

    def versions(self, name: str) -> list[int]:
        status, answer = self.call("GET", f"/subjects/{self.subject(name)}/versions?deleted=true")
        return answer if status == 200 else []


@pytest.fixture
def registry(target: Target) -> Registry:
    return Registry(target)


@pytest.mark.parametrize("mode", ["READONLY", "READONLY_OVERRIDE"])
@pytest.mark.parametrize("scope", ["subject", "context"])
def test_read_only_holds_for_every_operation(registry: Registry, mode: str, scope: str) -> None:
    locked = registry.subject("locked")
    path = locked if scope == "subject" else registry.subject("")
    assert registry.call("POST", f"/subjects/{locked}/versions", {"schema": V1})[0] == 200
    alias = registry.subject("alias")
    assert registry.call("PUT", f"/config/{alias}", {"alias": "locked"})[0] == 200
    assert registry.call("PUT", f"/mode/{path}", {"mode": mode})[0] == 200
    context = quote(registry.context, safe="")
    attempts = [
        ("POST", f"/subjects/{locked}/versions", {"schema": V2}),
        ("POST", f"/subjects/{locked}/versions", {"schema": V2, "id": 2_000_000_000, "version": 9}),
        ("POST", f"/subjects/{locked}/versions", {"schema": "", "metadata": {"properties": {"a": "b"}}}),
        ("POST", f"/subjects/{locked}/versions?normalize=true&force=true", {"schema": V2}),
        ("POST", f"/subjects/{alias}/versions", {"schema": V2}),
        ("POST", f"/contexts/{context}/subjects/locked/versions", {"schema": V2}),
        ("POST", f"/contexts/{context}/subjects/alias/versions", {"schema": V2}),
        ("DELETE", f"/subjects/{locked}", None),
        ("DELETE", f"/subjects/{alias}", None),
        ("DELETE", f"/subjects/{locked}/versions/1", None),
        ("DELETE", f"/subjects/{alias}/versions/latest", None),
        ("DELETE", f"/subjects/{locked}?permanent=true", None),
        ("PUT", f"/config/{locked}", {"compatibility": "NONE"}),
        ("PUT", f"/config/{locked}", {"alias": "other"}),
        ("DELETE", f"/config/{locked}", None),
    ]
    for method, where, body in attempts:
        status, answer = registry.call(method, where, body)
        assert (status, answer["error_code"]) == (422, 42205), (method, where, body)
    assert registry.versions("locked") == [1]


def test_an_id_in_use_is_not_overwritten(registry: Registry) -> None:
    taken, other = registry.subject("taken"), registry.subject("other")
    registry.call("PUT", f"/mode/{registry.subject('')}", {"mode": "IMPORT"})
    made = {"schema": V1, "id": 77, "version": 1}
    assert registry.call("POST", f"/subjects/{taken}/versions", made)[0] == 200
    for subject in (taken, other):
        for version in (1, 2):
            body = {"schema": OTHER, "id": 77, "version": version}
            assert registry.call("POST", f"/subjects/{subject}/versions", body)[1]["error_code"] == 42205
    body = {"schema": OTHER, "id": 78, "version": 1}
    assert registry.call("POST", f"/subjects/{taken}/versions", body)[1]["error_code"] == 42205, "a version is overwritten"
    result = registry.call("GET", f"/schemas/ids/77?subject={registry.subject('')}")[1]
    assert result["schema"] == V1


@pytest.mark.parametrize("schema_type", ["avro", "Avro", "AVRO\u0000", "ΑVRO", "JSON ", "__proto__", "x" * 5_000])
def test_a_schema_type_is_case_sensitive(registry: Registry, schema_type: str) -> None:
    subject = registry.subject("typed")
    body = {"schema": V1, "schemaType": schema_type}
    for path in (f"/subjects/{subject}/versions", f"/compatibility/subjects/{subject}/versions", f"/subjects/{subject}"):
        status, answer = registry.call("POST", path, body)
        assert (status, answer["error_code"]) == (422, 42201)
        assert len(answer["message"]) < 1_000
    assert registry.versions("typed") == []


@pytest.mark.parametrize(
    "accept",
    [",".join(["text/html"] * 500), "application/json;" + "q=" * 500, "application/json;q=9e999", "\xff/\xff", ";;;,,,;q=,"],
)
def test_hostile_accept_headers_are_refused(registry: Registry, accept: str) -> None:
    status, answer = registry.call("GET", "/subjects", accept=accept)
    assert (status, answer["error_code"]) == (406, 406)


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_a_form_of_another_site_registers_nothing(registry: Registry, media_type: str) -> None:
    """A browser sends these across sites without asking first, with what it remembers of Basic credentials."""
    path = f"/subjects/{registry.subject('forged')}/versions"
    assert registry.call("POST", path, {"schema": V1}, content_type=media_type)[0] == 415
    assert registry.versions("forged") == []


@pytest.mark.parametrize("member", ["ruleSet", "schemaTagsToAdd", "schemaTagsToRemove", "propagateSchemaTags"])
def test_schemas_with_members_that_would_be_lost_are_not_registered(registry: Registry, member: str) -> None:
    path = f"/subjects/{registry.subject('ruled')}/versions"
    status, answer = registry.call("POST", path, {"schema": V1, member: [{"name": "encrypt"}]})
    assert (status, answer["error_code"]) == (422, 42210)
    assert registry.versions("ruled") == []
