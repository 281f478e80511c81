"""Schemas by id and UUID, contexts, import mode through Confluent's API."""

import json

import pytest

from tests.unit.api.confluent.confluent_api import BROKEN, V1, V2, V3, ConfluentApi

PROTO = 'syntax = "proto3";\n\nmessage M {\n  int32 a = 1;\n}\n'


def test_reads_schemas_by_id(api: ConfluentApi) -> None:
    made = api.register("s", V1)
    assert api.get("/schemas/ids/1") == (200, {"schema": V1, "schemaType": "AVRO", "guid": made["guid"]})
    assert api.get("/schemas/ids/1", user_agent="Java/11") == (200, {"schema": V1, "schemaType": "AVRO"})
    assert api.get("/schemas/ids/1/schema") == (200, json.loads(V1))
    assert api.get("/schemas/ids/1?subject=s")[0] == 200


@pytest.mark.parametrize("schema_id", ["2", "0", "-1", "x", "99999999999", "٣"])
@pytest.mark.parametrize("rest", ["", "/schema", "/subjects", "/versions"])
def test_unknown_ids_are_not_found(api: ConfluentApi, schema_id: str, rest: str) -> None:
    api.register("s", V1)
    status, answer = api.get(f"/schemas/ids/{schema_id}{rest}")
    assert (status, answer["error_code"], answer["message"]) == (404, 40403, f"Schema {schema_id} not found")


def test_an_id_belongs_to_its_subjects(api: ConfluentApi) -> None:
    api.register("a", V1)
    api.register("b", V2)
    api.register("b", V3)
    api.register("c", V1)
    assert api.get("/schemas/ids/1/subjects") == (200, ["a", "c"])
    assert api.get("/schemas/ids/1/versions") == (200, [{"subject": "a", "version": 1}, {"subject": "c", "version": 1}])
    assert api.get("/schemas/ids/1/subjects?offset=1&limit=1") == (200, ["c"])
    # A consumer names the subject of its topic, and others register by another strategy: the id is found all the same.
    assert api.get("/schemas/ids/1/schema?subject=b") == api.get("/schemas/ids/1/schema")
    result = api.get("/schemas/ids/1?subject=b")[1]
    # SchemaString with a subject says whose it is.
    assert result == api.get("/schemas/ids/1")[1] | {"subject": "a", "version": 1}
    assert api.get("/schemas/ids/1?subject=:.:") == api.get("/schemas/ids/1")
    assert set(api.get("/schemas/ids/1?subject=b", user_agent="Java/11")[1]) == {"schema", "schemaType"}
    assert api.get("/schemas/ids/1/subjects?subject=b") == (200, ["a", "c"])
    api.delete("/subjects/a")
    assert api.get("/schemas/ids/1/subjects") == (200, ["c"])
    assert api.get("/schemas/ids/1/subjects?deleted=true") == (200, ["a", "c"])
    assert api.get("/schemas/ids/1")[0] == 200


def test_an_id_is_looked_for_in_the_context_that_has_its_subject(api: ConfluentApi) -> None:
    api.put("/contexts/.ctx/mode", mode="IMPORT")
    api.register("a", V1)
    api.register(":.ctx:b", V2, id=1, version=1)
    assert api.get("/schemas/ids/1?subject=b")[1]["schema"] == V2
    assert api.get("/schemas/ids/1/versions?subject=b") == (200, [{"subject": ":.ctx:b", "version": 1}])
    assert api.get("/schemas/ids/1?subject=a")[1]["schema"] == V1
    assert api.get("/schemas/ids/1?subject=nobody")[1]["schema"] == V1
    # If the request names a context, no other one is searched.
    assert api.get("/schemas/ids/1?subject=:.ctx:b")[1]["schema"] == V2
    assert api.refused("GET", "/schemas/ids/1?subject=:.ctx:a") == (404, 40403)
    assert api.refused("GET", "/contexts/.ctx/schemas/ids/1?subject=a") == (404, 40403)
    assert api.get("/schemas/ids/1?subject=:.ctx:")[1]["schema"] == V2


