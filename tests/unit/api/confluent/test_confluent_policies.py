"""Levels and modes through Confluent's interface."""

from typing import Any

import pytest

from penstock.api.aws.registry import operations as registry
from penstock.registry.errors import NotWritable
from penstock.registry.model import SchemaKey
from penstock.registry.schemas import NewSchema
from penstock.schema.compatibility import CompatibilityMode
from tests.unit.api.confluent.confluent_face import BROKEN, V1, V2, Face

LEVELS = ["NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"]


@pytest.fixture
def face() -> Face:
    return Face()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("scope", ["", "/s", "/:.ctx:", "/:.ctx:s"])
def test_keeps_every_level(face: Face, level: str, scope: str) -> None:
    assert face.put(f"/config{scope}", compatibility=level.lower()) == (200, {"compatibility": level})
    assert face.get(f"/config{scope}") == (200, {"compatibilityLevel": level})
    face.register("s", V1)
    face.register(":.ctx:s", V1)
    assert face.get("/config/s?defaultToGlobal=true")[1]["compatibilityLevel"] == (
        level if scope in {"", "/s"} else "BACKWARD"
    )
    assert face.get("/config/:.ctx:s?defaultToGlobal=true")[1]["compatibilityLevel"] == (
        "BACKWARD" if scope == "/s" else level
    )


def test_levels_are_inherited_from_near_to_far(face: Face) -> None:
    assert face.get("/config") == (200, {"compatibilityLevel": "BACKWARD"})
    assert face.refused("GET", "/config/s") == (404, 40408)
    assert face.refused("GET", "/contexts/.ctx/config") == (404, 40408)
    assert face.get("/config/s?defaultToGlobal=true") == (200, {"compatibilityLevel": "BACKWARD"})
    face.put("/config", compatibility="NONE")
    face.register("s", V1)
    face.register("s", BROKEN)
    face.put("/contexts/.ctx/config", compatibility="FULL")
    assert face.get("/config/:.ctx:") == (200, {"compatibilityLevel": "FULL"})
    face.register(":.ctx:s", V1)
    assert face.refused("POST", "/subjects/:.ctx:s/versions", {"schema": BROKEN}) == (409, 409)
    assert face.delete("/config/:.ctx:") == (200, {"compatibilityLevel": "FULL"})
    face.register(":.ctx:s", BROKEN)
    assert face.delete("/config") == (200, {"compatibilityLevel": "NONE"})
    assert face.get("/config") == (200, {"compatibilityLevel": "BACKWARD"})
    assert face.delete("/config") == (200, {"compatibilityLevel": "BACKWARD"})


def test_a_subjects_level_can_be_set_before_and_after_its_first_version(face: Face) -> None:
    face.put("/config/s", compatibility="NONE")
    face.register("s", V1)
    face.register("s", BROKEN)
    assert face.get("/config/s") == (200, {"compatibilityLevel": "NONE"})
    face.put("/config/s", compatibility="FORWARD")
    assert face.get("/config/s") == (200, {"compatibilityLevel": "FORWARD"})
    assert face.refused("POST", "/subjects/s/versions", {"schema": V1.replace("int", "long")}) == (409, 409)
    assert face.delete("/config/s") == (200, {"compatibilityLevel": "FORWARD"})
    assert face.refused("GET", "/config/s") == (404, 40408)
    assert face.refused("DELETE", "/config/s") == (404, 40401)


def test_refuses_other_levels(face: Face) -> None:
    for body in ({"compatibility": "DISABLED"}, {"compatibility": "BACKWARD_ALL"}, {"compatibility": "x"}):
        assert face.refused("PUT", "/config", body) == (422, 42203)
    for body in ({"compatibility": 1}, {"normalize": "yes"}, []):
        assert face.refused("PUT", "/config/s", body) == (400, 400)
    assert face.refused("GET", "/config/s") == (404, 40408)


def test_normalize_is_kept(face: Face) -> None:
    assert face.put("/config/s", normalize=True) == (200, {"normalize": True})
    assert face.get("/config/s") == (200, {"normalize": True})
    assert face.put("/config/s", compatibility="FULL") == (200, {"compatibility": "FULL", "normalize": True})
    assert face.get("/config/s") == (200, {"compatibilityLevel": "FULL", "normalize": True})
    assert face.get("/config/t?defaultToGlobal=true") == (200, {"compatibilityLevel": "BACKWARD"})


