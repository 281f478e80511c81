"""``penstock produce`` and ``penstock run`` as users run them: real server, real broker over TLS, catalog and all."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.errors import EnvironmentProblem
from penstock.local.broker import Broker
from penstock.local.processes.ports import free_ports
from penstock.pipelines import parse_pipeline
from penstock.spark.running.runner import RunOptions, run
from penstock.testing.server import RunningServer
from tests.integration.spark.stream import Registry
from tests.integration.spark.tls import Authority, listener

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

V1: list[dict[str, Any]] = [{"name": "id", "type": "int"}, {"name": "day", "type": "string"}]
V2: list[dict[str, Any]] = [*V1, {"name": "seats", "type": ["null", "int"], "default": None}]


def _definition(fields: list[dict[str, Any]]) -> str:
    return json.dumps({"type": "record", "name": "Trip", "fields": fields})


@dataclass
class Site:
    """A broker with a TLS listener, the CA to trust and another one, a registered schema and a secret."""

    server: RunningServer
    bootstrap: str
    trusted: Path
    other: Path
    folder: Path

    def declaration(self, truststore: Path) -> str:
        return f"""
name: trips
source:
  kafka:
    brokers: {self.bootstrap}
    topic: trips
    security_protocol: SASL_SSL
    secret: AmazonMSK_tls
    truststore: {truststore}
    maxOffsetsPerTrigger: 100
decode: {{registry: tls, schema: trips}}
sink:
  parquet:
    location: s3://trips/rows
    partition_by: [day]
    catalog: {{database: travel, table: trips, create: true}}
