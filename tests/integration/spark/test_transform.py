"""Transforms on Spark: masks, steps, catalog tables, deduplication, windows, expectations, and state across batches."""

import hashlib
import hmac
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import yaml
from pyspark.sql import DataFrame, SparkSession

from penstock.client.catalog import CatalogClient
from penstock.errors import InvalidInput
from penstock.pipelines.transforms import Transform, parse_transform
from penstock.schema.version import SchemaVersion
from penstock.settings.document import load_document
from penstock.spark.hadoop import HadoopFiles
from penstock.spark.transform.apply import TransformContext, Transformed, Transformer
from penstock.spark.transform.expectations import ExpectationStop
from penstock.spark.transform.tables import CatalogTables
from penstock.testing.server import RunningServer

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

START = datetime(2024, 5, 1, 8, 0, tzinfo=UTC)
COLUMNS = "id int, country string, amount int, at timestamp, _topic string, _partition int, _offset bigint"


def transform(text: str, folder: Path = Path()) -> Transform:
    return parse_transform(load_document(text, origin="p.yaml", environment={}), folder)


def orders(
    spark: SparkSession, rows: Sequence[tuple[int, str | None, int | None, float | None]], first: int = 0
) -> DataFrame:
    """Orders of id, country, amount and minutes after START, with consecutive offsets."""
    data = [
        (
            number,
            country,
            amount,
            None if minutes is None else START + timedelta(minutes=minutes),
            "orders",
            0,
            first + place,
        )
        for place, (number, country, amount, minutes) in enumerate(rows)
    ]
    return spark.createDataFrame(data, COLUMNS)


class Stream:
    """Batches through one transformer, with the state of each in a folder, as the commit does it."""

    def __init__(self, spark: SparkSession, folder: Path, declared: Transform, **options: Any) -> None:
        self.files = HadoopFiles(spark)
        self.transformer = Transformer(declared, files=self.files, **options)
        self.folder = folder
        self.number = 0
        self.previous: str | None = None

    def apply(self, rows: DataFrame, **context: Any) -> Transformed:
        now = datetime.now(UTC)
        return self.transformer.apply(
            rows, TransformContext(pipeline="p", batch=self.number, now=now, previous=self.previous, **context)
        )

    def batch(self, rows: DataFrame, *columns: str, keep: bool = True) -> tuple[list[tuple[Any, ...]], list[Any]]:
        """Return the rows' ``columns`` and the identities of quarantined records; ``keep`` commits the state."""
        done = self.apply(rows)
        results = sorted(tuple(row) for row in done.rows.selectExpr(*columns).collect())
        done.findings()
        bad = [] if done.quarantined is None else sorted((row.offset, row.reason) for row in done.quarantined.collect())
        if keep:
            self.previous = str(self.folder / f"state-{self.number}")
            done.save_state(self.previous, self.files)
            self.number += 1
        done.release()
        return results, bad


MODULE = """
from pyspark.sql import functions as F

def double(rows, context):
    twice = F.udf(lambda value: helper(value), "int")
    return rows.withColumn("amount", twice("amount")).withColumn("batch", F.lit(context.batch))

def helper(value):
    return value * 2

def nothing(rows, context):
    return None

def short(rows):
    return rows
"""


def test_steps_see_each_other_and_python_functions_need_no_copy_on_executors(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(MODULE)
    declared = transform(
        """
        steps:
          large: {sql: SELECT * FROM records WHERE amount > 5}
          doubled: {python: "steps:double"}
          again: {python: "steps:double", from: large}
        sql: SELECT d.id, d.amount, a.amount AS other, d.batch FROM doubled d JOIN again a USING (id)
        columns: {total: amount + other}
        """,
        tmp_path,
    )
    stream = Stream(spark, tmp_path, declared)
    found, bad = stream.batch(orders(spark, [(1, "DE", 10, 0), (2, "FR", 3, 0)]), "id", "amount", "other", "total", "batch")
    assert (found, bad) == ([(1, 20, 20, 40, 0)], [])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("steps:absent", "module steps has no function 'absent'"),
        ("steps:short", "must take two arguments"),
        ("other:double", r"there is no file .*other\.py"),
        ("broken:double", r"broken\.py cannot be imported: ZeroDivisionError"),
    ],
)
def test_python_steps_are_checked_before_the_stream_starts(tmp_path: Path, function: str, message: str) -> None:
    (tmp_path / "steps.py").write_text(MODULE)
    (tmp_path / "broken.py").write_text("1 / 0")
    with pytest.raises(InvalidInput, match=message):
        Transformer(transform(f"steps: {{one: {{python: '{function}'}}}}", tmp_path))


