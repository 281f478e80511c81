"""Configurations beside the level: metadata under and over a schema's own, groups, reserved fields, policies."""

import json
from typing import Any

import pytest

from penstock.registry.errors import IncompatibleSchema
from penstock.registry.model import SchemaKey
from tests.unit.api.confluent.confluent_api import BROKEN, V1, V2, V3, ConfluentApi
from tests.unit.registry.registrations import register

UNDER = {"properties": {"owner": "nobody", "team": "core"}, "tags": {"R.a": ["X"]}, "sensitive": ["team"]}
OVER = {"properties": {"team": "all"}, "sensitive": ["owner"]}


def metadata(api: ConfluentApi, subject: str, version: int | str = "latest") -> Any:
    return api.get(f"/subjects/{subject}/versions/{version}")[1].get("metadata")


def test_settings_are_answered_merged_and_null_unsets_one(api: ConfluentApi) -> None:
    assert api.put("/config/s", compatibility="full", validateFields=True) == (
        200,
        {"compatibility": "FULL", "validateFields": True},
    )
    everything = {
        "compatibility": "FULL",
        "validateFields": True,
        "normalize": True,
        "compatibilityPolicy": "LENIENT",
        "compatibilityGroup": "major",
        "defaultMetadata": UNDER,
        "overrideMetadata": OVER,
    }
    further = {name: value for name, value in everything.items() if name not in {"compatibility", "validateFields"}}
    assert api.put("/config/s", **further) == (200, everything)
    shown = {"compatibilityLevel": "FULL", **{name: everything[name] for name in everything if name != "compatibility"}}
    assert api.get("/config/s") == (200, shown)
    left = {name: value for name, value in everything.items() if name not in {"compatibility", "defaultMetadata"}}
    assert api.put("/config/s", compatibility=None, defaultMetadata=None) == (200, left)
    assert api.delete("/config/s") == (200, left)
    assert api.refused("GET", "/config/s") == (404, 40408)
    assert api.put("/config", normalize=False) == (200, {"normalize": False})
    assert api.put("/config/s", normalize=True) == (200, {"normalize": True})
    assert api.put("/config/s", normalize=None) == (200, {})
    assert api.refused("GET", "/config/s") == (404, 40408)


def test_a_level_that_was_set_before_the_first_version_can_be_taken_back(api: ConfluentApi) -> None:
    api.put("/config/s", compatibility="NONE")
    api.register("s", V1)
    assert api.put("/config/s", compatibility=None) == (200, {})
    assert api.refused("GET", "/config/s") == (404, 40408)
    assert api.refused("POST", "/subjects/s/versions", {"schema": BROKEN}) == (409, 409)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"defaultRuleSet": {"domainRules": []}}, (422, 42210)),
        ({"overrideRuleSet": {"domainRules": []}}, (422, 42210)),
        ({"validateRules": True}, (422, 42210)),
        ({"validateNewSchemas": False}, (422, 42210)),
        ({"aliasForDeks": "x"}, (422, 42210)),
        ({"compatibilityPolicy": "LOGICAL"}, (422, 42210)),
        ({"Compatibility": "FULL"}, (422, 422)),
        ({"level": "FULL"}, (422, 422)),
        ({"compatibility": ""}, (422, 42203)),
        ({"compatibility": "FULL", "compatibilityLevel": "NONE"}, (400, 400)),
        ({"validateFields": "true"}, (400, 400)),
        ({"compatibilityGroup": 1}, (400, 400)),
        ({"compatibilityGroup": "x" * 256}, (400, 400)),
        ({"defaultMetadata": {"owner": "x"}}, (400, 400)),
        ({"overrideMetadata": {"properties": {"a": 1}}}, (400, 400)),
        ({"overrideMetadata": {"properties": {"a": "x" * 100_001}}}, (422, 42209)),
    ],
)
def test_refuses_settings_that_would_be_lost(api: ConfluentApi, body: dict[str, Any], expected: tuple[int, int]) -> None:
    assert api.refused("PUT", "/config/s", {"normalize": True, **body}) == expected
    assert api.refused("GET", "/config/s") == (404, 40408)


def test_settings_that_ask_for_nothing_are_accepted(api: ConfluentApi) -> None:
    nothing = {"defaultRuleSet": None, "validateRules": False, "validateNewSchemas": True, "aliasForDeks": None}
    assert api.put("/config/s", compatibility="FULL", **nothing) == (200, {"compatibility": "FULL"})


