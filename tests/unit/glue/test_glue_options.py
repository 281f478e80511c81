"""Glue's options of sources and of forEachBatch: what they become, and that none is passed over."""

from typing import Any

import pytest
from pyspark import StorageLevel

from penstock.client.connections import GlueConnection
from penstock.client.secrets import BrokerCredentials
from penstock.errors import InvalidInput
from penstock.glue.connections.databases import Target
from penstock.glue.connections.kafka import KafkaConnection, kafka_connection
from penstock.glue.connections.redshift import is_aws
from penstock.glue.context.streaming import batch_options
from penstock.glue.errors import NotSupported
from penstock.glue.launch.monitoring import event_log, notes
from penstock.glue.options import Options
from penstock.glue.payload import check_avro
from penstock.glue.sources.formats import csv_options
from penstock.glue.sources.jdbc import database_problem, driver_url
from penstock.glue.sources.kafka import kafka_reads
from penstock.glue.sources.kinesis import redirected
from penstock.glue.sources.stream_tables import stream_options
from penstock.retries import MICRO_BATCH

PLACE = {"bootstrap.servers": "b:9092", "topicName": "t"}
ARN = "arn:aws:kinesis:eu-west-1:111122223333:stream/clicks"
BATCH = {"windowSize": "100 seconds", "checkpointLocation": "s3://b/c"}


def connection(name: str) -> KafkaConnection:
    return KafkaConnection(brokers="c:9096", protocol="SASL_SSL", login=("SCRAM-SHA-512", "ana", 'a"b'))


def kafka(*, batch: Any = False, **given: Any) -> dict[str, str]:
    return kafka_reads(given, connection, batch=batch)[0].options()


def test_kafka_options_are_sparks() -> None:
    results = kafka(
        connectionName="msk",
        topicName="a,b",
        startingOffsets="earliest",
        maxOffsetsPerTrigger=100,
        minPartitions="4",
        pollTimeoutMs=1000,
        numRetries="5",
        retryIntervalMs="20",
        includeHeaders=True,
        inferSchema="false",
        classification="json",
        emitConsumerLagMetrics="false",
        **{"kafka.max.poll.records": "9"},
    )
    assert results == {
        "kafka.bootstrap.servers": "c:9096",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": (
            'org.apache.kafka.common.security.scram.ScramLoginModule required username="ana" password="a\\"b";'
        ),
        "subscribe": "a,b",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "100",
        "minPartitions": "4",
        "kafkaConsumer.pollTimeoutMs": "1000",
        "fetchOffset.numRetries": "5",
        "fetchOffset.retryIntervalMs": "20",
        "includeHeaders": "true",
        "failOnDataLoss": "false",
        "kafka.max.poll.records": "9",
        "kafka.default.api.timeout.ms": "30000",
        "kafka.request.timeout.ms": "15000",
    }
    assert kafka(**PLACE)["startingOffsets"] == "latest"
    assert kafka(**{**PLACE, "startingTimestamp": "2023-04-04T08:00:00-04:00"})["startingTimestamp"] == "1680609600000"
    given = kafka(connectionName="msk", subscribePattern="t.*", **{"bootstrap.servers": "d:1", "security.protocol": "ssl"})
    assert (given["kafka.bootstrap.servers"], given["kafka.security.protocol"]) == ("d:1", "SSL")
    # A batch read begins at the first record unless it is told.
    offsets = '{"t":{"0":5}}'
    whole = kafka(**PLACE, batch=True)
    assert (whole["startingOffsets"], "endingOffsets" in whole) == ("earliest", False)
    assert kafka(**PLACE, batch=True, endingOffsets=offsets)["endingOffsets"] == offsets


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"topicName": "t"}, "does not name its brokers"),
        ({"bootstrap.servers": "b:1"}, "names its topics in no options"),
        ({**PLACE, "assign": "{}"}, "names its topics in 2 options"),
        ({**PLACE, "endingOffsets": "earliest"}, "endingOffsets of the kafka source is earliest, before which"),
        ({**PLACE, "startingOffsets": "latest", "batch": True}, "behind which a batch read finds no record"),
        ({**PLACE, "typeOfData": "kinesis"}, "typeOfData of the kafka source is not supported. This is the kafka source"),
        ({**PLACE, "startingOffsets": "latest", "startingTimestamp": "2023-04-04T08:00:00Z"}, "exclude each other"),
        ({**PLACE, "startingTimestamp": "yesterday"}, "startingTimestamp is 'yesterday'"),
        ({**PLACE, "maxOffsetsPerTrigger": "many"}, "maxOffsetsPerTrigger of the kafka source is 'many'"),
        ({**PLACE, "inferSchema": "perhaps"}, "inferSchema of the kafka source is 'perhaps'"),
        ({**PLACE, "security.protocol": "TLS"}, "security.protocol of the kafka source is 'TLS'"),
        ({**PLACE, "classification": "orc"}, "classification orc cannot be read from Kafka"),
        ({**PLACE, "classification": "csv"}, "csv from Kafka need the option schema"),
        ({**PLACE, "classification": "json", "delimiter": "|"}, "delimiter is for csv"),
        ({**PLACE, "classification": "json", "schema": "id INT", "inferSchema": "true"}, "exclude each other"),
        ({**PLACE, "classification": "avro", "schema": "id INT"}, "is not an Avro schema"),
    ],
)
def test_what_kafka_cannot_do_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        kafka(**given)
    assert why in str(caught.value)


