"""A registry exported and imported: all of it comes back, twice is once, and what differs is said."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.errors import DataProblem
from penstock.registry.errors import RegistryNotFound
from penstock.registry.model import SchemaKey, ScopeConfig
from penstock.registry.service import RegistryService
from penstock.registry.store import RegistryStore
from penstock.registry.transfer import compared, exported, import_lines, import_records, written
from penstock.schema.compatibility import CompatibilityMode
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.testing.sqlite import new_database
from penstock.testing.suites.registry_values import present
from tests.unit.registry.confluent.definitions import KEY, create, record
from tests.unit.registry.confluent.test_registry_references import ADDRESS, PERSON, TEAM, refer
from tests.unit.registry.registrations import register

Served = tuple[RegistryStore, RegistryService]


@pytest.fixture
def source() -> Served:
    """A store with all that an export has to keep, and its service."""
    store = SqlRegistryStore(new_database())
    service = RegistryService(store)
    service.registries.create("r", description="d", tags={"a": "b"})
    # Names so that what is referred to comes behind what refers to it.
    create(service, "z-address", ADDRESS)
    create(service, "m-person", PERSON, references=(refer("a.Address", "z-address"),))
    create(service, "a-team", TEAM, references=(refer("a.Person", "m-person"),))
    first = create(service, "s", record(a="int"), "BACKWARD", tags={"t": "u"})
    service.metadata.put(first, "k", "v")
    service.metadata.put(first, "k", "w")
    register(service, KEY, record(a="string"))
    register(service, KEY, record(a="int", b=("int", 0)), contract='{"properties":{"owner":"x"}}')
    register(service, KEY, record(a="int", c=("int", 0)))
    register(service, KEY, record(a="int", d=("int", 0)))
    service.deletion.delete(KEY, range(5, 6))
    service.deletion.soft(KEY, 4)
    service.schemas.update(KEY, checkpoint=3)
    service.configs.put(ScopeConfig(scope="", compatibility=CompatibilityMode.FULL))
    further: dict[str, Any] = {"validate_fields": True, "compatibility_policy": "LENIENT", "compatibility_group": "major"}
    further |= {"default_metadata": '{"tags":{}}', "override_metadata": '{"sensitive":["a"]}'}
    service.configs.put(ScopeConfig(scope="schema/r/s", mode="READONLY", normalize=True, alias="other", **further))
    service.registries.create("empty")
    return store, service


@pytest.fixture
def target() -> Served:
    store = SqlRegistryStore(new_database())
    return store, RegistryService(store)


def lines_of(store: RegistryStore, registry: str | None = None) -> list[str]:
    return list(written(exported(store, registry)))


def untimed(lines: list[str]) -> list[Any]:
    """Records without the time of a schema's last change, which is the one of the import."""
    return [{name: value for name, value in json.loads(line).items() if name != "updated"} for line in lines]


def test_all_of_it_comes_back_and_twice_is_once(source: Served, target: Served) -> None:
    lines = lines_of(source[0])
    report = import_lines(*target, lines)
    assert (report.differences, report.versions, report.added) == ([], 7, 7)
    assert untimed(lines_of(target[0])) == untimed(lines)
    assert target[1].schemas.get(KEY).latest == 3
    again = import_lines(*target, lines)
    assert (again.differences, again.versions, again.added) == ([], 7, 0)
    assert register(target[1], KEY, record(a="int", e=("int", 0))).number == 6


def test_one_registry_alone(source: Served, target: Served) -> None:
    records = [json.loads(line) for line in lines_of(source[0], "empty")]
    assert [item["kind"] for item in records] == ["header", "registry", "end"]
    assert import_lines(*target, lines_of(source[0], "r")).added == 7
    assert target[1].configs.get("") is None
    with pytest.raises(RegistryNotFound, match="RegistryName: emtpy"):
        lines_of(source[0], "emtpy")


def test_an_import_that_was_cut_says_so_and_goes_on(source: Served, target: Served) -> None:
    lines = lines_of(source[0])
    with pytest.raises(DataProblem, match="cut"):
        import_lines(*target, lines[:-4])
    with pytest.raises(DataProblem, match="cut"):
        import_lines(*target, [*lines[:-4], lines[-1]])
    report = import_lines(*target, lines)
    assert report.differences == []
    assert untimed(lines_of(target[0])) == untimed(lines)


