"""Whatever a document or an update has where something else belongs, the answer is a refusal and not a defect."""

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.lake.iceberg.glue_tables import table_input, view_input
from penstock.lake.iceberg.requirements import check_requirements
from penstock.lake.iceberg.table_metadata import new_table, read_table, referenced_only, written
from penstock.lake.iceberg.updates import apply_updates
from penstock.lake.iceberg.view_metadata import apply_view_updates, check_view_requirements, new_view, read_view

JUNK: list[Any] = [None, True, 0, -1, 3, 2**70, 1.5, "", "x", [], [None], [3], ["x"], [{}], {}, {"a": 1}, [[[]]]]
COLUMN = {"id": 1, "name": "id", "type": "long", "required": False}
NESTED = {
    "type": "struct",
    "fields": [
        COLUMN,
        {
            "id": 2,
            "name": "m",
            "required": False,
            "type": {
                "type": "map",
                "key-id": 3,
                "key": "string",
                "value-id": 4,
                "value": {"type": "list", "element-id": 5, "element": "int", "element-required": False},
                "value-required": False,
            },
        },
    ],
}
SNAPSHOT = {
    "snapshot-id": 1,
    "timestamp-ms": 5,
    "sequence-number": 1,
    "manifest-list": "s3://lake/x.avro",
    "summary": {"operation": "append"},
    "first-row-id": 0,
    "added-rows": 1,
}
UPDATES: list[dict[str, Any]] = [
    {"action": "assign-uuid", "uuid": "00000000-0000-4000-8000-000000000000"},
    {"action": "upgrade-format-version", "format-version": 3},
    {"action": "add-schema", "schema": NESTED, "last-column-id": 5},
    {"action": "set-current-schema", "schema-id": -1},
    {"action": "add-spec", "spec": {"spec-id": 1, "fields": [{"name": "p", "source-id": 1, "transform": "bucket[4]"}]}},
    {"action": "set-default-spec", "spec-id": -1},
    {
        "action": "add-sort-order",
        "sort-order": {
            "order-id": 1,
            "fields": [{"source-id": 1, "transform": "identity", "direction": "asc", "null-order": "nulls-first"}],
        },
    },
    {"action": "set-default-sort-order", "sort-order-id": -1},
    {"action": "add-snapshot", "snapshot": SNAPSHOT},
    {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 1, "max-ref-age-ms": 5},
    {"action": "set-statistics", "statistics": {"snapshot-id": 1, "statistics-path": "s3://lake/s"}},
    {"action": "set-partition-statistics", "partition-statistics": {"snapshot-id": 1, "statistics-path": "s3://lake/s"}},
    {"action": "set-properties", "updates": {"a": "b"}},
    {"action": "remove-properties", "removals": ["c"]},
    {"action": "set-location", "location": "s3://lake/y"},
]
REQUIREMENTS: list[dict[str, Any]] = [
    {"type": "assert-table-uuid", "uuid": "x"},
    {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 1},
    {"type": "assert-current-schema-id", "current-schema-id": 0},
]
VIEW_UPDATES: list[dict[str, Any]] = [
    {"action": "add-schema", "schema": NESTED},
    {
        "action": "add-view-version",
        "view-version": {
            "version-id": 2,
            "schema-id": -1,
            "timestamp-ms": 4,
            "summary": {},
            "default-namespace": ["a"],
            "representations": [{"type": "sql", "sql": "SELECT 1", "dialect": "spark"}],
        },
    },
    {"action": "set-current-view-version", "view-version-id": -1},
    {"action": "set-properties", "updates": {"a": "b"}},
    {"action": "remove-properties", "removals": ["c"]},
]


def table() -> dict[str, Any]:
    made = new_table(NESTED, location="s3://lake/t", properties={"format-version": "3"})
    changed = apply_updates(made, UPDATES[8:], metadata_location="s3://lake/t/0.json")
    assert changed is not None
    return written(changed)


