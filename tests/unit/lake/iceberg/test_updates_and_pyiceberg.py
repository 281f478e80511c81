"""Updates give the same documents as pyiceberg's, where pyiceberg defines them."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.table.metadata import new_table_metadata as pyiceberg_new_table
from pyiceberg.table.sorting import SortOrder
from pyiceberg.table.update import TableUpdate, update_table_metadata

from penstock.lake.iceberg.table_metadata import new_table, read_table, written
from penstock.lake.iceberg.updates import apply_updates

LOCATION = "s3://lake/t"
_UPDATES: TypeAdapter[Any] = TypeAdapter(TableUpdate)
# The time of the change is the clock's.
_CLOCK = {"last_updated_ms", "metadata_log", "snapshot_log"}

PRIMITIVES = st.sampled_from(
    [
        "boolean",
        "int",
        "long",
        "float",
        "double",
        "date",
        "time",
        "timestamp",
        "timestamptz",
        "string",
        "uuid",
        "binary",
        "decimal(9,2)",
        "fixed[16]",
    ]
)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.builds(lambda kind: {"type": "list", "element": kind, "element-required": False}, inner)
    maps = st.builds(lambda key, value: {"type": "map", "key": key, "value": value, "value-required": True}, inner, inner)
    return st.one_of(lists, maps, st.builds(_struct, st.lists(inner, min_size=1, max_size=3)))


def _struct(kinds: list[Any]) -> dict[str, Any]:
    fields = [{"name": f"f{number}", "type": kind, "required": number % 2 == 0} for number, kind in enumerate(kinds)]
    return {"type": "struct", "fields": fields}


def _numbered(kind: Any, ids: Any) -> Any:
    """Give every field an id, in an order that is not the one of fresh ids."""
    if isinstance(kind, str):
        return kind
    if kind["type"] == "struct":
        return {
            **kind,
            "fields": [{**field, "type": _numbered(field["type"], ids), "id": next(ids)} for field in kind["fields"]],
        }
    if kind["type"] == "list":
        return {**kind, "element": _numbered(kind["element"], ids), "element-id": next(ids)}
    key, value = _numbered(kind["key"], ids), _numbered(kind["value"], ids)
    return {**kind, "key": key, "value": value, "key-id": next(ids), "value-id": next(ids)}


SCHEMAS = st.lists(st.recursive(PRIMITIVES, _nested, max_leaves=6), min_size=1, max_size=5).map(
    lambda kinds: _numbered(_struct(kinds), iter(range(100, 1000)))
)


def models(table: dict[str, Any]) -> TableMetadata:
    return TableMetadataUtil.parse_obj(written(table))


def same(ours: TableMetadata, theirs: TableMetadata) -> None:
    one, other = (item.model_dump(exclude=_CLOCK | {"table_uuid"}) for item in (ours, theirs))
    assert one == other


@given(SCHEMAS, st.sampled_from([1, 2, 3]))
@settings(max_examples=60, deadline=None)
def test_a_new_table_has_pyicebergs_ids(schema: dict[str, Any], version: int) -> None:
    properties = {"format-version": str(version), "a": "b"}
    ours = new_table(schema, location=LOCATION, properties=properties)
    model = Schema.model_validate(schema)
    theirs = pyiceberg_new_table(model, PartitionSpec(), SortOrder(order_id=0), LOCATION, dict(properties))
    # Version 3 requires next-row-id from the start, and pyiceberg sets it with the first snapshot.
    same(models(ours), theirs.model_copy(update={"next_row_id": 0}) if version == 3 else theirs)
    assert read_table(written(ours)) == {**ours, "current-snapshot-id": None, **_of_first(ours)}


def _of_first(table: dict[str, Any]) -> dict[str, Any]:
    if table["format-version"] > 1:
        return {}
    return {"schema": table["schemas"][0], "partition-spec": table["partition-specs"][0]["fields"]}


def column(name: str, field_id: int, kind: str = "long") -> dict[str, Any]:
    return {"id": field_id, "name": name, "type": kind, "required": False}


def a_table() -> dict[str, Any]:
    fields = [column("id", 1), column("at", 2, "timestamp"), column("name", 3, "string")]
    return new_table({"type": "struct", "fields": fields}, location=LOCATION, properties={})


class Plans:
    """Makes updates that are valid one after the other, for a table from :func:`a_table`."""

    def __init__(self) -> None:
        self.columns = [column("id", 1), column("at", 2, "timestamp"), column("name", 3, "string")]
        self.snapshots: list[int] = []
        self.specs = 1
        self.partition = 999

    def make(self, kind: str) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = getattr(self, f"_{kind}")()
        return made

    def _schema(self) -> list[dict[str, Any]]:
        self.columns = [*self.columns, column(f"c{len(self.columns)}", len(self.columns) + 1)]
        number = len(self.columns) - 3
        schema = {"type": "struct", "schema-id": number, "fields": self.columns}
        return [
            {"action": "add-schema", "schema": schema, "last-column-id": len(self.columns)},
            {"action": "set-current-schema", "schema-id": -1},
        ]

    def _spec(self) -> list[dict[str, Any]]:
        self.partition += 1
        field = {"name": f"p{self.specs}", "source-id": 1, "transform": f"bucket[{self.specs}]", "field-id": self.partition}
        spec = {"spec-id": self.specs, "fields": [field]}
        self.specs += 1
        return [{"action": "add-spec", "spec": spec}, {"action": "set-default-spec", "spec-id": -1}]

    def _properties(self) -> list[dict[str, Any]]:
        return [
            {"action": "set-properties", "updates": {"x": str(self.specs), "y": str(len(self.snapshots))}},
            {"action": "remove-properties", "removals": ["x"]},
        ]

    def _snapshot(self) -> list[dict[str, Any]]:
        number = len(self.snapshots) + 1
        snapshot = {
            "snapshot-id": number,
            "sequence-number": number,
            "timestamp-ms": 1_700_000_000_000 + number,
            "manifest-list": f"{LOCATION}/metadata/snap-{number}.avro",
            "summary": {"operation": "append", "added-records": "1"},
            "schema-id": 0,
        }
        if self.snapshots:
            snapshot["parent-snapshot-id"] = self.snapshots[-1]
        self.snapshots.append(number)
        ref = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": number}
        return [{"action": "add-snapshot", "snapshot": snapshot}, ref]

    def _tag(self) -> list[dict[str, Any]]:
        if not self.snapshots:
            return []
        name = f"v{len(self.snapshots)}"
        ref = {"action": "set-snapshot-ref", "ref-name": name, "type": "tag", "snapshot-id": self.snapshots[0]}
        return [{**ref, "max-ref-age-ms": 10_000}]

    def _untag(self) -> list[dict[str, Any]]:
        return [{"action": "remove-snapshot-ref", "ref-name": "v1"}]

    def _statistics(self) -> list[dict[str, Any]]:
        if not self.snapshots:
            return []
        snapshot = self.snapshots[-1]
        file = {
            "snapshot-id": snapshot,
            "statistics-path": f"{LOCATION}/metadata/{snapshot}.puffin",
            "file-size-in-bytes": 10,
            "file-footer-size-in-bytes": 5,
            "blob-metadata": [],
        }
        return [{"action": "set-statistics", "statistics": file}]


KINDS = ["schema", "spec", "properties", "snapshot", "tag", "untag", "statistics"]


@given(st.lists(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4), min_size=1, max_size=4))
@settings(max_examples=80, deadline=None)
def test_commits_give_pyicebergs_documents(commits: list[list[str]]) -> None:
    plans, ours = Plans(), a_table()
    theirs = models(ours)
    for number, kinds in enumerate(commits):
        updates = [update for kind in kinds for update in plans.make(kind)]
        where = f"{LOCATION}/metadata/{number}.json"
        # What is written is what the next commit reads.
        ours = apply_updates(read_table(written(ours)), updates, metadata_location=where) or ours
        parsed = tuple(_UPDATES.validate_python(dict(update)) for update in updates)
        theirs = update_table_metadata(theirs, parsed, metadata_location=where)
        same(models(ours), theirs)
        assert ours["current-snapshot-id"] in {None, *plans.snapshots}
