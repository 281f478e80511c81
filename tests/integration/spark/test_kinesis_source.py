"""A stream of Kinesis to a table, and in a script of one's own: real Spark, and shards that are split while it runs."""

import json
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import NotFound
from penstock.pipelines import parse_pipeline
from penstock.serdes.kinesis.aggregate import UserRecord, write_aggregate
from penstock.spark import KinesisDataSource
from penstock.spark.metrics import BatchMetrics
from penstock.spark.running.runner import RunOptions, RunReport, run
from penstock.testing.kinesis_server import KinesisServer
from tests.integration.spark import stream as shared
from tests.integration.spark.stream import Registry, frame, records, rows

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

EXAMPLE = Path(__file__).parents[3] / "examples" / "clicks-through-kinesis.yaml"
KEYS = {"AWS_ACCESS_KEY_ID": "AKIATESTING", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_REGION": "us-east-1"}


@pytest.fixture(autouse=True)
def credentials(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    # What Spark's Python processes get: the session was started before anybody knew of a stream.
    environment: dict[str, str] = spark.sparkContext.environment
    before = dict(environment)
    environment.update(KEYS)
    yield
    environment.clear()
    environment.update(before)


class Stream:
    """A stream of its own, and the pipeline that reads it."""

    def __init__(self, kinesis: KinesisServer, lake: Path, spark: SparkSession, shards: int = 2) -> None:
        self.kinesis, self.lake, self.spark, self.name = kinesis, lake, spark, f"flights-{uuid4().hex[:8]}"
        self.client = kinesis.client()
        self.shards = kinesis.create_stream(self.name, shards=shards)
        self.batches: list[BatchMetrics] = []

    def put(self, values: Iterable[bytes]) -> None:
        entries = [{"Data": value, "PartitionKey": f"key {number}"} for number, value in enumerate(values)]
        for first in range(0, len(entries), 500):
            answer = self.client.put_records(StreamName=self.name, Records=entries[first : first + 500])
            assert answer["FailedRecordCount"] == 0

    def run(self, checkpoint: str = "checkpoint", *, resume: bool = False, settings: str = "") -> RunReport:
        text = f"""
name: flights
source:
  kinesis: {{stream: {self.name}, endpoint: "{self.kinesis.endpoint_url}", describeShardInterval: 0s, {settings}}}
decode: {{registry: tests, schema: flights}}
transform: {{sql: "SELECT *, _partition AS shard, _sequence AS sequence, string(_key) AS k, _offset AS o FROM records"}}
sink: {{parquet: {{location: s3://lk/flights, partition_by: [day]}}}}
dead_letters: {{location: s3://lk/dead}}
checkpoint: s3://lk/{checkpoint}
"""
        options = RunOptions(registry=Registry(), once=True, on_batch=self.batches.append, resume_from_ledger=resume)
        return run(parse_pipeline(text, environment={}), self.spark, options)

    def ids(self) -> list[int]:
        return sorted(row["id"] for row in rows(self.lake))


def flights(first: int, count: int) -> list[bytes]:
    return [frame(1, record) for record in records(first, count)]


def test_a_table_has_every_record_once(kinesis_server: KinesisServer, lake: Path, spark: SparkSession) -> None:
    stream = Stream(kinesis_server, lake, spark)
    whole = write_aggregate([UserRecord(f"part {number}", value) for number, value in enumerate(flights(200, 3))])
    stream.put([*flights(0, 200), whole, b"damaged"])
    report = stream.run(settings="max_records_per_shard: 75")
    assert (report.rows, report.dead) == (203, 1)
    assert report.batches >= 2, "once means all that is there, in batches of 75 a shard at most"
    results = {row["id"]: row for row in rows(lake)}
    assert sorted(results) == list(range(203))
    parts = [results[number] for number in range(200, 203)]
    assert [row["k"] for row in parts] == ["part 0", "part 1", "part 2"]
    assert [row["sequence"].rpartition("/")[2] for row in parts] == ["000000", "000001", "000002"]
    assert {row["shard"] for row in results.values()} == {0, 1}
    assert all("/" not in results[number]["sequence"] and results[number]["o"] is None for number in range(200))
    # The dead letter is of a pass of its own over the batch, and the shards were still read once.
    assert sum(kinesis_server.counts(stream.name)["served"].values()) == 202
    assert stream.batches[-1].lag["seconds"] == 0

    kinesis_server.split(stream.name, stream.shards[0])
    stream.put(flights(203, 100))
    # A batch that was not committed: as after a kill between the table's commit and Spark's.
    commits = lake / "lk" / "checkpoint" / "commits"
    max(commits.iterdir(), key=lambda file: int(file.name) if file.name.isdigit() else -1).unlink()
    assert stream.run().read == 100, "the batch that is run again is in the table"
    assert stream.ids() == list(range(303))
    # The checkpoint is lost; the ledger knows the positions.
    shutil.rmtree(lake / "lk" / "checkpoint")
    stream.put(flights(303, 10))
    stream.run("other", resume=True)
    assert stream.ids() == list(range(313))


def test_the_example_fills_a_table_and_another_stream(
    kinesis_server: KinesisServer, lake: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = [{"name": "id", "type": "long"}, {"name": "day", "type": "string"}, {"name": "page", "type": "string"}]
    monkeypatch.setattr(shared, "DEFINITIONS", ({"type": "record", "name": "Click", "fields": fields},))
    # The example has no endpoint, as with AWS.
    monkeypatch.setenv("AWS_ENDPOINT_URL_KINESIS", kinesis_server.endpoint_url)
    spark.sparkContext.environment["AWS_ENDPOINT_URL_KINESIS"] = kinesis_server.endpoint_url
    clicks, buyers = Stream(kinesis_server, lake, spark), Stream(kinesis_server, lake, spark)
    pages = {number: "checkout" if number % 10 == 0 else "home" for number in range(100)}
    clicks.put(frame(1, {"id": number, "day": "d", "page": page}) for number, page in pages.items())
    environment = {"CLICKS_STREAM": clicks.name, "BUYERS_STREAM": buyers.name, "PENSTOCK_BUCKET": "lk"}
    pipeline = parse_pipeline(EXAMPLE.read_text(), environment=environment)
    run(pipeline, spark, RunOptions(registry=Registry(numbers=[1]), once=True))
    results = {row["id"]: row for row in rows(lake, "clicks")}
    assert {number: row["page"] for number, row in results.items()} == pages
    bought = [(record["PartitionKey"], json.loads(record["Data"])) for record in kinesis_server.records(buyers.name)]
    assert sorted(value["id"] for _, value in bought) == list(range(0, 100, 10))
    for key, value in bought:
        assert set(value) == {"id", "visitor", "arrived"}
        assert key == value["visitor"] == results[value["id"]]["visitor"]


def test_a_missing_stream_is_named_before_the_stream_starts(
    kinesis_server: KinesisServer, lake: Path, spark: SparkSession
) -> None:
    stream = Stream(kinesis_server, lake, spark)
    stream.client.delete_stream(StreamName=stream.name)
    with pytest.raises(NotFound, match=f"Stream {stream.name} under account not found"):
        stream.run()


def test_a_script_follows_resharding_with_a_consumer_of_its_own(
    kinesis_server: KinesisServer, lake: Path, spark: SparkSession
) -> None:
    stream = Stream(kinesis_server, lake, spark, shards=1)
    spark.dataSource.register(KinesisDataSource)
    seen: list[tuple[str, list[int]]] = []
    arrived = threading.Condition()

    def keep(batch: DataFrame, _number: int) -> None:
        results: Sequence[tuple[str, bytes]] = [(row[0], row[1]) for row in batch.select("shardId", "data").collect()]
        with arrived:
            for shard in sorted({shard for shard, _ in results}):
                seen.append((shard, [int(value) for name, value in results if name == shard]))
            arrived.notify_all()

    def wait(count: int) -> None:
        with arrived:
            assert arrived.wait_for(lambda: sum(len(values) for _, values in seen) >= count, timeout=600)

    stream.put(str(number).encode() for number in range(50))
    query = (
        spark.readStream.format("penstock-kinesis")
        .options(streamName=stream.name, endpointUrl=kinesis_server.endpoint_url, startingPosition="trim_horizon")
        .options(fanoutConsumerName="script", describeShardInterval="0s", maxInlineBytes=0)
        .load()
        .writeStream.foreachBatch(keep)
        .option("checkpointLocation", "s3://lk/script")
        .trigger(processingTime="0 seconds")
        .start()
    )
    try:
        wait(50)
        children = kinesis_server.split(stream.name, stream.shards[0])
        stream.put(str(number).encode() for number in range(50, 150))
        wait(150)
        progress = json.loads(query.lastProgress.json if query.lastProgress else "{}")
    finally:
        query.stop()
    assert sorted(value for _, values in seen for value in values) == list(range(150))
    assert {shard for shard, _ in seen} == {stream.shards[0], *children}
    counts = kinesis_server.counts(stream.name)
    assert (sum(counts["pushed"].values()), sum(counts["served"].values())) == (150, 0)
    assert progress["sources"][0]["description"]