def view() -> dict[str, Any]:
    version = VIEW_UPDATES[1]["view-version"]
    return new_view(NESTED, version, location="s3://lake/v", properties={})


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the paths of all values within a JSON value."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def spoiled(value: Any, path: tuple[Any, ...], junk: Any, *, remove: bool) -> Any:
    """Return ``value`` with ``junk`` at the place, or without it."""
    made = copy.deepcopy(value)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    if remove:
        del inner[path[-1]]
    else:
        inner[path[-1]] = junk
    return made


def commit(document: Any, updates: Any, requirements: Any) -> None:
    with contextlib.suppress(PenstockError):
        base = read_table(document)
        check_requirements(requirements, base)
        changed = apply_updates(base, updates, metadata_location="s3://lake/t/1.json")
        if changed is not None:
            referenced_only(written(changed))
            table_input("t", changed, "s3://lake/t/1.json", None)


def test_what_is_spoiled_here_is_right_before() -> None:
    base = read_table(written(new_table(NESTED, location="s3://lake/t", properties={})))
    assert apply_updates(base, UPDATES, metadata_location="s3://lake/t/1.json") is not None
    assert read_table(table())["current-snapshot-id"] == 1
    assert apply_view_updates(read_view(view()), VIEW_UPDATES[3:]) is not None
    made = view()
    check_view_requirements([{"type": "assert-view-uuid", "uuid": made["view-uuid"].upper()}], made)


def all_spoiled(value: Any) -> Iterator[Any]:
    """Yield ``value`` with each of its places spoiled in each way."""
    for path in places(value):
        yield spoiled(value, path, None, remove=True)
        for junk in JUNK:
            yield spoiled(value, path, junk, remove=False)


def test_a_spoiled_document_is_refused_or_used() -> None:
    for document in all_spoiled(table()):
        commit(document, UPDATES[-3:-1], [])
        commit(document, UPDATES[2:9], [])
        for requirement in REQUIREMENTS:
            commit(document, [], [requirement])


def test_spoiled_updates_are_refused_or_applied() -> None:
    base = written(new_table(NESTED, location="s3://lake/t", properties={}))
    for updates in all_spoiled(UPDATES):
        commit(base, updates, [])


def test_spoiled_requirements_are_refused() -> None:
    for requirements in all_spoiled(REQUIREMENTS):
        commit(table(), [], requirements)


@pytest.mark.parametrize("version", ["1", "2", "3", "x"])
def test_spoiled_schemas_specs_and_orders_are_refused(version: str) -> None:
    expected = {"schema": NESTED, "spec": UPDATES[4]["spec"], "order": UPDATES[6]["sort-order"]}
    for spoiled_one in all_spoiled(expected):
        with contextlib.suppress(PenstockError):
            new_table(
                spoiled_one.get("schema"),
                location="s3://lake/t",
                spec=spoiled_one.get("spec"),
                order=spoiled_one.get("order"),
                properties={"format-version": version},
            )


def test_a_spoiled_view_is_refused_or_used() -> None:
    for document in all_spoiled(view()):
        with contextlib.suppress(PenstockError):
            made = read_view(document)
            apply_view_updates(made, VIEW_UPDATES)
            view_input("v", made, "s3://lake/v/0.json", None)


def test_spoiled_updates_of_views_are_refused_or_applied() -> None:
    for updates in all_spoiled(VIEW_UPDATES):
        with contextlib.suppress(PenstockError):
            changed = apply_view_updates(read_view(view()), updates)
            if changed is not None:
                view_input("v", changed, "s3://lake/v/0.json", None)


@pytest.mark.parametrize("document", [None, 3, "x", [], {}, {"format-version": 1}, {"format-version": 7}])
def test_documents_that_are_no_views_are_refused(document: Any) -> None:
    with pytest.raises(PenstockError):
        read_view(document)
