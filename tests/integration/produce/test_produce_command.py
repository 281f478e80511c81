"""``penstock produce`` as users run it: a real server, a real broker, a child process and its exit code."""

import gzip
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition

from penstock.client.registry import RegistryClient
from penstock.local.broker import Broker
from penstock.serdes.codec import MessageReader
from penstock.testing.server import RunningServer

pytestmark = pytest.mark.jvm

SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Payload",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "next", "type": ["null", "Payload"], "default": None},
    ],
}
ROWS = "id,note,at\n1,one,2026-01-01T00:00:00Z\n2,,2026-01-02T00:00:00Z\n"


@pytest.fixture(scope="module")
def secret(penstock_server: RunningServer, broker: Broker) -> str:
    login = {"username": broker.username, "password": broker.password}
    made = penstock_server.client("secretsmanager").create_secret(
        Name=f"AmazonMSK_{uuid4().hex[:8]}", SecretString=json.dumps(login)
    )
    return str(made["ARN"])


@pytest.fixture(scope="module")
def schema(penstock_server: RunningServer) -> Iterator[str]:
    glue = penstock_server.client("glue")
    glue.create_registry(RegistryName="test-schema-registry")
    glue.create_schema(
        RegistryId={"RegistryName": "test-schema-registry"},
        SchemaName="test_payload_schema",
        DataFormat="AVRO",
        Compatibility="BACKWARD",
        SchemaDefinition=json.dumps(SCHEMA),
    )
    yield "test_payload_schema"
    glue.delete_registry(RegistryId={"RegistryName": "test-schema-registry"})


@pytest.fixture
def base(broker: Broker, secret: str, schema: str) -> list[str]:
    """Valid arguments, which a test overrides with its own."""
    return ["--brokers", broker.bootstrap, "--secret-arn", secret, "--schema", schema, "--topic", "t"]


def produce(server: RunningServer, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "penstock", "produce", *arguments],
        env={**os.environ, **server.environment()},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def values(server: RunningServer, broker: Broker, topic: str, count: int) -> list[tuple[bytes | None, Any]]:
    reader = MessageReader(RegistryClient(region=server.region, endpoint_url=server.endpoint_url))
    consumer = Consumer({**broker.client_settings, "group.id": uuid4().hex})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        results: list[tuple[bytes | None, Any]] = []
        deadline = time.monotonic() + 60
        while len(results) < count and time.monotonic() < deadline:
            results += [(message.key(), reader.read(message.value())) for message in consumer.consume(1000, 1.0)]
        return results
    finally:
        consumer.close()


@pytest.fixture
def credentials(penstock_server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in penstock_server.environment().items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("credentials")
def test_the_command_line_of_awss_blog(penstock_server: RunningServer, broker: Broker, secret: str, schema: str) -> None:
    topic = f"blog-{uuid4().hex[:8]}"
    done = produce(
        penstock_server,
        *("-brokers", broker.bootstrap, "-secretArn", secret, "-region", penstock_server.region),
        *("-registryName", "test-schema-registry", "-schema", schema, "-topic", topic, "-numRecords", "25"),
    )
    assert done.returncode == 0, done.stderr
    assert f"Produced 25 records to {topic} with test_payload_schema version 1: 25 acknowledged, 0 not" in done.stdout
    assert broker.password not in done.stdout + done.stderr
    results = values(penstock_server, broker, topic, 25)
    assert len(results) == 25
    assert all(set(value) == {"id", "note", "at", "next"} for _, value in results)


@pytest.mark.usefixtures("credentials")
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_with_keys(
    penstock_server: RunningServer, broker: Broker, base: list[str], tmp_path: Path, packed: bool
) -> None:
    topic = f"file-{uuid4().hex[:8]}"
    path = tmp_path / ("rows.csv.gz" if packed else "rows.csv")
    path.write_bytes(gzip.compress(ROWS.encode()) if packed else ROWS.encode())
    done = produce(
        penstock_server,
        *(*base, "--topic", topic, "--file", str(path)),
        *("--key-field", "id", "--compression", "zlib", "--schema-version", "1"),
    )
    assert done.returncode == 0, done.stderr
    results = values(penstock_server, broker, topic, 2)
    assert [(key, value["id"], value["note"], value["at"].isoformat()) for key, value in results] == [
        (b"1", 1, "one", "2026-01-01T00:00:00+00:00"),
        (b"2", 2, None, "2026-01-02T00:00:00+00:00"),
    ]


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        ({"--schema": "nothing"}, 1, "Schema is not found"),
        ({"--registry-name": "nothing"}, 1, "not found"),
        ({"--secret-arn": "nothing"}, 1, "secret nothing"),
        ({"--schema-version": "7"}, 1, "has no AVAILABLE version 7. It has: 1."),
        ({"--schema-version": "seven"}, 2, "is not a number, a version id or 'latest'"),
        ({"--endpoint-url": "http://127.0.0.1:1"}, 3, "http://127.0.0.1:1 gave no usable answer"),
        ({"--file": "missing.csv"}, 2, "The file missing.csv does not exist"),
    ],
)
def test_a_wrong_argument_is_one_clear_line(
    penstock_server: RunningServer, base: list[str], change: dict[str, str], code: int, says: str
) -> None:
    done = produce(penstock_server, *base, *(part for pair in change.items() for part in pair))
    assert says in done.stderr
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert re.fullmatch(r"penstock: .*\n", done.stderr), done.stderr


