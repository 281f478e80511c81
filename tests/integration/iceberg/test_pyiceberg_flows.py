"""The whole flow of a table through pyiceberg's REST catalog, with credentials that the catalog vends.

What is asked of a catalog follows pyiceberg's own behaviour tests of its catalogs.
"""

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NoSuchViewError,
    TableAlreadyExistsError,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType, StructType, TimestampType
from pyiceberg.view.metadata import ViewVersion

from tests.integration.iceberg.world import World

ROWS = pa.table({"id": [1, 2, 3], "name": ["a", "b", None]})
SCHEMA = Schema(
    NestedField(10, "id", LongType(), required=True),
    NestedField(20, "name", StringType(), required=False),
    NestedField(30, "at", TimestampType(), required=False),
    NestedField(40, "point", StructType(NestedField(50, "x", LongType(), required=False)), required=False),
    identifier_field_ids=[10],
)


def test_rows_are_appended_overwritten_and_deleted(catalog: RestCatalog, namespace: str) -> None:
    table = catalog.create_table(f"{namespace}.t", ROWS.schema)
    table.append(ROWS)
    table.append(ROWS)
    assert table.scan().to_arrow().num_rows == 6
    table.delete("id == 2")
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 1, 3, 3]
    table.overwrite(ROWS)
    again = catalog.load_table(f"{namespace}.t")
    assert again.scan().to_arrow().sort_by("id") == ROWS
    assert [entry.snapshot_id for entry in again.history()][-1] == again.metadata.current_snapshot_id
    assert len(again.metadata.metadata_log) == 4


def test_tables_start_with_fresh_ids(catalog: RestCatalog, namespace: str) -> None:
    spec = PartitionSpec(
        PartitionField(source_id=30, field_id=1005, transform=DayTransform(), name="day"),
        PartitionField(source_id=10, field_id=1009, transform=BucketTransform(4), name="bucket"),
    )
    order = SortOrder(SortField(source_id=20, transform=IdentityTransform()))
    table = catalog.create_table(f"{namespace}.t", SCHEMA, partition_spec=spec, sort_order=order, properties={"owner": "me"})
    assert {field.name: field.field_id for field in table.schema().fields} == {"id": 1, "name": 2, "at": 3, "point": 4}
    assert table.schema().find_field("point.x").field_id == 5
    assert table.schema().identifier_field_ids == [1]
    assert [(field.source_id, field.field_id) for field in table.spec().fields] == [(3, 1000), (1, 1001)]
    assert [field.source_id for field in table.sort_order().fields] == [2]
    assert table.properties == {"owner": "me"}
    assert catalog.load_table(f"{namespace}.t").metadata == table.metadata


def test_schema_and_partitions_evolve(catalog: RestCatalog, namespace: str) -> None:
    table = catalog.create_table(f"{namespace}.t", SCHEMA)
    with table.update_schema() as update:
        update.add_column("extra", LongType(), doc="more")
        update.rename_column("name", "title")
        update.add_column(("point", "y"), LongType())
    with table.update_schema() as update:
        update.delete_column("at")
    with table.update_spec() as change:
        change.add_field("title", IdentityTransform(), "title")
    with table.update_spec() as change:
        change.add_field("id", BucketTransform(8), "shard")
        change.remove_field("title")
    loaded = catalog.load_table(f"{namespace}.t")
    assert loaded.metadata == table.metadata
    assert [field.name for field in loaded.schema().fields] == ["id", "title", "point", "extra"]
    assert len(loaded.metadata.schemas) == 3
    assert [field.name for field in loaded.spec().fields] == ["shard"]
    assert loaded.metadata.last_column_id == 7
    assert loaded.metadata.last_partition_id == 1001


def test_a_transaction_of_several_updates_is_one_commit(catalog: RestCatalog, namespace: str) -> None:
    table = catalog.create_table(f"{namespace}.t", ROWS.schema)
    with table.transaction() as transaction:
        with transaction.update_schema() as update:
            update.add_column("more", StringType())
        transaction.set_properties({"a": "1", "b": "2"})
        transaction.remove_properties("b")
        transaction.append(ROWS)
    loaded = catalog.load_table(f"{namespace}.t")
    assert loaded.properties == {"a": "1"}
    assert loaded.scan().to_arrow().column_names == ["id", "name", "more"]
    assert len(loaded.metadata.metadata_log) == 1


