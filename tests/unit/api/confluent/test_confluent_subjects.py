"""Subjects and their versions through Confluent's interface."""

import json
from typing import Any

import pytest

from penstock.registry.model import SchemaKey
from tests.unit.api.confluent.confluent_api import BROKEN, V1, V2, V3, ConfluentApi
from tests.unit.registry.registrations import register


@pytest.fixture
def api() -> ConfluentApi:
    return ConfluentApi()


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


def test_an_id_is_all_that_old_java_clients_are_told(api: ConfluentApi) -> None:
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
    assert any(path in each["path"] for each in answer["incompatibilities"])
    assert all(each["rule"] in answer["message"] for each in answer["incompatibilities"])


def test_java_gets_the_refusal_without_what_it_cannot_read(api: ConfluentApi) -> None:
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
def test_refuses_what_is_no_schema(api: ConfluentApi, body: Any, expected: tuple[int, int]) -> None:
    assert api.refused("POST", "/subjects/s/versions", body) == expected
    assert api.get("/subjects") == (200, [])


def test_a_version_that_is_given_has_to_be_the_next(api: ConfluentApi) -> None:
    assert api.register("s", V1, version=1)["version"] == 1
    assert api.register("s", V2, version=2)["version"] == 2
    assert api.refused("POST", "/subjects/s/versions", {"schema": V3, "version": 7}) == (422, 42201)


OWNED = {"properties": {"owner": "ana", "email": "a@b"}, "tags": {"R.a": ["PII", "EU"]}, "sensitive": ["email"]}
SPELLED = {"tags": {"R.a": ["EU", "PII", "EU"]}, "properties": {"email": "a@b", "owner": "ana"}, "sensitive": ["email"]}
OTHER = {"properties": {"owner": "bob"}}


def test_metadata_is_part_of_what_a_schema_is(api: ConfluentApi) -> None:
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
    found = api.get("/subjects/s/metadata?key=owner&value=ana&key=email&value=a%40b")[1]
    assert (found["version"], found["schema"]) == (1, V1)
    assert api.get("/subjects/s/metadata")[1]["version"] == 2
    assert api.refused("GET", "/subjects/s/metadata?key=owner&value=nobody") == (404, 40403)
    assert api.refused("GET", "/subjects/x/metadata?key=owner&value=ana") == (404, 40401)
    assert api.refused("GET", "/subjects/s/metadata?key=owner") == (400, 400)
    api.delete("/subjects/s/versions/1")
    assert api.refused("GET", "/subjects/s/metadata?key=owner&value=ana") == (404, 40403)
    assert api.get("/subjects/s/metadata?key=owner&value=ana&deleted=true")[1]["version"] == 1
    # Brought back, not made anew.
    assert api.register("s", V1, metadata=OWNED)["id"] == 1


def test_looks_schemas_up(api: ConfluentApi) -> None:
    api.register("s", V1)
    api.register("s", V2)
    status, answer = api.post("/subjects/s", schema=json.dumps(json.loads(V2), indent=1))
    assert status == 200
    assert answer["guid"] == api.service.versions.scan(None)[1].id
    assert {key: answer[key] for key in ("subject", "version", "id", "schema")} == {
        "subject": "s",
        "version": 2,
        "id": 2,
        "schema": V2,
    }
    assert api.refused("POST", "/subjects/s", {"schema": V3}) == (404, 40403)
    assert api.refused("POST", "/subjects/s", {"schema": "{"}) == (422, 42201)
    assert api.refused("POST", "/subjects/none", {"schema": V1}) == (404, 40401)
    assert api.refused("POST", "/subjects/s", {"schema": V1, "schemaType": "JSON"}) == (404, 40403)


def test_a_refused_version_of_glue_is_not_there(api: ConfluentApi) -> None:
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
    found = api.get(f"/subjects/s/versions/{made['version']}")[1]
    assert (found["version"], found["schema"], found["metadata"]) == (2, V1, {"properties": {"owner": "ana"}})
    api.put("/mode/t", mode="IMPORT")
    assert api.refused("POST", "/subjects/t/versions", {**empty, "id": 7, "version": 1}) == (422, 42201)


