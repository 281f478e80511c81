"""The published article's Glue programs run as they are printed: in ``seed/``, with ids and free names filled in.

``penstock glue run`` runs them in one process, one behind the other, against a real broker, a Kinesis stand-in and a real
server, whose connection and secret lead to the broker. What the article leaves to its reader is in ``FREE``.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer

from penstock.local.broker import Broker
from penstock.testing.kinesis import KinesisStandIn
from penstock.testing.server import RunningServer

pytestmark = [pytest.mark.jvm, pytest.mark.spark]

SEED = Path(__file__).parent / "seed"
HOUR_MS = 1_795_269_600_000  # 2026-11-21 14:00 UTC
SECONDS = 240
QUICK = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}  # for a JVM that does not live long

# The article's fragments use names that they do not define. Its schema lacks the two columns that its process_batch of
# schema evolution reads, which Spark refuses whoever runs it.
FREE = """
args['output_path'] = 's3://my-bucket/evolved/'
event_schema = StructType([
    *event_schema.fields, StructField("event_date", StringType()), StructField("_corrupt_record", StringType())
])
"""
NOW = """
import datetime as clock
from datetime import timedelta

class datetime(clock.datetime):
    @classmethod
    def utcnow(cls):
        return cls(2026, 11, 21, 15, 20)
"""

# Not the article's: Ctrl-C while a batch is in hand, which a SparkContext would take for itself.
INTERRUPTED = """
import os, signal
os.environ["PENSTOCK_GLUE_ONCE"] = "0"

def interrupted(data_frame, batch_id):
    os.kill(os.getpid(), signal.SIGINT)
    print(f"{data_frame.count()} records after the signal", flush=True)

options = {"windowSize": "1 second", "checkpointLocation": "s3://my-bucket/checkpoints/interrupted/"}
glueContext.forEachBatch(frame=kafka_stream, batch_function=interrupted, options=options)
print("the script went on")
"""


def seed(name: str) -> str:
    return (SEED / f"{name}.txt").read_text()


def program(kinesis: KinesisStandIn) -> str:
    """The article from top to bottom."""
    first = seed("kinesis").replace(":ca-central-1:123456789:", f":{kinesis.region}:123456789012:")
    assert kinesis.region in first
    # "The processing model is identical": the printed call, on the other frame and with a checkpoint of its own.
    call = seed("kinesis").partition("# Run the streaming job with checkpointing\n")[2]
    assert "frame=kinesis_stream" in call
    on_kafka = [
        call.replace("frame=kinesis_stream", "frame=kafka_stream").replace(
            "args['checkpoint_location']", f"'s3://my-bucket/checkpoints/{name}/'"
        )
        for name in ("transactions", "evolved")
    ]
    parts = [first, "args['output_path'] = 's3://my-bucket/transactions/'", seed("kafka"), on_kafka[0]]
    return "\n".join([*parts, FREE, seed("evolution"), on_kafka[1], NOW, seed("compaction"), INTERRUPTED])


def event(number: int, **more: object) -> bytes:
    members = {"event_id": f"e{number}", "user_id": "u", "event_type": "buy", "amount": float(number), "currency": "EUR"}
    return json.dumps({**members, "event_time": HOUR_MS + number * 1000, "metadata": None, **more}).encode()


def fill(broker: Broker, kinesis: KinesisStandIn, server: RunningServer) -> None:
    """Events in both streams, and the way to the broker in the server."""
    kinesis.create_stream("events", shards=2)
    entries = [{"Data": event(number), "PartitionKey": str(number)} for number in range(20)]
    assert kinesis.client().put_records(StreamName="events", Records=entries)["FailedRecordCount"] == 0
    producer = Producer(broker.client_settings)
    for number in range(10):
        producer.produce("transactions", event(number, event_date="2026-11-21"))
    producer.produce("transactions", b"{no JSON")
    producer.flush()
    login = json.dumps({"username": broker.username, "password": broker.password})
    secret = server.client("secretsmanager").create_secret(Name="AmazonMSK_article", SecretString=login)
    properties = {
        "KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap,
        "KAFKA_SSL_ENABLED": "false",
        "KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
        "KAFKA_SASL_SCRAM_SECRETS_ARN": secret["ARN"],
    }
    server.client("glue").create_connection(
        ConnectionInput={"Name": "msk-connection", "ConnectionType": "KAFKA", "ConnectionProperties": properties}
    )


def rows(folder: Path) -> list[dict[str, Any]]:
    return sorted(pq.read_table(folder).to_pylist(), key=lambda row: str(row["event_id"]))


def ids(found: Iterable[dict[str, Any]]) -> list[int]:
    return sorted(int(row["event_id"][1:]) for row in found)


def test_the_articles_programs_as_printed(
    tmp_path: Path, broker: Broker, kinesis: KinesisStandIn, penstock_server: RunningServer
) -> None:
    bucket = penstock_server.lake / "my-bucket"
    bucket.mkdir(parents=True)
    fill(broker, kinesis, penstock_server)
    script = tmp_path / "article.py"
    script.write_text(program(kinesis))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PENSTOCK_"))}
    cache = {name: os.environ[name] for name in ("PENSTOCK_CACHE",) if name in os.environ}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "penstock", "glue", "run", "--once", "--master", "local[2]"),
            *("--lake", str(penstock_server.lake), "--home", str(tmp_path / "home"), str(script)),
            *("--stream_name", "events", "--checkpoint_location", "s3://my-bucket/checkpoints/events/"),
            *("--output_path", "s3://my-bucket/events/"),
        ],
        env=inherited | cache | penstock_server.environment() | kinesis.environment() | QUICK,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Batch 0: Wrote 20 records to S3" in done.stdout
    assert "Batch 0: Wrote 11 records to S3" in done.stdout
    assert done.stdout.endswith("11 records after the signal\nthe script went on\n")

    # Kinesis: an amount of 0 is filtered out. The compaction has read and replaced the files of that hour.
    (hour,) = (bucket / "events" / "event_date=2026-11-21").iterdir()
    assert hour.name == "event_hour=14"
    kept = rows(hour)
    assert ids(kept) == list(range(1, 20))
    assert kept[0]["event_timestamp"].isoformat() == "2026-11-21T14:00:01+00:00"
    assert set(kept[0]) == {"event_id", "user_id", "event_type", "amount", "currency", "metadata", "event_timestamp"}
    assert not [path for path in hour.parent.iterdir() if path.name.startswith(".")]

    # Kafka, the same function: what is no JSON has no event_id, and is filtered out with the amount of 0.
    assert ids(rows(bucket / "transactions")) == list(range(1, 10))

    # Schema evolution: everything that is JSON, and the rest as a dead letter.
    evolved = rows(bucket / "evolved" / "event_date=2026-11-21")
    assert ids(evolved) == list(range(10))
    assert {row["new_field_processed"] for row in evolved} == {None}
    (letters,) = (bucket / "dead-letter" / "events").glob("*.json")
    assert json.loads(letters.read_text()) == {"_corrupt_record": "{no JSON"}
