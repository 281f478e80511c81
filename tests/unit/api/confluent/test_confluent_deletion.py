"""Deletion in two steps through Confluent's API, and what comes back."""

import json

from tests.unit.api.confluent.confluent_api import BROKEN, V1, V2, ConfluentApi


def test_soft_deleted_versions_as_negative_numbers(api: ConfluentApi) -> None:
    api.register("s", V1)
    api.register("s", V2)
    api.delete("/subjects/s/versions/1")
    assert api.get("/subjects/s/versions?deleted=true&deletedAsNegative=true") == (200, [-1, 2])
    assert api.get("/subjects/s/versions?deletedAsNegative=true") == (200, [2])


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


def test_deleting_the_last_version_permanently_deletes_level_and_mode(api: ConfluentApi) -> None:
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


def test_a_deleted_schema_comes_back_with_its_id(api: ConfluentApi) -> None:
    api.register("s", V1)
    before = api.register("s", V2)
    api.delete("/subjects/s/versions/2")
    after = api.register("s", V2)
    assert (after["id"], after["guid"], after["version"]) == (before["id"], before["guid"], 3)


def test_deleted_versions_are_not_checked_against(api: ConfluentApi) -> None:
    api.register("s", V1)
    api.delete("/subjects/s")
    assert api.register("s", BROKEN)["version"] == 2


def test_referenced_versions_cannot_be_deleted(api: ConfluentApi) -> None:
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