def glue_connection(kind: str = "KAFKA", **properties: str) -> KafkaConnection:
    result = GlueConnection(name="msk", type=kind, properties={"KAFKA_BOOTSTRAP_SERVERS": "b:9096", **properties})
    return kafka_connection(
        result,
        secret=lambda arn: BrokerCredentials(username=arn, password="kept"),
        read=lambda location: f"PEM of {location}".encode(),
    )


def test_a_connection_says_how_to_log_in() -> None:
    assert glue_connection(KAFKA_SSL_ENABLED="false").protocol == "PLAINTEXT"
    plain = glue_connection(KAFKA_SASL_MECHANISM="PLAIN", KAFKA_SASL_PLAIN_USERNAME="ana", KAFKA_SASL_PLAIN_PASSWORD="pw")
    assert (plain.protocol, plain.login) == ("SASL_SSL", ("PLAIN", "ana", "pw"))
    assert "pw" not in repr(plain)
    scram = glue_connection(
        KAFKA_SASL_MECHANISM="SCRAM-SHA-512", KAFKA_SASL_SCRAM_SECRETS_ARN="arn:x", KAFKA_CUSTOM_CERT="s3://b/ca.pem"
    )
    assert scram.login == ("SCRAM-SHA-512", "arn:x", "kept")
    assert scram.trust["kafka.ssl.truststore.certificates"] == "PEM of s3://b/ca.pem"


