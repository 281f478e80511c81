"""Crawls over real Parquet files in a folder: what is in the catalog after them."""

import os
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.crawl.formats import containers
from penstock.crawl.model import S3Target
from penstock.lake.statistics import read_parquet_footer
from tests.unit.crawl.crawl_world import NOW, World


def test_a_partitioned_folder_becomes_a_table(world: World) -> None:
    for origin in ("JFK", "New York:1"):
        folder = f"flights/year=2013/month=01/day=2013-01-01/origin={origin.replace(':', '%3A')}"
        world.write(
            f"{folder}/a.parquet", ID=pa.array([1, 2], pa.int64()), At=pa.array([NOW], pa.timestamp("us")).take([0, 0])
        )
    world.write("flights/year=2014/month=02/day=__HIVE_DEFAULT_PARTITION__/origin=EWR/b.parquet")
    for hidden in ("_SUCCESS", ".a.crc", "_temporary/x=1/c.parquet", "year=2013/.staging/d.parquet"):
        path = world.lake.root / "lake/flights" / hidden
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"not for readers")
    world.crawler(table_prefix="raw_")
    last = world.crawl()
    assert (last.status, last.message) == ("SUCCEEDED", None)
    assert (last.tally.tables_created, last.tally.partitions_added, last.tally.files_read) == (1, 3, 3)
    table = world.catalog.table("air", "raw_flights")
    assert world.columns("raw_flights") == {"id": "bigint", "at": "timestamp"}
    assert [(key.name, key.type) for key in table.partition_keys] == [
        ("year", "int"),
        ("month", "string"),
        ("day", "date"),
        ("origin", "string"),
    ]
    assert table.storage.location == "s3://lake/flights/"
    assert table.table_type == "EXTERNAL_TABLE"
    assert table.parameters["classification"] == "parquet"
    assert table.parameters["recordCount"] == "6"
    assert table.storage.serde_info is not None
    assert table.storage.serde_info.serialization_library == "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
    assert world.values("raw_flights") == [
        ("2013", "01", "2013-01-01", "JFK"),
        ("2013", "01", "2013-01-01", "New York:1"),
        ("2014", "02", "__HIVE_DEFAULT_PARTITION__", "EWR"),
    ]
    second = world.catalog.partition("air", "raw_flights", ["2013", "01", "2013-01-01", "New York:1"])
    assert second.storage.location == "s3://lake/flights/year=2013/month=01/day=2013-01-01/origin=New York%3A1/"
    assert len(world.catalog.partitions("air", "raw_flights", "day = '2013-01-01' AND year >= 2013")) == 2


