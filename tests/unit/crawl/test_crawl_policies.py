"""What crawls do to tables that are there: schema change policies, inheritance, indexes, settings."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from penstock.access.errors import NotAuthorized
from penstock.catalog.model import Column, DatabaseInput, PartitionInput, StorageDescriptor, TableInput
from penstock.crawl.model import SchemaChangePolicy
from penstock.crawl.service import CrawlService
from penstock.errors import InvalidInput
from tests.unit.crawl.crawl_world import Unchecked, World


def test_policy_log_leaves_the_schema_and_adds_partitions(world: World) -> None:
    world.write("flights/year=1/x.parquet")
    world.crawler(policy=SchemaChangePolicy(update="LOG", delete="LOG"))
    world.crawl()
    world.write("flights/year=2/x.parquet", id=pa.array([1], pa.int64()), new=["a"])
    (world.lake.root / "lake/flights/year=1/x.parquet").unlink()
    last = world.crawl()
    assert world.columns() == {"id": "bigint"}
    assert world.values() == [("1",), ("2",)]
    assert "the policy is to leave it as it is (LOG)" in str(last.message)
    assert "1 partitions of table flights have no files any more" in str(last.message)


def test_policy_delete_removes_partitions_and_tables(world: World) -> None:
    world.write("flights/year=1/x.parquet")
    world.write("flights/year=2/x.parquet")
    world.crawler(policy=SchemaChangePolicy(delete="DELETE_FROM_DATABASE"))
    world.crawl()
    (world.lake.root / "lake/flights/year=1/x.parquet").unlink()
    assert world.crawl().tally.partitions_deleted == 1
    assert world.values() == [("2",)]
    (world.lake.root / "lake/flights/year=2/x.parquet").unlink()
    assert world.crawl().tally.tables_deleted == 1
    assert world.catalog.tables("air") == []


def test_policy_deprecate_marks_and_unmarks(world: World) -> None:
    kept, lost = world.write("flights/year=1/x.parquet"), world.write("flights/year=2/x.parquet")
    world.crawler()
    world.crawl()
    lost.unlink()
    world.crawl()
    assert "DEPRECATED_BY_CRAWLER" in world.catalog.partition("air", "flights", ["2"]).parameters
    assert "DEPRECATED_BY_CRAWLER" not in world.catalog.partition("air", "flights", ["1"]).parameters
    kept.unlink()
    world.crawl()
    assert "DEPRECATED_BY_CRAWLER" in world.catalog.table("air", "flights").parameters
    version = world.catalog.table("air", "flights").version_id
    world.crawl()
    assert world.catalog.table("air", "flights").version_id == version
    world.write("flights/year=2/x.parquet")
    world.crawl()
    assert "DEPRECATED_BY_CRAWLER" not in world.catalog.table("air", "flights").parameters
    assert "DEPRECATED_BY_CRAWLER" not in world.catalog.partition("air", "flights", ["2"]).parameters


def test_nothing_is_taken_from_a_table_that_somebody_else_made(world: World) -> None:
    world.catalog.create_database(DatabaseInput(name="air"))
    storage = StorageDescriptor(
        location="s3a://lake/flights", columns=(Column(name="id", type="bigint"), Column(name="later", type="string"))
    )
    expected = TableInput(name="departures", storage=storage, partition_keys=(Column(name="year", type="string"),))
    world.catalog.create_table("air", expected)
    world.catalog.create_partition("air", "departures", PartitionInput(values=("1999",), storage=storage))
    world.write("flights/year=2013/x.parquet", id=pa.array([1], pa.int64()), gate=["A"])
    world.crawler(policy=SchemaChangePolicy(delete="DELETE_FROM_DATABASE"))
    world.crawl()
    assert [table.name for table in world.catalog.tables("air")] == ["departures"]
    assert world.columns("departures") == {"id": "bigint", "later": "string", "gate": "string"}
    assert world.values("departures") == [("1999",), ("2013",)]
    assert world.catalog.table("air", "departures").partition_keys[0].type == "string"


def test_own_tables_lose_columns_that_no_file_has_unless_they_merge(world: World) -> None:
    path = world.write("flights/x.parquet", a=[1], b=[2])
    world.crawler()
    world.crawl()
    path.unlink()
    world.write("flights/y.parquet", c=[1])
    configuration = '{"Version":1.0,"CrawlerOutput":{"Tables":{"AddOrUpdateBehavior":"MergeNewColumns"}}}'
    world.crawls.update("c", lambda crawler: replace(crawler, configuration=configuration))
    world.crawl()
    assert list(world.columns()) == ["a", "b", "c"]
    world.crawls.update("c", lambda crawler: replace(crawler, configuration=None))
    world.crawl()
    assert list(world.columns()) == ["c"]


def test_partitions_inherit_what_their_table_becomes(world: World) -> None:
    world.write("flights/year=2013/x.parquet", a=[1])
    world.crawler()
    world.crawl()
    world.write("flights/year=2014/x.parquet", a=[1], b=["x"])

    def columns(year: str) -> list[str]:
        return [column.name for column in world.catalog.partition("air", "flights", [year]).storage.columns]

    world.crawl()
    assert (columns("2013"), columns("2014")) == (["a"], ["a", "b"])
    configuration = '{"Version":1.0,"CrawlerOutput":{"Partitions":{"AddOrUpdateBehavior":"InheritFromTable"}}}'
    world.crawls.update("c", lambda crawler: replace(crawler, configuration=configuration))
    world.crawl()
    assert (columns("2013"), columns("2014")) == (["a", "b"], ["a", "b"])
    assert (world.catalog.partition("air", "flights", ["2013"]).storage.location or "").rstrip("/").endswith("year=2013")


def test_a_table_gets_the_partition_index_that_is_asked_for(world: World) -> None:
    world.write("flights/year=2013/origin=EWR/x.parquet", a=[1])
    world.crawler(configuration='{"Version":1.0,"CreatePartitionIndex":true}')
    for _ in range(2):
        world.crawl()
        ((name, keys),) = world.catalog.indexes.list(world.catalog.table("air", "flights"))
        assert (name, [key.name for key in keys]) == ("crawler_partition_index", ["year", "origin"])


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "not a JSON object"),
        ("[" * 100_000, "is not JSON"),
        ('{"Version":2.0}', "Version = 2.0"),
        ('{"Version":1.0,"Grouping":{"TableGroupingPolicy":"Everything"}}', "Grouping.TableGroupingPolicy"),
        ('{"Version":1.0,"CrawlerOutput":{"Tables":{"TableThreshold":-5}}}', "CrawlerOutput.Tables.TableThreshold = -5"),
        ('{"CreatePartitionIndex":1}', "CreatePartitionIndex = 1"),
        ('{"CrawlerOutput":1}', "CrawlerOutput = 1"),
    ],
)
def test_unsupported_settings_are_refused_by_name(world: World, configuration: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        world.crawler(configuration=configuration)


def test_a_crawl_makes_no_table_that_its_starter_is_denied(world: World) -> None:
    world.write("all/hushed/x.parquet")
    world.write("all/plain/x.parquet", other=pa.array(["a"]))
    world.crawler("s3://lake/all/")

    class Denying(Unchecked):
        def check(self, operation: str, request: Mapping[str, Any]) -> None:
            checked.append((operation, request.get("Name", "")))
            if denied and request.get("Name") == "hushed":
                raise NotAuthorized("no hushed tables")

    checked: list[tuple[str, str]] = []
    denied = True
    world.crawls.close()
    world.crawls = CrawlService(world.store, world.catalog, world.lake, access=Denying)
    last = world.crawl()
    assert last.status == "FAILED"
    assert "no hushed tables" in (last.message or "")
    assert ("CreateDatabase", "") in checked
    assert ("CreateTable", "hushed") in checked
    assert "hushed" not in {table.name for table in world.catalog.tables("air")}
    denied = False
    assert world.crawl().status == "SUCCEEDED"
    assert "hushed" in {table.name for table in world.catalog.tables("air")}
