"""AWS's published Java serde with Protobuf against this registry: what it registers, finds, frames and reads back."""

import base64
import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from java_source import java_program

from penstock.schema.format import ParsedSchema
from penstock.schema.formats.protobuf import ProtobufFormat
from penstock.testing.server import RunningServer

pytestmark = pytest.mark.jvm

PROTOBUF = ProtobufFormat()
SOURCE = Path(__file__).parents[2] / "java" / "ProtobufBridge.java"
REGISTRY = "protobuf"
FIRST = """
syntax = "proto3";
package nyc.flights;
import "google/protobuf/timestamp.proto";
message a { string s = 1; }
message Flight {
  int32 flight = 1;
  optional string tailnum = 2;
  map<string, int32> seats = 3;
  repeated Leg legs = 4;
  oneof carrier { string code = 5; int64 number = 6; }
  Status status = 7;
  google.protobuf.Timestamp at = 8;
  message Leg { string to = 1; map<int32, Leg> next = 2; }
  enum Status { ON_TIME = 0; LATE = 1; }
  reserved 100 to 110;
}
message Z {}
"""
UNKNOWN_FIELD = b"\xc0\x3e\x01"  # 1000: 1
SECOND = FIRST.replace("reserved 100", "string model = 9;\n  reserved 100")


class JavaProtobuf:
    """Frames of GlueSchemaRegistryKafkaSerializer, and what GlueSchemaRegistryKafkaDeserializer makes of frames."""

    def __init__(self, server: RunningServer, log: Path) -> None:
        self._properties = {
            "region": server.region,
            "endpoint": server.endpoint_url,
            "registry.name": REGISTRY,
            "dataFormat": "PROTOBUF",
            "protobufMessageType": "DYNAMIC_MESSAGE",
            "schemaAutoRegistrationEnabled": "true",
        }
        environment = {
            name: value for name, value in server.environment().items() if name.startswith(("AWS_ACCESS", "AWS_SECRET"))
        }
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [*java_program(SOURCE, log.parent / "classes"), "ProtobufBridge"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **environment},
            )

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def write(self, topic: str, schema: ParsedSchema, name: str, messages: list[bytes]) -> list[bytes]:
        files = descriptor_pb2.FileDescriptorSet(file=schema.tree.files).SerializeToString()
        answer = self._ask("write", topic, base64.b64encode(files).decode(), name, *(item.hex() for item in messages))
        return [bytes.fromhex(item) for item in answer]

    def read(self, topic: str, frames: list[bytes]) -> list[tuple[str, bytes]]:
        answer = self._ask("read", topic, *(frame.hex() for frame in frames))
        return [(name, bytes.fromhex(data)) for name, data in zip(answer[::2], answer[1::2], strict=True)]

    def _ask(self, command: str, *parts: str) -> list[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        properties = "\n".join(f"{name}={value}" for name, value in self._properties.items())
        self._process.stdin.write("\t".join((command, base64.b64encode(properties.encode()).decode(), *parts)) + "\n")
        self._process.stdin.flush()
        status, *answer = self._process.stdout.readline().rstrip("\n").split("\t")
        assert status == "ok", base64.b64decode(answer[0]).decode()
        return answer


@pytest.fixture(scope="module")
def java(penstock_server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaProtobuf]:
    penstock_server.client("glue").create_registry(RegistryName=REGISTRY)
    bridge = JavaProtobuf(penstock_server, tmp_path_factory.mktemp("java") / "log")
    yield bridge
    bridge.close()


def message_class(schema: ParsedSchema, name: str) -> Any:
    pool = DescriptorPool()
    for file in schema.tree.files:
        pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName(name))


def flight(schema: ParsedSchema, number: int, **more: str) -> bytes:
    kind = message_class(schema, "nyc.flights.Flight")
    value = kind(flight=number, tailnum="N1", seats={"first": 8}, code="UA", status=1, **more)
    value.legs.add(to="JFK").next[3].to = "LGA"
    value.at.seconds = 1_700_000_000
    return bytes(value.SerializeToString(deterministic=True))