def test_a_python_step_that_returns_something_else_is_named(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(MODULE)
    stream = Stream(spark, tmp_path, transform("steps: {one: {python: 'steps:nothing'}}", tmp_path))
    with pytest.raises(InvalidInput, match="Step one: steps:nothing returned NoneType, not a DataFrame"):
        stream.apply(orders(spark, [(1, "DE", 10, 0)]))


PARQUET = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"


def _table(
    name: str, location: str, columns: dict[str, str], keys: dict[str, str] | None = None, form: str = PARQUET
) -> dict[str, Any]:
    def described(given: dict[str, str]) -> list[dict[str, str]]:
        return [{"Name": name, "Type": kind} for name, kind in given.items()]

    storage = {"Location": location, "Columns": described(columns), "InputFormat": form}
    return {"Name": name, "StorageDescriptor": storage, "PartitionKeys": described(keys or {})}


JOINING = """
def joined(rows, context):
    return rows.join(context.table("geo.names"), "country", "left")
"""


def test_catalog_tables_are_joined_and_read_anew_in_each_batch(
    spark: SparkSession, spark_lake: Path, tmp_path: Path, penstock_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in penstock_server.environment().items():
        monkeypatch.setenv(name, value)
    # A bucket that the session was not started for.
    (spark_lake / "geo").mkdir(exist_ok=True)
    names, rates, elsewhere = "s3://lk/names", "s3://geo/rates", "s3://geo/elsewhere"
    spark.sql("SELECT 'DE' AS country, 'Germany' AS name").write.parquet(names)
    for folder, country, rate in (("rates/year=2024", "DE", 2), ("elsewhere", "FR", 3)):
        spark.sql(f"SELECT '{country}' AS country, {rate} AS rate").write.parquet(str(spark_lake / "geo" / folder))
    glue = penstock_server.client("glue")
    glue.create_database(DatabaseInput={"Name": "geo"})
    for table in (
        _table("names", names, {"country": "string", "name": "string"}),
        _table("rates", rates, {"country": "string", "rate": "int"}, {"year": "int"}),
        _table("text", "s3://lk/text", {"line": "string"}, form="org.apache.hadoop.mapred.TextInputFormat"),
    ):
        glue.create_table(DatabaseName="geo", TableInput=table)
    places = [("2024", f"{rates}/year=2024/"), ("2023", elsewhere)]
    partitions = [{"Values": [value], "StorageDescriptor": {"Location": place}} for value, place in places]
    glue.batch_create_partition(DatabaseName="geo", TableName="rates", PartitionInputList=partitions)
    (tmp_path / "joining.py").write_text(JOINING)
    declared = transform(
        """
        steps: {named: {python: "joining:joined"}}
        sql: |
          SELECT r.id, d.name, n.name AS other, rate, year, 'FROM geo.absent' AS note -- FROM geo.absent
          FROM records r LEFT JOIN geo.names n ON n.country = r.country JOIN named d ON d.id = r.id
          LEFT JOIN `geo`.rates a ON a.country = r.country
        """,
        tmp_path,
    )
    tables = CatalogTables(CatalogClient())
    stream = Stream(spark, tmp_path, declared, tables=tables)
    rows = orders(spark, [(1, "DE", 10, 0), (2, "FR", 10, 0)])
    found, _ = stream.batch(rows, "id", "name", "other", "rate", "year")
    assert found == [(1, "Germany", "Germany", 2, 2024), (2, None, None, 3, 2023)]
    spark.sql("SELECT 'FR' AS country, 'France' AS name").write.mode("append").parquet(names)
    found, _ = stream.batch(rows, "id", "name", "other")
    assert found == [(1, "Germany", "Germany"), (2, "France", "France")]
    for name, message in (("absent", "which the data catalog does not have"), ("text", "not a table of Parquet files")):
        other = Stream(spark, tmp_path, transform(f"sql: SELECT * FROM geo.{name}"), tables=tables)
        with pytest.raises(InvalidInput, match=message):
            other.apply(rows)


def test_deduplication_by_key_within_a_watermark(spark: SparkSession, tmp_path: Path) -> None:
    declared = transform("steps: {once: {deduplicate: {keys: [id, country], time: at, watermark: 10 minutes}}}")
    stream = Stream(spark, tmp_path, declared)
    # Two of one batch: the first by offset stays. A null is a key, too.
    first = orders(spark, [(1, "DE", 10, 0), (1, "DE", 11, 1), (2, None, 20, 2), (2, None, 21, 2)])
    assert stream.batch(first, "id", "amount")[0] == [(1, 10), (2, 20)]
    # Seen in an earlier batch; a new key; and a record that is 20 minutes ahead moves the watermark.
    second = orders(spark, [(1, "DE", 12, 5), (1, "FR", 13, 5), (3, "DE", 30, 22)], first=4)
    assert stream.batch(second, "id", "country", "amount") == ([(1, "FR", 13), (3, "DE", 30)], [])
    # The watermark is 08:12: key (1, DE) of 08:00 is forgotten, a record of 08:11 is late, one without a time, too.
    third = orders(spark, [(1, "DE", 14, 13), (9, "DE", 15, 11), (8, "DE", 16, None), (1, "FR", 17, 13)], first=7)
    assert stream.batch(third, "id", "amount") == ([(1, 14)], [(8, "LATE"), (9, "LATE")])


def test_windows_are_emitted_once_when_complete(spark: SparkSession, tmp_path: Path) -> None:
    window: dict[str, Any] = {"time": "at", "size": "10 minutes", "watermark": "2 minutes", "by": ["country"]}
    window["aggregates"] = {"orders": "count(*)", "total": "sum(amount)"}
    steps = {"tumbling": {"window": window}, "sliding": {"from": "records", "window": {**window, "slide": "5 minutes"}}}
    query = "SELECT 't' AS kind, * FROM tumbling UNION ALL SELECT 's', * FROM sliding"
    stream = Stream(spark, tmp_path, transform(yaml.safe_dump({"steps": steps, "sql": query}, sort_keys=False)))
    columns = ("kind", "date_format(window_end, 'HH:mm')", "country", "orders", "total")
    batches = [
        orders(spark, [(1, "DE", 10, 1), (2, "DE", 20, 9), (3, "FR", 5, 6)]),  # watermark 08:07
        orders(spark, [(4, "DE", 1, 8), (5, "DE", 100, 12)], first=3),  # 08:10
        orders(spark, [(6, "DE", 7, 9), (7, "FR", 3, 23), (8, "FR", 0, None)], first=5),  # 08:21
        orders(spark, [(9, "FR", 1, 45)], first=8),
    ]
    results: list[list[tuple[Any, ...]]] = []
    late: list[Any] = []
    for rows in batches:
        if len(results) == 2:  # an attempt that was killed
            stream.batch(rows, *columns, keep=False)
        out, bad = stream.batch(rows, *columns)
        results.append(out)
        late += bad
    # Worked out by hand: a window of 08:00 to 08:10 is complete when the watermark is 08:10.
    tumbling = [
        [],
        [("08:10", "DE", 3, 31), ("08:10", "FR", 1, 5)],
        [("08:20", "DE", 1, 100)],
        [("08:30", "FR", 1, 3)],
    ]
    # The record of 08:09 in the third batch is too late for the first window, and in time for that of 08:05 to 08:15.
    sliding = [
        [("08:05", "DE", 1, 10)],
        [("08:10", "DE", 3, 31), ("08:10", "FR", 1, 5)],
        [("08:15", "DE", 4, 128), ("08:15", "FR", 1, 5), ("08:20", "DE", 1, 100)],
        [("08:25", "FR", 1, 3), ("08:30", "FR", 1, 3)],
    ]
    expected = [
        [*(("s", *row) for row in slid), *(("t", *row) for row in tumbled)]
        for slid, tumbled in zip(sliding, tumbling, strict=True)
    ]
    assert results == expected
    assert late == [(5, "LATE"), (7, "LATE")]


def test_a_time_that_is_none_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    declared = transform("steps: {once: {deduplicate: {keys: [id], time: amount, watermark: 1 minute}}}")
    with pytest.raises(InvalidInput, match="'time' is amount, which is int, not a timestamp"):
        Stream(spark, tmp_path, declared).apply(orders(spark, [(1, "DE", 10, 0)]))


def test_expectations_warn_quarantine_and_stop(spark: SparkSession, tmp_path: Path) -> None:
    text = """
    sql: SELECT *, amount * 2 AS twice FROM records
    expect:
      positive: {rows: amount > 0, on_failure: quarantine}
      known: {rows: "country IN ('DE', 'FR')"}
      enough: {batch: count(*) >= 10}
    """
    rows = orders(spark, [(1, "DE", 10, 0), (2, "XX", -1, 0), (3, "XX", 5, 0), (4, "DE", None, 0)])
    done = Stream(spark, tmp_path, transform(text)).apply(rows)
    assert sorted(tuple(row) for row in done.rows.select("id", "twice").collect()) == [(1, 20), (3, 10)]
    findings = done.findings()
    assert findings.failed == {"positive": 2, "known": 2, "enough": 1}
    assert findings.warnings == (
        "2 rows fail expectation known (country IN ('DE', 'FR'))",
        "expectation enough failed: count(*) >= 10",
    )
    assert done.quarantined is not None
    bad = sorted((row.topic, row.partition, row.offset, row.reason, row.message) for row in done.quarantined.collect())
    said = "The row fails the expectation positive."
    assert bad == [("orders", 0, 1, "EXPECTATION", said), ("orders", 0, 3, "EXPECTATION", said)]
    done.release()

    done = Stream(spark, tmp_path, transform("expect: {known: {rows: country = 'DE', on_failure: fail}}")).apply(rows)
    done.rows.collect()
    with pytest.raises(ExpectationStop, match=r"batch 0 of p: 2 rows fail expectation known \(country = 'DE'\)"):
        done.findings()
    lost = Stream(
        spark, tmp_path, transform("sql: SELECT id FROM records\nexpect: {a: {rows: id > 0, on_failure: quarantine}}")
    )
    with pytest.raises(InvalidInput, match="needs the columns _topic, _partition and _offset"):
        lost.apply(rows)


FIELDS = [
    {"name": "email", "type": "string", "tags": ["pii"]},
    {"name": "card", "type": ["null", "string"], "confluent:tags": ["card", "pii"]},
    {
        "name": "address",
        "type": {
            "type": "record",
            "name": "Address",
            "fields": [
                {"name": "street", "type": "string", "tags": ["secret"]},
                {"name": "phones", "type": {"type": "array", "items": "string"}, "tags": ["pii"]},
            ],
        },
    },
    {"name": "others", "type": {"type": "array", "items": "Address"}},
    {"name": "age", "type": "int", "tags": ["gone"]},
]


def test_fields_are_masked_by_the_schemas_tags_before_any_step(spark: SparkSession, tmp_path: Path) -> None:
    reader = SchemaVersion(
        id=UUID(int=1), schema_arn="arn", registry_name="r", schema_name="s", number=1, data_format="AVRO",
        definition=json.dumps({"type": "record", "name": "Person", "fields": FIELDS}),
    )  # fmt: skip
    address = {"street": "High Street 1", "phones": ["123", "456"]}
    rows = spark.createDataFrame(
        [("a@b.example", "4111222233334444", address, [address, None], 7), (None, None, None, None, None)],
        "email string, card string, address struct<street string, phones array<string>>, "
        "others array<struct<street string, phones array<string>>>, age int",
    )
    declared = transform(
        yaml.safe_dump(
            {
                "mask": {"tags": {"card": "partial", "pii": "hash", "secret": "redact", "gone": None}, "key": "k" * 70},
                "sql": "SELECT email, card, to_json(address) AS address, to_json(others) AS others, age FROM records",
            }
        )
    )
    done = Stream(spark, tmp_path, declared).apply(rows, reader=reader)
    full, empty = sorted(done.rows.collect(), key=lambda row: row.email is None)

    def digest(text: str) -> str:
        return hmac.new(b"k" * 70, text.encode(), hashlib.sha256).hexdigest()

    masked = {"street": "[redacted]", "phones": [digest("123"), digest("456")]}
    assert (full.email, full.card, full.age) == (digest("a@b.example"), "****4444", None)
    assert json.loads(full.address) == masked
    assert json.loads(full.others)[0] == masked
    assert list(empty) == [None] * 5
