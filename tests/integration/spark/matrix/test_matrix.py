"""Every source with every format to every sink: one pipeline each, with all seven sinks, over real parts."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pyspark.sql import SparkSession

from penstock.client.registry import RegistryClient
from penstock.local.broker import Broker
from penstock.local.objectstore import ObjectStore
from penstock.local.processes.ports import free_ports
from penstock.pipelines import parse_pipeline
from penstock.spark.running.runner import RunOptions, run
from penstock.testing.dynamodb import DynamoDBLocal
from penstock.testing.kinesis_server import KinesisServer
from penstock.testing.postgres import running_postgres
from penstock.testing.server import RunningServer, running_server
from tests.integration.spark.matrix import readers
from tests.integration.spark.matrix.cells import COUNT, DAMAGED, FORMATS, ROWS, SOURCES, source_of
from tests.integration.spark.stream import Topic, rows

pytestmark = [
    pytest.mark.spark,
    pytest.mark.jvm,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
KINDS = {"parquet", "iceberg", "delta", "jdbc", "dynamodb", "kafka", "kinesis"}


@dataclass(frozen=True)
class Site:
    """The running parts."""

    lake: Path
    server: RunningServer
    broker: Broker
    kinesis: KinesisServer
    dynamodb: DynamoDBLocal
    store_url: str
    aws: Mapping[str, str]
    s3_endpoint: str

    def sinks(self, name: str) -> tuple[dict[str, Any], dict[str, Callable[[], list[readers.Row]]]]:
        """Make seven empty sinks; return the ``sinks`` section, and how each is read."""
        table, base, url = name.replace("-", "_"), f"s3://lk/{name}", urlsplit(self.store_url)
        topic, client, items = Topic(self.broker, 1).name, self.kinesis.client(), self.dynamodb.client()
        self.kinesis.create_stream(f"to-{name}", shards=1)
        items.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
        )
        jdbc = f"jdbc:postgresql://{url.hostname}:{url.port}{url.path}"
        sasl = {"security_protocol": "SASL_PLAINTEXT", "username": self.broker.username, "password": self.broker.password}
        stream = {"stream": f"to-{name}", "endpoint": self.kinesis.endpoint_url, "partition_key": "day"}
        sections: dict[str, Any] = {
            "parquet": {"location": f"{base}/parquet"},
            "iceberg": {"table": f"matrix.{table}", "warehouse": "s3://tables/matrix"},
            "delta": {"location": f"{base}/delta"},
            "jdbc": {"url": jdbc, "table": table, "username": url.username, "password": url.password or ""},
            "dynamodb": {"table": name, "mode": "upsert", "keys": ["id"]},
            "kafka": {"brokers": self.broker.bootstrap, "topic": topic, "key": ["id"], **sasl},
            "kinesis": stream,
        }
        results: dict[str, Callable[[], list[readers.Row]]] = {
            "parquet": lambda: rows(self.lake, f"{name}/parquet"),
            "iceberg": lambda: readers.iceberg_rows(self.aws, self.s3_endpoint, f"matrix.{table}"),
            "delta": lambda: readers.delta_rows(self.lake / "lk" / name / "delta"),
            "jdbc": lambda: readers.jdbc_rows(self.store_url, table),
            "dynamodb": lambda: readers.dynamodb_rows(items, name),
            "kafka": lambda: readers.kafka_rows(self.broker, topic),
            "kinesis": lambda: readers.kinesis_rows(client, f"to-{name}"),
        }
        return {kind: {kind: section} for kind, section in sections.items()}, results


@pytest.fixture(scope="module")
def site(  # noqa: PLR0917
    spark: SparkSession,
    spark_lake: Path,
    broker: Broker,
    kinesis_server: KinesisServer,
    dynamodb: DynamoDBLocal,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    """All parts over the session's lake, and the environment that leads to them."""
    home = tmp_path_factory.mktemp("matrix")
    (home / "lake").symlink_to(spark_lake)
    with running_server(home) as server, running_postgres() as postgres, pytest.MonkeyPatch.context() as patch:
        aws = server.environment()
        for name, value in {**aws, **dynamodb.environment()}.items():
            patch.setenv(name, value)
            patch.setitem(spark.sparkContext.environment, name, value)
        system: Any = spark._jvm.java.lang.System  # type: ignore[union-attr]
        system.setProperty("aws.accessKeyId", aws["AWS_ACCESS_KEY_ID"])
        system.setProperty("aws.secretAccessKey", aws["AWS_SECRET_ACCESS_KEY"])
        store = ObjectStore(
            lake=spark_lake,
            folder=tmp_path_factory.mktemp("objects"),
            port=free_ports(1)[0],
            access_key_id=aws["AWS_ACCESS_KEY_ID"],
            secret_access_key=aws["AWS_SECRET_ACCESS_KEY"],
            account="000000000000",
        )
        shuffled = str(spark.conf.get("spark.sql.shuffle.partitions"))
        spark.conf.set("spark.sql.shuffle.partitions", "1")
        with store as objects:
            database = postgres.new_database()
            yield Site(spark_lake, server, broker, kinesis_server, dynamodb, database, aws, objects.endpoint_url)
        spark.conf.set("spark.sql.shuffle.partitions", shuffled)
        system.clearProperty("aws.accessKeyId")
        system.clearProperty("aws.secretAccessKey")


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("source", SOURCES)
def test_every_sink_has_every_value(spark: SparkSession, site: Site, source: str, data_format: str) -> None:
    name = f"{source}-{data_format}"
    decode, values = FORMATS[data_format](site.server, name)
    values.insert(COUNT // 2, DAMAGED)
    read = source_of(source, name, values, broker=site.broker, kinesis=site.kinesis, lake=site.lake)
    sinks, found = site.sinks(name)
    assert set(found) == KINDS
    text = json.dumps(
        {
            "name": name,
            "source": read,
            "decode": decode,
            "sinks": sinks,
            "dead_letters": {"location": f"s3://lk/{name}/dead"},
            "checkpoint": f"s3://lk/{name}/checkpoint",
            "batchMaxRetries": 0,
        }
    )
    options = RunOptions(registry=RegistryClient(endpoint_url=site.server.endpoint_url), once=True)
    report = run(parse_pipeline(text, environment={}), spark, options)
    assert (report.rows, report.dead) == (COUNT, 1)
    wrong = {}
    for kind, rows_of in found.items():
        got = sorted(rows_of(), key=lambda row: int(row["id"]))
        if got != ROWS:
            wrong[kind] = next((pair for pair in zip(got, ROWS, strict=False) if pair[0] != pair[1]), len(got))
    assert wrong == {}
    assert [letter["value"] for letter in rows(site.lake, f"{name}/dead")] == [DAMAGED]
    accounts = rows(site.lake, f"{name}/{name}_accounts")
    for kind in KINDS:
        of_sink = [row for row in accounts if row["sink"] == kind]
        for column, expected in (("consumed", COUNT + 1), ("quarantined", 1), ("received", COUNT)):
            assert sum(row[column] for row in of_sink) == expected, (kind, column)
