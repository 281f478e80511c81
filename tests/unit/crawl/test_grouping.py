"""How many tables a target's files make: by their folders, by level, or one if their schemas are compatible."""

import json
from typing import Any

import pytest

from penstock.errors import InvalidInput
from tests.unit.crawl.crawl_world import World


def put(world: World, key: str, **values: Any) -> None:
    path = world.lake.root / "lake" / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values) + "\n")


def crawler(world: World, path: str = "s3://lake/raw/", **configuration: Any) -> None:
    world.crawler(path, configuration=json.dumps({"Version": 1.0, **configuration}))


def tables(world: World) -> dict[str, list[str]]:
    return {table.name: [key.name for key in table.partition_keys] for table in world.catalog.tables("air")}


def test_the_level_says_which_folders_are_tables(world: World) -> None:
    put(world, "raw/shop/2013/01/a.json", id=1)
    put(world, "raw/shop/2013/02/a.json", id=2)
    put(world, "raw/till/year=2013/x/a.json", id=3)
    put(world, "raw/above.json", id=4)
    crawler(world, Grouping={"TableLevelConfiguration": 3})
    last = world.crawl()
    assert tables(world) == {"shop": ["partition_0", "partition_1"], "till": ["year", "partition_1"]}
    assert world.values("shop") == [("2013", "01"), ("2013", "02")]
    assert [partition_key.type for partition_key in world.catalog.table("air", "shop").partition_keys] == ["int", "string"]
    assert world.catalog.partitions("air", "till")[0].storage.location == "s3://lake/raw/till/year=2013/x/"
    assert "above.json is skipped: its folder is above the level" in str(last.message)


def test_compatible_schemas_are_one_table_and_others_are_not(world: World) -> None:
    put(world, "raw/a/one.json", id=1, x=1)
    put(world, "raw/b/two.json", id=2.5, y="t")
    crawler(world, Grouping={"TableGroupingPolicy": "CombineCompatibleSchemas"})
    assert world.crawl().message is None
    assert tables(world) == {"raw": ["partition_0"]}
    assert world.columns("raw") == {"id": "double", "x": "int", "y": "string"}
    assert world.values("raw") == [("a",), ("b",)]


def test_schemas_in_conflict_are_tables_of_their_own(world: World) -> None:
    put(world, "raw/a/one.json", id=1)
    put(world, "raw/b/two.json", id={"x": 1})
    crawler(world, Grouping={"TableGroupingPolicy": "CombineCompatibleSchemas"})
    assert world.crawl().message is None
    assert tables(world) == {"a": [], "b": []}


def test_more_tables_than_the_threshold_fail_the_crawl_and_change_nothing(world: World) -> None:
    for name in "abc":
        put(world, f"raw/{name}/one.json", id=1)
    crawler(world, CrawlerOutput={"Tables": {"TableThreshold": 2}})
    last = world.crawl()
    assert (last.status, "found 3 tables, more than its TableThreshold of 2" in str(last.message)) == ("FAILED", True)
    with pytest.raises(Exception, match="air"):
        world.catalog.database("air")


@pytest.mark.parametrize("level", [0, -1, True, 1.5, "3", 101])
def test_an_invalid_level_is_refused(world: World, level: object) -> None:
    with pytest.raises(InvalidInput, match="TableLevelConfiguration"):
        crawler(world, Grouping={"TableLevelConfiguration": level})
