"""What a commit does to a table's document: ids that are reused, conflicts, refusals, history."""

from typing import Any

import pytest

from penstock.lake.iceberg.errors import BadDocument, NotSupported, RequirementFailed
from penstock.lake.iceberg.requirements import check_requirements
from penstock.lake.iceberg.table_metadata import new_table, read_table, referenced_only, written
from penstock.lake.iceberg.updates import apply_updates

LOCATION = "s3://lake/t"
ID = {"id": 1, "name": "id", "type": "long", "required": True}
NAME = {"id": 2, "name": "name", "type": "string", "required": False}


def schema(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "schema-id": 7, "fields": list(fields)}


def a_table(version: int = 2, properties: dict[str, str] | None = None) -> dict[str, Any]:
    given = {"format-version": str(version), **(properties or {})}
    return new_table(schema(ID, NAME), location=LOCATION, properties=given)


def after(table: dict[str, Any], *updates: dict[str, Any]) -> dict[str, Any]:
    changed = apply_updates(table, updates, metadata_location=f"{LOCATION}/metadata/0.json")
    assert changed is not None
    return changed


def snapshot(number: int, sequence: int | None = None, **more: Any) -> dict[str, Any]:
    body = {
        "snapshot-id": number,
        "timestamp-ms": 1_700_000_000_000 + number,
        "sequence-number": number if sequence is None else sequence,
        "manifest-list": f"{LOCATION}/metadata/{number}.avro",
        "summary": {"operation": "append"},
        **more,
    }
    return {"action": "add-snapshot", "snapshot": body}


def main(number: int) -> dict[str, Any]:
    return {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": number}


def test_an_identical_schema_spec_or_order_is_not_added_again() -> None:
    spec = {"spec-id": 5, "fields": [{"name": "id_8", "source-id": 1, "transform": "bucket[8]"}]}
    order = {
        "order-id": 9,
        "fields": [{"source-id": 2, "transform": "identity", "direction": "asc", "null-order": "nulls-last"}],
    }
    updates: list[dict[str, Any]] = [
        {"action": "add-schema", "schema": schema(ID, NAME)},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": spec},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": order},
        {"action": "set-default-sort-order", "sort-order-id": -1},
    ]
    once = after(a_table(), *updates)
    assert (len(once["schemas"]), once["current-schema-id"]) == (1, 0)
    assert [item["spec-id"] for item in once["partition-specs"]] == [0, 1]
    assert once["partition-specs"][1]["fields"][0]["field-id"] == 1000
    assert (once["default-spec-id"], once["last-partition-id"]) == (1, 1000)
    assert [item["order-id"] for item in once["sort-orders"]] == [0, 1]
    assert apply_updates(once, updates, metadata_location="x") is None


def test_a_new_schema_gets_the_next_id_whatever_the_client_guessed() -> None:
    extra = {"id": 3, "name": "x", "type": "int", "required": False}
    changed = after(a_table(), {"action": "add-schema", "schema": {**schema(ID, NAME, extra), "schema-id": 0}})
    assert [item["schema-id"] for item in changed["schemas"]] == [0, 1]
    assert changed["last-column-id"] == 3


def test_removing_a_property_that_is_gone_is_no_error() -> None:
    updates: list[dict[str, Any]] = [
        {"action": "remove-properties", "removals": ["gone"]},
        {"action": "set-properties", "updates": {"a": "b", "format-version": "9"}},
    ]
    assert after(a_table(), *updates)["properties"] == {"a": "b"}


def test_the_snapshot_log_has_what_was_current_and_no_gap() -> None:
    table = after(a_table(), snapshot(1), main(1))
    table = after(table, snapshot(2, **{"parent-snapshot-id": 1}), main(2), snapshot(3), main(3))
    assert [item["snapshot-id"] for item in table["snapshot-log"]] == [1, 3]
    table = after(table, snapshot(4), main(4))
    table = after(table, {"action": "remove-snapshots", "snapshot-ids": [3, 99]})
    assert [item["snapshot-id"] for item in table["snapshot-log"]] == [4]
    assert [item["snapshot-id"] for item in table["snapshots"]] == [1, 2, 4]


def test_removed_snapshots_take_refs_and_statistics_with_them() -> None:
    statistics = {"action": "set-statistics", "statistics": {"snapshot-id": 1, "statistics-path": "s3://lake/x"}}
    tag = {"action": "set-snapshot-ref", "ref-name": "old", "type": "tag", "snapshot-id": 1}
    table = after(a_table(), snapshot(1), main(1), statistics, tag, snapshot(2), main(2))
    table = after(table, {"action": "remove-snapshots", "snapshot-ids": [1]})
    assert (set(table["refs"]), table["statistics"]) == ({"main"}, [])
    table = after(table, {"action": "remove-snapshots", "snapshot-ids": [2]})
    assert (table["refs"], table["current-snapshot-id"]) == ({}, None)
    assert written(table)["current-snapshot-id"] == -1


