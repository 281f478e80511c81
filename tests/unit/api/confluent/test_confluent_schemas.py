"""Schemas by id and UUID, contexts, import mode through Confluent's interface."""

import json

import pytest

from tests.unit.api.confluent.confluent_face import BROKEN, V1, V2, V3, Face

PROTO = 'syntax = "proto3";\n\nmessage M {\n  int32 a = 1;\n}\n'


@pytest.fixture
def face() -> Face:
    return Face()


def test_reads_schemas_by_id(face: Face) -> None:
    made = face.register("s", V1)
    assert face.get("/schemas/ids/1") == (200, {"schema": V1, "schemaType": "AVRO", "guid": made["guid"]})
    assert face.get("/schemas/ids/1", user_agent="Java/11") == (200, {"schema": V1, "schemaType": "AVRO"})
    assert face.get("/schemas/ids/1/schema") == (200, json.loads(V1))
    assert face.get("/schemas/ids/1?subject=s")[0] == 200


@pytest.mark.parametrize("schema_id", ["2", "0", "-1", "x", "99999999999", "٣"])
@pytest.mark.parametrize("rest", ["", "/schema", "/subjects", "/versions"])
def test_says_which_ids_there_are_not(face: Face, schema_id: str, rest: str) -> None:
    face.register("s", V1)
    status, answer = face.get(f"/schemas/ids/{schema_id}{rest}")
    assert (status, answer["error_code"], answer["message"]) == (404, 40403, f"Schema {schema_id} not found")


def test_an_id_belongs_to_its_subjects(face: Face) -> None:
    face.register("a", V1)
    face.register("b", V2)
    face.register("b", V3)
    face.register("c", V1)
    assert face.get("/schemas/ids/1/subjects") == (200, ["a", "c"])
    assert face.get("/schemas/ids/1/versions") == (200, [{"subject": "a", "version": 1}, {"subject": "c", "version": 1}])
    assert face.get("/schemas/ids/1/subjects?offset=1&limit=1") == (200, ["c"])
    # A consumer names the subject of its topic, and others register by another strategy: the id is found all the same.
    assert face.get("/schemas/ids/1/schema?subject=b") == face.get("/schemas/ids/1/schema")
    found = face.get("/schemas/ids/1?subject=b")[1]
    # SchemaString with a subject says whose it is.
    assert found == face.get("/schemas/ids/1")[1] | {"subject": "a", "version": 1}
    assert face.get("/schemas/ids/1?subject=:.:") == face.get("/schemas/ids/1")
    assert set(face.get("/schemas/ids/1?subject=b", user_agent="Java/11")[1]) == {"schema", "schemaType"}
    assert face.get("/schemas/ids/1/subjects?subject=b") == (200, ["a", "c"])
    face.delete("/subjects/a")
    assert face.get("/schemas/ids/1/subjects") == (200, ["c"])
    assert face.get("/schemas/ids/1/subjects?deleted=true") == (200, ["a", "c"])
    assert face.get("/schemas/ids/1")[0] == 200


def test_an_id_is_looked_for_in_the_context_that_has_its_subject(face: Face) -> None:
    face.put("/contexts/.ctx/mode", mode="IMPORT")
    face.register("a", V1)
    face.register(":.ctx:b", V2, id=1, version=1)
    assert face.get("/schemas/ids/1?subject=b")[1]["schema"] == V2
    assert face.get("/schemas/ids/1/versions?subject=b") == (200, [{"subject": ":.ctx:b", "version": 1}])
    assert face.get("/schemas/ids/1?subject=a")[1]["schema"] == V1
    assert face.get("/schemas/ids/1?subject=nobody")[1]["schema"] == V1
    # Whoever says the context means it.
    assert face.get("/schemas/ids/1?subject=:.ctx:b")[1]["schema"] == V2
    assert face.refused("GET", "/schemas/ids/1?subject=:.ctx:a") == (404, 40403)
    assert face.refused("GET", "/contexts/.ctx/schemas/ids/1?subject=a") == (404, 40403)
    assert face.get("/schemas/ids/1?subject=:.ctx:")[1]["schema"] == V2


def test_a_uuid_of_glue_is_a_guid(face: Face) -> None:
    made = face.register(":.ctx:s", V1)
    assert face.get(f"/schemas/guids/{made['guid']}")[1] == {"schema": V1, "schemaType": "AVRO", "guid": made["guid"]}
    assert face.get(f"/schemas/guids/{made['guid'].upper()}")[0] == 200
    assert face.get(f"/schemas/guids/{made['guid']}/ids") == (200, [{"context": ".ctx", "id": 1}])
    for text in ("x", "00000000-0000-0000-0000-000000000000"):
        assert face.refused("GET", f"/schemas/guids/{text}") == (404, 40403)