def test_a_uuid_of_glue_is_a_guid(api: ConfluentApi) -> None:
    made = api.register(":.ctx:s", V1)
    assert api.get(f"/schemas/guids/{made['guid']}")[1] == {"schema": V1, "schemaType": "AVRO", "guid": made["guid"]}
    assert api.get(f"/schemas/guids/{made['guid'].upper()}")[0] == 200
    assert api.get(f"/schemas/guids/{made['guid']}/ids") == (200, [{"context": ".ctx", "id": 1}])
    for text in ("x", "00000000-0000-0000-0000-000000000000"):
        assert api.refused("GET", f"/schemas/guids/{text}") == (404, 40403)


def test_lists_all_schemas(api: ConfluentApi) -> None:
    api.register("a", V1)
    api.register("a", V2)
    api.register(":.ctx:b", V1)
    status, everything = api.get("/schemas")
    assert status == 200
    assert [(item["subject"], item["version"]) for item in everything] == [(":.ctx:b", 1), ("a", 1), ("a", 2)]
    assert everything[1]["schema"] == V1
    assert [item["version"] for item in api.get("/schemas?latestOnly=true&subjectPrefix=a")[1]] == [2]
    assert [item["version"] for item in api.get("/schemas?subjectPrefix=a&offset=1&limit=1")[1]] == [2]
    api.delete("/subjects/a/versions/1")
    assert [item["version"] for item in api.get("/schemas?subjectPrefix=a")[1]] == [2]
    assert [item["version"] for item in api.get("/schemas?subjectPrefix=a&deleted=true")[1]] == [1, 2]


def test_names_the_types(api: ConfluentApi) -> None:
    from penstock.schema.formats import FORMATS

    assert sorted(api.get("/schemas/types")[1]) == sorted(FORMATS)


def test_protobuf_in_both_spellings(api: ConfluentApi) -> None:
    made = api.register("p", PROTO, schemaType="PROTOBUF")
    assert api.get("/schemas/ids/1")[1]["schemaType"] == "PROTOBUF"
    _, answer = api.get("/subjects/p/versions/1?format=serialized")
    # What confluent-kafka's Python client registers.
    assert api.register("p", answer["schema"], schemaType="PROTOBUF")["id"] == made["id"]
    again = api.register("q", answer["schema"], schemaType="PROTOBUF")
    assert again["id"] == made["id"]
    assert "message M {" in api.get("/subjects/q/versions/1")[1]["schema"]
    assert api.http.get("/subjects/p/versions/1/schema").text == PROTO


def test_contexts_are_apart(api: ConfluentApi) -> None:
    first = api.register("s", V1)
    other = api.register(":.ctx:s", V2)
    assert api.get("/contexts") == (200, [".", ".ctx"])
    assert api.get("/contexts?offset=1") == (200, [".ctx"])
    assert (other["subject"], other["version"]) == (":.ctx:s", 1)
    assert api.get("/contexts/.ctx/subjects") == (200, [":.ctx:s"])
    assert api.get("/contexts/.ctx/subjects/s/versions/latest")[1]["schema"] == V2
    assert api.get("/contexts/:.ctx:/subjects/s/versions/latest")[1]["schema"] == V2
    assert api.get("/contexts/.ctx/subjects/:.:s/versions/latest")[1]["schema"] == V1
    assert api.get(f"/contexts/.ctx/schemas/ids/{other['id']}")[1]["schema"] == V2
    assert api.get(f"/schemas/ids/{other['id']}?subject=:.ctx:")[1]["schema"] == V2
    assert api.refused("GET", f"/contexts/.ctx/schemas/ids/{first['id']}") == (404, 40403)
    assert api.refused("GET", f"/schemas/ids/{other['id']}") == (404, 40403)
    assert [item["subject"] for item in api.get("/contexts/.ctx/schemas")[1]] == [":.ctx:s"]
    assert api.get("/contexts/.ctx/contexts") == (200, [".", ".ctx"])
    path = "/contexts/.ctx/compatibility/subjects/s/versions/latest"
    assert api.post(path, schema=BROKEN) == (200, {"is_compatible": False})


