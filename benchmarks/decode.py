"""Kafka read + decode in Spark, against the bare read and against Python decoders in the same place.

A real broker with SASL/SCRAM and Spark share the machine. Records of two schema versions with 9 fields alternate. All
candidates read the same topic in one session and write nothing. The row decoder is a plain UDF over fastavro, as in usual
jobs; the batch decoder does the same in ``mapInPandas``, the fastest way in Python without a native decoder. Read + decode
is the part of a pipeline's batch before its transform: checks of the frame, reasons, counts, decode and filter.
"""

import io
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pandas as pd
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.functions import udf

from benchmarks.definitions import definition
from benchmarks.sizes import size
from benchmarks.timing import Row, in_turn
from penstock.client.broker import BrokerSettings
from penstock.client.secrets import BrokerCredentials
from penstock.local.artefacts import class_path
from penstock.local.broker import Broker
from penstock.local.processes.ports import free_ports
from penstock.pipelines.decode import Decode
from penstock.pipelines.sources.kafka import KafkaSource
from penstock.produce.producer import Producer
from penstock.schema.version import SchemaVersion
from penstock.serdes.avro.codec import AvroSchema
from penstock.serdes.codec import message_writer
from penstock.spark.decode.records import decoded, good_rows
from penstock.spark.decode.versions import SchemaVersions
from penstock.spark.session import SessionSettings, open_session
from penstock.spark.sources.kafka import kafka_reads
from penstock.spark.sources.port import METADATA

__all__ = ["run"]

RECORDS = size("RECORDS", 1_000_000, 200)

_DISTINCT = 5_000
_PASSWORD = "bench-password"
_BARE_AIM, _PYTHON_AIM = 0.8, 8.0


class _Versions:
    def __init__(self) -> None:
        self.all = [
            SchemaVersion(
                id=UUID(int=number),
                schema_arn="arn:aws:glue:us-east-1:000000000000:schema/bench/reading",
                registry_name="bench",
                schema_name="reading",
                number=number,
                definition=definition(0, number),
                data_format="AVRO",
            )
            for number in (1, 2)
        ]

    def versions(self, registry: str, schema: str, *, available_only: bool = True) -> list[SchemaVersion]:  # noqa: ARG002
        return self.all

    def version(self, version_id: UUID | str) -> SchemaVersion:
        return next(version for version in self.all if version.id == version_id)


def run() -> list[Row]:
    """Return three rows: against the bare read, the row decoder and the batch decoder."""
    versions = _Versions()
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        port, controller = free_ports(2)
        broker = Broker(folder=Path(folder) / "kafka", port=port, controller_port=controller, password=_PASSWORD)
        with broker:
            _produce(broker, versions)
            spark = open_session(
                SessionSettings(
                    master="local[2]", jars=class_path("spark"), log=Path(folder) / "spark.log", driver_memory="2g"
                ),
                name="bench",
                locations=[],
            )
            try:
                seconds = _measure(spark, broker, versions)
            finally:
                spark.stop()
    rates = {name: f"{RECORDS / spent:,.0f}/s" for name, spent in seconds.items()}
    bare = seconds["bare"] / seconds["decode"]
    by_row = seconds["by row"] / seconds["decode"]
    by_batch = seconds["by batch"] / seconds["decode"]
    return [
        Row(
            "Kafka read + decode, against the bare read",
            rates["decode"],
            rates["bare"],
            bare,
            "0.8 or more",
            bare >= _BARE_AIM,
        ),
        Row(
            "Kafka read + decode, against a Python row decoder in Spark",
            rates["decode"],
            rates["by row"],
            by_row,
            "8 or more",
            by_row >= _PYTHON_AIM,
        ),
        Row(
            "Kafka read + decode, against a Python batch decoder in Spark",
            rates["decode"],
            rates["by batch"],
            by_batch,
            "more than 1",
            by_batch > 1,
        ),
    ]


