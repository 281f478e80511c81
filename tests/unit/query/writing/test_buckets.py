"""Bucketed CREATE TABLE AS: Hive's hash, the files' names, the catalog, and what is refused."""

from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.catalog.service import CatalogService
from penstock.query.writing.bucketing import bucket_hashes
from penstock.sql.hive_types import parse_hive_type
from penstock.types import arrow
from tests.unit.query.lake_of_flights import Ask, Lake, Rows
from tests.unit.query.writing.test_create_table_as import files

HASHES: list[tuple[list[str], list[object], int]] = [
    (["string"], ["Trino rocks"], 1132136730),
    (["string"], [""], 0),
    (["string"], ["test string"], -318923937),
    (["string"], ["\u5f3a\u5927\u7684Trino\u5f15\u64ce"], 1688501507),
    (["string"], ["\U00020ffc\U00020ffd\U00020ffe\U00020fff"], -1810797254),
    (["varchar(15)"], [""], 1),
    (["varchar(15)"], ["test string"], -189841218),
    (["boolean"], [True], 1),
    (["boolean"], [None], 0),
    (["tinyint"], [-128], -128),
    (["smallint"], [32767], 32767),
    (["int"], [-2147483648], -2147483648),
    (["int"], [300_000], 300_000),
    (["bigint"], [300_000_000_000], -647710651),
    (["bigint"], [-(1 << 63)], -2147483648),
    (["bigint"], [(1 << 63) - 1], -2147483648),
    (["float"], [12.34], 1095069860),
    (["float"], [float("-inf")], -8388608),
    (["float"], [float("nan")], 2143289344),
    (["double"], [12.34], 986311098),
    (["double"], [float("inf")], 2146435072),
    (["double"], [float("nan")], 2146959360),
    (["date"], [date(2015, 11, 19)], 16758),
    (["date"], [date(1950, 11, 19)], -6983),
    (["array<smallint>"], [[5, 8, 13]], 5066),
    (["array<string>"], [["test1", "test2", "test3", "test4"]], 957612994),
    (["array<array<bigint>>"], [[[10, 20], [-10, -20], [None]]], 326368),
    (["map<string,bigint>"], [[("key", 123), ("key2", 123456789), ("key3", -123456)]], 127880789),
    (["float", "array<smallint>", "map<string,bigint>"], [12.34, [5, 8, 13], [("key", 123)]], 95411006),
    (
        ["double", "array<smallint>", "boolean", "map<string,bigint>", "tinyint"],
        [None, [5, 8, 13], None, [("key", 123)], None],
        154207826,
    ),
]
"""Types, a row, and its hash: the cases of Trino's TestHiveBucketing, which compares them with Hive's own classes."""


@pytest.mark.parametrize(("kinds", "row", "expected"), HASHES)
def test_the_hash_is_hives(kinds: list[str], row: list[object], expected: int) -> None:
    parsed = [parse_hive_type(type_) for type_ in kinds]
    # A NULL and the value twice, so that each is hashed beside others.
    columns = [
        (pa.chunked_array([pa.array([value, None, value], arrow.render(type_))]), type_)
        for value, type_ in zip(row, parsed, strict=True)
    ]
    assert bucket_hashes(columns).to_pylist() == [expected & 0xFFFFFFFF, 0, expected & 0xFFFFFFFF]


def test_rows_are_in_the_files_of_their_buckets(lake: Lake, done: Ask, rows: Rows, catalog: CatalogService) -> None:
    made = done(
        "CREATE TABLE t WITH (external_location='s3://lake/t/', bucketed_by=ARRAY['K'], bucket_count=3, "
        "partitioned_by=ARRAY['p']) AS SELECT x, IF(x > 8, NULL, x) AS k, x % 2 AS p FROM UNNEST(sequence(1, 9)) AS u(x)"
    )
    assert made.statistics.update_count == 9
    table = catalog.table("db", "t")
    storage = table.storage.extra
    assert (storage["BucketColumns"], storage["NumberOfBuckets"], table.parameters["bucketing_version"]) == (["k"], 3, "1")
    assert catalog.partitions("db", "t")[0].storage.extra["BucketColumns"] == ["k"]
    query = made.id.replace("-", "")
    buckets = {
        str(file.relative_to(lake.folder.root / "lake/t")): pq.read_table(file, partitioning=None).column("k").to_pylist()
        for file in files(lake, "t")
    }
    assert buckets == {
        f"p={p}/00000{bucket}_0_{query}.gz.parquet": [
            None if x > 8 else x for x in range(1, 10) if x % 2 == p and (0 if x > 8 else x) % 3 == bucket
        ]
        for p in (0, 1)
        for bucket in range(3)
    }
    assert rows('SELECT DISTINCT "$bucket", k % 3 FROM t WHERE k IS NOT NULL ORDER BY 1', database="db") == [
        [str(index), str(index)] for index in range(3)
    ]
    created = "\n".join(row[0] or "" for row in rows("SHOW CREATE TABLE t", database="db"))
    assert "CLUSTERED BY (" in created
    assert "INTO 3 BUCKETS" in created


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ("bucketed_by=ARRAY['x']", "PROPERTY: bucketed_by and bucket_count must be specified together"),
        ("bucket_count=2", "PROPERTY: bucketed_by and bucket_count must be specified together"),
        ("bucketed_by=ARRAY['x'], bucket_count=-1", "PROPERTY: bucket_count must be greater than zero"),
        (
            "bucketed_by=ARRAY['x'], bucket_count=1000001",
            "PROPERTY: bucket_count should be no more than 1000000",
        ),
        ("bucketed_by=ARRAY['y'], bucket_count=2", "PROPERTY: Bucketing columns [y] not present in schema"),
        (
            "bucketed_by=ARRAY['x', 'X'], bucket_count=2",
            "PROPERTY: Bucketing columns are named more than once",
        ),
        ("bucketed_by=ARRAY['m'], bucket_count=2", "NOT_SUPPORTED: Cannot create a table bucketed on an unsupported type"),
        (
            "partitioned_by=ARRAY['p'], bucketed_by=ARRAY['p'], bucket_count=2",
            "PROPERTY: Bucketing columns [p] not present in schema",
        ),
        (
            "bucketed_by=ARRAY['x'], bucket_count=200",
            "HIVE_TOO_MANY_OPEN_PARTITIONS: Exceeded limit of 100 open writers for partitions/buckets",
        ),
    ],
)
def test_properties_that_do_not_fit_are_refused(refused: Ask, lake: Lake, properties: str, reason: str) -> None:
    query = "SELECT x, DECIMAL '1.5' AS m, 'a' AS p FROM UNNEST(sequence(1, 150)) AS u(x)"
    actual = refused(f"CREATE TABLE t WITH (external_location='s3://lake/t/', {properties}) AS {query}").reason
    assert actual is not None
    assert actual.startswith(reason.replace("PROPERTY:", "INVALID_TABLE_PROPERTY:"))
    assert files(lake, "t") == []


def test_rows_are_not_inserted_into_a_bucketed_table(done: Ask, refused: Ask) -> None:
    done("CREATE TABLE t WITH (bucketed_by=ARRAY['x'], bucket_count=2) AS SELECT 1 AS x")
    assert (refused("INSERT INTO t VALUES (2)").reason or "").startswith(
        "NOT_SUPPORTED: INSERT into 'db.t' is not supported: it is bucketed."
    )