def test_differences_from_the_store_are_reported_and_the_store_wins(source: Served, target: Served) -> None:
    service = target[1]
    service.registries.create("r")
    create(service, "s", record(z="int"), "NONE")
    service.configs.put(ScopeConfig(scope="", compatibility=CompatibilityMode.NONE))
    differences = "\n".join(import_lines(*target, lines_of(source[0])).differences)
    assert "The policy of scope ''" in differences
    assert "Registry r has another description or other tags here." in differences
    assert "Schema s in registry r has compatibility NONE here, BACKWARD in the source." in differences
    assert "Schema s in registry r has checkpoint 1 here, 3 in the source." in differences
    assert "Schema s in registry r has other tags here." in differences
    assert "Version 1 of schema s in registry r: another schema has this number here" in differences
    assert service.versions.get_numbered(KEY, 1).definition == record(z="int")


def test_the_same_schema_under_other_ids_is_reported(source: Served, target: Served) -> None:
    service = target[1]
    service.registries.create("r")
    create(service, "s", record(a="int"), "BACKWARD")
    (difference,) = import_lines(*target, lines_of(source[0])).differences[-1:]
    assert difference


def test_an_invalid_definition_is_reported_and_the_rest_is_imported(source: Served, target: Served) -> None:
    lines = [line.replace(json.dumps(ADDRESS), '"nonsense"') for line in lines_of(source[0])]
    report = import_lines(*target, lines)
    assert "Version 1 of schema z-address in registry r: its definition is not valid here." in "\n".join(report.differences)
    assert target[1].schemas.get(KEY).latest == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "nonsense",
        '{"kind":"version"}',
        '{"kind":"header","format":"penstock-registry","version":2}',
        "[" * 100_000,
    ],
)
def test_a_file_that_is_not_an_export_is_refused(target: Served, text: str) -> None:
    with pytest.raises(DataProblem):
        import_lines(*target, [text])


@pytest.mark.parametrize(
    "change",
    [
        {"number": 0}, {"number": "x"}, {"created": "yesterday"}, {"references": [{"name": "x"}]}, {"serial": None},
        {"kind": "novelty"}, {"metadata": [1]},
    ],
)  # fmt: skip
def test_a_damaged_record_is_named_by_its_line(
    source: Served,
    target: Served,
    change: dict[str, Any],
) -> None:
    lines = lines_of(source[0])
    place = next(number for number, line in enumerate(lines) if '"kind": "version"' in line)
    lines[place] = json.dumps({**json.loads(lines[place]), **change})
    with pytest.raises(DataProblem, match=f"Line {place + 1} "):
        import_lines(*target, lines)


def test_a_reference_that_the_file_lacks_is_reported(source: Served, target: Served) -> None:
    lines = [line for line in lines_of(source[0]) if '"schema": "z-address", "id"' not in line]
    counts = json.loads(lines[-1])
    counts["counts"]["version"] -= 1
    report = import_lines(*target, [*lines[:-1], json.dumps(counts)])
    assert sorted(difference.split(" in ")[0] for difference in report.differences) == [
        "Version 1 of schema a-team",
        "Version 1 of schema m-person",
    ]
    assert present(target[0].schemas.get(SchemaKey("r", "a-team"))).latest is None


def test_a_comparison_tells_every_kind_of_difference(source: Served, target: Served) -> None:
    def records() -> Iterator[Any]:
        return (record for record in exported(source[0]) if record["kind"] != "policy")

    store, service = target
    assert any("Registry r is not here" in difference for difference in compared(store, service, records()).differences)
    import_records(store, service, records())
    report = compared(store, service, records())
    assert (report.versions, report.added, report.differences) == (7, 0, [])
    service.registries.update("empty", description="x")
    service.tags.add("arn:aws:glue:us-east-1:000000000000:schema/r/s", {"more": "x"})
    service.schemas.update(KEY, compatibility=CompatibilityMode.FULL, checkpoint=1, description="y")
    service.metadata.put(service.versions.get_numbered(KEY, 3), "k", "x")
    mine = register(service, KEY, record(a="int", mine=("int", 0)), checked=False)
    service.deletion.soft(KEY, 3)
    service.schemas.delete(SchemaKey("r", "a-team"))
    results = compared(store, service, records()).differences
    expected = [
        "Registry empty has another description or other tags here.",
        "Schema a-team in registry r is not here.",
        "Version 1 of schema a-team in registry r is not here, with id",
        "Schema s in registry r has compatibility FULL here, BACKWARD in the source.",
        "Schema s in registry r has checkpoint 1 here, 3 in the source.",
        "Schema s in registry r has description y here, none in the source.",
        "Schema s in registry r has other tags here.",
        "Version 3 of schema s in registry r: its deleted differs here.",
        "Version 3 of schema s in registry r: its metadata differs here.",
        f"Version {mine.number} of schema s in registry r: it is here, but not in the source.",
    ]
    assert {text for text in expected if not any(name.startswith(text) for name in results)} == set()
    assert len(results) == len(expected)
