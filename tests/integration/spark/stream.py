"""A topic, two schema versions, a lake folder and a pipeline over them: what the Spark tests share."""

import io
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import fastavro
import pyarrow as pa
import pyarrow.dataset as ds
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.errors import EnvironmentProblem, NotFound
from penstock.local.broker import Broker
from penstock.schema.version import SchemaVersion

V1 = {"type": "record", "name": "Flight", "fields": [{"name": "id", "type": "long"}, {"name": "day", "type": "string"}]}
V2 = {
    "type": "record",
    "name": "FlightRenamed",
    "namespace": "later",
    "fields": [*V1["fields"], {"name": "seats", "type": ["null", "int"], "default": None}],
}
V3 = {**V2, "fields": [*V2["fields"], {"name": "gate", "type": ["string", "null"]}]}  # optional, and no default
DEFINITIONS: Sequence[Mapping[str, Any]] = (V1, V2, V3)


def version(number: int) -> SchemaVersion:
    """Version ``number`` of the test's schema; its id tells the number."""
    return SchemaVersion(
        id=UUID(int=(0xABCDEF << 100) + number),
        schema_arn="arn:aws:glue:us-east-1:000000000000:schema/tests/flights",
        registry_name="tests",
        schema_name="flights",
        number=number,
        definition=json.dumps(DEFINITIONS[number - 1]),
        data_format="AVRO",
    )


def frame(number: int, record: Mapping[str, Any], *, compress: bool = False) -> bytes:
    """A record as AWS frames it, written by fastavro with version ``number``."""
    body = io.BytesIO()
    fastavro.schemaless_writer(body, dict(DEFINITIONS[number - 1]), dict(record))
    payload = zlib.compress(body.getvalue()) if compress else body.getvalue()
    return b"\x03" + (b"\x05" if compress else b"\x00") + version(number).id.bytes + payload


@dataclass
class Registry:
    """Versions that a test adds to; it can be taken away, and can list less than it knows."""

    numbers: list[int] = field(default_factory=lambda: [1, 2])
    away: bool = False
    listed_late: list[int] = field(default_factory=list)
    lists: int = 0

    def versions(self, registry: str, schema: str, *, available_only: bool = True) -> list[SchemaVersion]:
        self.lists += 1
        if self.away:
            raise EnvironmentProblem("The registry is away.")
        return [version(number) for number in self.numbers]

    def version(self, version_id: UUID | str) -> SchemaVersion:
        if self.away:
            raise EnvironmentProblem("The registry is away.")
        for number in [*self.numbers, *self.listed_late]:
            if version(number).id == version_id:
                return version(number)
        raise NotFound(f"No version {version_id}.")


class Topic:
    """A topic of its own on the session's broker."""

    def __init__(self, broker: Broker, partitions: int = 2) -> None:
        self.name = f"flights-{uuid4().hex[:8]}"
        self.broker = broker
        admin = AdminClient(broker.client_settings)
        admin.create_topics([NewTopic(self.name, partitions, 1)])[self.name].result(30)
        # A producer that outlives the session's broker would go on complaining after the last test.
        self._producer = Producer({**broker.client_settings, "log_level": 0})
        self._partitions = partitions
        self._sent = 0

    def send(self, values: Iterable[bytes | None]) -> None:
        """Send and wait for the acknowledgements, round robin over the partitions."""
        for value in values:
            self._producer.produce(self.name, value, key=b"k", partition=self._sent % self._partitions)
            self._sent += 1
        assert self._producer.flush(30) == 0

    def delete_before(self, partition: int, offset: int) -> None:
        """Remove the records of a partition before ``offset`` from the broker."""
        where = TopicPartition(self.name, partition, offset)
        admin = AdminClient(self.broker.client_settings)  # has to outlive its futures
        admin.delete_records([where])[where].result(30)


def declaration(
    topic: Topic,
    lake: Path,
    *,
    per_trigger: int | None = None,
    extra: str = "",
    transform: str = "",
    name: str = "flights",
    bucket: str = "lk",
) -> str:
    """The YAML of pipeline ``name``; ``bucket`` under ``lake`` is made."""
    (lake / bucket).mkdir(parents=True, exist_ok=True)
    broker = topic.broker
    limit = f"maxOffsetsPerTrigger: {per_trigger}" if per_trigger else ""
    return f"""
name: {name}
source:
  kafka:
    brokers: {broker.bootstrap}
    topic: {topic.name}
    security_protocol: SASL_PLAINTEXT
    username: {broker.username}
    password: {broker.password}
    {limit}
decode: {{registry: tests, schema: flights}}
{transform or 'transform: {sql: "SELECT *, _partition AS p, _offset AS o FROM records"}'}
sink:
  parquet:
    location: s3://{bucket}/flights
    partition_by: [day]
dead_letters: {{location: s3://{bucket}/dead}}
checkpoint: s3://{bucket}/checkpoint
{extra}
"""


def rows(lake: Path, table: str = "flights", only: set[str] | None = None, *, bucket: str = "lk") -> list[dict[str, Any]]:
    """The rows of a table as a reader sees them, without what is hidden; with ``only``, of files of these names."""
    folder = lake / bucket / table
    files = [
        str(path)
        for path in folder.rglob("*.parquet")
        if "_penstock" not in path.parts and (only is None or path.name in only)
    ]
    if not files:
        return []
    schemas = [ds.dataset(file, partitioning="hive", partition_base_dir=str(folder)).schema for file in files]
    schema = pa.unify_schemas(schemas)
    result = ds.dataset(files, schema=schema, partitioning="hive", partition_base_dir=str(folder)).to_table()
    return list(result.to_pylist())


def records(first: int, count: int) -> list[dict[str, Any]]:
    """Records with consecutive ids over three days."""
    return [{"id": number, "day": f"2013-01-0{1 + number % 3}"} for number in range(first, first + count)]
