"""Iceberg tables that pyiceberg wrote, read by Athena's SQL: what both say is compared."""

import json
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from penstock.lakeformation.decisions import Rows as AllowedRows
from penstock.lakeformation.decisions import TableAccess
from penstock.query.tables.iceberg.types import engine_type
from penstock.sql.errors import StatementError
from tests.unit.query.iceberg_lake import IcebergLake
from tests.unit.query.lake_of_flights import Ask, Lake, Rows
from tests.unit.query.test_query_permissions import RecordedAccess


@pytest.fixture
def iceberg(lake: Lake) -> IcebergLake:
    return IcebergLake(lake)


def _numbers(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64()), "name": [f"n{number}" for number in values]})


def test_rows_of_several_snapshots(iceberg: IcebergLake, rows: Rows) -> None:
    table = iceberg.create("t", _numbers(1).schema)
    assert rows("SELECT * FROM t") == []
    table.append(_numbers(1, 2))
    table.append(_numbers(3))
    iceberg.register("t", table)
    assert rows("SELECT id, name FROM t ORDER BY id") == [["1", "n1"], ["2", "n2"], ["3", "n3"]]
    assert rows("SELECT count(*) FROM t") == [["3"]]


def test_types(iceberg: IcebergLake, rows: Rows) -> None:
    schema = Schema(
        NestedField(1, "d", DateType()),
        NestedField(2, "t", TimeType()),
        NestedField(3, "ts", TimestampType()),
        NestedField(4, "tz", TimestamptzType()),
        NestedField(5, "u", UUIDType()),
        NestedField(6, "b", BinaryType()),
        NestedField(7, "n", DecimalType(10, 2)),
        NestedField(8, "many", ListType(9, TimestampType(), element_required=False)),
    )
    table = iceberg.create("kinds", schema)
    moment = datetime(2024, 3, 1, 12, 30, 45, 123456)
    table.append(
        pa.table(
            {
                "d": pa.array([date(2024, 3, 1)]),
                "t": pa.array([3_600_000_000], pa.time64("us")),
                "ts": pa.array([moment], pa.timestamp("us")),
                "tz": pa.array([moment], pa.timestamp("us", "UTC")),
                "u": pa.array([UUID(int=7).bytes], pa.binary(16)),
                "b": pa.array([b"\x01\xff"], pa.large_binary()),
                "n": pa.array([Decimal("12.50")], pa.decimal128(10, 2)),
                "many": pa.array([[moment]], pa.list_(pa.timestamp("us"))),
            }
        )
    )
    iceberg.register("kinds", table)
    assert rows("SELECT d, t, ts, tz, u, b, n, many FROM kinds") == [
        [
            "2024-03-01",
            "01:00:00.000000",
            "2024-03-01 12:30:45.123456",
            "2024-03-01 12:30:45.123456 UTC",
            "00000000-0000-0000-0000-000000000007",
            "01 ff",
            "12.50",
            "[2024-03-01 12:30:45.123456]",
        ]
    ]
    assert rows("SELECT CAST(ts AS varchar), CAST(ts AS timestamp), tz AT TIME ZONE 'Asia/Tokyo' FROM kinds") == [
        ["2024-03-01 12:30:45.123456", "2024-03-01 12:30:45.123", "2024-03-01 21:30:45.123456 Asia/Tokyo"]
    ]


@pytest.mark.parametrize("type_", [TimestampNanoType(), TimestamptzNanoType()])
def test_nanoseconds_are_refused(type_: TimestampNanoType | TimestamptzNanoType) -> None:
    with pytest.raises(StatementError, match=rf"NOT_SUPPORTED: Iceberg's type {type_} is not supported\."):
        engine_type(type_)


def test_columns_are_found_by_id(iceberg: IcebergLake, rows: Rows) -> None:
    table = iceberg.create("t", pa.schema([("a", pa.int32()), ("b", pa.string()), ("c", pa.float32())]))
    table.append(pa.table({"a": pa.array([1], pa.int32()), "b": ["old"], "c": pa.array([1.5], pa.float32())}))
    with table.update_schema() as update:
        update.rename_column("a", "b2").delete_column("b")
    with table.update_schema() as update:
        update.add_column("b", StringType()).update_column("b2", LongType()).move_first("b")
    table.append(pa.table({"b": ["new"], "b2": pa.array([2], pa.int64()), "c": pa.array([2.5], pa.float32())}))
    iceberg.register("t", table)
    assert rows("SELECT * FROM t ORDER BY b2") == [[None, "1", "1.5"], ["new", "2", "2.5"]]
    first = table.metadata.snapshots[0].snapshot_id
    assert rows(f"SELECT * FROM t FOR VERSION AS OF {first}") == [["1", "old", "1.5"]]


