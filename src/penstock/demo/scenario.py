"""The demo from the first process to the last figure: nine steps, each by a user's commands and APIs."""

import contextlib
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from string import Template
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from confluent_kafka import KafkaException, Message
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from penstock.client.broker import BrokerSettings
from penstock.client.secrets import BrokerCredentials
from penstock.demo.children import Batches, ChildFailed, Command, Job, KillInBatch, penstock, read_batches
from penstock.demo.cloud import DATABASE, REGISTRY, SCHEMA, TOPIC, Cloud
from penstock.demo.console import Steps
from penstock.demo.damage import DAMAGES, damage
from penstock.demo.flights import FIRST_SCHEMA, INCOMPATIBLE_SCHEMA, SECOND_SCHEMA, load_flights, load_table, new_fields
from penstock.demo.reconcile import Reconciliation, expected_rows, read_rows, reconcile
from penstock.demo.report import Outcome
from penstock.local.instance import Instance
from penstock.local.processes.ports import free_ports
from penstock.produce.producer import Producer
from penstock.schema.version import SchemaVersion
from penstock.serdes.avro.codec import AvroSchema
from penstock.serdes.codec import message_writer
from penstock.settings.home import Home, PlatformConfig

__all__ = ["STEPS", "Demo"]

STEPS = 9

_PARTITIONS = ("year", "month")
_LIVE = "nyc_live"  # database of the tables that the job itself maintains, beside the crawler's tables
_DAMAGED_OF_EACH_KIND = 10
_TOPIC_PARTITIONS = 2
_SWITCH = 0.5  # share of the records after which version 2 begins
_SWITCHING = 0.2  # share of the second half during which old and new producers write side by side
_STREAM_SECONDS = 300

_PIPELINE = Template("""\
name: flights
source:
  kafka:
    brokers: $${PENSTOCK_BROKERS}
    topic: $topic
    secret: $${PENSTOCK_SECRET_ID}
    security_protocol: SASL_PLAINTEXT
    startingOffsets: earliest
    maxOffsetsPerTrigger: $offsets
decode:
  registry: $registry
  schema: $schema
sink:
  parquet:
    location: s3://$bucket/flights
    partition_by: [$partitions]
    catalog: {database: $live, table: flights, create: true}
dead_letters:
  location: s3://$bucket/flights_dead
  catalog: {database: $live, table: flights_dead, create: true}
trigger:
  processingTime: 500 milliseconds
checkpoint: s3://$bucket-checkpoints/flights
""")