def test_the_next_run_adds_columns_and_partitions_and_reads_only_new_files(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def spy(path: Path) -> Any:
        read.append(path.name)
        return read_parquet_footer(path)

    monkeypatch.setattr(containers, "read_parquet_footer", spy)
    world.write("flights/year=2013/a.parquet")
    world.crawler()
    world.crawl()
    world.write("flights/year=2014/b.parquet", id=pa.array([3], pa.int64()), gate=["A1"])
    last = world.crawl()
    assert read == ["a.parquet", "b.parquet"]
    assert (last.tally.tables_updated, last.tally.partitions_added) == (1, 1)
    assert world.columns() == {"id": "bigint", "gate": "string"}
    assert world.values() == [("2013",), ("2014",)]
    assert world.catalog.table("air", "flights").version_id == "1"
    quiet = world.crawl()
    assert (quiet.tally.tables_updated, quiet.tally.files_read, quiet.tally.files_found) == (0, 0, 2)
    assert world.catalog.table("air", "flights").version_id == "1"
    os.utime(world.write("flights/year=2013/a.parquet"), ns=(0, 5))
    world.crawl()
    assert read == ["a.parquet", "b.parquet", "a.parquet"]


def test_types_are_widened_where_readers_follow_and_reported_where_not(world: World) -> None:
    first = world.write("flights/a.parquet", n=pa.array([1], pa.int32()), s=["x"], f=pa.array([1.0], pa.float32()))
    second = world.write("flights/b.parquet", n=pa.array([1], pa.int64()), s=pa.array([7], pa.int64()), f=[2.0])
    os.utime(first, ns=(1, 1))
    os.utime(second, ns=(2, 2))
    world.crawler()
    last = world.crawl()
    assert world.columns() == {"n": "bigint", "s": "string", "f": "double"}
    assert last.status == "SUCCEEDED"
    assert "Column s is string in s3://lake/flights/a.parquet and bigint in s3://lake/flights/b.parquet" in str(last.message)


def test_damaged_files_are_reported_and_skipped(world: World) -> None:
    good = world.write("flights/good.parquet")
    for name, data in {
        "empty.parquet": b"",
        "text.csv": b"a,b\n1,2\n",
        "cut.parquet": good.read_bytes()[:-10],
        "mad.parquet": b"PAR1" + b"\xff" * 100 + b"\x40\x00\x00\x00PAR1",
        "short.parquet": b"PAR1",
    }.items():
        good.with_name(name).write_bytes(data)
    world.crawler()
    last = world.crawl()
    assert last.tally.problem_count == 5
    message = str(last.message)
    assert "s3://lake/flights/empty.parquet is skipped: it is empty." in message
    assert "1 files below s3://lake/flights/ are skipped: they are csv with" in message
    assert "cut.parquet is skipped: its end is missing" in message
    assert "mad.parquet is skipped: its footer cannot be read" in message
    assert world.columns() == {"id": "bigint"}
    assert world.catalog.table("air", "flights").parameters["objectCount"] == "1"


def test_sub_folders_become_tables_of_their_own(world: World) -> None:
    world.write("raw/a/x.parquet")
    world.write("raw/b-1/year=1/x.parquet")
    world.write("raw/deep/a/x.parquet")
    world.crawler("s3://lake/raw")
    world.crawl()
    names = [table.name for table in world.catalog.tables("air")]
    assert names[0] == "a"
    assert names[1].startswith("a_")
    assert len(names[1]) == 34
    assert names[2] == "b_1"
    assert world.crawl().tally.tables_created == 0


def test_a_bucket_can_be_a_target_and_files_be_excluded(world: World) -> None:
    world.write("x.parquet")
    world.write("tmp/y.parquet")
    world.write("z.bak")
    world.crawler(targets=(S3Target(path="s3://lake", exclusions=("tmp/**", "*.{bak,old}")),))
    world.crawl()
    assert [table.name for table in world.catalog.tables("air")] == ["lake"]
    assert world.catalog.table("air", "lake").parameters["objectCount"] == "1"


def test_mixed_folder_layouts_are_reported(world: World) -> None:
    for month in (1, 2):
        world.write(f"flights/year=2013/month={month}/x.parquet")
    world.write("flights/year=2013/x.parquet")
    world.write("flights/year=2013/plain/x.parquet")
    world.crawler()
    last = world.crawl()
    assert "1 files below s3://lake/flights/ are skipped: their folders have the keys (year)" in str(last.message)
    assert "plain folder below a partition" in str(last.message)
    assert world.values() == [("2013", "1"), ("2013", "2")]


def test_partition_keys_widen_to_what_their_folders_hold(world: World) -> None:
    world.write("flights/k=1/x.parquet")
    world.write("flights/k=__HIVE_DEFAULT_PARTITION__/x.parquet")
    world.crawler()
    world.crawl()
    assert world.catalog.table("air", "flights").partition_keys[0].type == "int"
    world.write("flights/k=9999999999/x.parquet")
    world.crawl()
    assert world.catalog.table("air", "flights").partition_keys[0].type == "bigint"
    world.write("flights/k=abc/x.parquet")
    world.crawl()
    assert world.catalog.table("air", "flights").partition_keys[0].type == "string"
    assert len(world.values()) == 4


def test_a_missing_bucket_fails_the_crawl_and_says_so(world: World) -> None:
    world.crawler("s3://nowhere/x/")
    last = world.crawl()
    assert last.status == "FAILED"
    assert "Bucket nowhere does not exist." in str(last.message)


def test_an_empty_target_makes_no_table(world: World) -> None:
    world.crawler("s3://lake/nothing/")
    assert world.crawl().status == "SUCCEEDED"
    assert world.catalog.tables("air") == []


def test_dates_in_files_keep_their_types(world: World) -> None:
    world.write(
        "flights/x.parquet",
        d=[date(2013, 1, 1)],
        nested=pa.array(
            [{"A": [1], "m": [("k", 1.5)]}],
            pa.struct([("A", pa.list_(pa.int32())), ("m", pa.map_(pa.string(), pa.float64()))]),
        ),
        money=pa.array([1], pa.decimal128(10, 2)),
        flag=[True],
        raw=[b"x"],
    )
    world.crawler()
    world.crawl()
    assert world.columns() == {
        "d": "date",
        "nested": "struct<a:array<int>,m:map<string,double>>",
        "money": "decimal(10,2)",
        "flag": "boolean",
        "raw": "binary",
    }
