"""Confluent's API authorizes its callers by the same policies, and shows each account its own registry."""

import base64
import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.integration.accounts.accounts_world import SENSOR, Identity, World, allow, policy


def call(caller: Identity, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    pair = f"{caller.credentials['AccessKeyId']}:{caller.credentials['SecretAccessKey']}"
    request = urllib.request.Request(
        caller.server.endpoint_url + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}",
            "Content-Type": "application/vnd.schemaregistry.v1+json",
        },
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@pytest.fixture(scope="module")
def reader(world: World) -> Identity:
    resources = [world.arn("registry/streams"), world.arn("schema/streams/sensor")]
    reading = ["glue:GetSchema", "glue:GetSchemaVersion", "glue:ListSchemaVersions", "glue:GetSchemaByDefinition"]
    return world.new_user("confluent-reader", policy(allow(reading, resources)))


def test_reads_a_subject_that_is_allowed(world: World, reader: Identity) -> None:
    status, found = call(reader, "GET", "/subjects/:.streams:sensor/versions/latest")
    assert (status, json.loads(found["schema"])) == (200, SENSOR)
    assert call(reader, "GET", "/subjects/:.streams:sensor/versions") == (200, [1])
    # The same text is private/sensor's, too, and the ids are the contexts' own.
    assert call(reader, "GET", f"/schemas/ids/{found['id']}?subject=:.streams:sensor")[0] == 200
    assert call(reader, "POST", "/subjects/:.streams:sensor", {"schema": json.dumps(SENSOR)})[0] == 200
    assert call(reader, "GET", "/schemas/types")[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/subjects", None),
        ("GET", "/subjects?subjectPrefix=:.streams:", None),
        ("GET", "/schemas", None),
        ("GET", "/contexts", None),
        ("GET", "/subjects/:.private:sensor/versions/1", None),
        ("GET", "/subjects/:.private:sensor/versions/1/schema", None),
        ("GET", "/contexts/.private/subjects/sensor/versions", None),
        ("GET", "/subjects/:.private:sensor/versions/1/referencedby", None),
        ("GET", "/config", None),
        ("GET", "/config/:.private:sensor", None),
        ("PUT", "/config/:.streams:sensor", {"compatibility": "NONE"}),
        ("PUT", "/config/:.streams:sensor", {"alias": ":.private:sensor"}),
        ("PUT", "/config", {"compatibility": "NONE"}),
        ("PUT", "/mode", {"mode": "READONLY"}),
        ("DELETE", "/mode/:.streams:sensor", None),
        ("POST", "/subjects/:.streams:sensor/versions", {"schema": json.dumps(SENSOR)}),
        ("POST", "/subjects/:.streams:new/versions", {"schema": json.dumps(SENSOR)}),
        ("POST", "/subjects/:.private:sensor", {"schema": json.dumps(SENSOR)}),
        ("POST", "/compatibility/subjects/:.private:sensor/versions", {"schema": json.dumps(SENSOR)}),
        ("DELETE", "/subjects/:.streams:sensor", None),
        ("DELETE", "/subjects/:.streams:sensor/versions/1", None),
        ("DELETE", "/contexts/.private", None),
        ("GET", "/schemas/ids/999999", None),
        ("GET", "/schemas/guids/00000000-0000-4000-8000-000000000000", None),
    ],
)
def test_is_denied_the_rest(reader: Identity, method: str, path: str, body: dict[str, str] | None) -> None:
    status, answer = call(reader, method, path, body)
    assert (status, answer["error_code"]) == (403, 403)
    assert "is not authorized to perform: glue:" in answer["message"]


def test_an_alias_gives_no_access(world: World, reader: Identity) -> None:
    assert call(world.producer, "PUT", "/config/:.streams:alias", {"alias": ":.private:sensor"})[0] == 200
    both = policy(allow("glue:*", [world.arn("registry/streams"), world.arn("schema/streams/*")]))
    user = world.new_user("aliased", both)
    assert call(user, "GET", "/subjects/:.streams:sensor/versions/1")[0] == 200
    status, answer = call(user, "GET", "/subjects/:.streams:alias/versions/1")
    assert (status, "registry/private" in answer["message"]) == (403, True)


def test_a_reference_is_read_by_callers_who_may_read_it(world: World) -> None:
    user = world.new_user(
        "referring", policy(allow("glue:*", [world.arn("registry/streams"), world.arn("schema/streams/*")]))
    )
    outer = {"type": "record", "name": "Outer", "fields": [{"name": "inner", "type": "Sensor"}]}
    reference = {"name": "Sensor", "subject": ":.private:sensor", "version": 1}
    body = {"schema": json.dumps(outer), "references": [reference]}
    for path in ("/subjects/:.streams:outer/versions", "/compatibility/subjects/:.streams:sensor/versions"):
        status, answer = call(user, "POST", path, body)
        assert (status, "glue:GetSchemaVersion" in answer["message"]) == (403, True)
    body["references"] = [reference | {"subject": ":.streams:sensor"}]
    assert call(user, "POST", "/subjects/:.streams:outer/versions", body)[0] == 200


def test_each_account_has_its_own_subjects(world: World) -> None:
    keys = world.new_user("confluent-admin", policy(allow("glue:*", "*")), account=world.consumer)
    assert call(keys, "GET", "/subjects") == (200, [])
    assert call(keys, "POST", "/subjects/own/versions", {"schema": json.dumps(SENSOR)})[0] == 200
    assert call(keys, "GET", "/subjects") == (200, ["own"])
    assert "own" not in call(world.producer, "GET", "/subjects")[1]


def test_a_deactivated_key_is_refused(world: World) -> None:
    user = world.new_user("off", policy(allow("*", "*")))
    assert call(user, "GET", "/subjects")[0] == 200
    world.producer.client("iam").update_access_key(
        UserName="off", AccessKeyId=user.credentials["AccessKeyId"], Status="Inactive"
    )
    assert call(user, "GET", "/subjects")[0] == 401
