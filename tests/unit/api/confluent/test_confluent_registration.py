"""Registration through Confluent's API: one id a schema, refusals, metadata."""

import json
from typing import Any

import pytest

from penstock.registry.model import SchemaKey
from tests.unit.api.confluent.confluent_api import BROKEN, V1, V2, V3, ConfluentApi
from tests.unit.registry.registrations import register


def test_registers_once_whatever_the_spelling(api: ConfluentApi) -> None:
    first = api.register("s", V1)
    again = api.register("s", json.dumps(json.loads(V1), indent=2))
    assert set(first) == {"id", "version", "guid", "subject", "schemaType"}
    assert (first["id"], first["version"], first["subject"]) == (1, 1, "s")
    assert again == first


def test_one_schema_has_one_id_under_all_subjects(api: ConfluentApi) -> None:
    assert api.register("a", V1)["id"] == api.register("b", V1)["id"]
    assert api.register("a", V2)["id"] != api.register("b", V1)["id"]
    assert api.register("b", V2)["version"] == 2


def test_old_java_clients_get_only_the_id(api: ConfluentApi) -> None:
    body = {"schema": V1}
    assert api.call("POST", "/subjects/s/versions", body, user_agent="Java/11.0.2") == (200, {"id": 1})
    status, answer = api.call(
        "POST", "/subjects/s/versions", body, user_agent="Java/17", confluent_accept_unknown_properties="true"
    )
    assert (status, answer["id"], answer["version"]) == (200, 1, 1)


def test_refuses_an_incompatible_schema_and_says_why(api: ConfluentApi) -> None:
    api.register("s", V1)
    status, answer = api.post("/subjects/s/versions", schema=BROKEN)
    assert (status, answer["error_code"]) == (409, 409)
    begin = 'Schema being registered is incompatible with an earlier schema for subject "s", details: ['
    assert answer["message"].startswith(begin)
    assert "TYPE_MISMATCH at /a" in answer["message"]
    (conflict,) = answer["incompatibilities"]
    assert (conflict["path"], conflict["rule"], conflict["version"], conflict["direction"]) == (
        "/a",
        "TYPE_MISMATCH",
        1,
        "BACKWARD",
    )
    assert api.get("/subjects/s/versions") == (200, [1])
    assert api.service.schemas.list().items[0].next_number == 2


@pytest.mark.parametrize(
    ("schema_type", "old", "new", "path"),
    [
        ("JSON", '{"type":"object","properties":{"a":{"type":"integer"}}}', '{"type":"string"}', ""),
        (
            "JSON",
            '{"type":"object","properties":{"a":{"type":"integer"}}}',
            '{"type":"object","properties":{"a":{"type":"string"}}}',
            "/a",
        ),
        (
            "PROTOBUF",
            'syntax = "proto3"; message M { int32 a = 1; }',
            'syntax = "proto3"; message M { string a = 1; }',
            "M",
        ),
    ],
)
def test_refuses_in_every_format(api: ConfluentApi, schema_type: str, old: str, new: str, path: str) -> None:
    api.register("s", old, schemaType=schema_type)
    status, answer = api.post("/subjects/s/versions", schema=new, schemaType=schema_type)
    assert (status, answer["error_code"]) == (409, 409)
    assert any(path in incompatibility["path"] for incompatibility in answer["incompatibilities"])
    assert all(incompatibility["rule"] in answer["message"] for incompatibility in answer["incompatibilities"])


def test_java_gets_the_error_without_members_that_it_cannot_read(api: ConfluentApi) -> None:
    api.register("s", V1)
    _, answer = api.call("POST", "/subjects/s/versions", {"schema": BROKEN}, user_agent="Java/11.0.2")
    assert set(answer) == {"error_code", "message"}