@pytest.mark.parametrize("scope", ["/config", "/config/:.:", "/config/s"])
def test_default_and_override_metadata(api: ConfluentApi, scope: str) -> None:
    api.put(scope, defaultMetadata=UNDER, overrideMetadata=OVER)
    made = api.register("s", V1)
    first = {
        "properties": {"owner": "nobody", "team": "all"},
        "tags": {"R.a": ["X"]},
        "sensitive": ["owner", "team"],
    }
    assert metadata(api, "s") == first
    assert api.register("s", V1) == made
    assert api.post("/subjects/s", schema=V1)[1]["version"] == 1
    own = {"properties": {"owner": "ana", "team": "mine"}, "tags": {"R.b": ["Y"]}}
    assert api.register("s", V2, metadata=own)["version"] == 2
    assert metadata(api, "s") == {
        "properties": {"owner": "ana", "team": "all"},
        "tags": {"R.a": ["X"], "R.b": ["Y"]},
        "sensitive": ["owner", "team"],
    }
    assert api.register("s", V2, metadata=own)["version"] == 2
    # The version before says what a version without any has, with the same over it.
    assert api.register("s", V3)["version"] == 3
    assert metadata(api, "s")["properties"] == {"owner": "ana", "team": "all"}
    # An import keeps what it is given.
    api.call("PUT", "/mode/s?force=true", {"mode": "IMPORT"})
    api.register("s", V1.replace('"a"', '"z"'), id=77, version=9)
    assert metadata(api, "s", 9) is None


def test_the_audit_log_records_that_metadata_changed_and_not_its_content(api: ConfluentApi) -> None:
    api.put("/config/s", compatibility="FULL", overrideMetadata={"properties": {"owner": "a secret"}})
    (entry,) = api.service.audit.list(resource="schema/default-registry/s").items
    assert entry.outcome == "compatibility FULL, override_metadata of 35 characters"


def test_metadata_of_a_configuration_reaches_glues_callers_by_the_version_before(api: ConfluentApi) -> None:
    api.put("/config", overrideMetadata=OVER)
    api.register("s", V1)
    register(api.service, SchemaKey("default-registry", "s"), V2)
    assert metadata(api, "s", 2) == OVER


def major(number: str) -> dict[str, dict[str, str]]:
    return {"properties": {"major": number}}


@pytest.mark.parametrize("level", ["BACKWARD", "BACKWARD_TRANSITIVE"])
def test_versions_are_compared_inside_their_group(api: ConfluentApi, level: str) -> None:
    api.put("/config/s", compatibility=level, compatibilityGroup="major")
    api.register("s", V1, metadata=major("1"))
    assert api.refused("POST", "/subjects/s/versions", {"schema": BROKEN, "metadata": major("1")}) == (409, 409)
    path = "/compatibility/subjects/s/versions"
    for rest in ("", "/latest", "/1"):
        assert api.post(path + rest, schema=BROKEN, metadata=major("2"))[1] == {"is_compatible": True}
        assert api.post(path + rest, schema=BROKEN, metadata=major("1"))[1] == {"is_compatible": False}
    assert api.register("s", BROKEN, metadata=major("2"))["version"] == 2
    # The last of its own group, not the last of all.
    assert api.register("s", V2, metadata=major("1"))["version"] == 3
    assert api.refused("POST", "/subjects/s/versions", {"schema": V2, "metadata": major("2")}) == (409, 409)
    # Without a value it is in the group of the version before.
    assert api.refused("POST", "/subjects/s/versions", {"schema": BROKEN.replace("string", "bytes")}) == (409, 409)


def test_a_group_of_glues_callers_is_the_whole_schema(api: ConfluentApi) -> None:
    api.put("/config/s", compatibility="BACKWARD_TRANSITIVE", compatibilityGroup="major")
    api.register("s", V1, metadata=major("1"))
    api.register("s", BROKEN, metadata=major("2"))
    with pytest.raises(IncompatibleSchema):
        register(api.service, SchemaKey("default-registry", "s"), V2, keep_refused=False)


def reserved(*names: str) -> dict[str, dict[str, str]]:
    return {"properties": {"confluent:reserved": ",".join(names)}}


SCHEMAS = {
    "AVRO": V1,
    "JSON": '{"type":"object","properties":{"a":{"type":"integer"}}}',
    "PROTOBUF": 'syntax = "proto3";\nmessage M { int32 b = 1; }\nmessage N { int32 a = 1; }\n',
}


