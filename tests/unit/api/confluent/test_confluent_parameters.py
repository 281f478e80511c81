"""Every parameter and body member of Confluent's server is read, or refused by name; none is silently ignored.

The lists are those of the resource classes (SubjectsResource, SubjectVersionsResource, CompatibilityResource,
ConfigResource,
ModeResource, SchemasResource, ContextsResource) and of the entities RegisterSchemaRequest, ConfigUpdateRequest,
ModeUpdateRequest.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.api.confluent.requests import Query
from tests.unit.api.confluent.confluent_api import V1, V2, ConfluentApi

PAGE = (Path(__file__).parents[4] / "docs" / "registry" / "confluent.md").read_text()

PARAMETERS = {
    ("GET", "/subjects"): "subjectPrefix offset limit deleted deletedOnly",
    ("POST", "/subjects/s"): "normalize format deleted",
    ("DELETE", "/subjects/s"): "permanent",
    ("GET", "/subjects/s/metadata"): "key value format deleted",
    ("GET", "/subjects/s/versions"): "deleted deletedOnly deletedAsNegative offset limit",
    ("POST", "/subjects/s/versions"): "normalize format",
    ("GET", "/subjects/s/versions/1"): "deleted format referenceFormat reference_format findTags",
    ("GET", "/subjects/s/versions/1/schema"): "deleted format referenceFormat reference_format",
    ("GET", "/subjects/s/versions/1/referencedby"): "offset limit",
    ("DELETE", "/subjects/s/versions/1"): "permanent",
    ("POST", "/compatibility/subjects/s/versions"): "verbose normalize",
    ("POST", "/compatibility/subjects/s/versions/1"): "verbose normalize",
    ("GET", "/config"): "defaultToGlobal",
    ("GET", "/config/s"): "defaultToGlobal",
    ("GET", "/mode"): "defaultToGlobal",
    ("GET", "/mode/s"): "defaultToGlobal",
    ("PUT", "/mode"): "force",
    ("PUT", "/mode/s"): "force",
    ("DELETE", "/mode"): "recursive",
    ("DELETE", "/mode/s"): "recursive",
    ("GET", "/schemas"): "subjectPrefix aliases deleted latestOnly ruleType findTags offset limit",
    ("GET", "/schemas/ids/1"): "subject format referenceFormat reference_format findTags fetchMaxId",
    ("GET", "/schemas/ids/1/schema"): "subject format",
    ("GET", "/schemas/ids/1/subjects"): "subject deleted offset limit",
    ("GET", "/schemas/ids/1/versions"): "subject deleted offset limit",
    ("GET", "/schemas/guids/{guid}"): "format",
    ("GET", "/contexts"): "contextPrefix offset limit",
}
# Parameters that change nothing here, as the page says in the row of each.
WITHOUT_EFFECT = {("POST", "/subjects/s/versions", "format"): "registration's answer"}
BODIES = {"POST": {"schema": V1}, "PUT": {"mode": "READONLY"}}


class OneSubject(ConfluentApi):
    """With one subject, ``s``; ``guid`` is its schema's."""

    guid: str


@pytest.fixture
def api() -> OneSubject:
    made = OneSubject()
    guid = made.register("s", V1)["guid"]
    made.put("/config/s", compatibility="FULL")
    made.put("/mode/s", mode="READWRITE")
    made.guid = guid
    return made


