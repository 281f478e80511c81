"""The Delta sink on Spark: batches once, changes, evolution, and what delta-rs reads."""

import threading
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from penstock.errors import ConcurrentModification, InvalidInput
from penstock.pipelines import ChangeCapture, DeltaSink
from penstock.spark.maintenance.delta import maintain_delta
from penstock.spark.maintenance.procedures import TableMaintenance
from penstock.spark.sinks.delta import DeltaWriter
from penstock.spark.sinks.port import Published
from penstock.spark.tables.changes import changes
from tests.integration.spark.batches import CDC, a_batch

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def _sink(folder: str, **more: Any) -> DeltaSink:
    return DeltaSink(**{"name": "d", "location": f"s3://tables/delta/{folder}", **more})


def _rows(spark: SparkSession, sink: DeltaSink) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.read.format("delta").load(sink.location).collect())


def test_a_batch_is_in_the_table_once_and_other_clients_read_it(spark: SparkSession, spark_lake: Path) -> None:
    told: list[StructType] = []
    sink = _sink("orders", partition_by=("day",))
    writer = DeltaWriter(sink, spark, told.append)
    writer.check()
    assert writer.table() is None
    first = a_batch(spark, 0, [(1, "a", "mon", 0, 0), (2, "b", "tue", 0, 1)])
    done = writer.publish(first)
    assert (done.rows, done.replayed) == (2, False)
    assert writer.publish(first) == Published(rows=2, replayed=True)
    writer.publish(a_batch(spark, 1, [(3, "c", "mon", 0, 2)]))
    assert writer.publish(first).replayed  # an earlier batch of the same query
    expected = [(1, "a", "mon"), (2, "b", "tue"), (3, "c", "mon")]
    assert _rows(spark, sink) == expected
    assert [struct_type.names for struct_type in told] == [["id", "name", "day"]]
    table = DeltaTable(str(spark_lake / "tables/delta/orders"))
    assert table.metadata().partition_columns == ["day"]
    frame = table.to_pyarrow_table().select(["id", "name", "day"])
    assert sorted(tuple(row.values()) for row in frame.to_pylist()) == expected
    assert table.transaction_version(first.marker) == 1


def test_changes_are_merged_once(spark: SparkSession) -> None:
    upsert = DeltaWriter(_sink("merged", mode="upsert", keys=("id",)), spark)
    upsert.publish(a_batch(spark, 0, [(1, "old", "mon", 0, 0), (1, "a", "mon", 0, 1), (2, "b", "tue", 0, 2)]))
    capture = ChangeCapture(envelope="column", operation="op")
    sink = _sink("merged", mode="cdc", keys=("id",), changes=capture)
    writer = DeltaWriter(sink, spark)
    rows = [(1, "A", "wed", 0, 3, "u"), (2, "b", "tue", 0, 4, "d"), (3, "c", "wed", 0, 5, "c")]
    batch = a_batch(spark, 1, rows, CDC, drop=("op",))
    assert not writer.publish(batch).replayed
    assert writer.publish(batch).replayed
    assert _rows(spark, sink) == [(1, "A", "wed"), (3, "c", "wed")]
    nothing = a_batch(spark, 2, [(7, "gone", "mon", 0, 6, "d")], CDC, drop=("op",))
    writer.publish(nothing)
    writer.publish(nothing)
    assert _rows(spark, sink) == [(1, "A", "wed"), (3, "c", "wed")]