def test_an_invalid_schema_is_told_as_a_message_where_messages_are_asked_for(api: ConfluentApi) -> None:
    api.register("s", V1)
    for rest in ("", "/latest", "/1"):
        path = f"/compatibility/subjects/s/versions{rest}"
        for body in ({"schema": "{"}, {"schema": V1, "schemaType": "XML"}, {}):
            assert api.refused("POST", path, body) == (422, 42201)
            status, answer = api.call("POST", f"{path}?verbose=true", body)
            assert (status, answer["is_compatible"], len(answer["messages"])) == (200, False, 1)
    begin = "Invalid schema of type AVRO, details: "
    assert api.post(f"{path}?verbose=true", schema="{")[1]["messages"][0].startswith(begin)
    assert api.post("/subjects/s/versions", schema="{")[1]["message"].startswith(begin)
    # What is no schema's fault stays an error.
    assert api.refused("POST", "/compatibility/subjects/s/versions/9?verbose=true", {"schema": "{"}) == (404, 40402)
    assert api.refused("POST", f"{path}?verbose=true", []) == (400, 400)


def test_no_limit_is_the_default(api: ConfluentApi) -> None:
    for subject in "abc":
        api.register(subject, V1)
    for limit in ("0", "-1", "-5"):
        assert api.get(f"/subjects?limit={limit}") == (200, ["a", "b", "c"])
        assert len(api.get(f"/schemas?limit={limit}")[1]) == 3
        assert api.get(f"/subjects/a/versions?limit={limit}") == (200, [1])
        assert api.get(f"/contexts?limit={limit}") == (200, ["."])
        assert api.get(f"/schemas/ids/1/subjects?limit={limit}") == (200, ["a", "b", "c"])


def test_soft_deleted_versions_as_negative_numbers(api: ConfluentApi) -> None:
    api.register("s", V1)
    api.register("s", V2)
    api.delete("/subjects/s/versions/1")
    assert api.get("/subjects/s/versions?deleted=true&deletedAsNegative=true") == (200, [-1, 2])
    assert api.get("/subjects/s/versions?deletedAsNegative=true") == (200, [2])


MESSAGES = [
    ("GET", "/subjects/x/versions", None, "Subject 'x' not found."),
    ("GET", "/subjects/s/versions/9", None, "Version 9 not found."),
    ("GET", "/schemas/ids/99", None, "Schema 99 not found"),
    (
        "GET",
        "/subjects/s/versions/x",
        None,
        "The specified version 'x' is not a valid version id. Allowed values are between ",
    ),
    ("GET", "/config/x", None, "Subject 'x' does not have subject-level compatibility configured"),
    ("GET", "/mode/x", None, "Subject 'x' does not have subject-level mode configured"),
    ("DELETE", "/subjects/gone", None, "Subject 'gone' was soft deleted.Set permanent=true to delete permanently"),
    ("DELETE", "/subjects/s?permanent=true", None, "Subject 's' was not deleted first before being permanently deleted"),
    ("DELETE", "/subjects/gone/versions/1", None, "Subject 'gone' Version 1 was soft deleted.Set permanent=true to delete"),
    (
        "DELETE",
        "/subjects/s/versions/1?permanent=true",
        None,
        "Subject 's' Version 1 was not deleted first before being permanently deleted",
    ),
    ("PUT", "/config/s", {"compatibility": "x"}, "Invalid compatibility level. Valid values are none, backward, forward, "),
    ("PUT", "/mode/s", {"mode": "x"}, "Invalid mode. Valid values are READWRITE, READONLY, READONLY_OVERRIDE, and IMPORT."),
    ("POST", "/subjects/s/versions", {"schema": V2, "id": 9}, "Subject s in context :.: is not in import mode"),
    ("POST", "/subjects/locked/versions", {"schema": V1}, "Subject locked in context :.: is in read-only mode"),
    ("POST", "/subjects/imports/versions", {"schema": V1}, "Subject imports in context :.: is not in read-write mode"),
    ("POST", "/subjects/s/versions", {"schema": V2, "version": 9}, "Version is not one more than previous version"),
    ("POST", "/subjects/none/versions", {"schema": ""}, "Empty schema"),
    ("POST", "/subjects/%00/versions", {"schema": V1}, "The specified subject '\0' is not a valid."),
    ("POST", "/subjects/s/versions", {"schema": "x" * 170_001}, "Register operation failed because schema is too large"),
    ("PUT", "/mode/s", {"mode": "IMPORT"}, "Cannot import since found existing subjects"),
    ("DELETE", "/contexts/.full", None, "The specified context '.full' is not empty."),
    (
        "DELETE",
        "/subjects/used/versions/1",
        None,
        "One or more references exist to the schema {magic=1,keytype=SCHEMA,subject=used,version=1}.",
    ),
    ("DELETE", "/subjects/used", None, "One or more references exist to the schema {magic=1,keytype=SCHEMA,subject=used}."),
]