@pytest.mark.usefixtures("credentials")
def test_the_schema_of_the_files_own_data(
    penstock_server: RunningServer, broker: Broker, base: list[str], tmp_path: Path
) -> None:
    topic, schema = f"derived-{uuid4().hex[:8]}", f"derived-{uuid4().hex[:8]}"
    rows = tmp_path / "rows.csv"
    rows.write_text("id,level,note\n1,2,\n2,2.5,late\n")
    arguments = [*base, "--topic", topic, "--schema", schema, "--derive-schema", "--file"]
    done = produce(penstock_server, *arguments, str(rows))
    assert done.returncode == 0, done.stderr
    assert f"Writing with test-schema-registry/{schema} version 1" in done.stderr
    more = tmp_path / "more.jsonl"
    more.write_text('{"id": 3, "level": 7, "position": {"lat": 40.5}}\n{"id": 4}\n')
    done = produce(penstock_server, *arguments, str(more))
    assert f"Produced 2 records to {topic} with {schema} version 2" in done.stdout
    assert f"with {schema} version 2" in produce(penstock_server, *arguments, str(rows)).stdout
    place = {"lat": 40.5}
    assert [value for _, value in values(penstock_server, broker, topic, 6)] == [
        {"id": 1, "level": 2.0, "note": None},
        {"id": 2, "level": 2.5, "note": "late"},
        {"id": 3, "level": 7.0, "note": None, "position": place},
        {"id": 4, "level": None, "note": None, "position": None},
        {"id": 1, "level": 2.0, "note": None, "position": None},
        {"id": 2, "level": 2.5, "note": "late", "position": None},
    ]
    known = penstock_server.client("glue").get_schema(
        SchemaId={"RegistryName": "test-schema-registry", "SchemaName": schema}
    )
    assert (known["Compatibility"], known["LatestSchemaVersion"]) == ("FULL", 2)

    more.write_text('{"id": 3, "position": [1]}\n')
    done = produce(penstock_server, *arguments, str(more))
    assert (done.returncode, "position" in done.stderr) == (4, True), done.stderr
    more.write_text('{"id": 3, "fresh": 1}\n{"id": 4, "fresh": "x"}\n')
    done = produce(penstock_server, *arguments, str(more))
    assert (done.returncode, "At /fresh: the data has long and string" in done.stderr) == (4, True), done.stderr
    without = produce(penstock_server, *base, "--derive-schema")
    assert (without.returncode, "Give --file, without --schema-version." in without.stderr) == (2, True)


def test_a_row_that_does_not_fit_stops_after_what_was_sent(
    penstock_server: RunningServer, base: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(ROWS + "x,three,2026-01-03T00:00:00Z\n")
    done = produce(penstock_server, *base, "--topic", "bad-row", "--file", str(path))
    assert done.returncode == 4
    assert "row 3, field id: 'x' is not of type int." in done.stderr
    assert "Stopped after 2 records, 2 of them acknowledged." in done.stderr