@pytest.mark.parametrize("schema_type", SCHEMAS)
@pytest.mark.parametrize("level", ["NONE", "BACKWARD"])
def test_reserved_fields_are_not_used(api: ConfluentApi, schema_type: str, level: str) -> None:
    body = {"schema": SCHEMAS[schema_type], "schemaType": schema_type, "metadata": reserved("x", " a ")}
    api.put("/config", compatibility=level)
    assert api.call("POST", "/subjects/free/versions", body)[0] == 200, "nothing is validated unless it is asked for"
    api.put("/config/s", validateFields=True)
    rule = "FIELD_CONFLICTS_WITH_RESERVED_FIELD"
    for _ in range(2):
        status, answer = api.call("POST", "/subjects/s/versions", body)
        assert (status, [item["rule"] for item in answer["incompatibilities"]]) == (409, [rule])
        assert "The new schema has field that conflicts with the reserved field a." in answer["message"]
        assert f"{{compatibility: '{level}'}}" in answer["message"]
        for rest in ("", "/latest"):
            _, answer = api.call("POST", f"/compatibility/subjects/s/versions{rest}?verbose=true", body)
            assert (answer["is_compatible"], len(answer["messages"])) == (False, 1)
        # Once without versions, once with one.
        api.call("POST", "/subjects/s/versions", {**body, "metadata": reserved("x")})


def test_reserved_fields_stay_reserved(api: ConfluentApi) -> None:
    api.put("/config/s", compatibility="NONE", validateFields=True)
    api.register("s", V1, metadata=reserved("x", "y"))
    status, answer = api.post("/subjects/s/versions", schema=V2, metadata=reserved("y", "z"))
    assert (status, answer["incompatibilities"][0]["rule"]) == (409, "RESERVED_FIELD_REMOVED")
    assert "The new schema has reserved field x removed from its metadata" in answer["message"]
    # Without metadata it goes on with that of the version before.
    assert api.register("s", V2)["version"] == 2
    used = V1.replace('"a"', '"x"')
    assert api.refused("POST", "/subjects/s/versions", {"schema": used}) == (409, 409)
    api.put("/config/s", validateFields=False)
    assert api.register("s", used)["version"] == 3


def test_an_import_is_not_checked_for_reserved_fields(api: ConfluentApi) -> None:
    api.put("/config/s", validateFields=True)
    api.put("/mode/s", mode="IMPORT")
    for number in (1, 2):
        assert (
            api.register("s", (V1, V2)[number - 1], id=number, version=number, metadata=reserved("a"))["version"] == number
        )


def test_the_lenient_policy_opens_content_models(api: ConfluentApi) -> None:
    old = json.dumps({"type": "object", "properties": {"a": {"type": "string"}}})
    new = json.dumps({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}})
    api.register("s", old, schemaType="JSON")
    assert api.refused("POST", "/subjects/s/versions", {"schema": new, "schemaType": "JSON"}) == (409, 409)
    assert api.put("/config/s", compatibilityPolicy="lenient") == (200, {"compatibilityPolicy": "LENIENT"})
    assert api.register("s", new, schemaType="JSON")["version"] == 2


def test_read_only_override_overrides_subjects(api: ConfluentApi) -> None:
    api.register("s", V1)
    api.register(":.ctx:s", V1)
    for path in ("/mode/s", "/mode/:.ctx:", "/mode/:.ctx:s"):
        api.put(path, mode="READWRITE")
    assert api.put("/mode", mode="readonly_override") == (200, {"mode": "READONLY_OVERRIDE"})
    for path in ("/mode", "/mode/s", "/mode/:.ctx:s", "/mode/other?defaultToGlobal=true", "/mode/other"):
        assert api.get(path) == (200, {"mode": "READONLY_OVERRIDE"})
    for subject in ("s", ":.ctx:s", "new"):
        for path in (f"/mode/{subject}", "/mode/:.ctx:"):
            api.call("PUT", f"{path}?force=true", {"mode": "IMPORT"})
        assert api.refused("POST", f"/subjects/{subject}/versions", {"schema": V2}) == (422, 42205)
        assert api.refused("POST", f"/subjects/{subject}/versions", {"schema": V2, "id": 9, "version": 9}) == (422, 42205)
        assert api.refused("PUT", f"/config/{subject}", {"compatibility": "NONE"}) == (422, 42205)
        assert api.refused("PUT", f"/config/{subject}", {"alias": "elsewhere"}) == (422, 42205)
    assert api.refused("DELETE", "/subjects/s") == (422, 42205)
    assert api.refused("DELETE", "/config") == (422, 42205)
    api.put("/mode", mode="READWRITE")
    api.delete("/mode/s")
    assert api.register("s", V2)["version"] == 2
    # Of a subject alone it is READONLY.
    api.put("/mode/s", mode="READONLY_OVERRIDE")
    assert api.refused("POST", "/subjects/s/versions", {"schema": V3}) == (422, 42205)
    api.delete("/mode/:.ctx:s")
    api.put("/mode/:.ctx:", mode="READWRITE")
    assert api.register(":.ctx:s", V2)["version"] == 2