def test_a_snapshot_from_before_another_commit_is_a_conflict() -> None:
    table = after(a_table(), snapshot(1), main(1))
    with pytest.raises(RequirementFailed, match="older than last sequence number"):
        after(table, snapshot(2, sequence=1, **{"parent-snapshot-id": 1}))
    third = after(a_table(3), snapshot(1, **{"first-row-id": 0, "added-rows": 5}), main(1))
    assert third["next-row-id"] == 5
    with pytest.raises(RequirementFailed, match="first-row-id is behind"):
        after(third, snapshot(2, **{"first-row-id": 3, "added-rows": 1}))
    with pytest.raises(BadDocument, match="without first-row-id"):
        after(third, snapshot(2))


def test_a_table_is_upgraded_step_by_step() -> None:
    first = a_table(1)
    assert {"schema", "partition-spec"} <= set(written(first))
    assert "last-sequence-number" not in written(first)
    second = after(read_table(written(first)), {"action": "upgrade-format-version", "format-version": 2})
    assert not {"schema", "partition-spec"} & set(written(second))
    third = after(second, {"action": "upgrade-format-version", "format-version": 3})
    assert third["next-row-id"] == 0
    key = {"action": "add-encryption-key", "encryption-key": {"key-id": "k", "encrypted-key-metadata": "AA=="}}
    assert after(third, key)["encryption-keys"][0]["key-id"] == "k"
    assert after(after(third, key), {"action": "remove-encryption-key", "key-id": "k"})["encryption-keys"] == []


def test_an_old_document_of_version_one_is_read() -> None:
    document = {
        "format-version": 1,
        "location": LOCATION,
        "last-updated-ms": 1,
        "last-column-id": 2,
        "schema": {"type": "struct", "fields": [ID, NAME]},
        "partition-spec": [{"name": "id", "source-id": 1, "transform": "identity"}],
    }
    table = read_table(document)
    assert table["schemas"] == [{"schema-id": 0, "type": "struct", "fields": [ID, NAME]}]
    assert table["partition-specs"][0]["fields"][0]["field-id"] == 1000
    changed = after(table, {"action": "set-properties", "updates": {"a": "b"}})
    assert written(changed)["partition-spec"] == table["partition-specs"][0]["fields"]


def test_the_metadata_log_is_as_long_as_the_table_says() -> None:
    table = a_table(properties={"write.metadata.previous-versions-max": "2"})
    for number in range(4):
        table = after(table, {"action": "set-properties", "updates": {"n": str(number)}})
    assert len(table["metadata-log"]) == 2
    with pytest.raises(BadDocument, match="not a number"):
        after(table, {"action": "set-properties", "updates": {"write.metadata.previous-versions-max": "many"}})


def test_unknown_members_of_a_document_stay() -> None:
    table = {**a_table(), "of-the-future": [1]}
    table["schemas"] = [{**table["schemas"][0], "note": "kept"}]
    changed = after(read_table(written(table)), {"action": "set-properties", "updates": {"a": "b"}})
    assert written(changed)["of-the-future"] == [1]
    assert written(changed)["schemas"][0]["note"] == "kept"


@pytest.mark.parametrize(
    ("update", "error", "words"),
    [
        ({"action": "fly"}, NotSupported, "'fly'"),
        ({"action": "set-location"}, BadDocument, "has no 'location'"),
        ({"action": "set-location", "location": 3}, BadDocument, "not a string"),
        ({"action": "set-location", "location": "s3://x", "why": 1}, BadDocument, "'why'"),
        ({"action": "set-current-schema", "schema-id": 9}, BadDocument, "schema-id 9"),
        ({"action": "set-current-schema", "schema-id": -1}, BadDocument, "no schema has been added"),
        ({"action": "set-default-spec", "spec-id": -1}, BadDocument, "no spec has been added"),
        ({"action": "set-default-sort-order", "sort-order-id": 4}, BadDocument, "order-id 4"),
        ({"action": "remove-schemas", "schema-ids": [0]}, BadDocument, "current schema"),
        ({"action": "remove-partition-specs", "spec-ids": [0]}, BadDocument, "default partition spec"),
        ({"action": "set-snapshot-ref", "ref-name": "a", "type": "tag", "snapshot-id": 5}, BadDocument, "unknown snapshot"),
        ({"action": "set-snapshot-ref", "ref-name": "main", "type": "tag", "snapshot-id": 5}, BadDocument, "of type 'tag'"),
        ({"action": "upgrade-format-version", "format-version": 4}, NotSupported, "version 4"),
        ({"action": "upgrade-format-version", "format-version": 1}, BadDocument, "downgrade"),
        ({"action": "add-encryption-key", "encryption-key": {"key-id": "k"}}, BadDocument, "format version 3"),
        ({"action": "assign-uuid", "uuid": "x"}, BadDocument, "UUID"),
        ({"action": "remove-snapshots", "snapshot-ids": "all"}, BadDocument, "list of integers"),
        (
            {"action": "add-spec", "spec": {"fields": [{"name": "d", "source-id": 2, "transform": "day"}]}},
            BadDocument,
            "Invalid source type string",
        ),
        (
            {"action": "add-spec", "spec": {"fields": [{"name": "d", "source-id": 8, "transform": "identity"}]}},
            BadDocument,
            "no field 8",
        ),
        (
            {"action": "add-spec", "spec": {"fields": [{"name": "id", "source-id": 2, "transform": "identity"}]}},
            BadDocument,
            "name of a column",
        ),
        (
            {"action": "add-spec", "spec": {"fields": [{"name": "x", "source-id": 1, "transform": "zorder"}]}},
            BadDocument,
            "transform 'zorder'",
        ),
    ],
)
def test_what_is_not_allowed_is_refused_by_name(update: dict[str, Any], error: type[Exception], words: str) -> None:
    table = a_table()
    before = written(table)
    with pytest.raises(error, match=words):
        apply_updates(table, [update], metadata_location="x")
    assert written(table) == before