def test_nested_fields_are_found_by_id(iceberg: IcebergLake, rows: Rows) -> None:
    inner = StructType(NestedField(2, "x", IntegerType()), NestedField(3, "y", StringType()))
    schema = Schema(
        NestedField(1, "s", inner),
        NestedField(4, "l", ListType(5, StructType(NestedField(6, "p", IntegerType())))),
        NestedField(7, "m", MapType(8, StringType(), 9, StructType(NestedField(10, "q", IntegerType())))),
    )
    table = iceberg.create("nested", schema)
    arrow = table.schema().as_arrow()
    table.append(
        pa.Table.from_pylist([{"s": {"x": 1, "y": "a"}, "l": [{"p": 5}], "m": [("k", {"q": 9})]}, {}], schema=arrow)
    )
    with table.update_schema() as update:
        update.rename_column("s.x", "z").add_column(("s", "w"), StringType()).move_first("s.y")
        update.rename_column("l.element.p", "r").rename_column("m.value.q", "v")
        update.update_column("s.x", LongType())
    iceberg.register("nested", table)
    assert rows("SELECT s, s.z, element_at(l, 1).r, element_at(m, 'k').v FROM nested") == [
        ["{y=a, z=1, w=null}", "1", "5", "9"],
        [None, None, None, None],
    ]


@pytest.mark.parametrize(
    ("condition", "read"),
    [
        ("day = DATE '2024-01-02'", 1),
        ("at >= TIMESTAMP '2024-01-03 00:00:00'", 1),
        ("at < TIMESTAMP '2024-01-02 00:00:00' OR id = 3", 2),
        ("id IN (1, 2)", 2),
        ("id BETWEEN 2 AND 3 AND name IS NOT NULL", 2),
        ("name IS NULL", 0),
        ("name = 'n2'", 1),
        ("abs(id) = 1", 3),
        ("id > 1.5", 3),
        ("id <> 2", 3),
    ],
)
def test_files_are_left_out(iceberg: IcebergLake, rows: Rows, ask: Ask, condition: str, read: int) -> None:
    schema = Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "at", TimestampType()),
        NestedField(3, "day", DateType()),
        NestedField(4, "name", StringType()),
    )
    spec = PartitionSpec(PartitionField(2, 1000, DayTransform(), "at_day"), PartitionField(1, 1001, BucketTransform(4), "b"))
    table = iceberg.create("t", schema, spec)
    for number in (1, 2, 3):
        day = datetime(2024, 1, number, 5)
        table.append(
            pa.table(
                {
                    "id": pa.array([number], pa.int64()),
                    "at": pa.array([day], pa.timestamp("us")),
                    "day": pa.array([day.date()]),
                    "name": [f"n{number}"],
                }
            )
        )
    iceberg.register("t", table)
    statement = ask(f"SELECT id FROM t WHERE {condition}")
    assert statement.statistics.files_scanned == read
    every = [row[0] for row in rows("SELECT id FROM t ORDER BY 1")]
    assert every == ["1", "2", "3"]
    by_engine = rows(f"SELECT id FROM (SELECT id, at, day, name FROM t LIMIT 9) x WHERE {condition} ORDER BY 1")
    assert rows(f"SELECT id FROM t WHERE {condition} ORDER BY 1") == by_engine


def test_outer_joins_do_not_lose_files(iceberg: IcebergLake, rows: Rows) -> None:
    table = iceberg.create("t", _numbers(1).schema)
    table.append(_numbers(1))
    iceberg.register("t", table)
    sql = "SELECT v.id, t.name FROM (VALUES (1), (2)) v (id) LEFT JOIN t ON t.id = v.id WHERE t.id IS NULL"
    assert rows(sql) == [["2", None]]


def test_specs_change_and_their_columns_are_dropped(iceberg: IcebergLake, rows: Rows) -> None:
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "k", StringType()))
    table = iceberg.create("t", schema, PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "k")))
    table.append(pa.table({"id": pa.array([1], pa.int64()), "k": ["a"]}))
    with table.update_spec() as update:
        update.remove_field("k")
    with table.update_spec() as update:
        update.add_field("id", BucketTransform(2))
    with table.update_schema() as change:
        change.delete_column("k")
    table.append(pa.table({"id": pa.array([2], pa.int64())}))
    iceberg.register("t", table)
    assert rows("SELECT * FROM t WHERE id > 0 ORDER BY id") == [["1"], ["2"]]
    assert rows("SELECT * FROM t WHERE id = 1") == [["1"]]


