"""Crawls over real Parquet files in a folder: what lands in the catalog, and what a second crawl does."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import penstock.crawl.run as run_module
from penstock.access.errors import NotAuthorized
from penstock.catalog.inputs import DatabaseInput, PartitionInput, TableInput
from penstock.catalog.model import Column, StorageDescriptor
from penstock.crawl.errors import (
    CrawlerExists,
    CrawlerNotFound,
    CrawlerNotRunning,
    CrawlerRunning,
    CrawlerStopping,
)
from penstock.crawl.model import S3Target, SchemaChangePolicy
from penstock.crawl.service import CrawlService
from penstock.errors import InvalidInput
from penstock.lake.statistics import read_parquet_footer
from tests.unit.crawl.crawl_world import NOW, World, held_up, wait


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

    monkeypatch.setattr(run_module, "read_parquet_footer", spy)
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
    assert "text.csv is skipped: it is not Parquet" in message
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
    wanted = TableInput(name="departures", storage=storage, partition_keys=(Column(name="year", type="string"),))
    world.catalog.create_table("air", wanted)
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
        ("[]", "no JSON object"),
        ("[" * 100_000, "is not JSON"),
        ('{"Version":2.0}', "Version = 2.0"),
        ('{"Version":1.0,"Grouping":{"TableGroupingPolicy":"CombineCompatibleSchemas"}}', "Grouping.TableGroupingPolicy"),
        ('{"Version":1.0,"CrawlerOutput":{"Tables":{"TableThreshold":5}}}', "CrawlerOutput.Tables.TableThreshold = 5"),
        ('{"CreatePartitionIndex":1}', "CreatePartitionIndex = 1"),
        ('{"CrawlerOutput":1}', "CrawlerOutput = 1"),
    ],
)
def test_settings_that_are_not_served_are_refused_by_name(world: World, configuration: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        world.crawler(configuration=configuration)


def test_a_missing_bucket_fails_the_crawl_and_says_so(world: World) -> None:
    world.crawler("s3://nowhere/x/")
    last = world.crawl()
    assert last.status == "FAILED"
    assert "Bucket nowhere does not exist." in str(last.message)


def test_an_empty_target_is_no_table(world: World) -> None:
    world.crawler("s3://lake/nothing/")
    assert world.crawl().status == "SUCCEEDED"
    assert world.catalog.tables("air") == []


def test_a_running_crawler_refuses_and_stops(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, go = threading.Event(), threading.Event()
    held_up(monkeypatch, entered, lambda: go.wait(30))
    monkeypatch.setattr("penstock.crawl.service._POLL_SECONDS", 0.0)
    world.write("flights/x.parquet")
    world.crawler()
    with pytest.raises(CrawlerNotRunning):
        world.crawls.stop("c")
    world.crawls.start("c")
    assert entered.wait(30)
    calls: list[Callable[[], object]] = [
        lambda: world.crawls.start("c"),
        lambda: world.crawls.delete("c"),
        lambda: world.crawls.update("c", lambda crawler: crawler),
    ]
    for refused in calls:
        with pytest.raises(CrawlerRunning):
            refused()
    world.crawls.stop("c")
    with pytest.raises(CrawlerStopping):
        world.crawls.stop("c")
    go.set()
    wait(lambda: world.crawls.get("c").state == "READY")
    last = world.crawls.get("c").last_crawl
    assert last is not None
    assert (last.status, last.message) == ("CANCELLED", "Stopped on request.")


def test_what_a_dead_server_left_running_has_failed(world: World) -> None:
    world.crawler()
    started = datetime(2026, 11, 20, tzinfo=UTC)
    dead = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    running_elsewhere(world, f"{socket.gethostname()[:100]}:{dead.pid}:x", started=started)
    other = CrawlService(world.store, world.catalog, world.lake)
    other.recover()
    assert other.get("c").state == "RUNNING", "its process lives"
    dead.communicate()
    other.recover()
    crawler = world.store.get("c")
    assert crawler is not None
    assert crawler.state == "READY"
    assert crawler.owner is None
    assert crawler.last_crawl is not None
    assert crawler.last_crawl.status == "FAILED"
    assert crawler.last_crawl.start_time == started
    assert "server ended" in str(crawler.last_crawl.message)
    assert world.crawl().status == "SUCCEEDED"


def running_elsewhere(world: World, owner: str, *, started: datetime) -> None:
    now = datetime.now(UTC)
    world.store.change(
        "c",
        lambda crawler: replace(crawler, state="RUNNING", run_id="r", started=started, owner=owner, heartbeat=now),
    )


@pytest.mark.parametrize("look", ["get", "all", "page", "start", "update", "delete", "recover"])
def test_the_crawl_of_another_host_fails_after_its_silence(world: World, look: str) -> None:
    world.crawler()
    running_elsewhere(world, "other-host:1:x", started=NOW)
    moment = datetime.now(UTC)
    other = CrawlService(world.store, world.catalog, world.lake, now=lambda: moment)
    calls: dict[str, Callable[[], object]] = {
        "get": lambda: other.get("c"),
        "all": other.all,
        "page": lambda: other.page(limit=5),
        "start": lambda: other.start("c"),
        "update": lambda: other.update("c", lambda crawler: crawler),
        "delete": lambda: other.delete("c"),
        "recover": other.recover,
    }
    with pytest.raises(CrawlerRunning) if look in {"start", "update", "delete"} else nullcontext():
        calls[look]()
    crawler = world.store.get("c")
    assert crawler is not None
    assert crawler.state == "RUNNING"
    moment += timedelta(seconds=30)
    calls[look]()
    other.close()
    crawler = world.store.get("c")
    if look == "delete":
        assert crawler is None
    else:
        assert crawler is not None
        assert crawler.run_id != "r"
        assert crawler.last_crawl is not None


def test_a_crawl_says_that_it_lives_and_another_server_lets_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, go = threading.Event(), threading.Event()
    held_up(monkeypatch, entered, lambda: go.wait(30))
    monkeypatch.setattr("penstock.crawl.service._HEARTBEAT_SECONDS", 0.01)
    world.write("flights/x.parquet")
    world.crawler()
    world.crawls.start("c")
    assert entered.wait(30)
    first = world.crawls.get("c")
    wait(lambda: world.crawls.get("c").heartbeat != first.heartbeat)
    CrawlService(world.store, world.catalog, world.lake).recover()
    running = world.crawls.get("c")
    assert (running.state, running.run_id) == ("RUNNING", first.run_id)
    go.set()
    wait(lambda: world.crawls.get("c").state == "READY")
    last = world.crawls.get("c").last_crawl
    assert last is not None
    assert last.status == "SUCCEEDED"


def test_closing_cancels_what_runs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    entered = threading.Event()
    held_up(monkeypatch, entered, lambda: wait(world.crawls._closing.is_set))
    world.write("flights/x.parquet")
    world.crawler()
    world.crawls.start("c")
    assert entered.wait(30)
    world.crawls.close()
    last = world.crawls.get("c").last_crawl
    assert last is not None
    assert last.status == "CANCELLED"


def test_crawlers_are_kept_listed_and_deleted(world: World) -> None:
    world.crawler()
    with pytest.raises(CrawlerExists):
        world.crawler()
    made = world.crawls.get("c")
    assert (made.version, made.state, made.targets) == (1, "READY", (S3Target(path="s3://lake/flights/"),))
    world.crawls.update("c", lambda crawler: replace(crawler, description="d"))
    assert (world.crawls.get("c").version, world.crawls.get("c").description) == (2, "d")
    world.crawler(name="b")
    page = world.crawls.page(limit=1)
    assert [each.name for each in page.items] == ["b"]
    assert [each.name for each in world.crawls.page(limit=1, token=page.next_token).items] == ["c"]
    world.crawls.delete("c")
    for missing in (world.crawls.get, world.crawls.delete, world.crawls.start, world.crawls.stop):
        with pytest.raises(CrawlerNotFound):
            missing("c")


@pytest.mark.parametrize(
    "target", [S3Target(path="/etc/"), S3Target(path="s3://lake/../x"), S3Target(path="s3://lake/", exclusions=("{a",))]
)
def test_targets_that_cannot_be_crawled_are_refused(world: World, target: S3Target) -> None:
    with pytest.raises(InvalidInput):
        world.crawler(targets=(target,))
    with pytest.raises(InvalidInput, match="no target"):
        world.crawler(targets=())


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


def test_a_crawl_makes_no_table_that_its_starter_is_denied(world: World) -> None:
    world.write("all/hushed/x.parquet")
    world.write("all/plain/x.parquet", other=pa.array(["a"]))
    world.crawler("s3://lake/all/")

    def check_operation(operation: str, request: Mapping[str, Any]) -> None:
        asked.append((operation, request.get("Name", "")))
        if request.get("Name") == "hushed":
            raise NotAuthorized("no hushed tables")

    asked: list[tuple[str, str]] = []
    world.crawls.start("c", check_operation=check_operation)
    wait(lambda: world.crawls.get("c").state == "READY")
    last = world.crawls.get("c").last_crawl
    assert last is not None
    assert last.status == "FAILED"
    assert "no hushed tables" in (last.message or "")
    assert ("CreateDatabase", "") in asked
    assert ("CreateTable", "hushed") in asked
    assert "hushed" not in {table.name for table in world.catalog.tables("air")}
    # The next one is asked by somebody else.
    assert world.crawl().status == "SUCCEEDED"
    assert "hushed" in {table.name for table in world.catalog.tables("air")}