def test_branches_and_tags(catalog: RestCatalog, namespace: str) -> None:
    table = catalog.create_table(f"{namespace}.t", ROWS.schema)
    table.append(ROWS)
    first = table.metadata.current_snapshot_id
    assert first is not None
    table.manage_snapshots().create_tag(first, "v1").create_branch(first, "work").commit()
    table.append(ROWS, branch="work")
    loaded = catalog.load_table(f"{namespace}.t")
    assert set(loaded.metadata.refs) == {"main", "v1", "work"}
    assert loaded.metadata.current_snapshot_id == first
    assert loaded.scan().use_ref("work").to_arrow().num_rows == 6
    loaded.manage_snapshots().remove_tag("v1").remove_branch("work").commit()
    assert set(catalog.load_table(f"{namespace}.t").metadata.refs) == {"main"}


def test_snapshots_are_expired_and_statistics_set(catalog: RestCatalog, namespace: str) -> None:
    table = catalog.create_table(f"{namespace}.t", ROWS.schema)
    for _ in range(3):
        table.append(ROWS)
    old = table.metadata.snapshots[0].snapshot_id
    table.maintenance.expire_snapshots().by_id(old).commit()
    loaded = catalog.load_table(f"{namespace}.t")
    assert old not in {snapshot.snapshot_id for snapshot in loaded.metadata.snapshots}
    assert old not in {item.snapshot_id for item in loaded.metadata.snapshot_log}
    assert loaded.scan().to_arrow().num_rows == 9


def test_only_referenced_snapshots_are_loaded_if_asked_for(world: World, catalog: RestCatalog, namespace: str) -> None:
    table = catalog.create_table(f"{namespace}.t", ROWS.schema)
    for _ in range(3):
        table.append(ROWS)
    refs = world.bearer(**{"snapshot-loading-mode": "refs"}).load_table(f"{namespace}.t")
    assert [snapshot.snapshot_id for snapshot in refs.metadata.snapshots] == [table.metadata.current_snapshot_id]


def test_a_table_is_made_in_a_transaction(catalog: RestCatalog, namespace: str) -> None:
    with catalog.create_table_transaction(f"{namespace}.t", ROWS.schema, properties={"a": "b"}) as transaction:
        assert not catalog.table_exists(f"{namespace}.t")
        transaction.append(ROWS)
    loaded = catalog.load_table(f"{namespace}.t")
    assert loaded.scan().to_arrow().num_rows == 3
    assert loaded.properties["a"] == "b"
    with (
        pytest.raises((CommitFailedException, TableAlreadyExistsError)),
        catalog.create_table_transaction(f"{namespace}.t", ROWS.schema),
    ):
        pass


def test_tables_are_renamed_and_dropped(catalog: RestCatalog, namespace: str) -> None:
    catalog.create_namespace(f"{namespace}_2")
    table = catalog.create_table(f"{namespace}.t", ROWS.schema)
    table.append(ROWS)
    catalog.create_table(f"{namespace}.taken", ROWS.schema)
    with pytest.raises(TableAlreadyExistsError):
        catalog.rename_table(f"{namespace}.t", f"{namespace}.taken")
    moved = catalog.rename_table(f"{namespace}.t", f"{namespace}_2.moved")
    assert moved.metadata.table_uuid == table.metadata.table_uuid
    assert moved.scan().to_arrow().num_rows == 3
    assert catalog.list_tables(namespace) == [(namespace, "taken")]
    with pytest.raises(NoSuchTableError):
        catalog.load_table(f"{namespace}.t")
    catalog.drop_table(f"{namespace}_2.moved")
    assert not catalog.table_exists(f"{namespace}_2.moved")
    with pytest.raises(NoSuchTableError):
        catalog.drop_table(f"{namespace}_2.moved")


def test_a_purge_removes_the_tables_files_and_no_others(world: World, catalog: RestCatalog, namespace: str) -> None:
    table = catalog.create_table(f"{namespace}.t", ROWS.schema)
    table.append(ROWS)
    table.append(ROWS)
    kept = catalog.create_table(f"{namespace}.kept", ROWS.schema)
    kept.append(ROWS)
    folder = world.server.lake / table.location().removeprefix("s3://")
    (folder / "data" / "foreign.txt").write_text("of another program")
    assert len(_files(folder)) > 6
    catalog.purge_table(f"{namespace}.t")
    assert [file.name for file in _files(folder)] == ["foreign.txt"]
    assert kept.scan().to_arrow().num_rows == 3


