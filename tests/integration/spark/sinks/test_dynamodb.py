"""The DynamoDB sink beyond the suite of all sinks: types, later batches, other checkpoints, refused rows."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.errors import DataProblem, InvalidInput
from tests.integration.spark.sinks.items import ItemsTarget
from tests.integration.spark.sinks.targets import batch, numbered

pytestmark = [
    pytest.mark.spark,
    pytest.mark.jvm,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)
VALUES: tuple[tuple[str, Any, Any], ...] = (
    ("boolean", True, {"BOOL": True}),
    ("bigint", 2**63 - 1, {"N": str(2**63 - 1)}),
    ("float", 0.1, {"N": "0.1"}),
    ("double", -2.5e100, {"N": "-25" + "0" * 99}),
    (
        "decimal(38,18)",
        Decimal("-12345678901234567890.123456789012345678"),
        {"N": "-12345678901234567890.123456789012345678"},
    ),
    ("string", "", {"S": ""}),
    ("binary", bytearray(b"\x00\xff"), {"B": b"\x00\xff"}),
    ("date", date(2026, 1, 2), {"S": "2026-01-02"}),
    ("timestamp", AT, {"S": "2026-01-02T03:04:05.678901Z"}),
    ("timestamp_ntz", AT.replace(tzinfo=None), {"S": "2026-01-02T03:04:05.678901"}),
    ("array<timestamp>", [AT, None], {"L": [{"S": "2026-01-02T03:04:05.678901Z"}, {"NULL": True}]}),
    ("map<int,string>", {7: "x"}, {"M": {"7": {"S": "x"}}}),
    (
        "struct<x:int,y:struct<at:date>>",
        (1, (date(2026, 1, 2),)),
        {"M": {"x": {"N": "1"}, "y": {"M": {"at": {"S": "2026-01-02"}}}}},
    ),
    ("array<string>", ["b", "a", "b"], {"SS": ["a", "b"]}),
    ("array<int>", [2, 1], {"NS": ["1", "2"]}),
)


def test_values_of_every_type_and_null(spark_utc: SparkSession, items_target: ItemsTarget) -> None:
    columns = "id bigint, " + ", ".join(f"c{number} {kind}" for number, (kind, _, _) in enumerate(VALUES))
    rows: list[tuple[Any, ...]] = [(1, *(value for _, value, _ in VALUES)), (2, *(None for _ in VALUES))]
    writer = items_target.writer(sets=("c13", "c14"))
    writer.publish(batch(spark_utc, rows, columns=columns))
    full, empty = sorted(items_target.items(), key=lambda item: str(item["id"]["N"]))
    assert set(empty) == {"id", "penstock_batch"}
    assert full["penstock_batch"] == {"S": f"{'0123456789abcdef' * 2}:000000000000"}
    for number, (kind, _, expected) in enumerate(VALUES):
        result = full[f"c{number}"]
        (value,) = result.values()
        assert (sorted(value) if "SS" in result or "NS" in result else value) == next(iter(expected.values())), kind
        assert list(result) == list(expected), kind


def test_an_earlier_batch_never_replaces_a_later_one(spark_utc: SparkSession, items_target: ItemsTarget) -> None:
    late = batch(spark_utc, [(1, "new", 0, 9)], 7)
    items_target.writer("upsert").publish(late)
    replay = items_target.writer("upsert").publish(batch(spark_utc, [(1, "old", 0, 1), (2, "only", 0, 2)], 6))
    assert replay.rows == 1
    assert items_target.rows() == [(1, "new"), (2, "only")]


def test_a_new_checkpoint_replaces_items_of_the_one_before(spark_utc: SparkSession, items_target: ItemsTarget) -> None:
    items_target.writer("upsert").publish(batch(spark_utc, [(1, "a", 0, 0)], 500))
    other = replace(batch(spark_utc, [(1, "b", 0, 0)], 0), query="f" * 32)
    items_target.writer("upsert").publish(other)
    assert items_target.rows() == [(1, "b")]


def test_append_puts_new_keys_only(spark_utc: SparkSession, items_target: ItemsTarget) -> None:
    items_target.writer().publish(batch(spark_utc, numbered(0, 2)))
    second = batch(spark_utc, [(1, "again", 0, 2), (2, "n2", 0, 3)], 1)
    assert items_target.writer().publish(second).rows == 1
    assert items_target.writer().publish(second).rows == 1, "its own rows count again"
    assert items_target.rows() == [(0, "n0"), (1, "n1"), (2, "n2")]


@pytest.mark.parametrize("conditional", [True, False])
def test_refused_rows_are_named(spark_utc: SparkSession, items_target: ItemsTarget, conditional: bool) -> None:
    writer = items_target.writer("upsert", conditional=conditional)
    large = batch(spark_utc, [(7, "x" * 400 * 1024, 0, 0)])
    with pytest.raises(DataProblem, match=r"refuses the row with the key id=7.*[Ss]ize.*400 KB"):
        writer.publish(large)
    for sql, message in (
        ("SELECT 1L id, double('NaN') amount", r"Column amount is nan, .*IF\(isnan\(amount\), NULL, amount\)"),
        ("SELECT 1L id, array(named_struct('x', 1e126D)) a", r"Column a\[\]\.x is 1e\+126, which DynamoDB's numbers"),
        ("SELECT cast(NULL AS bigint) id, 'x' name", "A row has no id, which is of the table's key: name=x"),
        ("SELECT 'text' id", "refuses the row with the key id=text.*[Tt]ype"),
    ):
        rows = spark_utc.sql(f"SELECT *, 0 _partition, 0L _offset FROM ({sql})")
        with pytest.raises(DataProblem, match=message):
            writer.publish(batch(spark_utc, rows.collect(), columns=rows.schema.simpleString()[7:-1]))
    with pytest.raises(InvalidInput, match="the rows lack id, of the keys"):
        items_target.writer().publish(batch(spark_utc, [("x",)], columns="name string"))


def test_without_conditions_there_is_no_marker(spark_utc: SparkSession, items_target: ItemsTarget) -> None:
    items_target.writer("upsert", conditional=False).publish(batch(spark_utc, numbered(0, 60)))
    assert len(items_target.rows()) == 60
    assert set(items_target.items()[0]) == {"id", "name"}