@pytest.mark.parametrize(("method", "path", "body", "begin"), MESSAGES)
def test_messages_begin_as_confluents_do(
    api: ConfluentApi, method: str, path: str, body: dict[str, Any] | None, begin: str
) -> None:
    """Errors.java, the Rest...Exception classes, AbstractSchemaRegistry and KafkaSchemaRegistry: clients look into these."""
    api.register("s", V1)
    api.register("gone", V1)
    api.delete("/subjects/gone")
    api.put("/mode/locked", mode="READONLY")
    api.put("/mode/imports", mode="IMPORT")
    api.register(":.full:s", V1)
    api.register("used", V1)
    uses = '{"type":"record","name":"U","fields":[{"name":"r","type":"R"}]}'
    api.register("user", uses, references=[{"name": "R", "subject": "used", "version": 1}])
    assert api.call(method, path, body)[1]["message"].startswith(begin)


def test_reads_versions(api: ConfluentApi) -> None:
    api.register("s", V1)
    api.register("s", V2)
    assert api.get("/subjects/s/versions/1")[1]["schema"] == V1
    assert api.get("/subjects/s/versions/latest")[1]["schema"] == V2
    assert api.get("/subjects/s/versions/-1")[1]["version"] == 2
    assert api.get("/subjects/s/versions/1/schema") == (200, json.loads(V1))
    assert api.get("/subjects/s/versions?offset=1&limit=1") == (200, [2])
    assert api.get("/subjects/s/versions?limit=1") == (200, [1])


@pytest.mark.parametrize("version", ["0", "-2", "x", "1.5", "2147483648", "99999999999", "١"])
def test_refuses_what_is_no_version(api: ConfluentApi, version: str) -> None:
    api.register("s", V1)
    assert api.refused("GET", f"/subjects/s/versions/{version}") == (422, 42202)
    assert api.refused("DELETE", f"/subjects/s/versions/{version}") == (422, 42202)
    assert api.refused("POST", f"/compatibility/subjects/s/versions/{version}", {"schema": V1}) == (422, 42202)


def test_says_what_is_not_there(api: ConfluentApi) -> None:
    api.register("s", V1)
    for path in ("", "/schema", "/referencedby"):
        assert api.refused("GET", f"/subjects/s/versions/9{path}") == (404, 40402)
        assert api.refused("GET", f"/subjects/none/versions/1{path}") == (404, 40401)
        assert api.refused("GET", f"/subjects/none/versions/latest{path}") == (404, 40401)
    assert api.refused("GET", "/subjects/none/versions") == (404, 40401)
    assert api.refused("DELETE", "/subjects/none") == (404, 40401)
    assert api.refused("DELETE", "/subjects/none/versions/1") == (404, 40401)
    assert api.refused("DELETE", "/subjects/s/versions/2") == (404, 40402)


