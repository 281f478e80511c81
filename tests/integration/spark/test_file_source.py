"""Files as a source: each format, each file once, also when Spark's commit is lost, and files that come later."""

import hashlib
import hmac
import io
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import fastavro
import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import InvalidInput, NotFound
from penstock.pipelines import FileSource, parse_pipeline, read_pipeline
from penstock.schema.version import SchemaVersion
from penstock.serdes.frame import encode
from penstock.spark.metrics import BatchMetrics
from penstock.spark.running.runner import RunOptions, RunReport, run
from penstock.spark.sources.files import FileStream
from tests.integration.spark.stream import Registry, frame, records, rows

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

DECLARED = """
name: files
source: {files: {location: s3://lk/files/arrived, maxFilesPerTrigger: 1}}
decode: {registry: tests, schema: flights}
transform: {sql: "SELECT *, _topic AS t, _partition AS p, _offset AS o, year(_timestamp) AS y FROM records"}
sink: {parquet: {location: s3://lk/files/rows}}
dead_letters: {location: s3://lk/files/dead}
checkpoint: s3://lk/files/checkpoint
"""


def _once(spark: SparkSession, **options: Any) -> RunReport:
    pipeline = parse_pipeline(DECLARED, environment={})
    return run(pipeline, spark, RunOptions(registry=Registry(), once=True, **options))


def _write(
    spark: SparkSession, folder: Path, values: Sequence[bytes | None], *, first: int = 0, date: str = "2024-05-01"
) -> None:
    """Add one file of records as a dead-letter table has them, in a partition."""
    data = [(b"k", value, "orders", 1, first + number) for number, value in enumerate(values)]
    columns = "key binary, value binary, topic string, partition int, offset bigint"
    rows = spark.createDataFrame(data, columns).selectExpr("*", "timestamp'2013-05-01 08:00:00Z' AS kafka_timestamp")
    rows.coalesce(1).write.mode("append").parquet(str(folder / f"date={date}"))


def test_each_file_is_read_once(spark: SparkSession, spark_lake: Path) -> None:
    base = spark_lake / "lk" / "files"
    arrived = base / "arrived"
    with pytest.raises(NotFound, match=r"The folder s3://lk/files/arrived does not exist"):
        _once(spark)
    _write(spark, arrived, [frame(1, record) for record in records(0, 5)])
    _write(spark, arrived, [*(frame(2, {**record, "seats": 4}) for record in records(5, 5)), b"damaged", None], first=5)
    (arrived / "_penstock").mkdir()
    (arrived / "_penstock" / "staged.parquet").write_bytes(b"not a file that readers see")
    report = _once(spark)
    assert (report.batches, report.rows, report.dead) == (2, 10, 1)
    results = rows(spark_lake, "files/rows")
    assert sorted(row["id"] for row in results) == list(range(10))
    assert {(row["t"], row["p"], row["y"]) for row in results} == {("orders", 1, 2013)}
    assert sorted(row["o"] for row in results) == list(range(10))

    # Spark's own commit of the last batch was lost: it runs again, and the ledger has it.
    (base / "checkpoint" / "commits" / "1").unlink()
    _write(spark, arrived, [frame(1, record) for record in records(10, 3)], date="2024-05-02")
    os.utime(next((arrived / "date=2024-05-02").glob("*.parquet")), (0, 0))  # far older than the others
    assert _once(spark).read == 3
    assert sorted(row["id"] for row in rows(spark_lake, "files/rows")) == list(range(13))
    assert _once(spark).batches == 0

    # A new checkpoint cannot go on from the ledger.
    (base / "checkpoint").rename(base / "old")
    with pytest.raises(InvalidInput, match="do not say which files of s3://lk/files/arrived were read"):
        _once(spark, resume_from_ledger=True)


def _collected(spark: SparkSession, source: FileSource, checkpoint: Path) -> list[Any]:
    results: list[Any] = []

    def collect(frame: DataFrame, number: int) -> None:
        results.extend(frame.collect())

    stream = FileStream(source).read(spark, starting=None).writeStream.foreachBatch(collect)
    stream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()
    return results