@pytest.mark.parametrize(
    ("kind", "properties", "why"),
    [
        ("JDBC", {}, "is of type JDBC"),
        ("KAFKA", {"KAFKA_BOOTSTRAP_SERVERS": ""}, "does not name brokers"),
        ("KAFKA", {"KAFKA_SASL_MECHANISM": "AWS_MSK_IAM"}, "logs in with AWS_MSK_IAM, which is not supported"),
        ("KAFKA", {"KAFKA_SASL_MECHANISM": "SCRAM-SHA-512"}, "lacks the user name or the password"),
        ("KAFKA", {"KAFKA_CLIENT_KEYSTORE": "s3://b/k.jks"}, "has KAFKA_CLIENT_KEYSTORE, which is not supported"),
        (
            "KAFKA",
            {"KAFKA_SKIP_CUSTOM_CERT_VALIDATION": "true"},
            "KAFKA_SKIP_CUSTOM_CERT_VALIDATION, which is not supported",
        ),
    ],
)
def test_what_a_connection_cannot_do_is_refused(kind: str, properties: dict[str, str], why: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        glue_connection(kind, **properties)
    assert why in str(caught.value)


def test_redshift_reaches_aws_own_s3_alone() -> None:
    s3a = {"fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem"}
    assert is_aws(s3a.get)
    assert is_aws({**s3a, "fs.s3a.endpoint": "s3.eu-west-1.amazonaws.com"}.get)
    assert is_aws({**s3a, "fs.s3a.endpoint": "https://s3.cn-north-1.amazonaws.com.cn:443/"}.get)
    for place in ("http://127.0.0.1:9000", "https://s3.example.com/amazonaws.com", "https://amazonaws.com.example.com"):
        assert not is_aws({**s3a, "fs.s3a.endpoint": place}.get)
    assert not is_aws({"fs.s3.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"}.get)
    assert not is_aws(dict[str, str]().get)


@pytest.mark.parametrize(
    ("url", "driver", "expected"),
    [
        ("jdbc:mysql://h:3306/d", "com.mysql.cj.jdbc.Driver", "jdbc:mysql://h:3306/d"),
        ("jdbc:mariadb://h/d", "com.mysql.cj.jdbc.Driver", "jdbc:mysql://h/d"),
        ("jdbc:mariadb://h/d", "org.mariadb.jdbc.Driver", "jdbc:mysql://h/d?permitMysqlScheme=true"),
        ("jdbc:mysql://h/d?a=b", "org.mariadb.jdbc.Driver", "jdbc:mysql://h/d?a=b&permitMysqlScheme=true"),
        ("jdbc:mysql://h/d?permitMysqlScheme", "org.mariadb.jdbc.Driver", "jdbc:mysql://h/d?permitMysqlScheme"),
    ],
)
def test_mysql_is_read_by_the_urls_that_spark_and_its_drivers_know(url: str, driver: str, expected: str) -> None:
    assert driver_url(Target(dialect="mysql", url=url), driver) == expected


def test_batches_have_glues_defaults() -> None:
    result = batch_options(BATCH)
    assert (result.window, result.checkpoint, result.retries) == ("100 seconds", "s3://b/c", 3)
    assert result.storage == StorageLevel.MEMORY_AND_DISK
    assert batch_options({**BATCH, "persistDataFrame": "false", "recordPollingLimit": "50000"}).storage is None
    assert batch_options({**BATCH, "storageLevel": "disk_only"}).storage == StorageLevel.DISK_ONLY
    assert [MICRO_BATCH.pause(failed) for failed in (1, 2, 3, 4)] == [1, 2, 5, 5]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"windowSize": "1 second"}, "Missing checkpointLocation argument"),
        ({"checkpointLocation": "s3://b/c"}, "Missing windowSize argument"),
        ({**BATCH, "batchMaxRetries": 101}, "a number from 0 to 100"),
        ({**BATCH, "storageLevel": "TAPE"}, "storageLevel is 'TAPE'"),
    ],
)
def test_what_batches_cannot_do_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        batch_options(given)
    assert why in str(caught.value)


def test_a_database_problem_says_what_was_tried_and_no_login() -> None:
    target = Target(dialect="mysql", url="jdbc:mysql://h/d?password=secret")
    error = RuntimeError("An error occurred\njava.sql.SQLException: Table 'd.t' is full.\n\tat x")
    assert str(database_problem(target, error, "read")).startswith("jdbc:mysql://h/d cannot be read: Table 'd.t' is full.")
    assert "jdbc:mysql://h/d cannot be written: Table" in str(database_problem(target, error, "written"))


def test_an_avro_schema_is_refused_by_the_name_of_its_option() -> None:
    for name in ("schema", "avroSchema"):
        with pytest.raises(InvalidInput, match=f"Option {name} is not an Avro schema"):
            check_avro("{", name)


def test_each_character_of_csv_has_its_own_word_for_none() -> None:
    off, _, _ = csv_options(Options("the format csv", {"quoteChar": -1, "escaper": "none"}))
    assert (off["quote"], off["escape"]) == ("", "")
    for name, other in (("quoteChar", "none"), ("escaper", "-1")):
        with pytest.raises(InvalidInput, match=f"Option {name} is '{other}'. Use one character"):
            csv_options(Options("the format csv", {name: other}))