def test_deletes_versions_in_two_steps(api: ConfluentApi) -> None:
    api.register("s", V1)
    api.register("s", V2)
    assert api.refused("DELETE", "/subjects/s/versions/1?permanent=true") == (404, 40407)
    assert api.delete("/subjects/s/versions/1") == (200, 1)
    assert api.refused("DELETE", "/subjects/s/versions/1") == (404, 40406)
    assert api.get("/subjects/s/versions") == (200, [2])
    assert api.get("/subjects/s/versions?deleted=true") == (200, [1, 2])
    assert api.get("/subjects/s/versions?deletedOnly=true") == (200, [1])
    assert api.get("/subjects/s/versions?deleted_only=True") == (200, [1])
    assert api.refused("GET", "/subjects/s/versions/1") == (404, 40402)
    assert api.get("/subjects/s/versions/1?deleted=true")[1]["schema"] == V1
    assert api.get("/schemas/ids/1")[1]["schema"] == V1
    assert api.delete("/subjects/s/versions/1?permanent=true") == (200, 1)
    assert api.refused("GET", "/schemas/ids/1") == (404, 40403)
    assert api.delete("/subjects/s/versions/latest") == (200, 2)
    assert api.refused("GET", "/subjects/s/versions") == (404, 40401)


def test_the_last_version_takes_level_and_mode_along_when_it_goes_for_good(api: ConfluentApi) -> None:
    api.register("s", V1)
    api.register("s", V2)
    api.put("/config/s", compatibility="FULL")
    api.put("/mode/s", mode="READWRITE")
    for number in (1, 2):
        api.delete(f"/subjects/s/versions/{number}")
    api.delete("/subjects/s/versions/1?permanent=true")
    assert api.get("/config/s") == (200, {"compatibilityLevel": "FULL"})
    assert api.get("/mode/s") == (200, {"mode": "READWRITE"})
    api.delete("/subjects/s/versions/2?permanent=true")
    assert api.refused("GET", "/config/s") == (404, 40408)
    assert api.refused("GET", "/mode/s") == (404, 40409)


def test_deletes_subjects_in_two_steps(api: ConfluentApi) -> None:
    api.register("s", V1)
    api.register("s", V2)
    api.put("/config/s", compatibility="NONE")
    assert api.refused("DELETE", "/subjects/s?permanent=true") == (404, 40405)
    assert api.delete("/subjects/s") == (200, [1, 2])
    assert api.refused("DELETE", "/subjects/s") == (404, 40404)
    assert api.get("/subjects") == (200, [])
    assert api.get("/subjects?deleted=true") == (200, ["s"])
    assert api.get("/subjects?deletedOnly=true") == (200, ["s"])
    # KafkaSchemaRegistry.deleteSubject: what is set for the subject goes with the permanent deletion.
    assert api.get("/config/s") == (200, {"compatibilityLevel": "NONE"})
    assert api.refused("POST", "/subjects/s", {"schema": V1}) == (404, 40401)
    assert api.post("/subjects/s?deleted=true", schema=V1)[1]["version"] == 1
    assert api.delete("/subjects/s?permanent=true") == (200, [1, 2])
    assert api.refused("GET", "/config/s") == (404, 40408)
    assert api.get("/subjects?deleted=true") == (200, [])
    assert api.refused("DELETE", "/subjects/s?permanent=true") == (404, 40401)


def test_what_was_deleted_comes_back_under_its_id(api: ConfluentApi) -> None:
    api.register("s", V1)
    before = api.register("s", V2)
    api.delete("/subjects/s/versions/2")
    after = api.register("s", V2)
    assert (after["id"], after["guid"], after["version"]) == (before["id"], before["guid"], 3)


def test_deleted_versions_count_for_no_check(api: ConfluentApi) -> None:
    api.register("s", V1)
    api.delete("/subjects/s")
    assert api.register("s", BROKEN)["version"] == 2


def test_what_others_build_on_stays(api: ConfluentApi) -> None:
    api.register("a", V1)
    uses = '{"type":"record","name":"U","fields":[{"name":"r","type":"R"}]}'
    used = {"name": "R", "subject": "a", "version": 1}
    answer = api.register("u", uses, references=[used])
    assert api.get("/subjects/u/versions/1")[1]["references"] == [used]
    assert api.get(f"/schemas/ids/{answer['id']}")[1]["references"] == [used]
    assert api.get("/subjects/a/versions/1/referencedby") == (200, [answer["id"]])
    assert api.get("/subjects/u/versions/1/referencedby") == (200, [])
    assert api.refused("DELETE", "/subjects/a/versions/1") == (422, 42206)
    assert api.refused("DELETE", "/subjects/a") == (422, 42206)
    resolved = json.loads(api.get("/subjects/u/versions/1?format=resolved")[1]["schema"])
    assert resolved["fields"][0]["type"]["fields"][0]["name"] == "a"
    latest = api.register("v", uses, references=[{**used, "version": -1}])
    assert api.get(f"/schemas/ids/{latest['id']}")[1]["references"] == [used]
    for subject in "uv":
        api.delete(f"/subjects/{subject}")
    assert api.delete("/subjects/a/versions/1") == (200, 1)


