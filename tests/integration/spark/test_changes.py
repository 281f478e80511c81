"""The last change of each key in a batch, on Spark: of rows in the source's order, and of Debezium's envelopes."""

from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import InvalidInput
from penstock.pipelines.sinks.settings import ChangeCapture, SinkSettings
from penstock.spark.problems import is_data_error
from penstock.spark.sinks.changes import latest_changes, written_columns

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

_IMAGE = "struct<id:bigint,name:string,at:int>"
_ENVELOPE = f"op string, before {_IMAGE}, after {_IMAGE}, at int, _partition int, _offset bigint"


class _Sink(SinkSettings):
    kind = "any"
    modes = ("append", "upsert", "cdc")


_DEBEZIUM = _Sink(mode="cdc", keys=("id",), changes=ChangeCapture(envelope="debezium"))


def _found(rows: DataFrame, sink: SinkSettings) -> set[tuple[Any, ...]]:
    results = [tuple(row) for row in latest_changes(rows, sink).collect()]
    assert len(results) == len(set(results))
    return set(results)


def test_the_last_row_of_a_key_counts_also_where_the_key_is_null(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [(1, "a", 0, 5), (1, "b", 0, 7), (1, "c", 0, 6), (2, "d", 1, 1), (None, "e", 0, 8), (None, "f", 0, 9)],
        "id bigint, name string, _partition int, _offset bigint",
    )
    assert _found(rows, _Sink(mode="upsert", keys=("id",))) == {(1, "b", False), (2, "d", False), (None, "f", False)}


def test_declared_order_comes_before_offsets_and_sequence_numbers_compare_as_numbers(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [(1, 20, "99", 0), (1, 10, "100", 0), (2, 5, "99", 0), (2, 5, "100", 0), (2, 5, "100", 1), (2, None, "101", 0)],
        "id bigint, at int, _sequence string, _offset bigint",
    ).selectExpr("*", "concat(_sequence, '/', _offset) AS name")
    assert _found(rows, _Sink(mode="upsert", keys=("id",), order_by=("at",))) == {
        (1, 20, "99/0", False),
        (2, 5, "100/1", False),
    }


def test_an_operation_column_deletes_and_is_not_in_the_table(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [(1, "a", "I", 1), (1, "a", "D", 2), (2, "b", "D", 3), (2, "c", None, 4), (3, "x", "gone", 5)],
        "id bigint, name string, kind string, _offset bigint",
    )
    changes = ChangeCapture(envelope="column", operation="kind", deletes=("D", "gone"))
    sink = _Sink(mode="cdc", keys=("id",), changes=changes)
    assert _found(rows, sink) == {(1, "a", True), (2, "c", False), (3, "x", True)}


def test_debezium_s_envelopes_become_changes(spark: SparkSession) -> None:
    def old_and_new(op: str | None, before: Any, after: Any, offset: int, at: int = 0) -> tuple[Any, ...]:
        return (op, before, after, at, 0, offset)

    rows = spark.createDataFrame(
        [
            old_and_new("r", None, (1, "snapshot", 1), 0),
            old_and_new("u", None, (1, "no image before", 2), 1),
            old_and_new("c", None, (2, "created", 1), 2),
            old_and_new("d", (2, "created", 1), None, 3),
            old_and_new(None, None, None, 4),  # the tombstone of key 2
            old_and_new("u", (3, "same key", 1), (3, "changed", 2), 5),
            old_and_new("u", (4, "old key", 1), (5, "new key", 2), 6),
            old_and_new("m", None, None, 7),
        ],
        _ENVELOPE,
    )
    assert written_columns(rows.schema, _DEBEZIUM).names == ["id", "name", "at"]
    assert _found(rows, _DEBEZIUM) == {
        (1, "no image before", 2, False),
        (2, "created", 1, True),
        (3, "changed", 2, False),
        (4, "old key", 1, True),
        (5, "new key", 2, False),
    }


def test_a_key_that_moves_away_and_back_is_written(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [("u", (1, "a", 1), (2, "a", 2), 0, 0, 0), ("u", (2, "a", 2), (1, "b", 3), 0, 0, 1)], _ENVELOPE
    )
    assert _found(rows, _DEBEZIUM) == {(1, "b", 3, False), (2, "a", 2, True)}


def test_a_truncation_is_an_error_of_the_data_not_a_silent_loss(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("t", None, None, 0, 0, 0)], _ENVELOPE)
    with pytest.raises(PySparkException, match="cannot apply Debezium's operation 't'") as error:
        latest_changes(rows, _DEBEZIUM).collect()
    assert is_data_error(error.value)


def test_rows_without_an_order_or_keys_are_refused_with_a_remedy(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, "a")], "id bigint, name string")
    with pytest.raises(InvalidInput, match="later one") as error:
        latest_changes(rows, _Sink(mode="upsert", keys=("id",)))
    assert "order_by" in (error.value.remedy or "")
    with pytest.raises(InvalidInput, match="the rows lack its keys: nr"):
        latest_changes(rows, _Sink(mode="upsert", keys=("nr",), order_by=("name",)))
    with pytest.raises(InvalidInput, match="the rows lack Debezium's envelope: op, before, after"):
        latest_changes(rows, _DEBEZIUM)
    with pytest.raises(InvalidInput, match="'order_by' names 'at'"):
        latest_changes(rows, _Sink(mode="upsert", keys=("id",), order_by=("at",)))


def test_fields_inside_an_image_have_any_name(spark: SparkSession) -> None:
    image = "struct<id:bigint,part:struct<`a b:c`:int>>"
    rows = spark.createDataFrame(
        [("c", None, (1, (7,)), 0, 0), (None, None, None, 0, 1)],
        f"op string, before {image}, after {image}, _partition int, _offset bigint",
    )
    assert _found(rows, _DEBEZIUM) == {(1, (7,), False)}