def _produce(broker: Broker, versions: _Versions) -> None:
    chance = random.Random(7)
    writers = [message_writer(version.id, AvroSchema(version.definition)) for version in versions.all]
    frames = []
    for number in range(_DISTINCT):
        version = number % 2
        record = {
            "id": number,
            "device": f"device-{number % 100}",
            "reading_0": chance.random(),
            "ok": True,
            "at": 1_700_000_000_000,
        }
        record |= {f"extra_{n}": chance.choice([None, "text of some length"]) for n in range(4 + version)}
        frames.append(writers[version](record))
    login = BrokerCredentials(username="penstock", password=_PASSWORD)
    with Producer(BrokerSettings(brokers=broker.bootstrap, credentials=login), "bench", versions.all[0]) as producer:
        for number in range(RECORDS):
            producer.send_raw(frames[number % _DISTINCT])
        if not producer.flush().complete:
            raise RuntimeError("the broker did not acknowledge every record")


def _measure(spark: SparkSession, broker: Broker, versions: _Versions) -> dict[str, float]:
    source = KafkaSource(
        brokers=broker.bootstrap,
        topics=("bench",),
        security_protocol="SASL_PLAINTEXT",
        username="penstock",
        password=_PASSWORD,
        min_partitions=2,
    )
    topic = kafka_reads(source, lambda _: ("", ""))
    schema = SchemaVersions(versions, Decode(registry="bench", schema="reading"))
    schema.refresh()

    def read() -> DataFrame:
        return topic.rows(spark)

    def decode() -> None:
        plan = schema.plan()
        rows = good_rows(decoded(read(), plan, branches=40, zlib=False), plan, Observation())
        _drain(rows.drop(*METADATA.values()))

    fields = "id long, device string, reading_0 double, ok boolean, at long, " + ", ".join(
        f"extra_{n} string" for n in range(5)
    )

    def by_row() -> None:
        # Spark skips a UDF whose result is not used, so the struct is written.
        _drain(read().select(udf(_row_decoder(versions), fields)("value").alias("row")))

    def by_batch() -> None:
        _drain(read().select("value").mapInPandas(_batch_decoder(versions), fields))

    candidates = {"bare": lambda: _drain(read().select("value")), "decode": decode, "by row": by_row, "by batch": by_batch}
    # A round of the Python decoders takes half a minute, so all candidates have fewer rounds.
    return in_turn(candidates, rounds=3).seconds


def _drain(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


_NAMES = ["id", "device", "reading_0", "ok", "at", *(f"extra_{n}" for n in range(5))]


def _row_decoder(versions: _Versions):  # type: ignore[no-untyped-def]
    definitions = {version.id.bytes: version.definition for version in versions.all}
    schemas: dict[bytes, Any] = {}
    names = _NAMES

    def decode(value):  # type: ignore[no-untyped-def]  # Spark reads type hints as another kind of UDF
        import json  # noqa: PLC0415 - runs in Spark's Python workers

        import fastavro  # noqa: PLC0415

        if not schemas:
            schemas.update({key: fastavro.parse_schema(json.loads(text)) for key, text in definitions.items()})
        row: Any = fastavro.schemaless_reader(io.BytesIO(value[18:]), schemas[bytes(value[2:18])], None)
        row["at"] = int(row["at"].timestamp() * 1000)
        return tuple(row.get(name) for name in names)

    return decode


def _batch_decoder(versions: _Versions):  # type: ignore[no-untyped-def]
    definitions = {version.id.bytes: version.definition for version in versions.all}
    names = _NAMES

    def decode(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        import json  # noqa: PLC0415 - runs in Spark's Python workers

        import fastavro  # noqa: PLC0415

        schemas = {key: fastavro.parse_schema(json.loads(text)) for key, text in definitions.items()}
        for batch in batches:
            rows = [
                fastavro.schemaless_reader(io.BytesIO(value[18:]), schemas[bytes(value[2:18])], None)
                for value in batch["value"]
            ]
            frame = pd.DataFrame(rows, columns=names)
            frame["at"] = frame["at"].map(lambda at: int(at.timestamp() * 1000))
            yield frame

    return decode