def test_a_column_of_the_default_spec_cannot_go() -> None:
    spec = {"fields": [{"name": "id_8", "source-id": 1, "transform": "bucket[8]"}]}
    table = after(a_table(), {"action": "add-spec", "spec": spec}, {"action": "set-default-spec", "spec-id": -1})
    updates: list[dict[str, Any]] = [
        {"action": "add-schema", "schema": schema(NAME)},
        {"action": "set-current-schema", "schema-id": -1},
    ]
    with pytest.raises(BadDocument, match="Cannot find source column"):
        apply_updates(table, updates, metadata_location="x")


REQUIREMENTS: list[tuple[dict[str, Any], bool]] = [
    ({"type": "assert-table-uuid", "uuid": "right"}, True),
    ({"type": "assert-table-uuid", "uuid": "wrong"}, False),
    ({"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 1}, True),
    ({"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 2}, False),
    ({"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None}, False),
    ({"type": "assert-ref-snapshot-id", "ref": "none", "snapshot-id": None}, True),
    ({"type": "assert-ref-snapshot-id", "ref": "none", "snapshot-id": 1}, False),
    ({"type": "assert-last-assigned-field-id", "last-assigned-field-id": 2}, True),
    ({"type": "assert-last-assigned-field-id", "last-assigned-field-id": 3}, False),
    ({"type": "assert-current-schema-id", "current-schema-id": 0}, True),
    ({"type": "assert-current-schema-id", "current-schema-id": 1}, False),
    ({"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 999}, True),
    ({"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 1000}, False),
    ({"type": "assert-default-spec-id", "default-spec-id": 0}, True),
    ({"type": "assert-default-spec-id", "default-spec-id": 1}, False),
    ({"type": "assert-default-sort-order-id", "default-sort-order-id": 0}, True),
    ({"type": "assert-default-sort-order-id", "default-sort-order-id": 1}, False),
    ({"type": "assert-create"}, False),
]


@pytest.mark.parametrize(("requirement", "holds"), REQUIREMENTS)
def test_requirements(requirement: dict[str, Any], holds: bool) -> None:
    table = after(a_table(), snapshot(1), main(1))
    if requirement.get("uuid") == "right":
        requirement = {**requirement, "uuid": table["table-uuid"].upper()}
    if holds:
        check_requirements([requirement], table)
    else:
        with pytest.raises(RequirementFailed):
            check_requirements([requirement], table)


def test_requirements_of_tables_that_do_not_exist() -> None:
    check_requirements([{"type": "assert-create"}], None)
    with pytest.raises(RequirementFailed):
        check_requirements([{"type": "assert-table-uuid", "uuid": "x"}], None)
    with pytest.raises(NotSupported, match="assert-weather"):
        check_requirements([{"type": "assert-weather"}], None)


def test_only_referenced_snapshots_are_shown() -> None:
    tag = {"action": "set-snapshot-ref", "ref-name": "old", "type": "tag", "snapshot-id": 1}
    table = after(a_table(), snapshot(1), main(1), tag, snapshot(2), main(2), snapshot(3), main(3))
    assert [item["snapshot-id"] for item in referenced_only(written(table))["snapshots"]] == [1, 3]


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        {"format-version": "2"},
        {"format-version": True},
        {"format-version": 2, "location": 3},
        {**written(a_table()), "schemas": [3]},
        {**written(a_table()), "schemas": [{}]},
        {**written(a_table()), "schemas": [{"schema-id": 0, "fields": [{"id": 1}]}]},
        {**written(a_table()), "current-schema-id": 4},
        {**written(a_table()), "partition-specs": [{"spec-id": 0}]},
        {**written(a_table()), "snapshots": [{}]},
        {**written(a_table()), "refs": {"main": 3}},
        {**written(a_table()), "properties": []},
    ],
)
def test_documents_that_are_not_metadata_are_refused(document: Any) -> None:
    with pytest.raises(BadDocument):
        read_table(document)
