"""Crawls of Iceberg's, Delta's and the catalog's own tables in the lake."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.types import DoubleType

from penstock.catalog.model import Column, DatabaseInput, StorageDescriptor, TableInput
from penstock.crawl.model import CatalogTarget, DeltaTarget, IcebergTarget, SchemaChangePolicy
from penstock.errors import InvalidInput
from tests.unit.crawl.crawl_world import World

LOG = SchemaChangePolicy(delete="LOG")
ROWS = pa.table({"Id": pa.array([1, 2], pa.int64()), "day": pa.array(["mon", "tue"])})


@pytest.fixture
def iceberg(world: World, tmp_path: Path) -> InMemoryCatalog:
    """pyiceberg over the lake's folder; its locations are rewritten to the lake's names."""
    catalog = InMemoryCatalog("memory", warehouse=str(world.lake.root / "lake/ice"))
    catalog.create_namespace("air")
    return catalog


def moved(world: World) -> dict[Path, str]:
    """Write the lake's names into the metadata, as a writer with S3 has them; return what was there."""
    before: dict[Path, str] = {}
    for path in (world.lake.root / "lake/ice").rglob("*.metadata.json"):
        before[path] = path.read_text()
        text = before[path].replace(f"file://{world.lake.root}", "s3://").replace(str(world.lake.root), "s3:/")
        path.write_text(text)
    return before


def test_an_iceberg_crawl_follows_the_newest_metadata(world: World, iceberg: InMemoryCatalog) -> None:
    table = iceberg.create_table("air.flights", ROWS.schema)
    before = moved(world)
    world.crawler(targets=(), others=(IcebergTarget(paths=("s3://lake/ice",)),))
    last = world.crawl()
    assert (last.message, last.tally.changes) == (None, (("ADD", "flights"),))
    made = world.catalog.table("air", "flights")
    assert made.parameters["table_type"] == "ICEBERG"
    first = made.parameters["metadata_location"]
    assert world.lake.path(first).is_file()
    assert {column.name: column.type for column in made.storage.columns} == {"Id": "bigint", "day": "string"}
    assert world.crawl().tally.changes == ()
    for path, text in before.items():
        path.write_text(text)
    with table.update_schema() as update:
        update.add_column("price", DoubleType())
    moved(world)
    assert world.crawl().tally.changes == (("UPDATE", "flights"),)
    changed = world.catalog.table("air", "flights")
    assert changed.parameters["previous_metadata_location"] == first
    assert changed.storage.columns[-1].name == "price"


def test_a_folder_whose_metadata_is_of_another_place_is_left_out(world: World, iceberg: InMemoryCatalog) -> None:
    iceberg.create_table("air.flights", ROWS.schema)
    world.crawler(targets=(), others=(IcebergTarget(paths=("s3://lake/ice/",)),))
    assert "is skipped: " in str(world.crawl().message)
    assert "is not an S3 location" in str(world.crawl().message)
    for path in (world.lake.root / "lake/ice").rglob("*.metadata.json"):
        path.write_text(json.dumps({"location": "s3://lake/other", "schemas": []}))
        assert "says that the table is at s3://lake/other" in str(world.crawl().message)
        path.write_text(json.dumps({"location": "s3://lake/ice/air/flights", "schemas": []}))
    assert "is damaged" in str(world.crawl().message)


def test_a_delta_crawl_has_the_log_s_columns(world: World) -> None:
    folder = world.lake.root / "lake/delta/flights"
    write_deltalake(folder, ROWS, partition_by=["day"])
    world.crawler(targets=(), others=(DeltaTarget(paths=("s3://lake/delta/flights", "s3://lake/delta/none")),))
    last = world.crawl()
    assert "s3://lake/delta/none/ is skipped: The log of the Delta table" in str(last.message)
    made = world.catalog.table("air", "flights")
    assert made.parameters["table_type"] == "delta"
    assert [(column.name, column.type) for column in made.storage.columns] == [("id", "bigint")]
    assert [(partition_key.name, partition_key.type) for partition_key in made.partition_keys] == [("day", "string")]
    write_deltalake(folder, ROWS.append_column("x", pa.array([1.5, 2.5])), mode="append", schema_mode="merge")
    assert world.crawl().tally.changes == (("UPDATE", "flights"),)
    assert world.columns()["x"] == "double"


def test_a_crawl_of_the_catalog_changes_its_tables_and_makes_none(world: World) -> None:
    world.catalog.create_database(DatabaseInput(name="sea"))
    place = StorageDescriptor(columns=[Column(name="id", type="int")], location="s3://lake/ships/")
    keys = [Column(name="year", type="int")]
    world.catalog.create_table("sea", TableInput(name="Ships", storage=place, partition_keys=keys))
    world.write("ships/year=2013/a.parquet", id=[1], name=["Emma"])
    world.write("other/a.parquet")
    target = CatalogTarget(database="sea", tables=("ships",))
    world.crawler(targets=(), others=(target,), policy=LOG)
    last = world.crawl()
    assert (last.tally.changes, last.tally.partitions_added) == ((("UPDATE", "ships"),), 1)
    made = world.catalog.table("sea", "ships")
    assert {column.name: column.type for column in made.storage.columns} == {"id": "bigint", "name": "string"}
    assert [table.name for table in world.catalog.tables("sea")] == ["ships"]
    world.crawls.update("c", lambda crawler: replace(crawler, others=(replace(target, tables=("ships", "boats")),)))
    assert world.crawl().status == "FAILED"
    with pytest.raises(InvalidInput, match="together with other targets"):
        world.crawls.update("c", lambda crawler: replace(crawler, others=(target, DeltaTarget(paths=("s3://lake/x",)))))