def versions(server: RunningServer, topic: str) -> list[dict[str, Any]]:
    glue = server.client("glue")
    listed = glue.list_schema_versions(SchemaId={"RegistryName": REGISTRY, "SchemaName": topic})["Schemas"]
    found = [glue.get_schema_version(SchemaVersionId=item["SchemaVersionId"]) for item in listed]
    return sorted(found, key=lambda item: item["VersionNumber"])


def test_java_registers_writes_and_reads(java: JavaProtobuf, penstock_server: RunningServer) -> None:
    topic, schema = f"java-{uuid.uuid4().hex[:8]}", PROTOBUF.parse(FIRST)
    data = [flight(schema, number) for number in range(3)]
    frames = java.write(topic, schema, "Flight", data)
    (version,) = versions(penstock_server, topic)
    assert version["Status"] == "AVAILABLE"
    assert "option map_entry = true" in version["SchemaDefinition"]
    assert PROTOBUF.parse(version["SchemaDefinition"]).fingerprint == schema.fingerprint
    assert {frame[2:18] for frame in frames} == {uuid.UUID(version["SchemaVersionId"]).bytes}
    assert java.read(topic, frames) == [("nyc.flights.Flight", item) for item in data]


def test_javas_message_index_is_ours(java: JavaProtobuf) -> None:
    topic, schema = f"java-{uuid.uuid4().hex[:8]}", PROTOBUF.parse(FIRST)
    for message in schema.tree.own_messages:
        if not message.is_map_entry:
            (frame,) = java.write(topic, schema, message.local_name.replace(".", "/"), [UNKNOWN_FIELD])
            assert frame[18] == schema.tree.message_index_glue(message.full_name)
            assert java.read(topic, [frame]) == [(message.full_name, UNKNOWN_FIELD)]


def test_java_finds_what_was_registered_as_it_is_written(java: JavaProtobuf, penstock_server: RunningServer) -> None:
    topic, schema = f"written-{uuid.uuid4().hex[:8]}", PROTOBUF.parse(FIRST)
    glue = penstock_server.client("glue")
    made = glue.create_schema(
        RegistryId={"RegistryName": REGISTRY},
        SchemaName=topic,
        DataFormat="PROTOBUF",
        Compatibility="BACKWARD",
        SchemaDefinition=FIRST,
    )
    frames = java.write(topic, schema, "Flight", [flight(schema, 1)])
    assert frames[0][2:18] == uuid.UUID(made["SchemaVersionId"]).bytes
    assert [item["SchemaDefinition"] for item in versions(penstock_server, topic)] == [FIRST]
    assert java.read(topic, frames) == [("nyc.flights.Flight", flight(schema, 1))]


def test_java_evolves(java: JavaProtobuf, penstock_server: RunningServer) -> None:
    topic, first, second = f"java-{uuid.uuid4().hex[:8]}", PROTOBUF.parse(FIRST), PROTOBUF.parse(SECOND)
    frames = java.write(topic, first, "Flight", [flight(first, 1)])
    frames += java.write(topic, second, "Flight", [flight(second, 2, model="A320")])
    assert [item["VersionNumber"] for item in versions(penstock_server, topic)] == [1, 2]
    assert [data for _, data in java.read(topic, frames)] == [flight(first, 1), flight(second, 2, model="A320")]


def test_java_is_told_why_a_definition_is_refused(java: JavaProtobuf, penstock_server: RunningServer) -> None:
    topic, first = f"java-{uuid.uuid4().hex[:8]}", PROTOBUF.parse(FIRST)
    java.write(topic, first, "Flight", [flight(first, 1)])
    third = PROTOBUF.parse(FIRST.replace("int32 flight = 1", "string flight = 1"))
    with pytest.raises(AssertionError, match="FAILURE"):
        java.write(topic, third, "Flight", [UNKNOWN_FIELD])
    assert [item["Status"] for item in versions(penstock_server, topic)] == ["AVAILABLE", "FAILURE"]