dead_letters: {{location: s3://trips/dead}}
checkpoint: s3://trips/checkpoint
"""

    def _penstock(self, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        environment = {
            **os.environ,
            **self.server.environment(),
            "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1",
            **variables,
        }
        command = [sys.executable, "-m", "penstock", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)

    def in_environment(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a command with the variables that 'penstock env' prints."""
        variables = {
            "PENSTOCK_BROKERS": self.bootstrap,
            "PENSTOCK_SECRET_ID": "AmazonMSK_tls",
            "PENSTOCK_SECURITY_PROTOCOL": "SASL_SSL",
            "PENSTOCK_CA_FILE": str(self.trusted),
            "PENSTOCK_BUCKET": "trips",
            "PENSTOCK_LAKE": str(self.server.lake),
        }
        return self._penstock(*arguments, **variables)

    def produce(
        self, records: list[dict[str, Any]], authority: Path, topic: str = "trips"
    ) -> "subprocess.CompletedProcess[str]":
        path = self.folder / "records.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return self._penstock(
            *("produce", "--brokers", self.bootstrap, "--secret-arn", "AmazonMSK_tls", "--registry-name", "tls"),
            *("--schema", "trips", "--topic", topic, "--file", str(path), "--ca-file", str(authority), "--timeout", "20"),
        )

    def run(self) -> "subprocess.CompletedProcess[str]":
        path = self.folder / "trips.yaml"
        path.write_text(self.declaration(self.trusted))
        return self._penstock(
            *("run", str(path), "--once", "--master", "local[1]", "--driver-memory", "512m"),
            *("--lake", str(self.server.lake), "--log", str(self.folder / "spark.log")),
        )


@pytest.fixture(scope="module")
def site(penstock_server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("tls")
    trusted, other = Authority(folder, "trusted"), Authority(folder, "other")
    plain, tls, controller = free_ports(3)
    broker = Broker(
        folder=folder / "kafka",
        port=plain,
        controller_port=controller,
        password="over-tls",
        settings=listener(trusted.server(), plain=plain, tls=tls, controller=controller),
    )
    (penstock_server.lake / "trips").mkdir(parents=True, exist_ok=True)
    login = json.dumps({"username": broker.username, "password": broker.password})
    penstock_server.client("secretsmanager").create_secret(Name="AmazonMSK_tls", SecretString=login)
    glue = penstock_server.client("glue")
    glue.create_registry(RegistryName="tls")
    glue.create_schema(
        RegistryId={"RegistryName": "tls"},
        SchemaName="trips",
        DataFormat="AVRO",
        Compatibility="BACKWARD",
        SchemaDefinition=_definition(V1),
    )
    with broker:
        yield Site(penstock_server, f"127.0.0.1:{tls}", trusted.path, other.path, folder)


def test_the_table_grows_with_the_schema_and_gets_its_partitions_as_data_land(site: Site) -> None:
    glue = site.server.client("glue")
    done = site.produce([{"id": number, "day": f"2013-01-0{1 + number % 2}"} for number in range(10)], site.trusted)
    assert done.returncode == 0, done.stderr
    done = site.run()
    assert done.returncode == 0, done.stderr
    assert "is done: 1 batches, 10 rows, 0 dead letters" in done.stdout
    table = glue.get_table(DatabaseName="travel", Name="trips")["Table"]
    assert [(column["Name"], column["Type"]) for column in table["StorageDescriptor"]["Columns"]] == [("id", "int")]
    assert [(partition_key["Name"], partition_key["Type"]) for partition_key in table["PartitionKeys"]] == [
        ("day", "string")
    ]

    glue.register_schema_version(SchemaId={"RegistryName": "tls", "SchemaName": "trips"}, SchemaDefinition=_definition(V2))
    done = site.produce([{"id": number, "day": "2013-01-03", "seats": number} for number in range(10, 15)], site.trusted)
    assert done.returncode == 0, done.stderr
    done = site.run()
    assert done.returncode == 0, done.stderr
    table = glue.get_table(DatabaseName="travel", Name="trips")["Table"]
    columns = [(column["Name"], column["Type"]) for column in table["StorageDescriptor"]["Columns"]]
    assert columns == [("id", "int"), ("seats", "int")]
    partition = glue.get_partitions(DatabaseName="travel", TableName="trips")["Partitions"]
    places = {tuple(item["Values"]): item["StorageDescriptor"]["Location"] for item in partition}
    assert places == {(f"2013-01-0{n}",): f"s3://trips/rows/day=2013-01-0{n}/" for n in (1, 2, 3)}


def test_a_topic_and_a_table_are_a_pipeline(site: Site, tmp_path: Path) -> None:
    example = Path(__file__).parents[3] / "examples" / "orders.yaml"
    spark_options = ("--once", "--master", "local[1]", "--driver-memory", "512m", "--log", str(tmp_path / "spark.log"))
    done = site.in_environment("run", str(example), *spark_options)
    assert done.returncode == 4, done.stderr
    assert "Topic orders has no records, so its schema is not known." in done.stderr
    produced = site.produce([{"id": number, "day": f"2013-01-0{number}"} for number in (1, 2, 3)], site.trusted, "orders")
    assert produced.returncode == 0, produced.stderr

    done = site.in_environment("run", str(example), *spark_options)
    assert done.returncode == 0, done.stderr
    assert "Pipeline shop.orders is done: 1 batches, 3 rows, 0 dead letters" in done.stdout
    glue = site.server.client("glue")
    table = glue.get_table(DatabaseName="shop", Name="orders")["Table"]
    columns = [column["Name"] for column in table["StorageDescriptor"]["Columns"]]
    assert {"id", "day"} <= set(columns)
    assert [(partition_key["Name"], partition_key["Type"]) for partition_key in table["PartitionKeys"]] == [
        ("ingested_hour", "string")
    ]
    (partition,) = glue.get_partitions(DatabaseName="shop", TableName="orders")["Partitions"]
    assert datetime.strptime(partition["Values"][0], "%Y-%m-%d-%H").year >= 2024
    assert glue.get_table(DatabaseName="shop", Name="orders_accounts")

    written = tmp_path / "orders.yaml"
    done = site.in_environment("init", str(written), "--topic", "orders", "--table", "shop.orders")
    assert done.returncode == 0, done.stderr
    variables = {"PENSTOCK_BROKERS": "b:1", "PENSTOCK_SECRET_ID": "s", "PENSTOCK_CA_FILE": "/ca", "PENSTOCK_BUCKET": "trips"}
    full = parse_pipeline(written.read_text(), environment=variables)
    assert (full.decode.registry, full.decode.schema) == ("tls", "trips")
    assert full.checkpoint == "s3://trips/_checkpoints/shop/orders"
    done = site.in_environment("run", str(written), "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "Pipeline shop.orders" in done.stdout


def test_producing_with_another_authority_is_one_clear_line(site: Site) -> None:
    done = site.produce([{"id": 1, "day": "d"}], site.other)
    assert done.returncode == 3
    lines = [line for line in done.stderr.splitlines() if "TLS" in line]
    assert len(lines) == 1, done.stderr
    assert site.bootstrap in lines[0]
    assert "Traceback" not in done.stderr


def test_reading_with_another_authority_is_one_clear_line(
    site: Site, spark: SparkSession, spark_lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in site.server.environment().items():
        monkeypatch.setenv(name, value)
    text = site.declaration(site.other).replace("s3://trips", "s3://lk/tls")
    with pytest.raises(EnvironmentProblem, match=rf"The TLS handshake with {site.bootstrap} failed") as caught:
        run(parse_pipeline(text, environment={}), spark, RunOptions(registry=Registry(), once=True))
    assert "\n" not in str(caught.value)
    assert not (spark_lake / "lk" / "tls" / "rows").exists()