def test_lists_all_schemas(face: Face) -> None:
    face.register("a", V1)
    face.register("a", V2)
    face.register(":.ctx:b", V1)
    status, everything = face.get("/schemas")
    assert status == 200
    assert [(each["subject"], each["version"]) for each in everything] == [(":.ctx:b", 1), ("a", 1), ("a", 2)]
    assert everything[1]["schema"] == V1
    assert [each["version"] for each in face.get("/schemas?latestOnly=true&subjectPrefix=a")[1]] == [2]
    assert [each["version"] for each in face.get("/schemas?subjectPrefix=a&offset=1&limit=1")[1]] == [2]
    face.delete("/subjects/a/versions/1")
    assert [each["version"] for each in face.get("/schemas?subjectPrefix=a")[1]] == [2]
    assert [each["version"] for each in face.get("/schemas?subjectPrefix=a&deleted=true")[1]] == [1, 2]


def test_names_the_types(face: Face) -> None:
    from penstock.schema.formats import FORMATS

    assert sorted(face.get("/schemas/types")[1]) == sorted(FORMATS)


def test_protobuf_in_both_spellings(face: Face) -> None:
    made = face.register("p", PROTO, schemaType="PROTOBUF")
    assert face.get("/schemas/ids/1")[1]["schemaType"] == "PROTOBUF"
    _, answer = face.get("/subjects/p/versions/1?format=serialized")
    # What confluent-kafka's Python client registers.
    assert face.register("p", answer["schema"], schemaType="PROTOBUF")["id"] == made["id"]
    again = face.register("q", answer["schema"], schemaType="PROTOBUF")
    assert again["id"] == made["id"]
    assert "message M {" in face.get("/subjects/q/versions/1")[1]["schema"]
    assert face.http.get("/subjects/p/versions/1/schema").text == PROTO


def test_contexts_are_apart(face: Face) -> None:
    first = face.register("s", V1)
    other = face.register(":.ctx:s", V2)
    assert face.get("/contexts") == (200, [".", ".ctx"])
    assert face.get("/contexts?offset=1") == (200, [".ctx"])
    assert (other["subject"], other["version"]) == (":.ctx:s", 1)
    assert face.get("/contexts/.ctx/subjects") == (200, [":.ctx:s"])
    assert face.get("/contexts/.ctx/subjects/s/versions/latest")[1]["schema"] == V2
    assert face.get("/contexts/:.ctx:/subjects/s/versions/latest")[1]["schema"] == V2
    assert face.get("/contexts/.ctx/subjects/:.:s/versions/latest")[1]["schema"] == V1
    assert face.get(f"/contexts/.ctx/schemas/ids/{other['id']}")[1]["schema"] == V2
    assert face.get(f"/schemas/ids/{other['id']}?subject=:.ctx:")[1]["schema"] == V2
    assert face.refused("GET", f"/contexts/.ctx/schemas/ids/{first['id']}") == (404, 40403)
    assert face.refused("GET", f"/schemas/ids/{other['id']}") == (404, 40403)
    assert [each["subject"] for each in face.get("/contexts/.ctx/schemas")[1]] == [":.ctx:s"]
    assert face.get("/contexts/.ctx/contexts") == (200, [".", ".ctx"])
    path = "/contexts/.ctx/compatibility/subjects/s/versions/latest"
    assert face.post(path, schema=BROKEN) == (200, {"is_compatible": False})


def test_a_context_is_a_registry_of_glue(face: Face) -> None:
    face.register(":.my team:orders-value", V1)
    (schema,) = face.service.schemas.list().items
    assert schema.key == ("my$20team", "orders-value")
    face.service.registries.create("from-glue", description="")
    assert face.get("/contexts") == (200, [".", ".from-glue", ".my team"])
    assert face.register(":.default-registry:s", V1)["subject"] == "s"


def test_references_lead_into_other_contexts(face: Face) -> None:
    face.register("a", V1)
    uses = '{"type":"record","name":"U","fields":[{"name":"r","type":"R"}]}'
    reference = {"name": "R", "subject": ":.:a", "version": 1}
    face.register(":.ctx:u", uses, references=[reference])
    assert face.get("/contexts/.ctx/subjects/u/versions/1")[1]["references"] == [reference]
    inside = {"name": "R", "subject": "a", "version": 1}
    body = {"schema": uses, "references": [inside]}
    assert face.refused("POST", "/subjects/:.ctx:v/versions", body) == (422, 42201)
    face.register(":.ctx:a", V1)
    face.register(":.ctx:v", uses, references=[inside])
    # In full, so that clients of either URL find it.
    found = face.get("/contexts/.ctx/subjects/v/versions/1")[1]["references"]
    assert found == [{**inside, "subject": ":.ctx:a"}]


