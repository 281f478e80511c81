"""Glue's sources and forEachBatch in a real Spark session: Kinesis by ranges of shards, Kafka by Glue's options, retries."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery, StreamingQueryManager

from awsglue.context import GlueContext
from awsglue.dynamicframe import DynamicFrame
from penstock.errors import EnvironmentProblem, InvalidInput, NotFound
from penstock.glue.context.streaming import ONCE, for_each_batch
from penstock.glue.errors import NotSupported
from penstock.glue.jobs.stopping import stop_requested
from penstock.glue.once import write_batch_once
from penstock.glue.patches.overwrites import guard_overwrites
from penstock.glue.patches.table import guard_waits
from penstock.glue.sinks import streams
from penstock.local.broker import Broker
from penstock.pipelines import KinesisSink
from penstock.serdes.kinesis.aggregate import UserRecord, read_aggregate, write_aggregate
from penstock.spark.sinks.kinesis import KinesisWriter
from penstock.testing.kinesis import KinesisStandIn
from penstock.testing.server import RunningServer

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

KEYS = {"AWS_ACCESS_KEY_ID": "AKIATESTING", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_REGION": "us-east-1"}
TEXT = "$json$data_infer_schema$_temporary$"


@pytest.fixture
def glue(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[GlueContext]:
    monkeypatch.setenv(ONCE, "1")
    # What Spark's workers get: the session was started before anybody knew of a stream.
    environment: dict[str, str] = spark.sparkContext.environment
    before = dict(environment)
    environment.update(KEYS)
    yield GlueContext(spark.sparkContext)
    environment.clear()
    environment.update(before)
    stop_requested.clear()


def texts(frame: DataFrame, column: str = TEXT) -> list[str]:
    return sorted(row[0] for row in frame.select(f"`{column}`").collect())


class Stream:
    """A stream of its own in the stand-in."""

    def __init__(self, kinesis: KinesisStandIn) -> None:
        self.kinesis, self.name = kinesis, f"glue-{uuid4().hex[:8]}"
        self.client = kinesis.client()
        kinesis.create_stream(self.name)

    def put(self, *values: str) -> None:
        for value in values:
            self.client.put_record(StreamName=self.name, Data=value.encode(), PartitionKey="k")

    def options(self, **more: str) -> dict[str, str]:
        named = {"streamName": self.name, "endpointUrl": self.kinesis.endpoint_url, "describeShardInterval": "0s"}
        return {**named, "startingPosition": "TRIM_HORIZON", **more}


@pytest.fixture
def stream(kinesis: KinesisStandIn) -> Stream:
    return Stream(kinesis)


def test_a_failed_batch_is_run_again_with_the_same_records(
    glue: GlueContext, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream.put("1", "2", "3")
    frame = glue.create_data_frame.from_options("kinesis", stream.options(maxFetchRecordsPerShard="2"))
    options = {"windowSize": "0 seconds", "checkpointLocation": f"s3://lk/glue-{uuid4()}", "batchMaxRetries": 1}
    seen: list[tuple[int, list[str]]] = []
    waits: list[float] = []

    def fails(batch: DataFrame, number: int) -> None:
        seen.append((number, texts(batch)))
        raise ValueError("not yet")

    with pytest.raises(ValueError, match="not yet"):
        for_each_batch(frame, fails, options, wait=waits.append)
    assert (waits, seen) == ([1], [(0, ["1", "2"])] * 2)

    # The next run begins with the same batch and goes on behind it, until it is asked to end.
    whole = write_aggregate([UserRecord("a", b"4"), UserRecord("b", b"5")])
    for data, key in ((whole, "a"), (whole[:-1] + b"x", "cut")):
        stream.client.put_record(StreamName=stream.name, Data=data, PartitionKey=key)
    stream.put("6", "never read")
    monkeypatch.setenv(ONCE, "0")
    seen.clear()

    def ends(batch: DataFrame, number: int) -> None:
        seen.append((number, texts(batch, "partitionKey")))
        if number == 2:
            stop_requested.set()

    glue.forEachBatch(frame=frame, batch_function=ends, options=options)
    # An aggregated record is taken apart; one that is damaged comes as it is.
    assert seen == [(0, ["k", "k"]), (1, ["a", "b", "k"]), (2, ["cut", "k"])]


def test_a_batch_is_written_once_and_a_refusal_is_not_tried_again(
    glue: GlueContext, stream: Stream, spark_lake: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stream.put("1", "2", "3")
    options = {name: value for name, value in stream.options().items() if name != "startingPosition"}
    # The format's name and its options as in scripts that were written for a connector of Spark.
    reader = glue.readStream.format("kinesis").options(**options, startingposition="TRIM_HORIZON")
    frame = reader.option("awsUseInstanceProfile", "false").load()
    checkpoint, rows = f"s3://lk/glue-{uuid4()}", f"s3://lk/once-{uuid4()}"
    calls: list[bool] = []

    def writes(batch: DataFrame, number: int) -> None:
        text = batch.selectExpr("CAST(data AS STRING) AS t")
        calls.append(write_batch_once(text, number, rows, checkpoint=checkpoint, format="json"))
        if len(calls) == 1:
            text.write.json(rows)  # it exists: an error of the JVM

    for_each_batch(frame, writes, {"windowSize": "0 seconds", "checkpointLocation": checkpoint}, wait=lambda _: None)
    assert calls == [True, False]
    assert sorted(row.t for row in glue.read.json(rows).collect()) == ["1", "2", "3"]
    (said,) = [record.getMessage() for record in caplog.records if "is run again" in record.getMessage()]
    assert "already exists" in said
    assert "An error occurred while calling" not in said
    # A batch that died while its files were put in place is taken back first.
    (begun,) = [path.with_suffix(".begun") for path in (spark_lake / "lk" / rows[8:] / "_glue").rglob("*.done")]
    there = [f"{rows}/{path.name}" for path in (spark_lake / "lk" / rows[8:]).glob("*.json")]
    begun.with_suffix(".done").unlink()
    begun.write_text(json.dumps(there))
    assert write_batch_once(glue.createDataFrame([("9",)], "t STRING"), 0, rows, checkpoint=checkpoint, format="json")
    assert [row.t for row in glue.read.json(rows).collect()] == ["9"]

    refused: list[int] = []

    def refuses(_: DataFrame, number: int) -> None:
        refused.append(number)
        glue.transition_s3_path("s3://lk/x", "GLACIER")

    with pytest.raises(NotSupported, match="transition_s3_path"):
        glue.forEachBatch(frame, refuses, {"windowSize": "1 s", "checkpointLocation": f"s3://lk/glue-{uuid4()}"})
    assert refused == [0]
    with pytest.raises(NotFound, match="Bucket nowhere of s3://nowhere/c does not exist"):
        glue.forEachBatch(frame, refuses, {"windowSize": "1 s", "checkpointLocation": "s3://nowhere/c"})


def test_kafka_by_glues_options(
    glue: GlueContext, broker: Broker, penstock_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = f"glue-{uuid4().hex[:8]}"
    producer = Producer(broker.client_settings)
    for number in range(3):
        producer.produce(topic, json.dumps({"id": number, "place": {"city": "x"}}).encode(), headers={"h": b"1"})
    producer.flush()
    login = f'org.apache.kafka.common.security.scram.ScramLoginModule required username="{broker.username}"'
    options = {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": f'{login} password="{broker.password}";',
        "topicName": topic,
        "startingOffsets": "earliest",
        "classification": "json",
        "includeHeaders": "true",
        "addRecordTimestamp": "true",
        "maxOffsetsPerTrigger": "2",
        "schema": "'id' INT, place STRUCT<city: STRING>",
    }
    results: list[list[tuple[int, str, str]]] = []

    def keeps(batch: DataFrame, _: int) -> None:
        assert batch.columns == ["id", "place", "glue_streaming_kafka_headers", "__src_timestamp"]
        rows = batch.orderBy("id").collect()
        results.append([(row[0], row[1]["city"], row[2][0]["value"]) for row in rows])

    frame = glue.create_data_frame.from_options("kafka", options)
    glue.forEachBatch(frame, keeps, {"windowSize": "1 second", "checkpointLocation": f"s3://lk/glue-{uuid4()}"})
    assert results == [[(0, "x", "1"), (1, "x", "1")], [(2, "x", "1")]]
    text = glue.create_data_frame_from_options("kafka", {**options, "schema": None, "inferSchema": "true"})
    assert text.columns == [TEXT, "glue_streaming_kafka_headers", "__src_timestamp"]
    # In a batch all records that are there, up to endingOffsets, as Spark's own reader has them.
    there = {name: value for name, value in options.items() if name not in {"startingOffsets", "includeHeaders"}}
    plain = {name: options[name] for name in options if name.startswith("kafka.")}
    plain |= {f"kafka.{name}": options[name] for name in ("bootstrap.servers", "security.protocol")}
    by_spark = glue.read.format("kafka").options(subscribe=topic, **plain).load()
    assert sorted(json.loads(row.value)["id"] for row in by_spark.collect()) == [0, 1, 2]
    whole = glue.create_dynamic_frame.from_options("kafka", {**there, "schema": None}).toDF()
    assert sorted((row.id, row.place.city) for row in whole.collect()) == [(0, "x"), (1, "x"), (2, "x")]
    some = {**there, "startingOffsets": json.dumps({topic: {"0": 1}}), "endingOffsets": json.dumps({topic: {"0": 2}})}
    assert [row.id for row in glue.create_data_frame.from_options("kafka", some).collect()] == [1]
    # Rows are written as records, with the same options of the brokers.
    reached = {name: value for name, value in options.items() if name in {"bootstrap.servers", "security.protocol"}}
    reached |= {name: value for name, value in options.items() if name.startswith("kafka.")}
    made = DynamicFrame.fromDF(
        glue.createDataFrame([(7, "a", None), (8, "b", "x")], "id INT, k STRING, v STRING"), glue, "f"
    )
    sink = {**reached, "topic": f"{topic}-out", "key": "k", "partition": "0", "classification": "json"}
    assert glue.write_dynamic_frame.from_options(made, "kafka", sink) is made
    glue.write_data_frame.from_options(
        made.toDF(), "kafka", {**sink, "classification": "csv", "key": "all", "delimiter": "|"}
    )
    written = glue.read.format("kafka").options(subscribe=f"{topic}-out", **plain).load()
    assert sorted((row.key.decode(), row.value.decode()) for row in written.collect()) == [
        ("a", '{"id":7,"k":"a","v":null}'), ("all", "7|a|"), ("all", "8|b|x"), ("b", '{"id":8,"k":"b","v":"x"}')
    ]  # fmt: skip
    for wrong, why in (
        ({"partition": "k"}, "column of whole numbers"),
        ({"classification": "xml"}, "xml cannot be written"),
    ):
        with pytest.raises(InvalidInput, match=why):
            glue.write_dynamic_frame.from_options(made, "kafka", {**sink, **wrong})
    # The same by a table of the catalog.
    for name, value in penstock_server.environment().items():
        monkeypatch.setenv(name, value)
    client = penstock_server.client("glue")
    client.create_database(DatabaseInput={"Name": "glue_streams"})
    described = {"Columns": [{"Name": "id", "Type": "int"}], "Parameters": {"typeOfData": "kafka", "topicName": topic}}
    client.create_table(
        DatabaseName="glue_streams",
        TableInput={"Name": "t", "StorageDescriptor": described, "Parameters": {"classification": "json"}},
    )
    place = {"bootstrap.servers": broker.bootstrap, "security.protocol": "SASL_PLAINTEXT"}
    table = glue.create_data_frame.from_catalog(database="glue_streams", table_name="t", additional_options=place)
    assert (table.isStreaming, table.columns) == (True, ["id"])
    with pytest.raises(InvalidInput, match="'kinesis' is read as a stream"):
        glue.create_dynamic_frame.from_options("kinesis", {})
    with pytest.raises(EnvironmentProblem, match=r"No broker of the Kafka source can be reached.*bootstrap.servers"):
        glue.create_data_frame_from_options("kafka", {**options, "bootstrap.servers": "127.0.0.1:1"})


def test_rows_are_put_into_kinesis(glue: GlueContext, stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    place = {name: value for name, value in stream.options().items() if name in {"streamName", "endpointUrl"}}
    frame = DynamicFrame.fromDF(glue.createDataFrame([(1, "a"), (2, None)], "id INT, k STRING"), glue, "f")
    glue.getSink("kinesis", partitionKey="part'1", aggregationEnabled="false", **place).writeFrame(frame)
    glue.write_dynamic_frame.from_options(
        frame.filter(lambda row: row["id"] == 1), "kinesis", {**place, "partitionKey": "k"}
    )
    shards = stream.client.list_shards(StreamName=stream.name)["Shards"]
    result = []
    for shard in shards:
        start = {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = stream.client.get_shard_iterator(StreamName=stream.name, **start)["ShardIterator"]
        result += stream.client.get_records(ShardIterator=iterator)["Records"]
    plain = [(item["PartitionKey"], item["Data"]) for item in result if item["Data"].startswith(b"{")]
    assert sorted(plain) == [("part'1", b'{"id":1,"k":"a"}'), ("part'1", b'{"id":2,"k":null}')]
    # Without the option records are aggregated, as AWS's producer does.
    (whole,) = [item["Data"] for item in result if not item["Data"].startswith(b"{")]
    (record,) = read_aggregate(whole)
    assert (record.partition_key, record.data) == ("a", b'{"id":1,"k":"a"}')
    with pytest.raises(NotFound, match="nowhere"):
        glue.write_dynamic_frame.from_options(frame, "kinesis", {**place, "streamName": "nowhere"})
    # An ARN, which may be that of another account's stream, is in the requests.
    named: list[str] = []

    def recorded(sink: KinesisSink, *given: Any, **more: Any) -> KinesisWriter:
        named.append(sink.stream)
        return KinesisWriter(sink, *given, **more)

    monkeypatch.setattr(streams, "KinesisWriter", recorded)
    arn = stream.client.describe_stream_summary(StreamName=stream.name)["StreamDescriptionSummary"]["StreamARN"]
    glue.write_dynamic_frame.from_options(frame, "kinesis", {"streamARN": arn, "endpointUrl": place["endpointUrl"]})
    assert named == [arn]
    # AWS's own endpoint gives way to that of the environment, as for sources.
    monkeypatch.setenv("AWS_ENDPOINT_URL_KINESIS", place["endpointUrl"])
    aws = {"streamName": "nowhere-at-aws", "endpointUrl": "https://kinesis.us-east-1.amazonaws.com"}
    with pytest.raises(NotFound, match="nowhere-at-aws"):
        glue.write_dynamic_frame.from_options(frame, "kinesis", aws)
    with pytest.raises(InvalidInput, match="The kinesis sink does not name a stream"):
        glue.write_dynamic_frame.from_options(frame, "kinesis", {"partitionKey": "k"})


def test_only_streams_have_batches(glue: GlueContext, spark: SparkSession) -> None:
    with pytest.raises(InvalidInput, match="forEachBatch needs a stream"):
        glue.forEachBatch(spark.range(1), lambda *_: None, {"windowSize": "1 second", "checkpointLocation": "s3://lk/x"})
    with pytest.raises(InvalidInput, match="Missing checkpointLocation"):
        glue.forEachBatch(spark.range(1), lambda *_: None, {"windowSize": "1 second"})


def test_an_overwrite_of_what_is_read_loses_nothing(glue: GlueContext, spark: SparkSession, spark_lake: Path) -> None:
    guard_overwrites()
    path = "s3://lk/compacted"
    shutil.rmtree(spark_lake / "lk" / "compacted", ignore_errors=True)
    spark.range(100).repartition(8).write.parquet(path)
    before = {item.name for item in (spark_lake / "lk" / "compacted").iterdir()}
    spark.read.parquet(path).coalesce(2).write.mode("overwrite").save(path + "/")
    after = {item.name for item in (spark_lake / "lk" / "compacted").iterdir()}
    assert (len(after), before & after) == (2, set())
    assert spark.read.parquet(path).count() == 100
    assert not [item for item in (spark_lake / "lk").iterdir() if item.name.startswith(".compacted")]
    # What is not read is overwritten as Spark does it.
    spark.range(3).coalesce(1).write.parquet(path, mode="overwrite")
    assert spark.read.parquet(path).count() == 3


def test_a_missing_stream_is_an_error_at_once(glue: GlueContext, stream: Stream) -> None:
    frame = glue.create_data_frame.from_options("kinesis", {**stream.options(), "streamName": "gone"})
    options = {"windowSize": "1 second", "checkpointLocation": f"s3://lk/glue-{uuid4()}"}
    with pytest.raises(NotFound, match="Stream gone"):
        for_each_batch(frame, lambda *_: None, options, wait=lambda _: pytest.fail("it is tried again"))


def test_streams_that_a_script_waits_for_itself_end_like_batches(
    glue: GlueContext, spark_lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StreamingQuery, "awaitTermination", StreamingQuery.awaitTermination)
    monkeypatch.setattr(StreamingQueryManager, "awaitAnyTermination", StreamingQueryManager.awaitAnyTermination)
    guard_waits()
    monkeypatch.delattr(StreamingQuery, "_penstock_waits")
    lines = spark_lake / "lk" / f"lines-{uuid4()}"
    lines.mkdir()
    (lines / "1.txt").write_text("a\nb\n")
    seen: list[list[str]] = []

    def collects(batch: DataFrame, number: int) -> None:
        # As on AWS, a DynamicFrame is of the context's session, so that spark.sql knows its views.
        DynamicFrame.fromDF(batch, glue, "batch").toDF().createOrReplaceTempView("of_the_batch")
        seen.append([row.value for row in glue.spark_session.sql("SELECT value FROM of_the_batch ORDER BY 1").collect()])

    writer = glue.readStream.text(f"s3://lk/{lines.name}").writeStream.foreachBatch(collects)
    monkeypatch.setenv(ONCE, "1")
    query = writer.start()
    query.awaitTermination()
    assert (seen, query.isActive) == ([["a", "b"]], False)
    monkeypatch.setenv(ONCE, "0")
    glue.spark_session.streams.resetTerminated()
    query = writer.start()
    stop_requested.set()
    glue.spark_session.streams.awaitAnyTermination()
    assert not query.isActive