def test_an_alias_stands_for_a_subject(face: Face) -> None:
    made = face.register("orders-value", V1)
    face.register(":.ctx:orders", V2)
    assert face.put("/config/old", alias="orders-value") == (200, {"alias": "orders-value"})
    assert face.get("/config/old") == (200, {"alias": "orders-value"})
    assert face.get("/subjects/old/versions") == (200, [1])
    assert face.get("/subjects/old/versions/latest")[1]["subject"] == "orders-value"
    assert face.post("/subjects/old", schema=V1)[1]["id"] == made["id"]
    assert face.register("old", V2)["subject"] == "orders-value"
    assert face.refused("POST", "/compatibility/subjects/old/versions/latest", {"schema": "x"}) == (422, 42201)
    assert face.post("/compatibility/subjects/old/versions/latest", schema=BROKEN)[1] == {"is_compatible": False}
    assert face.get(f"/schemas/ids/{made['id']}?subject=old")[1]["schema"] == V1
    assert face.get("/subjects?deleted=true")[1] == [":.ctx:orders", "orders-value"], "an alias is no subject"
    # Its own settings stay its own, and one step is all.
    assert face.refused("GET", "/mode/old") == (404, 40409)
    face.put("/config/older", alias="old")
    assert face.refused("GET", "/subjects/older/versions") == (404, 40401)
    assert face.put("/config/orders", alias=":.ctx:orders")[0] == 200
    assert face.get("/subjects/orders/versions/1")[1]["schema"] == V2
    assert face.put("/config/orders", alias="")[0] == 200
    assert face.refused("GET", "/subjects/orders/versions/1") == (404, 40401)
    assert face.delete("/config/old") == (200, {"alias": "orders-value"})
    assert face.refused("GET", "/subjects/old/versions") == (404, 40401)
    for path, alias in (
        ("/config", "x"),
        ("/config/:.ctx:", "x"),
        ("/config/s", "s"),
        ("/config/s", ":.:s"),
        ("/config/s", "\0"),
    ):
        assert face.refused("PUT", path, {"alias": alias}) == (422, 42208)
    assert face.refused("PUT", "/config/s", {"alias": 1}) == (400, 400)


def test_glue_sets_levels_that_confluent_sees(face: Face) -> None:
    face.service.registries.ensure("default-registry", "")
    new = NewSchema(name="g", data_format="AVRO", compatibility=CompatibilityMode.FULL_ALL, definition=V1)
    face.service.schemas.create(new)
    assert face.get("/config/g") == (200, {"compatibilityLevel": "FULL_TRANSITIVE"})
    face.put("/config/g", compatibility="FORWARD_TRANSITIVE")
    assert face.service.schemas.get(SchemaKey("default-registry", "g")).compatibility is CompatibilityMode.FORWARD_ALL
    face.delete("/config/g")
    schema = face.service.schemas.get(SchemaKey("default-registry", "g"))
    assert face.service.schemas.effective(schema) is CompatibilityMode.BACKWARD


def test_a_disabled_schema_of_glue_is_read_only(face: Face) -> None:
    new = NewSchema(name="g", data_format="AVRO", compatibility=CompatibilityMode.DISABLED, definition=V1)
    face.service.schemas.create(new)
    assert face.get("/config/g") == (200, {"compatibilityLevel": "NONE"})
    assert face.get("/mode/g") == (200, {"mode": "READONLY"})
    assert face.refused("POST", "/subjects/g/versions", {"schema": V2}) == (422, 42205)
    face.put("/config/g", compatibility="BACKWARD")
    assert face.register("g", V2)["version"] == 2


def test_modes_are_inherited_from_near_to_far(face: Face) -> None:
    assert face.get("/mode") == (200, {"mode": "READWRITE"})
    assert face.refused("GET", "/mode/s") == (404, 40409)
    assert face.get("/mode/s?defaultToGlobal=true") == (200, {"mode": "READWRITE"})
    face.register("s", V1)
    assert face.put("/mode", mode="readonly") == (200, {"mode": "READONLY"})
    assert face.get("/mode/s?defaultToGlobal=true") == (200, {"mode": "READONLY"})
    assert face.refused("POST", "/subjects/s/versions", {"schema": V2}) == (422, 42205)
    assert face.refused("DELETE", "/subjects/s") == (422, 42205)
    assert face.refused("DELETE", "/subjects/s/versions/1") == (422, 42205)
    assert face.post("/subjects/s", schema=V1)[0] == 200
    # Producers that register at each start go on.
    assert face.register("s", V1.replace(":", " :"))["version"] == 1
    for method, path in (("PUT", "/config"), ("PUT", "/config/s"), ("DELETE", "/config"), ("DELETE", "/config/s")):
        assert face.refused(method, path, {"compatibility": "FULL"} if method == "PUT" else None) == (422, 42205)
    assert face.put("/mode/s", mode="READWRITE") == (200, {"mode": "READWRITE"})
    face.register("s", V2)
    assert face.refused("POST", "/subjects/:.ctx:s/versions", {"schema": V2}) == (422, 42205)
    face.put("/contexts/.ctx/mode", mode="READWRITE")
    face.register(":.ctx:s", V2)
    assert face.delete("/mode/s") == (200, {"mode": "READWRITE"})
    assert face.refused("DELETE", "/mode/s") == (404, 40401)
    assert face.refused("POST", "/subjects/s/versions", {"schema": V2.replace('"b"', '"c"')}) == (422, 42205)
    assert face.delete("/mode") == (200, {"mode": "READONLY"})
    assert face.get("/mode") == (200, {"mode": "READWRITE"})
    assert face.delete("/mode") == (200, {"mode": "READWRITE"})