def test_time_travel(iceberg: IcebergLake, rows: Rows, ask: Ask) -> None:
    table = iceberg.create("t", _numbers(1).schema)
    for number in (1, 2, 3):
        table.append(_numbers(number))
    first, second, _ = table.metadata.snapshots
    table.manage_snapshots().create_tag(first.snapshot_id, "one").create_branch(second.snapshot_id, "two").commit()
    iceberg.register("t", table)
    count = "SELECT count(*) FROM t"
    assert rows(f"{count} FOR VERSION AS OF {first.snapshot_id}") == [["1"]]
    assert rows(f"{count} FOR VERSION AS OF 'one'") == [["1"]]
    assert rows(f"{count} FOR VERSION AS OF 'two'") == [["2"]]
    moment = datetime.fromtimestamp(second.timestamp_ms / 1000).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    assert rows(f"{count} FOR TIMESTAMP AS OF TIMESTAMP '{moment} UTC'") == [["2"]]
    assert rows(f"{count} FOR TIMESTAMP AS OF (current_timestamp + interval '1' day)") == [["3"]]
    assert rows(
        "SELECT a.n, b.n FROM (SELECT count(*) n FROM t FOR VERSION AS OF 'one') a, (SELECT count(*) n FROM t) b"
    ) == [["1", "3"]]
    assert "No version history" in str(ask(f"{count} FOR TIMESTAMP AS OF TIMESTAMP '2001-01-01 00:00:00 UTC'").reason)
    assert "snapshot ID" in str(ask(f"{count} FOR VERSION AS OF 42").reason)
    assert "reference name" in str(ask(f"{count} FOR VERSION AS OF 'gone'").reason)
    assert "not an Iceberg table" in str(ask("SELECT * FROM flights FOR VERSION AS OF 1").reason)


def test_explain_says_how_it_is_read(iceberg: IcebergLake, ask: Ask) -> None:
    table = iceberg.create("t", _numbers(1).schema)
    table.append(_numbers(1))
    iceberg.register("t", table)
    assert ask("EXPLAIN SELECT * FROM t").state == "SUCCEEDED"


def test_damaged_metadata_is_an_error_with_a_name(iceberg: IcebergLake, ask: Ask) -> None:
    table = iceberg.create("t", _numbers(1).schema)
    iceberg.register("t", table)
    path = iceberg.lake.folder.path(table.metadata_location)
    path.write_text("{")
    assert str(ask("SELECT * FROM t").reason).startswith("ICEBERG_INVALID_METADATA: Table 'flights_db.t'")
    path.unlink()
    assert "does not exist" in str(ask("SELECT * FROM t").reason)


@pytest.mark.parametrize("version", ["1", "3"])
def test_rows_of_other_format_versions_are_read_and_not_written(
    iceberg: IcebergLake, rows: Rows, ask: Ask, version: str
) -> None:
    table = iceberg.create("t", _numbers(1).schema, properties={"format-version": "1" if version == "1" else "2"})
    table.append(_numbers(1))
    iceberg.register("t", table)
    if version == "3":
        path = iceberg.lake.folder.path(table.metadata_location)
        document = json.loads(path.read_text()) | {"format-version": 3, "next-row-id": 1}
        path.write_text(json.dumps(document))
    assert rows("SELECT id FROM t") == [["1"]]
    for sql in ("INSERT INTO t VALUES (2, 'b')", "DELETE FROM t", "OPTIMIZE t REWRITE DATA USING BIN_PACK", "VACUUM t"):
        assert f"is a table of format version {version}" in str(ask(sql).reason)


def test_files_without_ids_are_read_by_the_name_mapping(iceberg: IcebergLake, rows: Rows, ask: Ask) -> None:
    """As after a migration of a Hive table: pyiceberg adds the file, and the mapping with it."""
    table = iceberg.create("t", _numbers(1).schema)
    iceberg.lake.write("moved/part.parquet", pa.table({"name": ["x"], "id": pa.array([5], pa.int64())}))
    table.add_files(["s3://lake/moved/part.parquet"])
    iceberg.register("t", table)
    assert rows("SELECT id, name FROM t") == [["5", "x"]]
    with table.transaction() as change:
        change.remove_properties("schema.name-mapping.default")
    iceberg.register("t", table)
    assert "no field ids" in str(ask("SELECT id FROM t").reason)


def test_identity_partitions_fill_columns_that_files_lack(iceberg: IcebergLake, rows: Rows) -> None:
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "day", DateType()))
    table = iceberg.create("t", schema, PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "day")))
    table.append(pa.table({"id": pa.array([1], pa.int64()), "day": pa.array([date(2024, 5, 6)])}))
    (file,) = (plan_file.file.file_path for plan_file in table.scan().plan_files())
    path = iceberg.lake.folder.path(file)
    whole = pq.read_table(path)
    pq.write_table(whole.select(["id"]), path)
    iceberg.register("t", table)
    assert rows("SELECT id, day FROM t WHERE day = DATE '2024-05-06'") == [["1", "2024-05-06"]]


@pytest.mark.parametrize("what", ["files", "history", "manifests", "partitions", "refs", "snapshots"])
def test_metadata_needs_the_whole_table(iceberg: IcebergLake, rows: Rows, ask: Ask, what: str) -> None:
    """Bounds of columns and summaries of partitions have values of rows and columns that a filter hides."""
    table = iceberg.create("t", _numbers(1).schema)
    table.append(_numbers(1, 2))
    iceberg.register("t", table)
    access = RecordedAccess()
    assert rows(f'SELECT * FROM "t${what}"', catalog_access=access)
    access.allowed = TableAccess([AllowedRows(condition="id = 1", columns=None)])
    assert rows("SELECT id FROM t", catalog_access=access) == [["1"]]
    assert "PERMISSION_DENIED" in str(ask(f'SELECT * FROM "t${what}"', catalog_access=access).reason)