def test_a_dropped_table_is_registered_again(catalog: RestCatalog, namespace: str) -> None:
    table = catalog.create_table(f"{namespace}.t", ROWS.schema)
    table.append(ROWS)
    catalog.drop_table(f"{namespace}.t")
    registered = catalog.register_table(f"{namespace}.back", table.metadata_location)
    assert registered.metadata == table.metadata
    assert registered.scan().to_arrow().num_rows == 3
    with pytest.raises(TableAlreadyExistsError):
        catalog.register_table(f"{namespace}.back", table.metadata_location)


def test_namespaces(catalog: RestCatalog) -> None:
    catalog.create_namespace("spaces", {"comment": "text", "location": "s3://lake/spaces", "a": "b"})
    assert ("spaces",) in catalog.list_namespaces()
    assert catalog.namespace_exists("spaces")
    with pytest.raises(NamespaceAlreadyExistsError):
        catalog.create_namespace("spaces")
    summary = catalog.update_namespace_properties("spaces", removals={"a", "none"}, updates={"c": "d"})
    assert (summary.removed, summary.updated, summary.missing) == (["a"], ["c"], ["none"])
    properties = {"comment": "text", "location": "s3://lake/spaces", "c": "d"}
    assert catalog.load_namespace_properties("spaces") == properties
    table = catalog.create_table("spaces.t", ROWS.schema)
    assert table.location() == "s3://lake/spaces/t"
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace("spaces")
    catalog.drop_table("spaces.t")
    catalog.drop_namespace("spaces")
    assert not catalog.namespace_exists("spaces")
    for call in (catalog.drop_namespace, catalog.load_namespace_properties, catalog.list_tables):
        with pytest.raises(NoSuchNamespaceError):
            call("spaces")


def test_views(catalog: RestCatalog, namespace: str) -> None:
    sql = {"type": "sql", "sql": "SELECT 1 AS id", "dialect": "spark"}
    version = ViewVersion.model_validate({"schema-id": 0, "representations": [sql], "default-namespace": [namespace]})
    made = catalog.create_view(f"{namespace}.v", pa.schema([("id", pa.int64())]), version, properties={"a": "b"})
    assert catalog.list_views(namespace) == [(namespace, "v")]
    assert catalog.view_exists(f"{namespace}.v")
    loaded = catalog.load_view(f"{namespace}.v")
    assert loaded.metadata == made.metadata
    assert loaded.metadata.properties == {"a": "b"}
    assert catalog.list_tables(namespace) == []
    with pytest.raises(TableAlreadyExistsError):
        catalog.create_table(f"{namespace}.v", ROWS.schema)
    catalog.drop_view(f"{namespace}.v")
    assert not catalog.view_exists(f"{namespace}.v")
    with pytest.raises(NoSuchViewError):
        catalog.drop_view(f"{namespace}.v")


@pytest.mark.parametrize("name", ["a b+c", "a/b.c%d", "ünï&a=b'c:d~e"])
def test_names_with_any_characters(world: World, catalog: RestCatalog, namespace: str, name: str) -> None:
    """Signed requests, too: the path that is signed is encoded twice."""
    for door, suffix in ((catalog, "1"), (world.signed(), "2")):
        table = door.create_table((namespace, name + suffix), ROWS.schema)
        table.append(ROWS)
        assert door.load_table((namespace, name + suffix)).scan().to_arrow().num_rows == 3
        assert (namespace, name + suffix) in door.list_tables(namespace)
        door.drop_table((namespace, name + suffix))
    catalog.drop_namespace(namespace)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_all_format_versions(catalog: RestCatalog, namespace: str, version: int) -> None:
    table = catalog.create_table(f"{namespace}.t", ROWS.schema, properties={"format-version": str(version)})
    assert table.format_version == version
    assert "format-version" not in table.properties
    if version < 3:
        # pyiceberg cannot write rows to version 3.
        table.append(ROWS)
        assert catalog.load_table(f"{namespace}.t").scan().to_arrow().num_rows == 3
    catalog.drop_table(f"{namespace}.t")
    catalog.drop_namespace(namespace)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