@dataclass(slots=True)
class Demo:
    """One run. ``home`` is a separate folder, so that an existing platform does not change."""

    home: Home
    records: int | None
    keep: bool
    steps: Steps
    config: PlatformConfig = field(init=False)
    cloud: Cloud = field(init=False)
    job: Job = field(init=False)
    _source: pa.Table = field(init=False)
    _killer: KillInBatch = field(init=False)
    _running: list[tuple[Command, str]] = field(default_factory=list)
    _dead: dict[tuple[str, int, int], bytes] = field(default_factory=dict)
    _restarted_at: int = 0  # batches that were committed before the kill
    _platform: Command | None = None
    _children: list[Command] = field(default_factory=list)

    def run(self) -> Outcome:
        """Run all nine steps; raise a difference in the reconciliation at the end, after all processes have stopped."""
        try:
            with self.steps.step("Start broker, S3 endpoint and server"):
                self._start_platform()
            with self.steps.step("Create registry, schema, database and stream table"):
                self._create()
            with self.steps.step("Start the streaming job and replay the first half with version 1"):
                first = self._first_half()
            with self.steps.step("Register version 2, refuse an incompatible version 3"):
                refusal = self._evolve()
            with self.steps.step("Replay the second half with versions 1 and 2 mixed, and damaged records"):
                self._second_half(first)
            with self.steps.step("Kill the job with SIGKILL in the middle of a batch"):
                self._kill()
            with self.steps.step("Start the job again and let it catch up"):
                batches = self._catch_up()
            with self.steps.step("Crawl the lake and ask it questions in SQL"):
                answers = self._query()
            with self.steps.step("Reconcile every record and every field"):
                reconciliation = self._reconcile()
            if self.keep:
                self._leave_up()
            return Outcome(
                reconciliation=reconciliation,
                refusal=refusal,
                batches=batches,
                starts=(0, self._restarted_at),
                offsets_per_trigger=self._offsets_per_trigger,
                answers=answers,
                home=self.home.root,
                kept=self.keep,
            )
        finally:
            self._end()

    @property
    def _environment(self) -> dict[str, str]:
        return self.config.client_environment() | {
            "PENSTOCK_HOME": str(self.home.root),
            "PENSTOCK_LAKE": str(self.home.lake),
        }

    @property
    def _total(self) -> int:
        return int(self._source.num_rows) + _DAMAGED_OF_EACH_KIND * len(DAMAGES)

    @property
    def _offsets_per_trigger(self) -> int:
        """The limit of a batch: an eighth of the records, so that there are several before the kill and after it."""
        return max(1_000, int(self._source.num_rows) // 8)

    def _start_platform(self) -> None:
        server, s3, kafka, controller = free_ports(4)
        ports = [f"--server-port={server}", f"--s3-port={s3}", f"--kafka-port={kafka}", f"--controller-port={controller}"]
        self._platform = Command(
            ["up", "--home", str(self.home.root), *ports], {}, self.home.logs / "platform.log", ready=self._platform_runs
        )
        # The data are read while the platform starts, because both take a few seconds.
        self._platform.start()
        self._source = load_flights(self.records)
        self._platform.wait_ready()
        self.config = self.home.load()
        self.cloud = Cloud(self.config)
        self.steps.report(
            f"{self._source.num_rows:,} flights; server {self.config.endpoint_url}, broker {self.config.brokers}"
        )

    def _platform_runs(self) -> bool:
        state = Instance(self.home.run).read()
        return state is not None and state.phase == "running"

    def _create(self) -> None:
        self.cloud.create_schema(FIRST_SCHEMA)
        columns = self.cloud.create_stream_table(self.config.brokers)
        self.steps.report(
            f"{REGISTRY}/{SCHEMA} version 1; table {DATABASE}.flights_stream has its {columns} columns from it"
        )
        broker = self._broker()
        topic = NewTopic(TOPIC, num_partitions=_TOPIC_PARTITIONS, replication_factor=1)
        try:
            # The future does not keep a reference to its client.
            admin = AdminClient(broker.client_config())
            admin.create_topics([topic])[TOPIC].result(30)
        except KafkaException as error:
            raise ChildFailed(f"Topic {TOPIC} could not be created: {error.args[0].str()}") from None

    def _broker(self) -> BrokerSettings:
        login = BrokerCredentials(username=self.config.kafka_username, password=self.config.kafka_password)
        return BrokerSettings(brokers=self.config.brokers, credentials=login)

    def _first_half(self) -> int:
        pipeline = self.home.root / "flights.yaml"
        text = _PIPELINE.substitute(
            bucket=self.config.bucket,
            offsets=self._offsets_per_trigger,
            topic=TOPIC,
            registry=REGISTRY,
            schema=SCHEMA,
            live=_LIVE,
            partitions=", ".join(_PARTITIONS),
        )
        pipeline.write_text(text)
        (self.home.lake / f"{self.config.bucket}-checkpoints").mkdir(parents=True, exist_ok=True)
        self.job = Job(
            pipeline=pipeline,
            metrics=self.home.logs / "flights-metrics.jsonl",
            log=self.home.logs / "job.log",
            environment=self._environment,
        )
        self.job.start()
        first = int(self._source.num_rows * _SWITCH)
        early = self._source.slice(0, first).drop_columns(new_fields())
        self._finish(self._produce("first-half", early, version=1), "version 1")
        batches = self.job.wait_until(
            lambda batches: batches.records >= first, f"{first} records", timeout=_STREAM_SECONDS, show=self._show
        )
        self.steps.report(f"{first:,} records sent with version 1 are in the lake, in {len(batches.lines)} batches")
        return first

    def _produce(self, name: str, rows: pa.Table, *, version: int, rate: float | None = None) -> Command:
        """Start ``penstock produce`` over a Parquet file of ``rows``."""
        path = self.home.root / f"{name}.parquet"
        pq.write_table(rows, path)
        arguments = ["produce", "-registryName", REGISTRY, "-schema", SCHEMA, "-topic", TOPIC, "--file", str(path)]
        arguments += ["--schema-version", str(version), "--no-progress"]
        arguments += [] if rate is None else ["--rate", str(rate)]
        command = Command(arguments, self._environment, self.home.logs / f"produce-{name}.log").start()
        self._children.append(command)
        return command

    def _finish(self, command: Command, what: str) -> None:
        if (status := command.wait(_STREAM_SECONDS)) != 0:
            raise ChildFailed(f"The producer of {what} ended with {status}; its log is {command.log}.")
        self._children.remove(command)

    def _evolve(self) -> Sequence[str]:
        accepted = self.cloud.register(SECOND_SCHEMA)
        columns = self.cloud.follow_version(accepted)
        refusal = self.cloud.register_refused(INCOMPATIBLE_SCHEMA)
        self.steps.report(f"Version {accepted} adds {', '.join(new_fields())}; the stream table shows {columns} columns")
        self.steps.report(f"Version {refusal.number} is refused. {refusal.headline}")
        for reason in refusal.reasons:
            self.steps.report(f"  - {reason}")
        if not all(any(name in reason for reason in refusal.reasons) for name in ("gate", "distance")):
            raise ChildFailed("The refusal does not name the fields that broke the rules.")
        return refusal.reasons

    def _second_half(self, first: int) -> None:
        later = self._source.slice(first)
        window = int(later.num_rows * _SWITCHING)
        # It waits for the first file of the next batch from now on, so that it does not miss a quick batch.
        self._killer = KillInBatch(self.job, self.home.lake / self.config.bucket / "flights" / "_penstock")
        self._killer.start()
        switched = self._produce("second-half", later.slice(window), version=2)
        self._running = [(switched, "version 2")]
        self._send_mixed(later.slice(0, window))
        damages = ", ".join(f"{_DAMAGED_OF_EACH_KIND} {damage_type}" for damage_type in DAMAGES)
        self.steps.report(
            f"{later.num_rows:,} records on their way, versions 1 and 2 in turn among {window:,} of them; damaged: {damages}"
        )

    def _written_with_first(self) -> pa.ChunkedArray:
        """Return which records are written with version 1: the first half, and every other one while producers switch."""
        ids = self._source["flight_id"]
        first = int(self._source.num_rows * _SWITCH)
        window = int((self._source.num_rows - first) * _SWITCHING)
        is_even = pc.equal(pc.bit_wise_and(ids, 1), 0)
        return pc.or_(pc.less(ids, first), pc.and_(pc.less(ids, first + window), is_even))

    def _send_mixed(self, rows: pa.Table) -> None:
        """Send the records of the switch, as an old and a new producer would in parallel, and the damaged ones."""
        old, new = self.cloud.version(1), self.cloud.version(2)
        with_first = self._written_with_first().slice(rows["flight_id"][0].as_py(), rows.num_rows)
        with Producer(self._broker(), TOPIC, new, ignore_unknown_fields=True) as producer:
            self._send_damaged(producer, [old, new])
            for record, is_old in zip(rows.to_pylist(), with_first.to_pylist(), strict=True):
                producer.send(record, schema_version=old if is_old else new)
            report = producer.flush()
        if not report.complete:
            raise ChildFailed(f"{report.produced - report.acknowledged} records were not acknowledged: {report.errors}")

    def _send_damaged(self, producer: Producer, versions: Sequence[SchemaVersion]) -> None:
        writers = [message_writer(version.id, AvroSchema(version.definition), ignore_unknown=True) for version in versions]
        samples = self._source.slice(0, _DAMAGED_OF_EACH_KIND).to_pylist()
        for number, sample in enumerate(samples * len(DAMAGES)):
            damage_type = list(DAMAGES)[number % len(DAMAGES)]
            frame = damage(writers[number // len(DAMAGES) % 2](sample), damage_type)
            producer.send_raw(frame, acknowledged=self._remember(frame))

    def _remember(self, frame: bytes) -> Any:
        def remember(message: Message) -> None:
            self._dead[str(message.topic()), int(message.partition() or 0), int(message.offset() or 0)] = frame

        return remember

    def _kill(self) -> None:
        staged = self._killer.finish(timeout=_STREAM_SECONDS)
        self._restarted_at = len(read_batches(self.job.metrics).lines)
        self.steps.report(
            f"Killed after {self._restarted_at} committed batches, with {staged} files of the next one half-way"
        )
        for process, what in self._running:
            self._finish(process, what)

    def _catch_up(self) -> Batches:
        self.job.start()
        batches = self.job.wait_until(
            lambda batches: batches.records >= self._total,
            f"{self._total} records",
            timeout=_STREAM_SECONDS,
            show=self._show,
        )
        self.job.stop()
        self.steps.report(
            f"{batches.records:,} records in {len(batches.lines)} batches, {batches.mixed} of them with both versions"
        )
        return batches

    def _show(self, batches: Batches) -> None:
        self.steps.progress(f"{batches.records:,} of {self._total:,} records committed in {len(batches.lines)} batches")

    def _query(self) -> dict[str, Sequence[Sequence[str | None]]]:
        for name in ("airlines", "airports"):
            buffer = io.BytesIO()
            pq.write_table(load_table(name), buffer)
            self.cloud.upload(f"{name}/{name}.parquet", buffer.getvalue())
        self.cloud.crawl("flights", [f"s3://{self.config.bucket}/{name}/" for name in ("flights", "airlines", "airports")])
        self.steps.report(f"The crawler made {DATABASE}.flights with {self.cloud.partitions('flights')} partitions")
        answers: dict[str, Sequence[Sequence[str | None]]] = {
            "counts": self.cloud.query("SELECT count(*), count(DISTINCT flight_id), count(temp) FROM flights"),
            "live": self.cloud.query("SELECT count(*) FROM nyc_live.flights"),
            "reasons": self.cloud.query(
                "SELECT reason, count(*) FROM nyc_live.flights_dead GROUP BY reason ORDER BY reason"
            ),
        }
        question = (
            "SELECT a.name AS airline, count(*) AS flights, round(avg(f.dep_delay), 1) AS mean_delay, "
            "round(avg(f.temp), 1) AS mean_temp FROM flights f JOIN airlines a ON a.carrier = f.carrier "
            "GROUP BY a.name ORDER BY mean_delay DESC LIMIT 3"
        )
        shown = penstock(["sql", question, "--database", DATABASE], self._environment)
        for line in shown.rstrip().splitlines():
            self.steps.report(line)
        return answers

    def _reconcile(self) -> Reconciliation:
        lake = self.home.lake / self.config.bucket
        versions = pc.if_else(self._written_with_first(), 1, 2)
        expected = expected_rows(self._source, versions, new_fields())
        actual = read_rows(lake / "flights", self._source.schema, _PARTITIONS)
        dead_schema = pa.schema(
            [("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64()), ("value", pa.binary())]
        )
        dead = read_rows(lake / "flights_dead", dead_schema, ())
        dead_read = {(row["topic"], row["partition"], row["offset"]): row["value"] for row in dead.to_pylist()}
        return reconcile(
            expected, actual, key="flight_id", dead_sent=self._dead, dead_read=dead_read, dead_rows=dead.num_rows
        )

    def _end(self) -> None:
        if self._platform is not None:
            self.steps.report("Stopping the remaining processes.")
        with contextlib.ExitStack() as ends:
            if self._platform is not None:
                ends.callback(self._platform.stop)
            if hasattr(self, "job"):
                ends.callback(self.job.stop)
            for child in self._children:
                ends.callback(child.kill)

    def _leave_up(self) -> None:
        """Start the platform again, detached, with all its data."""
        assert self._platform is not None
        self._platform.stop()
        self._platform = None
        penstock(["up", "--detach", "--home", str(self.home.root)], dict(os.environ))