def test_keeps_confluents_rule_on_the_name_of_the_outermost_record(api: ConfluentApi) -> None:
    api.register("s", V1)
    renamed = V1.replace('"R"', '"S"')
    assert api.refused("POST", "/subjects/s/versions", {"schema": renamed}) == (409, 409)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"schema": "{"}, (422, 42201)),
        ({"schema": ""}, (422, 42201)),
        ({}, (422, 42201)),
        ({"schema": V1, "schemaType": "XML"}, (422, 42201)),
        ({"schema": '"' + "x" * 170_000 + '"'}, (422, 42209)),
        ({"schema": V1, "ruleSet": {"domainRules": []}}, (422, 42210)),
        ({"schema": V1, "metadata": {"properties": {"owner": 1}}}, (400, 400)),
        ({"schema": V1, "metadata": {"tags": {"a": "x"}}}, (400, 400)),
        ({"schema": V1, "metadata": {"sensitive": ["a", 1]}}, (400, 400)),
        ({"schema": V1, "metadata": {"others": {}}}, (400, 400)),
        ({"schema": V1, "metadata": []}, (400, 400)),
        ({"schema": V1, "metadata": {"properties": {"owner": "x" * 100_000}}}, (422, 42209)),
        ({"schema": V1, "id": 7}, (422, 42205)),
        ({"schema": V1, "version": 3}, (422, 42201)),
        ({"schema": V1, "id": "7"}, (400, 400)),
        ({"schema": 7}, (400, 400)),
        ({"schema": V1, "references": [{"name": "x", "subject": "none", "version": 1}]}, (422, 42201)),
        ({"schema": V1, "references": [{"name": "x", "subject": "none", "version": -1}]}, (422, 42201)),
        ({"schema": V1, "references": [{"name": "x"}]}, (400, 400)),
        ({"schema": V1, "references": {}}, (400, 400)),
        ([V1], (400, 400)),
    ],
)
def test_refuses_invalid_schemas(api: ConfluentApi, body: Any, expected: tuple[int, int]) -> None:
    assert api.refused("POST", "/subjects/s/versions", body) == expected
    assert api.get("/subjects") == (200, [])


def test_a_version_that_is_given_has_to_be_the_next(api: ConfluentApi) -> None:
    assert api.register("s", V1, version=1)["version"] == 1
    assert api.register("s", V2, version=2)["version"] == 2
    assert api.refused("POST", "/subjects/s/versions", {"schema": V3, "version": 7}) == (422, 42201)


OWNED = {"properties": {"owner": "ana", "email": "a@b"}, "tags": {"R.a": ["PII", "EU"]}, "sensitive": ["email"]}


SPELLED = {"tags": {"R.a": ["EU", "PII", "EU"]}, "properties": {"email": "a@b", "owner": "ana"}, "sensitive": ["email"]}


OTHER = {"properties": {"owner": "bob"}}


def test_metadata_is_part_of_a_schemas_identity(api: ConfluentApi) -> None:
    plain = api.register("s", V1)
    owned = api.register("s", V1, metadata=OWNED)
    assert (owned["version"], owned["id"]) == (2, 2)
    assert api.register("s", V1.replace(":", ": "), metadata=SPELLED) == owned
    other = api.register("s", V1, metadata=OTHER)
    assert (other["version"], other["id"]) == (3, 3)
    assert api.register("t", V1, metadata=OWNED)["id"] == owned["id"]
    shown = {**OWNED, "tags": {"R.a": ["EU", "PII"]}}
    assert api.get("/subjects/s/versions/2")[1]["metadata"] == shown
    assert api.get("/schemas/ids/2")[1]["metadata"] == shown
    assert "metadata" not in api.get("/schemas/ids/1")[1]
    assert api.post("/subjects/s", schema=V1, metadata=SPELLED)[1]["version"] == 2
    assert api.post("/subjects/s", schema=V1)[1]["version"] == plain["version"]
    assert api.refused("POST", "/subjects/s", {"schema": V1, "metadata": {"properties": {"owner": "x"}}}) == (404, 40403)
    assert api.register("u", V1, metadata={"properties": {}, "tags": None})["id"] == plain["id"]


def test_metadata_goes_on_with_the_next_version(api: ConfluentApi) -> None:
    api.register("s", V1, metadata=OTHER)
    assert api.register("s", V1)["version"] == 1
    assert api.post("/subjects/s", schema=V1)[1]["version"] == 1
    assert api.register("s", V2)["version"] == 2
    assert api.get("/subjects/s/versions/2")[1]["metadata"] == OTHER
    # What Glue's callers register is the same schema, and goes on with it too.
    key = SchemaKey("default-registry", "s")
    assert api.service.versions.find(key, V2).number == 2
    assert register(api.service, key, V2).number == 2
    assert register(api.service, key, V3).number == 3
    assert api.get("/subjects/s/versions/3")[1]["metadata"] == OTHER
    # An import keeps what it is given.
    api.call("PUT", "/mode/s?force=true", {"mode": "IMPORT"})
    api.register("s", V1.replace('"a"', '"z"'), id=77, version=9)
    assert "metadata" not in api.get("/subjects/s/versions/9")[1]


