"""Partition values of written rows, compared with pyiceberg's transforms of single values."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.expressions.literals import literal
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    NestedField,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from penstock.lake.locations import LakeFolder
from penstock.query.tables.iceberg.lake_io import LakeIO
from penstock.query.writing.iceberg.data_files import DataWriter

_MOMENTS = [datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 2, 29, 12, 30)]
_VALUES: dict[PrimitiveType, list[Any]] = {
    IntegerType(): [0, -7, 34],
    LongType(): [2**40, -1],
    StringType(): ["iceberg", "", "été"],
    BinaryType(): [b"\x00\x01\x02", b"zzzz"],
    DecimalType(9, 2): [Decimal("14.20"), Decimal("-0.05")],
    DateType(): [date(1969, 12, 31), date(2017, 11, 16)],
    TimestampType(): _MOMENTS,
    TimestamptzType(): [moment.replace(tzinfo=UTC) for moment in _MOMENTS],
}
_TIMES: list[Transform[Any, Any]] = [YearTransform(), MonthTransform(), DayTransform()]
_CASES = [
    *((type_, BucketTransform(16)) for type_ in _VALUES),
    *((type_, IdentityTransform()) for type_ in _VALUES),
    *((type_, TruncateTransform(3)) for type_ in _VALUES if TruncateTransform(3).can_transform(type_)),
    *((type_, time) for type_ in _VALUES for time in (*_TIMES, HourTransform()) if time.can_transform(type_)),
]


@pytest.mark.parametrize(("type_", "transform"), _CASES, ids=str)
def test_partition_values(tmp_path: Path, type_: PrimitiveType, transform: Transform[Any, Any]) -> None:
    (tmp_path / "lake").mkdir()
    schema = Schema(NestedField(1, "c", type_))
    spec = PartitionSpec(PartitionField(1, 1000, transform, "p"))
    metadata = new_table_metadata(schema, spec, UNSORTED_SORT_ORDER, "s3://lake/t")
    writer = DataWriter(metadata, LakeIO(LakeFolder(tmp_path), tmp_path / "files"))
    values = [*_VALUES[type_], None]
    arrow = pa.schema([pa.field("c", pa.array(values).type if not isinstance(type_, IntegerType) else pa.int32())])
    writer.add({"c": pa.array(values, arrow.field("c").type)}, len(values))
    apply = transform.transform(type_)
    expected = {None if item is None else apply(literal(item).to(type_).value) for item in values}
    assert {data_file.partition[0] for data_file in writer.finish()} == expected
    assert sum(file.record_count for file in writer.files) == len(values)
