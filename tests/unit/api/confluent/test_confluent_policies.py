"""Levels and modes through Confluent's API."""

from collections.abc import Mapping
from typing import Any

import pytest

from penstock.api.aws.registry import operations as registry
from penstock.registry.errors import NotWritable
from penstock.registry.model import SchemaKey
from penstock.registry.schemas import NewSchema
from penstock.schema.compatibility import CompatibilityMode
from tests.unit.api.confluent.confluent_api import BROKEN, V1, V2, ConfluentApi
from tests.unit.api.handlers import called

LEVELS = ["NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("scope", ["", "/s", "/:.ctx:", "/:.ctx:s"])
def test_keeps_every_level(api: ConfluentApi, level: str, scope: str) -> None:
    assert api.put(f"/config{scope}", compatibility=level.lower()) == (200, {"compatibility": level})
    assert api.get(f"/config{scope}") == (200, {"compatibilityLevel": level})
    api.register("s", V1)
    api.register(":.ctx:s", V1)
    assert api.get("/config/s?defaultToGlobal=true")[1]["compatibilityLevel"] == (
        level if scope in {"", "/s"} else "BACKWARD"
    )
    assert api.get("/config/:.ctx:s?defaultToGlobal=true")[1]["compatibilityLevel"] == (
        "BACKWARD" if scope == "/s" else level
    )


def test_levels_are_inherited_from_near_to_far(api: ConfluentApi) -> None:
    assert api.get("/config") == (200, {"compatibilityLevel": "BACKWARD"})
    assert api.refused("GET", "/config/s") == (404, 40408)
    assert api.refused("GET", "/contexts/.ctx/config") == (404, 40408)
    assert api.get("/config/s?defaultToGlobal=true") == (200, {"compatibilityLevel": "BACKWARD"})
    api.put("/config", compatibility="NONE")
    api.register("s", V1)
    api.register("s", BROKEN)
    api.put("/contexts/.ctx/config", compatibility="FULL")
    assert api.get("/config/:.ctx:") == (200, {"compatibilityLevel": "FULL"})
    api.register(":.ctx:s", V1)
    assert api.refused("POST", "/subjects/:.ctx:s/versions", {"schema": BROKEN}) == (409, 409)
    assert api.delete("/config/:.ctx:") == (200, {"compatibilityLevel": "FULL"})
    api.register(":.ctx:s", BROKEN)
    assert api.delete("/config") == (200, {"compatibilityLevel": "NONE"})
    assert api.get("/config") == (200, {"compatibilityLevel": "BACKWARD"})
    assert api.delete("/config") == (200, {"compatibilityLevel": "BACKWARD"})


def test_a_subjects_level_can_be_set_before_and_after_its_first_version(api: ConfluentApi) -> None:
    api.put("/config/s", compatibility="NONE")
    api.register("s", V1)
    api.register("s", BROKEN)
    assert api.get("/config/s") == (200, {"compatibilityLevel": "NONE"})
    api.put("/config/s", compatibility="FORWARD")
    assert api.get("/config/s") == (200, {"compatibilityLevel": "FORWARD"})
    assert api.refused("POST", "/subjects/s/versions", {"schema": V1.replace("int", "long")}) == (409, 409)
    assert api.delete("/config/s") == (200, {"compatibilityLevel": "FORWARD"})
    assert api.refused("GET", "/config/s") == (404, 40408)
    assert api.refused("DELETE", "/config/s") == (404, 40401)


def test_refuses_other_levels(api: ConfluentApi) -> None:
    for body in ({"compatibility": "DISABLED"}, {"compatibility": "BACKWARD_ALL"}, {"compatibility": "x"}):
        assert api.refused("PUT", "/config", body) == (422, 42203)
    unread: list[Any] = [{"compatibility": 1}, {"normalize": "yes"}, []]
    for wrong in unread:
        assert api.refused("PUT", "/config/s", wrong) == (400, 400)
    assert api.refused("GET", "/config/s") == (404, 40408)


def test_normalize_is_kept(api: ConfluentApi) -> None:
    assert api.put("/config/s", normalize=True) == (200, {"normalize": True})
    assert api.get("/config/s") == (200, {"normalize": True})
    assert api.put("/config/s", compatibility="FULL") == (200, {"compatibility": "FULL", "normalize": True})
    assert api.get("/config/s") == (200, {"compatibilityLevel": "FULL", "normalize": True})
    assert api.get("/config/t?defaultToGlobal=true") == (200, {"compatibilityLevel": "BACKWARD"})


def test_an_alias_stands_for_a_subject(api: ConfluentApi) -> None:
    made = api.register("orders-value", V1)
    api.register(":.ctx:orders", V2)
    assert api.put("/config/old", alias="orders-value") == (200, {"alias": "orders-value"})
    assert api.get("/config/old") == (200, {"alias": "orders-value"})
    assert api.get("/subjects/old/versions") == (200, [1])
    assert api.get("/subjects/old/versions/latest")[1]["subject"] == "orders-value"
    assert api.post("/subjects/old", schema=V1)[1]["id"] == made["id"]
    assert api.register("old", V2)["subject"] == "orders-value"
    assert api.refused("POST", "/compatibility/subjects/old/versions/latest", {"schema": "x"}) == (422, 42201)
    assert api.post("/compatibility/subjects/old/versions/latest", schema=BROKEN)[1] == {"is_compatible": False}
    assert api.get(f"/schemas/ids/{made['id']}?subject=old")[1]["schema"] == V1
    assert api.get("/subjects?deleted=true")[1] == [":.ctx:orders", "orders-value"], "an alias is not a subject"
    # Its own settings stay its own, and one step is all.
    assert api.refused("GET", "/mode/old") == (404, 40409)
    api.put("/config/older", alias="old")
    assert api.refused("GET", "/subjects/older/versions") == (404, 40401)
    assert api.put("/config/orders", alias=":.ctx:orders")[0] == 200
    assert api.get("/subjects/orders/versions/1")[1]["schema"] == V2
    assert api.put("/config/orders", alias="")[0] == 200
    assert api.refused("GET", "/subjects/orders/versions/1") == (404, 40401)
    assert api.delete("/config/old") == (200, {"alias": "orders-value"})
    assert api.refused("GET", "/subjects/old/versions") == (404, 40401)
    for path, alias in (
        ("/config", "x"),
        ("/config/:.ctx:", "x"),
        ("/config/s", "s"),
        ("/config/s", ":.:s"),
        ("/config/s", "\0"),
    ):
        assert api.refused("PUT", path, {"alias": alias}) == (422, 42208)
    assert api.refused("PUT", "/config/s", {"alias": 1}) == (400, 400)


def test_glue_sets_levels_that_confluent_sees(api: ConfluentApi) -> None:
    api.service.registries.ensure("default-registry", "")
    new = NewSchema(name="g", data_format="AVRO", compatibility=CompatibilityMode.FULL_ALL, definition=V1)
    api.service.schemas.create(new)
    assert api.get("/config/g") == (200, {"compatibilityLevel": "FULL_TRANSITIVE"})
    api.put("/config/g", compatibility="FORWARD_TRANSITIVE")
    assert api.service.schemas.get(SchemaKey("default-registry", "g")).compatibility is CompatibilityMode.FORWARD_ALL
    api.delete("/config/g")
    schema = api.service.schemas.get(SchemaKey("default-registry", "g"))
    assert api.service.schemas.effective(schema) is CompatibilityMode.BACKWARD


def test_a_disabled_schema_of_glue_is_read_only(api: ConfluentApi) -> None:
    new = NewSchema(name="g", data_format="AVRO", compatibility=CompatibilityMode.DISABLED, definition=V1)
    api.service.schemas.create(new)
    assert api.get("/config/g") == (200, {"compatibilityLevel": "NONE"})
    assert api.get("/mode/g") == (200, {"mode": "READONLY"})
    assert api.refused("POST", "/subjects/g/versions", {"schema": V2}) == (422, 42205)
    api.put("/config/g", compatibility="BACKWARD")
    assert api.register("g", V2)["version"] == 2


def test_modes_are_inherited_from_near_to_far(api: ConfluentApi) -> None:
    assert api.get("/mode") == (200, {"mode": "READWRITE"})
    assert api.refused("GET", "/mode/s") == (404, 40409)
    assert api.get("/mode/s?defaultToGlobal=true") == (200, {"mode": "READWRITE"})
    api.register("s", V1)
    assert api.put("/mode", mode="readonly") == (200, {"mode": "READONLY"})
    assert api.get("/mode/s?defaultToGlobal=true") == (200, {"mode": "READONLY"})
    assert api.refused("POST", "/subjects/s/versions", {"schema": V2}) == (422, 42205)
    assert api.refused("DELETE", "/subjects/s") == (422, 42205)
    assert api.refused("DELETE", "/subjects/s/versions/1") == (422, 42205)
    assert api.post("/subjects/s", schema=V1)[0] == 200
    # Producers that register at each start go on.
    assert api.register("s", V1.replace(":", " :"))["version"] == 1
    for method, path in (("PUT", "/config"), ("PUT", "/config/s"), ("DELETE", "/config"), ("DELETE", "/config/s")):
        assert api.refused(method, path, {"compatibility": "FULL"} if method == "PUT" else None) == (422, 42205)
    assert api.put("/mode/s", mode="READWRITE") == (200, {"mode": "READWRITE"})
    api.register("s", V2)
    assert api.refused("POST", "/subjects/:.ctx:s/versions", {"schema": V2}) == (422, 42205)
    api.put("/contexts/.ctx/mode", mode="READWRITE")
    api.register(":.ctx:s", V2)
    assert api.delete("/mode/s") == (200, {"mode": "READWRITE"})
    assert api.refused("DELETE", "/mode/s") == (404, 40401)
    assert api.refused("POST", "/subjects/s/versions", {"schema": V2.replace('"b"', '"c"')}) == (422, 42205)
    assert api.delete("/mode") == (200, {"mode": "READONLY"})
    assert api.get("/mode") == (200, {"mode": "READWRITE"})
    assert api.delete("/mode") == (200, {"mode": "READWRITE"})


def test_refuses_other_modes(api: ConfluentApi) -> None:
    assert api.refused("PUT", "/mode", {"mode": "x"}) == (422, 42204)
    assert api.refused("PUT", "/mode/s", {"mode": 1}) == (400, 400)
    assert api.refused("PUT", "/mode/s", {}) == (400, 400)


def test_all_contexts_inherit_from_the_global_one(api: ConfluentApi) -> None:
    api.put("/config/:.__GLOBAL:", compatibility="FULL")
    assert api.get("/config") == (200, {"compatibilityLevel": "FULL"})
    assert api.refused("POST", "/subjects/:.__GLOBAL:s/versions", {"schema": V1}) == (422, 42208)
    assert api.refused("GET", "/schemas/ids/1?subject=:.__GLOBAL:") == (422, 42208)
    assert api.refused("GET", "/subjects?subjectPrefix=:.__GLOBAL:") == (422, 42208)


SCHEMA_ID = {"RegistryName": "default-registry", "SchemaName": "s"}
LATEST = {"LatestVersion": True}
GLUE_WRITES: dict[str, dict[str, Any]] = {
    "RegisterSchemaVersion": {"SchemaId": SCHEMA_ID, "SchemaDefinition": V2},
    "CreateSchema": {"SchemaName": "new", "DataFormat": "AVRO", "Compatibility": "NONE", "SchemaDefinition": V1},
    "UpdateSchema": {"SchemaId": SCHEMA_ID, "Compatibility": "NONE", "SchemaVersionNumber": LATEST},
    "DeleteSchemaVersions": {"SchemaId": SCHEMA_ID, "Versions": "7"},
    "DeleteSchema": {"SchemaId": SCHEMA_ID},
    "DeleteRegistry": {"RegistryId": {"RegistryName": "default-registry"}},
}


def glue(api: ConfluentApi, operation: str, **request: Any) -> Mapping[str, Any]:
    return called(registry.operations(api.service).handlers[operation], request or GLUE_WRITES[operation])


@pytest.mark.parametrize(
    ("scope", "mode"),
    [("/mode", "READONLY"), ("/mode/:.:", "READONLY"), ("/mode/s", "READONLY"), ("/mode", "READONLY_OVERRIDE")],
)
def test_read_only_binds_glues_callers_too(api: ConfluentApi, scope: str, mode: str) -> None:
    api.register("s", V1)
    if mode == "READONLY_OVERRIDE":
        api.put("/mode/s", mode="READWRITE")
        api.put("/mode/:.:", mode="READWRITE")
    api.put(scope, mode=mode)
    for operation in GLUE_WRITES:
        if (scope, operation) == ("/mode/s", "CreateSchema"):
            glue(api, operation)
            continue
        with pytest.raises(NotWritable, match="READONLY") as refusal:
            glue(api, operation)
        assert refusal.value.aws_code == "InvalidInputException"
    # Serialisers that register at each start go on, and so does what reads.
    assert glue(api, "RegisterSchemaVersion", SchemaId=SCHEMA_ID, SchemaDefinition=V1)["VersionNumber"] == 1
    assert glue(api, "GetSchema", SchemaId=SCHEMA_ID)["LatestSchemaVersion"] == 1
    api.delete(scope)
    for operation in GLUE_WRITES:
        if (scope, operation) != ("/mode/s", "CreateSchema"):
            glue(api, operation)


def test_import_mode_refuses_versions_of_glue_because_they_have_no_id(api: ConfluentApi) -> None:
    api.register("s", V1)
    api.call("PUT", "/mode?force=true", {"mode": "IMPORT"})
    for operation in ("RegisterSchemaVersion", "CreateSchema"):
        with pytest.raises(NotWritable, match="IMPORT"):
            glue(api, operation)
    glue(api, "CreateSchema", SchemaName="empty", DataFormat="AVRO")
    glue(api, "UpdateSchema")
    glue(api, "DeleteSchema")


def test_fetch_max_id(api: ConfluentApi) -> None:
    first = api.register("s", V1)["id"]
    assert "maxId" not in api.get(f"/schemas/ids/{first}")[1]
    last = api.register("s", V2)["id"]
    assert api.get(f"/schemas/ids/{first}?fetchMaxId=true")[1]["maxId"] == last
    api.delete("/subjects/s/versions/2")
    assert api.get(f"/schemas/ids/{first}?fetchMaxId=true")[1]["maxId"] == last
    other = api.register(":.other:s", V1)["id"]
    assert api.get(f"/schemas/ids/{other}?fetchMaxId=true&subject=:.other:")[1]["maxId"] == other
    assert api.get(f"/schemas/ids/{first}?fetchMaxId=true")[1]["maxId"] == last
