"""SHOW CREATE TABLE of Iceberg tables, whose columns and partitions are in their metadata."""

from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.types import DecimalType, ListType, LongType, NestedField, StringType, TimestampType

from penstock.sql.parse import parse
from penstock.sql.statements.model import CreateTable, PartitionTransform
from penstock.sql.statements.names import ColumnDefinition, TableName
from tests.unit.query.iceberg_lake import IcebergLake
from tests.unit.query.lake_of_flights import Lake, Rows


def test_show_create_table_has_columns_partitions_and_properties(lake: Lake, rows: Rows) -> None:
    schema = Schema(
        NestedField(1, "id", LongType(), doc="the key"),
        NestedField(2, "at", TimestampType()),
        NestedField(3, "tags", ListType(5, StringType())),
        NestedField(4, "kind", DecimalType(8, 2)),
    )
    spec = PartitionSpec(
        PartitionField(2, 1000, DayTransform(), "day"),
        PartitionField(1, 1001, BucketTransform(16), "bucket"),
        PartitionField(4, 1002, IdentityTransform(), "kind"),
    )
    made = IcebergLake(lake).create("measured", schema, spec, {"write.format.default": "parquet"})
    parsed = parse("\n".join(row[0] or "" for row in rows("SHOW CREATE TABLE measured")))
    assert isinstance(parsed, CreateTable)
    assert (parsed.table, parsed.external, parsed.is_iceberg) == (TableName("measured", "flights_db"), False, True)
    assert list(parsed.columns) == [
        ColumnDefinition("id", "bigint", "the key"),
        ColumnDefinition("at", "timestamp"),
        ColumnDefinition("tags", "array<string>"),
        ColumnDefinition("kind", "decimal(8,2)"),
    ]
    assert list(parsed.transforms) == [
        PartitionTransform("at", "day"),
        PartitionTransform("id", "bucket", 16),
        PartitionTransform("kind"),
    ]
    assert parsed.location == made.location()
    assert parsed.properties == {"table_type": "iceberg", "format": "parquet"}