def stream_table(parameters: dict[str, str], **storage: Any) -> dict[str, Any]:
    described = {"Columns": [{"Name": "id", "Type": "bigint"}, {"Name": "place", "Type": "struct<city:string>"}], **storage}
    return {
        "Name": "clicks",
        "DatabaseName": "shop",
        "Parameters": {"classification": "json", "EXTERNAL": "TRUE"},
        "StorageDescriptor": {**described, "Parameters": parameters},
    }


def test_an_endpoint_of_aws_gives_way_to_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = {"streamName": "clicks", "endpointUrl": "https://kinesis.us-west-2.amazonaws.com"}
    lower = {"streamname": "clicks", "endpointurl": "https://kinesis-fips.us-gov-west-1.amazonaws.com/"}
    monkeypatch.delenv("AWS_ENDPOINT_URL_KINESIS", raising=False)
    assert redirected(aws) == aws
    monkeypatch.setenv("AWS_ENDPOINT_URL_KINESIS", "http://127.0.0.1:1")
    assert redirected(aws) == {"streamName": "clicks", "region": "us-west-2"}
    assert redirected(lower) == {"streamname": "clicks", "region": "us-gov-west-1"}
    arn = {"streamARN": "arn:aws:kinesis:eu-west-1:111122223333:stream/clicks"}
    assert redirected({**aws, **arn}) == {"streamName": "clicks", **arn}
    other = {"streamName": "clicks", "endpointUrl": "https://kinesis.us-west-2.amazonaws.com.example.org"}
    assert redirected(other) == other


def test_a_table_of_the_catalog_describes_its_stream() -> None:
    table = stream_table({"typeOfData": "kafka", "topicName": "clicks", "connectionName": "msk"})
    kind, options = stream_options(table, {"startingOffsets": "earliest"})
    assert (kind, options) == (
        "kafka",
        {
            "topicName": "clicks",
            "connectionName": "msk",
            "classification": "json",
            "schema": "`id` bigint, `place` struct<city:string>",
            "startingOffsets": "earliest",
        },
    )
    table = stream_table(
        {"typeOfData": "kinesis", "endpointUrl": "https://kinesis.eu-west-1.amazonaws.com"}, Location="clicks"
    )
    kind, options = stream_options(table, {"inferSchema": "true"})
    assert (kind, options["streamName"], "schema" in options) == ("kinesis", "clicks", False)
    table = stream_table(
        {"typeOfData": "kafka", "topicName": "t", "classification": "csv"},
        SerdeInfo={"Parameters": {"separatorChar": "|"}},
    )
    del table["Parameters"]["classification"]
    assert stream_options(table, {})[1]["delimiter"] == "|"
    with pytest.raises(InvalidInput, match=r"Table shop\.clicks is not a stream"):
        stream_options(stream_table({}), {})
    with pytest.raises(NotSupported, match="SchemaReference"):
        stream_options(stream_table({"typeOfData": "kafka"}, SchemaReference={"SchemaVersionNumber": 1}), {})


def test_arguments_of_monitoring_do_what_they_say_or_say_that_they_do_not() -> None:
    on = ["--enable-spark-ui", "true", "--spark-event-logs-path=s3://logs/spark/"]
    result = event_log(on)
    assert result is not None
    assert (result.target, notes(on)) == ("s3://logs/spark/", [])
    assert event_log(["--enable-spark-ui", "false", *on[2:]]) is None
    assert event_log(on[2:]) is None
    (said,) = notes(["--enable-spark-ui", "true"])
    assert "has no place" in said
    for wrong in ("/tmp/x", "logs"):
        with pytest.raises(InvalidInput, match="spark-event-logs-path"):
            event_log([*on[:2], "--spark-event-logs-path", wrong])
    names = ["--enable-metrics", "--enable-job-insights", "--enable-continuous-cloudwatch-log", "--enable-auto-scaling"]
    assert [note.partition(":")[0] for note in notes([part for name in names for part in (name, "true")])] == [
        "--enable-metrics", "--enable-job-insights", "--enable-continuous-cloudwatch-log", "--enable-auto-scaling"
    ]  # fmt: skip
    assert notes([part for name in names for part in (name, "false")]) == []