def test_a_context_is_a_registry_of_glue(api: ConfluentApi) -> None:
    api.register(":.my team:orders-value", V1)
    (schema,) = api.service.schemas.list().items
    assert schema.key == ("my$20team", "orders-value")
    api.service.registries.create("from-glue", description="")
    assert api.get("/contexts") == (200, [".", ".from-glue", ".my team"])
    assert api.register(":.default-registry:s", V1)["subject"] == "s"


def test_references_lead_into_other_contexts(api: ConfluentApi) -> None:
    api.register("a", V1)
    uses = '{"type":"record","name":"U","fields":[{"name":"r","type":"R"}]}'
    reference = {"name": "R", "subject": ":.:a", "version": 1}
    api.register(":.ctx:u", uses, references=[reference])
    assert api.get("/contexts/.ctx/subjects/u/versions/1")[1]["references"] == [reference]
    inside = {"name": "R", "subject": "a", "version": 1}
    body = {"schema": uses, "references": [inside]}
    assert api.refused("POST", "/subjects/:.ctx:v/versions", body) == (422, 42201)
    api.register(":.ctx:a", V1)
    api.register(":.ctx:v", uses, references=[inside])
    # In full, so that clients of either URL find it.
    result = api.get("/contexts/.ctx/subjects/v/versions/1")[1]["references"]
    assert result == [{**inside, "subject": ":.ctx:a"}]


def test_deletes_empty_contexts(api: ConfluentApi) -> None:
    api.register(":.ctx:s", V1)
    assert api.refused("DELETE", "/contexts/.ctx") == (422, 42211)
    api.delete("/subjects/:.ctx:s")
    assert api.refused("DELETE", "/contexts/.ctx") == (422, 42211)
    api.delete("/subjects/:.ctx:s?permanent=true")
    assert api.delete("/contexts/.ctx")[0] == 200
    assert api.get("/contexts") == (200, ["."])
    assert api.refused("DELETE", "/contexts/.ctx") == (422, 42208)


def test_import_mode_keeps_ids_and_versions(api: ConfluentApi) -> None:
    api.put("/mode/s", mode="IMPORT")
    made = api.register("s", V1, id=100, version=3)
    assert (made["id"], made["version"]) == (100, 3)
    assert api.register("s", V1, id=100, version=3)["guid"] == made["guid"]
    # No check of compatibility, and no order of versions.
    assert api.register("s", BROKEN, id=90, version=1)["version"] == 1
    assert api.get("/subjects/s/versions") == (200, [1, 3])
    status, answer = api.post("/subjects/s/versions", schema=V2, id=100, version=4)
    # checkIfSchemaWithIdExist
    assert (status, answer["error_code"]) == (422, 42205)
    assert answer["message"].startswith("Overwrite new schema with id 100 in context :.: is not permitted.")
    assert api.refused("POST", "/subjects/s/versions", {"schema": V1, "id": 101}) == (422, 42207)
    assert api.refused("POST", "/subjects/s/versions", {"schema": V2, "id": 102, "version": 1}) == (422, 42205)
    assert api.refused("POST", "/subjects/s/versions", {"schema": V2}) == (422, 42205)
    api.put("/mode/s", mode="READWRITE")
    after = api.register("s", V2)
    assert (after["version"], after["id"]) == (4, 101)


LEGACY = {
    "a field's name": '{"type":"record","name":"R","fields":[{"name":"bad-name","type":"int"}]}',
    "a type's name": '{"type":"record","name":"my-record","namespace":"com.my-team","fields":[]}',
    "digits in front": '{"type":"record","name":"R","fields":[{"name":"1a","type":{"type":"fixed","name":"2","size":1}}]}',
    "a symbol": '{"type":"enum","name":"E","symbols":["a b","ü"]}',
    "an alias": '{"type":"record","name":"R","aliases":["old-name"],"fields":[]}',
    "a default": '{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"zero"}]}',
    "a default of a union": '{"type":"record","name":"R","fields":[{"name":"a","type":["string","null"],"default":null}]}',
}


