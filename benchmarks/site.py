"""A real broker, a real server and one warm Spark session for benchmarks of whole streams, and the jobs to compare.

Ours is :func:`penstock.spark.run` with registry, catalog, accounts and dead letters. The hand-written job reads the
same broker with the same options, decodes with one schema by ``from_avro``, and writes Parquet with Spark's own sink.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.evolving import frames
from penstock.client.broker import BrokerSettings
from penstock.client.registry import RegistryClient
from penstock.client.secrets import BrokerCredentials
from penstock.local.artefacts import class_path
from penstock.local.broker import Broker
from penstock.local.processes.ports import free_ports
from penstock.pipelines import Pipeline, parse_pipeline
from penstock.pipelines.sources.kafka import KafkaSource
from penstock.produce.producer import Producer
from penstock.schema.version import SchemaVersion
from penstock.spark.metrics import BatchMetrics
from penstock.spark.running.runner import RunOptions, run
from penstock.spark.session import SessionSettings, open_session
from penstock.spark.sources.kafka import kafka_reads
from penstock.testing.server import RunningServer, running_server

__all__ = ["Site", "Topic", "open_site"]

_PASSWORD = "bench-password"
_BUCKET = "bench"
_HEADER = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic of two partitions, with ``records`` records, each of one of ``versions`` of a schema."""

    name: str
    schema: str
    versions: Sequence[SchemaVersion]
    records: int


@dataclass
class Site:
    """Where the jobs run. Each run has a table and a checkpoint of its own, which are removed after it."""

    broker: Broker
    server: RunningServer
    spark: SparkSession
    registry: RegistryClient
    _runs: int = field(default=0)

    def schema(self, name: str, definitions: Sequence[str]) -> list[SchemaVersion]:
        """Register the definitions as versions of schema ``name`` and return them."""
        self.registry.create_schema("bench", name, definitions[0], compatibility="BACKWARD")
        for definition in definitions[1:]:
            self.registry.register_version("bench", name, definition)
        versions = self.registry.versions("bench", name)
        if len(versions) != len(definitions):
            raise RuntimeError(f"schema {name} has {len(versions)} versions and not {len(definitions)}")
        return versions

    def topic(self, name: str, schema: str, versions: Sequence[SchemaVersion], records: int) -> Topic:
        """Create a topic and fill it with records of ``versions`` in turn."""
        admin = AdminClient(self.broker.client_settings)
        admin.create_topics([NewTopic(name, 2, 1)])[name].result(30)
        topic = Topic(name=name, schema=schema, versions=versions, records=records)
        some = frames(versions)
        with self.producer(topic) as producer:
            for number in range(records):
                producer.send_raw(some[number % len(some)])
            if not producer.flush().complete:
                raise RuntimeError("the broker did not acknowledge every record")
        return topic

    def producer(self, topic: Topic) -> Producer:
        """Return a producer for a topic."""
        login = BrokerCredentials(username="penstock", password=_PASSWORD)
        return Producer(BrokerSettings(brokers=self.broker.bootstrap, credentials=login), topic.name, topic.versions[-1])

    def pipeline(self, topic: Topic, *, per_trigger: int | None = None, trigger: str = "1 second") -> Pipeline:
        """Declare a pipeline over ``topic`` with a table and a checkpoint of its own."""
        self._runs += 1
        limit = f"maxOffsetsPerTrigger: {per_trigger}" if per_trigger else ""
        name = f"run_{self._runs}"
        text = f"""
name: bench
source:
  kafka:
    brokers: {self.broker.bootstrap}
    topic: {topic.name}
    security_protocol: SASL_PLAINTEXT
    username: penstock
    password: {_PASSWORD}
    {limit}
decode: {{registry: bench, schema: {topic.schema}}}
sink:
  parquet:
    location: s3://{_BUCKET}/{name}/rows
    catalog: {{database: bench, table: {name}, create: true}}
dead_letters: {{location: s3://{_BUCKET}/{name}/dead}}
checkpoint: s3://{_BUCKET}/{name}/checkpoint
trigger: {{processingTime: {trigger}}}
"""
        return parse_pipeline(text, environment={})

    def ours(
        self, topic: Topic, *, per_trigger: int | None = None, on_batch: Callable[[BatchMetrics], None] = lambda _: None
    ) -> StreamingQuery:
        """Run our pipeline over all records of a topic; its files are removed afterwards.

        The registry's client has the definitions of earlier runs, as in a run that lasts.
        """
        started: list[StreamingQuery] = []
        options = RunOptions(
            once=True,
            registry=self.registry,
            on_batch=on_batch,
            on_start=lambda: started.append(self.spark.streams.active[0]),
        )
        report = run(self.pipeline(topic, per_trigger=per_trigger), self.spark, options)
        if report.rows != topic.records:
            raise RuntimeError(f"{report.rows} rows of {topic.records} records")
        self.clear()
        return started[-1]

    def hand_written(self, topic: Topic, *, per_trigger: int | None = None) -> StreamingQuery:
        """Run the hand-written job over all records of a topic; its files are removed afterwards."""
        self._runs += 1
        source = KafkaSource(
            brokers=self.broker.bootstrap,
            topics=(topic.name,),
            security_protocol="SASL_PLAINTEXT",
            username="penstock",
            password=_PASSWORD,
            max_offsets_per_trigger=per_trigger,
        )
        records = kafka_reads(source, lambda _: ("", "")).stream(self.spark)
        payload = F.expr(f"substring(value, {_HEADER + 1})")
        rows = records.select(from_avro(payload, topic.versions[-1].definition).alias("row")).select("row.*")
        folder = f"s3://{_BUCKET}/run_{self._runs}"
        stream = rows.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
        query = stream.trigger(availableNow=True).start(f"{folder}/rows")
        query.awaitTermination()
        self.clear()
        return query

    def clear(self) -> None:
        """Remove the files of all runs."""
        for entry in (self.server.lake / _BUCKET).iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


@contextmanager
def open_site(folder: Path) -> Iterator[Site]:
    """Start broker, server and Spark below ``folder``; they end with the block."""
    port, controller = free_ports(2)
    with ExitStack() as stack:
        broker = Broker(folder=folder / "kafka", port=port, controller_port=controller, password=_PASSWORD)
        stack.enter_context(broker)
        server = stack.enter_context(running_server(folder / "home"))
        (server.lake / _BUCKET).mkdir(parents=True)
        before = {name: os.environ.get(name) for name in server.environment()}
        os.environ.update(server.environment())
        stack.callback(_restore, before)
        registry = RegistryClient(cache_size=10_000)
        glue: Any = server.client("glue")
        glue.create_registry(RegistryName="bench")
        settings = SessionSettings(
            master="local[2]", jars=class_path("spark"), lake=server.lake, log=folder / "spark.log", driver_memory="1g"
        )
        spark = open_session(settings, name="bench", locations=[f"s3://{_BUCKET}/any"])
        stack.callback(spark.stop)
        yield Site(broker=broker, server=server, spark=spark, registry=registry)


def _restore(before: dict[str, str | None]) -> None:
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