def test_of_writers_of_one_batch_one_writes(spark: SparkSession) -> None:
    sink = _sink("rivals")
    DeltaWriter(sink, spark).publish(a_batch(spark, 0, [(0, "a", "mon", 0, 0)]))
    done: list[Published] = []

    def publish(session: SparkSession) -> None:
        done.append(DeltaWriter(sink, session).publish(a_batch(session, 1, [(1, "b", "mon", 0, 1)])))

    # Sessions of their own, as writers in two processes have.
    threads = [threading.Thread(target=publish, args=(spark.newSession(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(published.replayed for published in done) == [False, True]
    assert _rows(spark, sink) == [(0, "a", "mon"), (1, "b", "mon")]


def test_delta_itself_refuses_a_batch_that_another_commits_meanwhile(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check before the write is not what keeps a batch from being written twice."""
    sink = _sink("blind")
    writer = DeltaWriter(sink, spark)
    batch = a_batch(spark, 0, [(0, "a", "mon", 0, 0)])
    writer.publish(batch)
    writer._write(spark, batch)
    writer._write(spark, batch)
    assert _rows(spark, sink) == [(0, "a", "mon")]
    tries: list[int] = []

    def conflict(*_: Any) -> None:
        tries.append(1)
        raise ConcurrentModification("another was first")

    monkeypatch.setattr(writer, "_write", conflict)
    with pytest.raises(ConcurrentModification):
        writer.publish(a_batch(spark, 1, [(1, "b", "mon", 0, 1)]))
    assert len(tries) == 5


def test_columns_follow_the_stream_and_old_files_stay_readable(spark: SparkSession) -> None:
    sink = _sink("evolved")
    writer = DeltaWriter(sink, spark)
    first = "id bigint, name string, seats int, _partition int, _offset bigint"
    writer.publish(a_batch(spark, 0, [(1, "a", 2, 0, 0)], first))
    later = a_batch(
        spark,
        1,
        [(2, "b", 2**40, "x", (1, "m"), 0, 1)],
        "id bigint, title string, seats bigint, gate string, more struct<n:int,t:string>, _partition int, _offset bigint",
    )
    results = changes(writer.table() or later.columns, later.columns, {"title": ["name"]})
    assert [writer.unsupported(change) for change in results] == [None] * 4
    writer.evolve(results)
    assert changes(writer.table() or later.columns, later.columns, {}) == []
    writer.publish(later)
    nested = a_batch(
        spark,
        2,
        [(3, None, 5, None, (1, "m", 7.5), 0, 2)],
        "id bigint, title string, seats bigint, gate string, more struct<n:bigint,t:string,d:double>, "
        "_partition int, _offset bigint",
    )
    writer.evolve(changes(writer.table() or nested.columns, nested.columns, {}))
    writer.publish(nested)
    assert _rows(spark, sink) == [
        (1, "a", 2, None, None),
        (2, "b", 2**40, "x", (1, "m", None)),
        (3, None, 5, None, (1, "m", 7.5)),
    ]


def test_maintenance_keeps_markers_and_rows(spark: SparkSession, spark_lake: Path) -> None:
    sink = _sink("maintained")
    writer = DeltaWriter(sink, spark)
    batches = [a_batch(spark, number, [(number, "a", "mon", 0, number)]) for number in range(3)]
    for batch in batches:
        writer.publish(batch)
    optimized, vacuumed = maintain_delta(spark, sink, TableMaintenance(orphans_after=0))
    assert (optimized.counts["numFilesRemoved"], optimized.counts["numFilesAdded"]) == (3, 1)
    assert vacuumed.counts["numFilesDeleted"] >= 3
    assert len(list((spark_lake / "tables/delta/maintained").glob("*.parquet"))) == 1
    assert all(writer.publish(batch).replayed for batch in batches)
    assert _rows(spark, sink) == [(number, "a", "mon") for number in range(3)]


def test_a_session_without_delta_is_refused(spark: SparkSession) -> None:
    plain = spark.newSession()
    plain.conf.set("spark.sql.catalog.spark_catalog", "org.example.Other")
    with pytest.raises(InvalidInput, match="started without Delta"):
        DeltaWriter(_sink("any"), plain).check()


def test_a_folder_of_other_files_is_refused(spark: SparkSession) -> None:
    spark.range(1).write.parquet("s3://tables/delta/other")
    with pytest.raises(InvalidInput, match="delta/other has files and is not a Delta table"):
        DeltaWriter(_sink("other"), spark).check()