@pytest.mark.parametrize("data_format", ["parquet", "avro"])
def test_rows_of_files_are_records_by_the_columns_that_they_have(
    spark: SparkSession, tmp_path: Path, data_format: str
) -> None:
    folder = tmp_path / "export"
    sent = spark.createDataFrame([("a", b"one"), (None, b"two")], "id string, body binary")
    sent.selectExpr("encode(id, 'UTF-8') AS id", "body").coalesce(1).write.format(data_format).save(str(folder))
    source = FileSource(location=str(folder), format=data_format, key="id", value="body", glob="part-*")  # type: ignore[arg-type]
    results = sorted(_collected(spark, source, tmp_path / "checkpoint"), key=lambda row: bytes(row.value))
    assert [(row.key and bytes(row.key), bytes(row.value), row.partition, row.offset) for row in results] == [
        (b"a", b"one", 0, None),
        (None, b"two", 0, None),
    ]
    assert {Path(row.topic.removeprefix("file:")).parent for row in results} == {folder}
    assert all(row.timestamp is not None for row in results)


def test_lines_and_whole_files_are_values(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "json" / "deep").mkdir(parents=True)
    (tmp_path / "json" / "a.jsonl").write_text('{"id": 1}\n\n{"id": 2}\n')
    (tmp_path / "json" / "deep" / "b.jsonl").write_text('{"id": "ü"}')
    results = _collected(spark, FileSource(location=str(tmp_path / "json"), format="json"), tmp_path / "one")
    assert sorted(bytes(row.value).decode() for row in results) == ['{"id": "ü"}', '{"id": 1}', '{"id": 2}']
    (tmp_path / "binary").mkdir()
    (tmp_path / "binary" / "frame").write_bytes(frame(1, records(0, 1)[0]))
    (row,) = _collected(spark, FileSource(location=str(tmp_path / "binary"), format="binary"), tmp_path / "two")
    assert bytes(row.value) == frame(1, records(0, 1)[0])
    assert (row.key, row.partition, row.offset) == (None, 0, None)
    assert row.topic.endswith("/binary/frame")


ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "email", "type": "string", "tags": ["pii"]},
        {"name": "amount", "type": "double"},
        {"name": "country", "type": "string"},
        {"name": "ordered_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}


class Orders:
    """The registry of the example's schema."""

    version_1 = SchemaVersion(
        id=UUID(int=77), schema_arn="arn", registry_name="shop", schema_name="order", number=1, data_format="AVRO",
        definition=json.dumps(ORDER),
    )  # fmt: skip

    def versions(self, registry: str, schema: str, *, available_only: bool = True) -> list[SchemaVersion]:
        return [self.version_1]

    def version(self, version_id: UUID | str) -> SchemaVersion:
        assert version_id == self.version_1.id
        return self.version_1


def _order(number: int, amount: float, country: str) -> bytes:
    body = io.BytesIO()
    at = datetime(2024, 5, 1, 8, number % 60, tzinfo=UTC)
    order = {"id": number, "email": f"{number}@shop.example", "amount": amount, "country": country, "ordered_at": at}
    fastavro.schemaless_writer(body, fastavro.parse_schema(ORDER), order)
    return encode(Orders.version_1.id, body.getvalue())


def test_the_example_of_masks_steps_and_expectations(spark: SparkSession, spark_lake: Path) -> None:
    path = Path(__file__).parents[3] / "examples" / "orders_again.yaml"
    pipeline = read_pipeline(path, {"PENSTOCK_BUCKET": "lk/example", "MASK_KEY": "secret"})
    values = [_order(1, 10, "DE"), _order(2, 20, "US"), _order(1, 10, "DE"), _order(3, -5, "FR"), _order(4, 7, "XX")]
    # Without offsets: two orders of one file are told apart by their content.
    sent = spark.createDataFrame([(b"k", value) for value in [*values, values[3], b"damaged"]], "key binary, value binary")
    sent.coalesce(1).write.parquet(str(spark_lake / "lk" / "example" / "export" / "orders"))
    batches: list[BatchMetrics] = []
    report = run(pipeline, spark, RunOptions(registry=Orders(), once=True, on_batch=batches.append))
    assert (report.rows, report.dead) == (3, 2)
    results = sorted(rows(spark_lake, "example/orders_again"), key=lambda row: row["id"])
    assert [(row["id"], row["gross"], row["region"], row["batch"], str(row["day"])) for row in results] == [
        (1, 11.9, "europe", 0, "2024-05-01"),
        (2, 23.8, "america", 0, "2024-05-01"),
        (4, 8.33, "elsewhere", 0, "2024-05-01"),
    ]
    assert results[0]["email"] == hmac.new(b"secret", b"1@shop.example", hashlib.sha256).hexdigest()
    letters = sorted(rows(spark_lake, "example/orders_again_dead"), key=lambda row: row["reason"])
    assert [(letter["reason"], letter["offset"], letter["value"]) for letter in letters] == [
        ("EXPECTATION", None, values[3]),
        ("SHORT_FRAME", None, b"damaged"),
    ]
    assert any("known_region" in warning for warning in batches[0].warnings)