def test_refuses_other_modes(face: Face) -> None:
    assert face.refused("PUT", "/mode", {"mode": "x"}) == (422, 42204)
    assert face.refused("PUT", "/mode/s", {"mode": 1}) == (400, 400)
    assert face.refused("PUT", "/mode/s", {}) == (400, 400)


def test_the_global_context_is_what_all_inherit(face: Face) -> None:
    face.put("/config/:.__GLOBAL:", compatibility="FULL")
    assert face.get("/config") == (200, {"compatibilityLevel": "FULL"})
    assert face.refused("POST", "/subjects/:.__GLOBAL:s/versions", {"schema": V1}) == (422, 42208)
    assert face.refused("GET", "/schemas/ids/1?subject=:.__GLOBAL:") == (422, 42208)
    assert face.refused("GET", "/subjects?subjectPrefix=:.__GLOBAL:") == (422, 42208)


SCHEMA_ID = {"RegistryName": "default-registry", "SchemaName": "s"}
LATEST = {"LatestVersion": True}
GLUE_WRITES = {
    "RegisterSchemaVersion": {"SchemaId": SCHEMA_ID, "SchemaDefinition": V2},
    "CreateSchema": {"SchemaName": "new", "DataFormat": "AVRO", "Compatibility": "NONE", "SchemaDefinition": V1},
    "UpdateSchema": {"SchemaId": SCHEMA_ID, "Compatibility": "NONE", "SchemaVersionNumber": LATEST},
    "DeleteSchemaVersions": {"SchemaId": SCHEMA_ID, "Versions": "7"},
    "DeleteSchema": {"SchemaId": SCHEMA_ID},
    "DeleteRegistry": {"RegistryId": {"RegistryName": "default-registry"}},
}


def glue(face: Face, operation: str, **request: Any) -> dict[str, Any]:
    return registry.operations(face.service).handlers[operation](request or GLUE_WRITES[operation], None)


@pytest.mark.parametrize(
    ("scope", "mode"),
    [("/mode", "READONLY"), ("/mode/:.:", "READONLY"), ("/mode/s", "READONLY"), ("/mode", "READONLY_OVERRIDE")],
)
def test_read_only_binds_glues_callers_too(face: Face, scope: str, mode: str) -> None:
    face.register("s", V1)
    if mode == "READONLY_OVERRIDE":
        face.put("/mode/s", mode="READWRITE")
        face.put("/mode/:.:", mode="READWRITE")
    face.put(scope, mode=mode)
    for operation in GLUE_WRITES:
        if (scope, operation) == ("/mode/s", "CreateSchema"):
            glue(face, operation)
            continue
        with pytest.raises(NotWritable, match="READONLY") as refusal:
            glue(face, operation)
        assert refusal.value.aws_code == "InvalidInputException"
    # Serialisers that register at each start go on, and so does what reads.
    assert glue(face, "RegisterSchemaVersion", SchemaId=SCHEMA_ID, SchemaDefinition=V1)["VersionNumber"] == 1
    assert glue(face, "GetSchema", SchemaId=SCHEMA_ID)["LatestSchemaVersion"] == 1
    face.delete(scope)
    for operation in GLUE_WRITES:
        if (scope, operation) != ("/mode/s", "CreateSchema"):
            glue(face, operation)


def test_import_mode_takes_no_version_of_glue_which_has_no_id_to_keep(face: Face) -> None:
    face.register("s", V1)
    face.call("PUT", "/mode?force=true", {"mode": "IMPORT"})
    for operation in ("RegisterSchemaVersion", "CreateSchema"):
        with pytest.raises(NotWritable, match="IMPORT"):
            glue(face, operation)
    glue(face, "CreateSchema", SchemaName="empty", DataFormat="AVRO")
    glue(face, "UpdateSchema")
    glue(face, "DeleteSchema")


def test_fetch_max_id(face: Face) -> None:
    first = face.register("s", V1)["id"]
    assert "maxId" not in face.get(f"/schemas/ids/{first}")[1]
    last = face.register("s", V2)["id"]
    assert face.get(f"/schemas/ids/{first}?fetchMaxId=true")[1]["maxId"] == last
    face.delete("/subjects/s/versions/2")
    assert face.get(f"/schemas/ids/{first}?fetchMaxId=true")[1]["maxId"] == last
    other = face.register(":.other:s", V1)["id"]
    assert face.get(f"/schemas/ids/{other}?fetchMaxId=true&subject=:.other:")[1]["maxId"] == other
    assert face.get(f"/schemas/ids/{first}?fetchMaxId=true")[1]["maxId"] == last
