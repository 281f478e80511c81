"""``penstock schema check`` as CI runs it: a real server, a real broker, a child process and its exit code."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.client.broker import BrokerSettings
from penstock.client.registry import RegistryClient
from penstock.client.secrets import BrokerCredentials
from penstock.local.broker import Broker
from penstock.local.processes.ports import free_ports
from penstock.produce.producer import Producer
from penstock.schema.version import SchemaVersion
from penstock.serdes import frame
from penstock.testing.server import RunningServer

pytestmark = pytest.mark.jvm


def flight(*fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "Flight", "fields": [{"name": "id", "type": "int"}, *fields]}


STATE = {"type": "enum", "name": "State", "symbols": ["ON_TIME", "LATE"]}
FIRST = flight({"name": "state", "type": STATE})
SECOND = flight({"name": "state", "type": STATE}, {"name": "gate", "type": ["null", "string"], "default": None})
NARROW = json.loads(json.dumps(SECOND).replace(', "LATE"', ""))


# A producer of bytes as they are is made for some version, too.
AVRO_VERSION = SchemaVersion(
    id=uuid4(), schema_arn="a", registry_name="r", schema_name="s", number=1, definition='"int"', data_format="AVRO"
)


@pytest.fixture(scope="module")
def registry(penstock_server: RunningServer) -> Iterator[str]:
    name = f"checks-{uuid4().hex[:8]}"
    glue = penstock_server.client("glue")
    glue.create_registry(RegistryName=name)
    glue.create_schema(
        RegistryId={"RegistryName": name},
        SchemaName="flights",
        DataFormat="AVRO",
        Compatibility="BACKWARD",
        SchemaDefinition=json.dumps(FIRST),
    )
    yield name
    glue.delete_registry(RegistryId={"RegistryName": name})


@pytest.fixture(scope="module")
def topic(penstock_server: RunningServer, broker: Broker, registry: str) -> str:
    """Two partitions of ten records each, every third LATE, and one that is damaged at the end of partition 0."""
    name = f"checks-{uuid4().hex[:8]}"
    admin = AdminClient(broker.client_settings)
    admin.create_topics([NewTopic(name, num_partitions=2, replication_factor=1)])[name].result(30)
    with pytest.MonkeyPatch.context() as patch:
        for key, value in penstock_server.environment().items():
            patch.setenv(key, value)
        version = RegistryClient().latest(registry, "flights")
    login = BrokerCredentials(username=broker.username, password=broker.password)
    settings = BrokerSettings(brokers=broker.bootstrap, credentials=login)
    # Of two partitions, librdkafka's CRC-32 sends "d" to the first and "a" to the second.
    with Producer(settings, name, version) as producer:
        for number in range(10):
            for key in ("d", "a"):
                producer.send({"id": number, "state": "LATE" if number % 3 == 0 else "ON_TIME"}, key=key)
        producer.send_raw(b"\x03\x00damaged", key="d")
        producer.send(None, key="a")
        assert producer.flush().complete
    return name


def check(
    server: RunningServer, definition: Any, *options: str, registry: str, file: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "penstock", "schema", "check", str(file or "-"), "--registry-name", registry, *options],
        input=json.dumps(definition),
        env={**os.environ, **server.environment()},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_verdicts_without_a_trace_in_the_registry(penstock_server: RunningServer, registry: str, tmp_path: Path) -> None:
    file = tmp_path / "flight.avsc"
    file.write_text(json.dumps(SECOND))
    name = ("--schema-name", "flights")
    fine = check(penstock_server, None, *name, registry=registry, file=file)
    assert (fine.returncode, fine.stderr) == (0, "")
    assert fine.stdout == f"{file} is compatible with {registry}/flights under BACKWARD (compared with version 1).\n"

    wrong = check(penstock_server, flight({"name": "x", "type": "int"}), *name, "--format", "json", registry=registry)
    assert wrong.returncode == 1
    (conflict,) = json.loads(wrong.stdout)["conflicts"]
    assert (conflict["rule"], conflict["path"]) == ("READER_FIELD_MISSING_DEFAULT_VALUE", "/x")

    same = check(penstock_server, FIRST, *name, registry=registry)
    assert (same.returncode, same.stdout) == (0, f"- is version 1 of {registry}/flights already.\n")

    versions = penstock_server.client("glue").list_schema_versions(
        SchemaId={"RegistryName": registry, "SchemaName": "flights"}
    )
    assert [item["VersionNumber"] for item in versions["Schemas"]] == [1]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--schema-name", "nothing"], "Schema is not found"),
        (["--schema-name", "flights", "--endpoint-url", "http://127.0.0.1:1"], "gave no usable answer"),
        (["--schema-name", "flights", "--mode", "UP"], "'UP' is not one of"),
    ],
)
def test_what_cannot_be_told(penstock_server: RunningServer, registry: str, options: list[str], says: str) -> None:
    completed_process = check(penstock_server, SECOND, *options, registry=registry)
    assert completed_process.returncode == 2
    assert says in completed_process.stderr
    assert "Traceback" not in completed_process.stderr


@pytest.fixture
def against(penstock_server: RunningServer, broker: Broker, topic: str) -> list[str]:
    login = json.dumps({"username": broker.username, "password": broker.password})
    made = penstock_server.client("secretsmanager").create_secret(Name=f"s-{uuid4().hex[:8]}", SecretString=login)
    return [
        *("--schema-name", "flights", "--against-topic", topic, "--format", "json"),
        *("--brokers", broker.bootstrap, "--secret-arn", str(made["ARN"]), "--timeout", "20"),
    ]


def test_real_records(penstock_server: RunningServer, registry: str, against: list[str]) -> None:
    fine = check(penstock_server, SECOND, *against, registry=registry)
    assert fine.returncode == 0, fine.stderr
    tried = json.loads(fine.stdout)["topic"]
    assert (tried["records"], tried["readable"], tried["tombstones"], tried["broken"]) == (22, 20, 1, [])
    assert [(item["reason"], item["count"]) for item in tried["unreadable"]] == [("truncated-frame", 1)]

    broken = check(penstock_server, NARROW, *against, registry=registry)
    assert broken.returncode == 1
    (item,) = json.loads(broken.stdout)["topic"]["broken"]
    assert (item["count"], item["writer"]) == (8, f"version 1 of {registry}/flights")
    places = {(record["partition"], record["offset"]) for record in item["records"]}
    assert places == {(partition, offset) for partition in (0, 1) for offset in (0, 3, 6, 9)}


def test_the_last_records_of_one_partition(
    penstock_server: RunningServer, registry: str, topic: str, against: list[str]
) -> None:
    completed_process = check(
        penstock_server, NARROW, *against, "--last", "3", "--partition", "0", "--mode", "NONE", registry=registry
    )
    tried = json.loads(completed_process.stdout)["topic"]
    assert (tried["records"], tried["partitions"]) == (3, 1)
    assert [(record["partition"], record["offset"]) for record in tried["broken"][0]["records"]] == [(0, 9)]
    missing = check(penstock_server, NARROW, *against, "--partition", "7", registry=registry)
    assert missing.returncode == 2
    assert "has no partition 7. It has the partitions 0 to 1." in missing.stderr


JSON_FLIGHT = {"type": "object", "properties": {"id": {"type": "integer"}}, "additionalProperties": False}
PROTO_FLIGHT = 'syntax = "proto3"; message Flight { int32 id = 1; }'


@pytest.mark.parametrize(
    "case",
    [
        (
            "JSON",
            json.dumps(JSON_FLIGHT),
            json.dumps({**JSON_FLIGHT, "properties": {"id": {"type": "integer", "maximum": 5}}}),
            [b'{"id":1}', b'{"id":6}'],
        ),
        ("PROTOBUF", PROTO_FLIGHT, PROTO_FLIGHT.replace("int32", "string"), [b"\x00", b"\x00\x08\x06"]),
    ],
    ids=["JSON", "PROTOBUF"],
)
def test_records_of_the_other_formats(
    penstock_server: RunningServer,
    broker: Broker,
    against: list[str],
    case: tuple[str, str, str, list[bytes]],
    tmp_path: Path,
) -> None:
    data_format, old, new, payloads = case
    name, topic = f"other-{uuid4().hex[:8]}", f"other-{uuid4().hex[:8]}"
    created = penstock_server.client("glue").create_schema(
        SchemaName=name, DataFormat=data_format, Compatibility="NONE", SchemaDefinition=old
    )
    login = BrokerCredentials(username=broker.username, password=broker.password)
    with Producer(BrokerSettings(brokers=broker.bootstrap, credentials=login), topic, AVRO_VERSION) as producer:
        for payload in payloads:
            producer.send_raw(frame.encode(UUID(created["SchemaVersionId"]), payload))
        assert producer.flush().complete
    file = tmp_path / "definition"
    file.write_text(new)
    options = [*against, "--schema-name", name, "--against-topic", topic]
    completed_process = check(penstock_server, None, *options, registry="default-registry", file=file)
    assert completed_process.returncode == 1, completed_process.stderr
    tried = json.loads(completed_process.stdout)["topic"]
    assert (tried["readable"], [item["count"] for item in tried["broken"]]) == (1, [1])
    assert tried["broken"][0]["records"][0]["offset"] == 1
    file.write_text(old)
    assert check(penstock_server, None, *options, registry="default-registry", file=file).returncode == 0


def test_a_topic_or_a_broker_that_is_not_there(
    penstock_server: RunningServer, broker: Broker, registry: str, against: list[str]
) -> None:
    absent = check(penstock_server, SECOND, *against, "--against-topic", "no-such-topic", registry=registry)
    assert (absent.returncode, "no-such-topic does not exist" in absent.stderr) == (2, True), absent.stderr
    assert "no-such-topic" not in AdminClient(broker.client_settings).list_topics(timeout=10).topics
    (port,) = free_ports(1)
    dead = check(penstock_server, SECOND, *against, "--brokers", f"127.0.0.1:{port}", "--timeout", "2", registry=registry)
    assert (dead.returncode, "does not answer" in dead.stderr) == (2, True), dead.stderr