class OperationCall:
    """The parameters that a handler looks at, with the ones a refusal names."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: set[str] = set()
        for method in ("text", "texts", "flag", "number"):
            monkeypatch.setattr(Query, method, self._watching(getattr(Query, method)))

    def _watching(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def watched(query: Query, name: str, *rest: int | str) -> Any:
            self.names.add(name)
            return method(query, name, *rest)

        return watched


@pytest.mark.parametrize(
    ("method", "path", "name"), [(*route, name) for route, names in PARAMETERS.items() for name in names.split()]
)
def test_every_parameter_is_read_or_refused(
    api: OneSubject, monkeypatch: pytest.MonkeyPatch, method: str, path: str, name: str
) -> None:
    asked = OperationCall(monkeypatch)
    status, answer = api.call(method, f"{path.replace('{guid}', api.guid)}?{name}=true", BODIES.get(method))
    if name in asked.names:
        return
    if name == "normalize":
        assert "| `normalize` |" in PAGE
    elif (method, path, name) in WITHOUT_EFFECT:
        assert WITHOUT_EFFECT[method, path, name] in PAGE
    else:
        assert (status, answer["error_code"]) == (400, 400), f"{name} is neither read nor refused"
        assert name in answer["message"]


def test_an_unknown_format_is_refused(api: ConfluentApi) -> None:
    for path in ("/subjects/s/versions/1", "/schemas/ids/1", "/schemas/ids/1/schema", "/subjects/s/metadata"):
        assert api.refused("GET", f"{path}?format=ignore_extensions") == (400, 400)
        for known in ("", "default", "resolved", "serialized"):
            assert api.get(f"{path}?format={known}")[0] == 200


def test_a_refused_parameter_is_found_after_one_that_asks_for_nothing(api: ConfluentApi) -> None:
    assert api.refused("GET", "/schemas/ids/1?findTags=&findTags=PII") == (400, 400)
    assert api.refused("DELETE", "/mode/s?recursive=false&recursive=true") == (400, 400)
    assert api.get("/mode/s") == (200, {"mode": "READWRITE"})


def test_a_refused_parameter_that_asks_for_nothing_is_accepted(api: ConfluentApi) -> None:
    for path in ("/schemas?aliases=false", "/schemas?findTags=", "/schemas/ids/1?referenceFormat="):
        assert api.get(path)[0] == 200
    assert api.get("/schemas?ruleType=CEL") == (200, [])
    assert api.get("/contexts?contextPrefix=.x") == (200, [])


# A value of each member that would change what is registered.
MEMBERS = {
    "schema": V2,
    "schemaType": "JSON",
    "references": [{"name": "x", "subject": "none", "version": 1}],
    "metadata": {"properties": {"owner": "ana"}},
    "id": 9,
    "version": 9,
    "ruleSet": {"domainRules": [{"name": "x", "type": "CEL"}]},
    "schemaTagsToAdd": [{"schemaEntity": {"entityPath": "R.a", "entityType": "sr_field"}, "tags": ["PII"]}],
    "schemaTagsToRemove": [{"schemaEntity": {"entityPath": "R.a", "entityType": "sr_field"}, "tags": ["PII"]}],
    "propagateSchemaTags": True,
}


@pytest.mark.parametrize("name", MEMBERS)
def test_every_member_of_a_registration_has_an_effect_or_is_refused(api: ConfluentApi, name: str) -> None:
    before = api.call("POST", "/subjects/s/versions", {"schema": V1})
    status, answer = api.call("POST", "/subjects/s/versions", {"schema": V1, name: MEMBERS[name]})
    assert (status, answer) != before
    if name in {"ruleSet", "schemaTagsToAdd", "schemaTagsToRemove", "propagateSchemaTags"}:
        for path in ("/subjects/s/versions", "/subjects/s", "/compatibility/subjects/s/versions/latest"):
            status, answer = api.call("POST", path, {"schema": V1, name: MEMBERS[name]})
            assert (status, answer["error_code"]) == (422, 42210)
            assert name in answer["message"]


CONFIG = {
    "alias": "other",
    "normalize": True,
    "validateFields": True,
    "compatibility": "FULL_TRANSITIVE",
    "compatibilityPolicy": "LENIENT",
    "compatibilityGroup": "major",
    "defaultMetadata": {"properties": {"a": "b"}},
    "overrideMetadata": {"properties": {"a": "b"}},
    "defaultRuleSet": {"domainRules": [{"name": "x", "type": "CEL"}]},
    "overrideRuleSet": {"domainRules": [{"name": "x", "type": "CEL"}]},
    "validateRules": True,
    "validateNewSchemas": False,
    "aliasForDeks": "x",
}


@pytest.mark.parametrize("name", CONFIG)
def test_every_member_of_a_configuration_is_kept_or_refused(api: ConfluentApi, name: str) -> None:
    status, answer = api.call("PUT", "/config/t", {name: CONFIG[name]})
    if status == 200:
        assert answer == {name: CONFIG[name]}
        shown = {"compatibilityLevel" if name == "compatibility" else name: CONFIG[name]}
        assert api.get("/config/t") == (200, shown)
    else:
        assert (status, answer["error_code"]) == (422, 42210)
        assert name in json.dumps(answer["message"])
        assert api.refused("GET", "/config/t") == (404, 40408)


def test_a_mode_has_only_the_member_mode(api: ConfluentApi) -> None:
    status, answer = api.call("PUT", "/mode/s", {"mode": "READONLY", "force": True})
    assert (status, answer["error_code"]) == (422, 422)
    assert answer["message"].startswith("Unrecognized field: force")
    assert api.get("/mode/s") == (200, {"mode": "READWRITE"})