@pytest.mark.parametrize("text", LEGACY.values(), ids=LEGACY)
def test_an_import_takes_legacy_avro(api: ConfluentApi, text: str) -> None:
    """canonicalizeSchema: what comes with an id is not new, so that AvroSchema checks neither names nor defaults."""
    api.put("/mode/:.old:", mode="IMPORT")
    made = api.register(":.old:s", text, id=7, version=1)
    assert (made["id"], made["version"]) == (7, 1)
    api.register(":.old:s", V1, id=8, version=2)
    assert api.get("/subjects/:.old:s/versions/1")[1]["schema"] == text
    assert api.post("/subjects/:.old:s", schema=text)[1]["id"] == 7
    assert api.get("/subjects/:.old:s/versions/1?format=resolved")[0] == 200
    assert api.register(":.old:s", json.dumps(json.loads(text), indent=1), id=7, version=1)["guid"] == made["guid"]
    api.put("/mode/:.old:", mode="READWRITE")
    # What is new is checked, and compared with what is old.
    assert api.refused("POST", "/subjects/:.old:t/versions", {"schema": text}) == (422, 42201)
    assert api.refused("POST", "/compatibility/subjects/:.old:s/versions/1", {"schema": text}) == (422, 42201)
    assert api.post("/compatibility/subjects/:.old:s/versions/1", schema=V1)[0] == 200


def test_what_builds_on_legacy_avro_can_be_imported_and_registered(api: ConfluentApi) -> None:
    api.put("/mode/:.old:", mode="IMPORT")
    inner = '{"type":"record","name":"my-inner","fields":[{"name":"1","type":"int","default":"x"}]}'
    api.register(":.old:inner", inner, id=7, version=1)
    api.put("/mode/:.old:", mode="READWRITE")
    outer = '{"type":"record","name":"Outer","fields":[{"name":"in","type":"my-inner"}]}'
    reference = {"name": "my-inner", "subject": "inner", "version": 1}
    assert api.register(":.old:outer", outer, references=[reference])["version"] == 1
    assert api.get("/subjects/:.old:outer/versions/1?format=resolved")[0] == 200


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '"nothing"',
        '{"type":"record","name":"","fields":[]}',
        '{"type":"record","name":"R","fields":[{"name":"a","type":"Unknown"}]}',
        '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"a","type":"int"}]}',
        '{"type":"enum","name":"E","symbols":["a","a"]}',
        '{"type":"enum","name":"E","symbols":["a"],"default":"b"}',
        '{"type":"fixed","name":"F","size":-1}',
        '["null","null"]',
        '{"type":"record","name":"R","fields":[{"name":"a\\u0000","type":"int"}]}',
        '{"type":"record","name":"%s","fields":[]}' % ("x" * 1_001),
    ],
)
def test_an_import_refuses_invalid_avro(api: ConfluentApi, text: str) -> None:
    api.put("/mode/:.old:", mode="IMPORT")
    assert api.refused("POST", "/subjects/:.old:s/versions", {"schema": text, "id": 7, "version": 1}) == (422, 42201)


def test_import_mode_in_another_context_may_use_the_same_ids(api: ConfluentApi) -> None:
    api.register("s", V1)
    api.put("/mode/:.copy:", mode="IMPORT")
    made = api.register(":.copy:s", V2, id=1, version=1)
    assert made["id"] == 1
    assert api.get("/contexts/.copy/schemas/ids/1")[1]["schema"] == V2
    assert api.get("/schemas/ids/1")[1]["schema"] == V1


def test_import_needs_an_empty_place_or_force(api: ConfluentApi) -> None:
    api.register("s", V1)
    for path in ("/mode", "/mode/s", "/mode/:.:"):
        assert api.refused("PUT", path, {"mode": "IMPORT"}) == (422, 42205)
    assert api.put("/mode/s?force=true", mode="IMPORT") == (200, {"mode": "IMPORT"})
    assert api.put("/mode/other", mode="IMPORT") == (200, {"mode": "IMPORT"})