def test_deletes_empty_contexts(face: Face) -> None:
    face.register(":.ctx:s", V1)
    assert face.refused("DELETE", "/contexts/.ctx") == (422, 42211)
    face.delete("/subjects/:.ctx:s")
    assert face.refused("DELETE", "/contexts/.ctx") == (422, 42211)
    face.delete("/subjects/:.ctx:s?permanent=true")
    assert face.delete("/contexts/.ctx")[0] == 200
    assert face.get("/contexts") == (200, ["."])
    assert face.refused("DELETE", "/contexts/.ctx") == (422, 42208)


def test_import_mode_keeps_ids_and_versions(face: Face) -> None:
    face.put("/mode/s", mode="IMPORT")
    made = face.register("s", V1, id=100, version=3)
    assert (made["id"], made["version"]) == (100, 3)
    assert face.register("s", V1, id=100, version=3)["guid"] == made["guid"]
    # No check of compatibility, and no order of versions.
    assert face.register("s", BROKEN, id=90, version=1)["version"] == 1
    assert face.get("/subjects/s/versions") == (200, [1, 3])
    status, answer = face.post("/subjects/s/versions", schema=V2, id=100, version=4)
    # checkIfSchemaWithIdExist
    assert (status, answer["error_code"]) == (422, 42205)
    assert answer["message"].startswith("Overwrite new schema with id 100 in context :.: is not permitted.")
    assert face.refused("POST", "/subjects/s/versions", {"schema": V1, "id": 101}) == (422, 42207)
    assert face.refused("POST", "/subjects/s/versions", {"schema": V2, "id": 102, "version": 1}) == (422, 42205)
    assert face.refused("POST", "/subjects/s/versions", {"schema": V2}) == (422, 42205)
    face.put("/mode/s", mode="READWRITE")
    after = face.register("s", V2)
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
def test_an_import_takes_legacy_avro(face: Face, text: str) -> None:
    """canonicalizeSchema: what comes with an id is not new, so that AvroSchema checks neither names nor defaults."""
    face.put("/mode/:.old:", mode="IMPORT")
    made = face.register(":.old:s", text, id=7, version=1)
    assert (made["id"], made["version"]) == (7, 1)
    face.register(":.old:s", V1, id=8, version=2)
    assert face.get("/subjects/:.old:s/versions/1")[1]["schema"] == text
    assert face.post("/subjects/:.old:s", schema=text)[1]["id"] == 7
    assert face.get("/subjects/:.old:s/versions/1?format=resolved")[0] == 200
    assert face.register(":.old:s", json.dumps(json.loads(text), indent=1), id=7, version=1)["guid"] == made["guid"]
    face.put("/mode/:.old:", mode="READWRITE")
    # What is new is checked, and compared with what is old.
    assert face.refused("POST", "/subjects/:.old:t/versions", {"schema": text}) == (422, 42201)
    assert face.refused("POST", "/compatibility/subjects/:.old:s/versions/1", {"schema": text}) == (422, 42201)
    assert face.post("/compatibility/subjects/:.old:s/versions/1", schema=V1)[0] == 200


def test_what_builds_on_legacy_avro_can_be_imported_and_registered(face: Face) -> None:
    face.put("/mode/:.old:", mode="IMPORT")
    inner = '{"type":"record","name":"my-inner","fields":[{"name":"1","type":"int","default":"x"}]}'
    face.register(":.old:inner", inner, id=7, version=1)
    face.put("/mode/:.old:", mode="READWRITE")
    outer = '{"type":"record","name":"Outer","fields":[{"name":"in","type":"my-inner"}]}'
    reference = {"name": "my-inner", "subject": "inner", "version": 1}
    assert face.register(":.old:outer", outer, references=[reference])["version"] == 1
    assert face.get("/subjects/:.old:outer/versions/1?format=resolved")[0] == 200


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
def test_an_import_refuses_what_is_no_avro(face: Face, text: str) -> None:
    face.put("/mode/:.old:", mode="IMPORT")
    assert face.refused("POST", "/subjects/:.old:s/versions", {"schema": text, "id": 7, "version": 1}) == (422, 42201)


def test_import_mode_in_another_context_may_use_the_same_ids(face: Face) -> None:
    face.register("s", V1)
    face.put("/mode/:.copy:", mode="IMPORT")
    made = face.register(":.copy:s", V2, id=1, version=1)
    assert made["id"] == 1
    assert face.get("/contexts/.copy/schemas/ids/1")[1]["schema"] == V2
    assert face.get("/schemas/ids/1")[1]["schema"] == V1


def test_import_needs_an_empty_place_or_force(face: Face) -> None:
    face.register("s", V1)
    for path in ("/mode", "/mode/s", "/mode/:.:"):
        assert face.refused("PUT", path, {"mode": "IMPORT"}) == (422, 42205)
    assert face.put("/mode/s?force=true", mode="IMPORT") == (200, {"mode": "IMPORT"})
    assert face.put("/mode/other", mode="IMPORT") == (200, {"mode": "IMPORT"})
