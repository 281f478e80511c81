"""Subjects and their versions through Confluent's API."""

import json
from typing import Any

import pytest

from tests.unit.api.confluent.confluent_api import BROKEN, V1, V2, V3, ConfluentApi


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


def test_a_verbose_compatibility_test_answers_an_invalid_schema_with_messages(api: ConfluentApi) -> None:
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
    # An error that is not about the schema stays an error.
    assert api.refused("POST", "/compatibility/subjects/s/versions/9?verbose=true", {"schema": "{"}) == (404, 40402)
    assert api.refused("POST", f"{path}?verbose=true", []) == (400, 400)


def test_a_limit_below_one_means_no_limit(api: ConfluentApi) -> None:
    for subject in "abc":
        api.register(subject, V1)
    for limit in ("0", "-1", "-5"):
        assert api.get(f"/subjects?limit={limit}") == (200, ["a", "b", "c"])
        assert len(api.get(f"/schemas?limit={limit}")[1]) == 3
        assert api.get(f"/subjects/a/versions?limit={limit}") == (200, [1])
        assert api.get(f"/contexts?limit={limit}") == (200, ["."])
        assert api.get(f"/schemas/ids/1/subjects?limit={limit}") == (200, ["a", "b", "c"])


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
def test_refuses_invalid_versions(api: ConfluentApi, version: str) -> None:
    api.register("s", V1)
    assert api.refused("GET", f"/subjects/s/versions/{version}") == (422, 42202)
    assert api.refused("DELETE", f"/subjects/s/versions/{version}") == (422, 42202)
    assert api.refused("POST", f"/compatibility/subjects/s/versions/{version}", {"schema": V1}) == (422, 42202)


def test_missing_subjects_and_versions_are_not_found(api: ConfluentApi) -> None:
    api.register("s", V1)
    for path in ("", "/schema", "/referencedby"):
        assert api.refused("GET", f"/subjects/s/versions/9{path}") == (404, 40402)
        assert api.refused("GET", f"/subjects/none/versions/1{path}") == (404, 40401)
        assert api.refused("GET", f"/subjects/none/versions/latest{path}") == (404, 40401)
    assert api.refused("GET", "/subjects/none/versions") == (404, 40401)
    assert api.refused("DELETE", "/subjects/none") == (404, 40401)
    assert api.refused("DELETE", "/subjects/none/versions/1") == (404, 40401)
    assert api.refused("DELETE", "/subjects/s/versions/2") == (404, 40402)


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