def test_the_latest_version_with_metadata(api: ConfluentApi) -> None:
    api.register("s", V1, metadata=OWNED)
    api.register("s", V2, metadata=OTHER)
    result = api.get("/subjects/s/metadata?key=owner&value=ana&key=email&value=a%40b")[1]
    assert (result["version"], result["schema"]) == (1, V1)
    assert api.get("/subjects/s/metadata")[1]["version"] == 2
    assert api.refused("GET", "/subjects/s/metadata?key=owner&value=nobody") == (404, 40403)
    assert api.refused("GET", "/subjects/x/metadata?key=owner&value=ana") == (404, 40401)
    assert api.refused("GET", "/subjects/s/metadata?key=owner") == (400, 400)
    api.delete("/subjects/s/versions/1")
    assert api.refused("GET", "/subjects/s/metadata?key=owner&value=ana") == (404, 40403)
    assert api.get("/subjects/s/metadata?key=owner&value=ana&deleted=true")[1]["version"] == 1
    # Brought back, not made anew.
    assert api.register("s", V1, metadata=OWNED)["id"] == 1


def test_a_refused_version_of_glue_is_not_found(api: ConfluentApi) -> None:
    api.register("s", V1)
    key = api.service.schemas.list().items[0].key
    refused = register(api.service, key, BROKEN)
    assert refused.status == "FAILURE"
    assert api.refused("POST", "/subjects/s", {"schema": BROKEN}) == (404, 40403)
    assert api.refused("GET", f"/subjects/s/versions/{refused.number}") == (404, 40402)
    assert api.refused("GET", f"/schemas/guids/{refused.id}") == (404, 40403)
    assert api.get("/subjects/s/versions") == (200, [1])
    assert api.get("/subjects/s/versions/latest")[1]["version"] == 1


@pytest.mark.parametrize("schema_type", ["avro", "Json", "XML", "AVRO ", "protobuf"])
def test_a_schema_type_is_matched_exactly_everywhere(api: ConfluentApi, schema_type: str) -> None:
    api.register("s", V1)
    body = {"schema": V1, "schemaType": schema_type}
    for path in (
        "/subjects/s/versions",
        "/subjects/s",
        "/subjects/none",
        "/compatibility/subjects/s/versions",
        "/compatibility/subjects/s/versions/latest",
        "/compatibility/subjects/none/versions/latest",
    ):
        status, answer = api.call("POST", path, body)
        assert (status, answer["error_code"]) == (422, 42201)
        assert answer["message"].startswith(f"Invalid schema type {schema_type}.")


@pytest.mark.parametrize("empty", [{"schema": ""}, {"schema": " \n"}, {}, {"schema": None}])
def test_a_schema_without_text(api: ConfluentApi, empty: dict[str, Any]) -> None:
    assert api.refused("POST", "/subjects/s", empty) == (404, 40401)
    assert api.refused("POST", "/subjects/s/versions", empty) == (422, 42201)
    api.register("s", V1)
    # lookUpSchemaUnderSubject finds none; isCompatible wants one; register takes the latest version's.
    assert api.refused("POST", "/subjects/s", empty) == (404, 40403)
    assert api.refused("POST", "/compatibility/subjects/s/versions/latest", empty) == (422, 42201)
    made = api.call("POST", "/subjects/s/versions", {**empty, "metadata": {"properties": {"owner": "ana"}}})[1]
    result = api.get(f"/subjects/s/versions/{made['version']}")[1]
    assert (result["version"], result["schema"], result["metadata"]) == (2, V1, {"properties": {"owner": "ana"}})
    api.put("/mode/t", mode="IMPORT")
    assert api.refused("POST", "/subjects/t/versions", {**empty, "id": 7, "version": 1}) == (422, 42201)


def test_a_subject_holds_one_format(api: ConfluentApi) -> None:
    api.register("s", V1)
    proto = 'syntax = "proto3";\nmessage M { int32 a = 1; }\n'
    status, answer = api.post("/subjects/s/versions", schema=proto, schemaType="PROTOBUF")
    assert (status, answer["incompatibilities"][0]["rule"]) == (409, "SCHEMA_TYPE")
    path = "/compatibility/subjects/s/versions/latest"
    assert api.post(path, schema=proto, schemaType="PROTOBUF") == (200, {"is_compatible": False})
