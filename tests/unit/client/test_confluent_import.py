"""A registry copied into another: stopped anywhere and started again, with a report of differences."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.client.confluent_import import ConfluentImport
from penstock.errors import DataProblem, EnvironmentProblem, InvalidInput, NotFound
from tests.unit.api.confluent.confluent_api import BROKEN, V1, V2, V3, ConfluentApi

USES = '{"type":"record","name":"U","fields":[{"name":"r","type":"R"}]}'


class Killed(Exception):
    pass


class Reaching:
    """A client of a registry in memory, which dies after ``calls`` writes."""

    url = "http://registry.invalid"

    def __init__(self, api: ConfluentApi, calls: int | None = None) -> None:
        self.api = api
        self.left = calls

    def request(self, method: str, path: str, body: bytes | None = None) -> Any:
        if self.left is not None and method != "GET":
            if self.left == 0:
                raise Killed
            self.left -= 1
        status, answer = self.api.call(method, path, None if body is None else json.loads(body))
        if status == 200:
            return answer
        raise (NotFound if status == 404 else InvalidInput)(answer["message"])


def importing(source: Any, target: Any, **options: Any) -> ConfluentImport:
    return ConfluentImport(source, target, **options)


@pytest.fixture
def source() -> Iterator[ConfluentApi]:
    api = ConfluentApi()
    api.register("used", V1)
    api.register("used", V2)
    api.register("a-user", USES, references=[{"name": "R", "subject": "used", "version": 1}])
    api.register("gone", USES, references=[{"name": "R", "subject": "used", "version": 2}])
    api.register(":.team:used", V2)
    api.register(":.team:uses", USES, references=[{"name": "R", "subject": "used", "version": 1}])
    api.register("owned", V1, metadata={"properties": {"owner": "ana"}})
    api.register("owned", V1, metadata={"properties": {"owner": "bob"}})
    api.put("/config/used", compatibility="FULL")
    api.delete("/subjects/gone")
    api.delete("/subjects/used/versions/2")
    yield api
    api.app.close()


@pytest.fixture
def target() -> Iterator[ConfluentApi]:
    api = ConfluentApi()
    yield api
    api.app.close()


def contents(api: ConfluentApi) -> list[dict[str, Any]]:
    listed = api.get("/schemas?deleted=true")[1]
    return [{key: value for key, value in item.items() if key != "guid"} for item in listed]


def test_copies_everything(source: ConfluentApi, target: ConfluentApi) -> None:
    report = importing(Reaching(source), Reaching(target)).run()
    assert (report.versions, report.copied, report.deleted, report.levels, report.differences) == (8, 8, 2, 1, [])
    assert contents(target) == contents(source)
    assert target.get("/subjects")[1] == source.get("/subjects")[1]
    assert target.get("/config/used") == (200, {"compatibilityLevel": "FULL"})
    assert target.refused("GET", "/mode/:.:") == (404, 40409)


@pytest.mark.parametrize("calls", range(14))
def test_goes_on_where_it_was_stopped(source: ConfluentApi, target: ConfluentApi, calls: int) -> None:
    with pytest.raises(Killed):
        importing(Reaching(source), Reaching(target, calls)).run()
    report = importing(Reaching(source), Reaching(target)).run()
    assert report.differences == []
    assert contents(target) == contents(source)
    assert target.get("/mode/s?defaultToGlobal=true") == (200, {"mode": "READWRITE"})
    assert target.get("/mode/:.team:s?defaultToGlobal=true") == (200, {"mode": "READWRITE"})


def test_gives_a_mode_back(source: ConfluentApi, target: ConfluentApi) -> None:
    target.put("/mode/:.:", mode="READONLY")
    importing(Reaching(source), Reaching(target), prefix="a-user").run()
    assert target.get("/mode/:.:") == (200, {"mode": "READONLY"})


def test_a_level_that_the_target_refuses_is_reported(source: ConfluentApi, target: ConfluentApi) -> None:
    importing(Reaching(source), Reaching(target)).run()
    source.put("/config/used", compatibility="FORWARD")
    target.put("/mode/:.:", mode="READONLY")
    report = importing(Reaching(source), Reaching(target)).run()
    assert [(difference.subject, difference.version) for difference in report.differences] == [("used", 0)]
    assert "compatibility FORWARD) was refused" in str(report.differences[0])


def test_reports_changes_of_the_source_during_the_import(source: ConfluentApi, target: ConfluentApi) -> None:
    changes: list[Callable[[], object]] = [
        lambda: source.register("used", V3),
        lambda: source.delete("/subjects/a-user"),
        lambda: source.delete("/subjects/gone?permanent=true"),
        lambda: source.register("new", V1),
    ]

    def progress(*_: int | str) -> None:
        while changes:
            changes.pop(0)()

    report = importing(Reaching(source), Reaching(target), progress=progress, context="x").run()
    assert {(difference.subject, difference.version, difference.what) for difference in report.differences} == {
        ("used", 3, "was added to the source"),
        ("a-user", 1, "was soft-deleted or restored in the source"),
        ("gone", 1, "was removed from the source"),
        ("new", 1, "was added to the source"),
    }
    # Another run brings what came.
    report = importing(Reaching(source), Reaching(target), context="x").run()
    assert (report.differences, report.copied) == ([], 2)


def test_moves_subjects_into_a_context(source: ConfluentApi, target: ConfluentApi) -> None:
    report = importing(Reaching(source), Reaching(target), context="new").run()
    assert report.differences == []
    assert target.get("/subjects")[1] == [":.new:a-user", ":.new:owned", ":.new:used", ":.team:used", ":.team:uses"]
    assert target.get("/contexts/.new/subjects/a-user/versions/1")[1]["references"][0]["subject"] == ":.new:used"


def test_reports_conflicting_versions(source: ConfluentApi, target: ConfluentApi) -> None:
    target.register("used", BROKEN)
    report = importing(Reaching(source), Reaching(target), prefix="used").run()
    assert [(difference.subject, difference.version) for difference in report.differences] == [("used", 1)]
    assert "used version 1" in str(report.differences[0])
    assert target.get("/subjects/used/versions/1")[1]["schema"] == BROKEN


class Scripted:
    """A source that answers what a test says."""

    url = "http://old.invalid"

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers

    def request(self, method: str, path: str, body: None = None) -> Any:
        bare = path.partition("?")[0]
        if bare not in self.answers or "offset=1" in path:
            if "offset" in path:
                return []
            raise NotFound(bare)
        return self.answers[bare]


def version(schema: str, schema_id: Any, **more: Any) -> dict[str, Any]:
    return {"schema": schema, "id": schema_id, **more}


def test_reports_schemas_that_are_one_in_the_target(target: ConfluentApi) -> None:
    answers = {
        "/subjects": ["s"],
        "/subjects/s/versions": [1, 2],
        "/subjects/s/versions/1": version(V1, 5),
        "/subjects/s/versions/2": version(json.dumps(json.loads(V1), indent=1), 6),
    }
    report = importing(Scripted(answers), Reaching(target)).run()
    (difference,) = report.differences
    assert difference.version == 2
    assert "The schema has id 5, not 6" in difference.what


def test_reports_settings_that_would_be_lost(target: ConfluentApi) -> None:
    rules = {"domainRules": [{"name": "x"}]}
    answers = {"/subjects": ["s"], "/subjects/s/versions": [1], "/subjects/s/versions/1": version(V1, 5, ruleSet=rules)}
    (difference,) = importing(Scripted(answers), Reaching(target)).run().differences
    assert "ruleSet" in difference.what


def test_references_in_a_circle_end(target: ConfluentApi) -> None:
    around = [{"name": "R", "subject": "s", "version": 1}]
    answers = {"/subjects": ["s"], "/subjects/s/versions": [1], "/subjects/s/versions/1": version(V1, 5, references=around)}
    with pytest.raises(DataProblem, match="circular or too many references"):
        importing(Scripted(answers), Reaching(target)).run()


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {"schema": 1, "id": 1},
        {"schema": V1},
        {"schema": V1, "id": "1"},
        {"schema": V1, "id": 1, "references": [{"name": "x"}]},
        {"schema": V1, "id": 1, "references": 7},
    ],
)
def test_a_source_that_is_not_a_registry(target: ConfluentApi, answer: Any) -> None:
    answers = {"/subjects": ["s"], "/subjects/s/versions": [1], "/subjects/s/versions/1": answer}
    with pytest.raises(EnvironmentProblem):
        importing(Scripted(answers), Reaching(target)).run()


@pytest.mark.parametrize(
    "answers", [{"/subjects": {}}, {"/subjects": [1]}, {"/subjects": ["s"], "/subjects/s/versions": ["1"]}]
)
def test_a_source_that_lists_something_else(target: ConfluentApi, answers: dict[str, Any]) -> None:
    with pytest.raises(EnvironmentProblem):
        importing(Scripted(answers), Reaching(target)).run()