def test_tests_compatibility(api: ConfluentApi) -> None:
    path = "/compatibility/subjects/s/versions"
    assert api.post(f"{path}/latest", schema=V1) == (200, {"is_compatible": True})
    assert api.post(path, schema=V1) == (200, {"is_compatible": True})
    assert api.refused("POST", f"{path}/1", {"schema": V1}) == (404, 40402)
    assert api.refused("POST", f"{path}/latest", {"schema": "{"}) == (422, 42201)
    api.register("s", V1)
    api.register("s", V2)
    assert api.post(f"{path}/latest", schema=V3) == (200, {"is_compatible": True})
    assert api.post(f"{path}/1", schema=BROKEN) == (200, {"is_compatible": False})
    assert api.post(f"{path}?verbose=false", schema=BROKEN) == (200, {"is_compatible": False})
    _, answer = api.post(f"{path}?verbose=true", schema=BROKEN)
    assert answer["is_compatible"] is False
    assert "version 2: TYPE_MISMATCH at /a" in answer["messages"][0]
    assert answer["incompatibilities"][0]["path"] == "/a"
    assert api.post(f"{path}/latest?verbose=true", schema=V3)[1] == {
        "is_compatible": True,
        "messages": [],
        "incompatibilities": [],
    }
    assert api.refused("POST", f"{path}/7", {"schema": V1}) == (404, 40402)
    assert api.get("/subjects/s/versions") == (200, [1, 2])


def test_a_transitive_level_tests_all_versions(api: ConfluentApi) -> None:
    path = "/compatibility/subjects/s/versions"
    api.put("/config", compatibility="NONE")
    api.register("s", BROKEN)
    api.register("s", V1)
    api.put("/config", compatibility="BACKWARD")
    assert api.post(path, schema=V2)[1]["is_compatible"] is True
    api.put("/config", compatibility="BACKWARD_TRANSITIVE")
    assert api.post(path, schema=V2)[1]["is_compatible"] is False
    assert "{compatibility: 'BACKWARD_TRANSITIVE'}" in api.post("/subjects/s/versions", schema=V2)[1]["message"]
    assert api.post(f"{path}/latest", schema=V2)[1]["is_compatible"] is True


def test_a_subject_holds_one_format(api: ConfluentApi) -> None:
    api.register("s", V1)
    proto = 'syntax = "proto3";\nmessage M { int32 a = 1; }\n'
    status, answer = api.post("/subjects/s/versions", schema=proto, schemaType="PROTOBUF")
    assert (status, answer["incompatibilities"][0]["rule"]) == (409, "SCHEMA_TYPE")
    path = "/compatibility/subjects/s/versions/latest"
    assert api.post(path, schema=proto, schemaType="PROTOBUF") == (200, {"is_compatible": False})


def test_lists_subjects(api: ConfluentApi) -> None:
    for subject in ("b", "a-key", "a-value", ":.ctx:a", "%2Fodd%20name"):
        api.register(subject, V1)
    assert api.get("/subjects") == (200, [":.ctx:a", "/odd name", "a-key", "a-value", "b"])
    assert api.get("/subjects?subjectPrefix=a") == (200, ["a-key", "a-value"])
    assert api.get("/subjects?subjectPrefix=:*:a") == (200, [":.ctx:a", "a-key", "a-value"])
    assert api.get("/subjects?subjectPrefix=:.ctx:") == (200, [":.ctx:a"])
    assert api.get("/subjects?subjectPrefix=") == (200, ["/odd name", "a-key", "a-value", "b"])
    assert api.get("/subjects?offset=1&limit=2") == (200, ["/odd name", "a-key"])
    assert api.refused("GET", "/subjects?limit=x") == (400, 400)
