"""Values of partitions are of their keys' types: in new ones they must be, and stored ones that are not can be dropped."""

from contextlib import nullcontext
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from penstock.catalog.model import Column, PartitionInput, StorageDescriptor, Table
from penstock.catalog.service import CatalogService
from penstock.query.ddl.partitions import check_values
from penstock.sql.errors import StatementError
from tests.unit.query.lake_of_flights import Ask, Lake, Rows

_WRONG = [
    ("tinyint", "128"),
    ("smallint", "32768"),
    ("int", "2147483648"),
    ("bigint", "abc"),
    ("bigint", "1.5"),
    ("bigint", "9223372036854775808"),
    ("double", "x"),
    ("float", "1,5"),
    ("decimal(5,2)", "ten"),
    ("boolean", "maybe"),
    ("date", "2024-13-01"),
    ("date", "today"),
    ("timestamp", "noon"),
]


@pytest.mark.parametrize("wrong", _WRONG, ids=" ".join)
def test_a_partition_with_a_value_of_another_type_is_not_made(
    catalog: CatalogService, lake: Lake, rows: Rows, refused: Ask, wrong: tuple[str, str]
) -> None:
    type_, value = wrong
    rows(
        f"CREATE EXTERNAL TABLE t (x int) PARTITIONED BY (p {type_}) STORED AS PARQUET LOCATION 's3://lake/t/'",
        database="db",
    )
    assert str(refused(f"ALTER TABLE t ADD PARTITION (p='{value}')").reason).startswith(
        f"FAILED: SemanticException [Error 10248]: Cannot add partition column p of type string as it cannot be converted "
        f"to type {type_}: '{value}'"
    )
    (lake.folder.root / f"lake/t/p={value}").mkdir(parents=True)
    assert rows("MSCK REPAIR TABLE t", database="db") == [[f"Repair: Skipped t:p={value}"]]
    assert catalog.partitions("db", "t") == []


def test_stored_values_of_another_type_can_be_dropped_and_are_in_nobodys_way(
    catalog: CatalogService, lake: Lake, rows: Rows, done: Ask, refused: Ask
) -> None:
    done("CREATE EXTERNAL TABLE t (x int) PARTITIONED BY (p bigint) STORED AS PARQUET LOCATION 's3://lake/t/'")
    done("INSERT INTO t VALUES (7, 1)")
    catalog.create_partition(
        "db", "t", PartitionInput(values=("abc",), storage=StorageDescriptor(location="s3://lake/t/p=abc/"))
    )
    lake.write("t/p=abc/a.parquet", pa.table({"x": pa.array([8], pa.int32())}))
    assert rows("SELECT x FROM db.t WHERE p = 1") == [["7"]]
    assert str(refused("SELECT x, p FROM t").reason).startswith(
        "HIVE_INVALID_PARTITION_VALUE: Invalid partition value 'abc' for bigint partition key: p"
    )
    done("ALTER TABLE t DROP PARTITION (p='abc')")
    assert rows("SELECT x, p FROM db.t") == [["7", "1"]]


@pytest.mark.parametrize(
    ("type_", "value", "fits"),
    [
        ("double precision", "1.5", True),
        ("Real", "1.5", True),
        ("long", "9223372036854775807", True),
        ("LONG", "9223372036854775808", False),
        ("numeric(5,2)", "1.50", True),
        ("short", "32768", False),
    ],
)
def test_a_key_of_the_catalog_is_of_the_type_that_its_text_spells(type_: str, value: str, fits: bool) -> None:
    keys = [Column(name="p", type=type_)]
    table = Table(
        database="db", name="t", version_id="0", storage=StorageDescriptor(), partition_keys=keys,
        create_time=datetime(2026, 1, 1, tzinfo=UTC), update_time=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    with nullcontext() if fits else pytest.raises(StatementError, match="cannot be converted"):
        check_values(table, [value])
