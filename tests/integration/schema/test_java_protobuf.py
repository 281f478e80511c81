"""AWS's published Java serde with Protobuf against this registry: what it registers, finds, frames and reads back."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from penstock.schema.format import ParsedSchema
from penstock.schema.formats.protobuf import ProtobufFormat
from penstock.testing.server import RunningServer
from tests.integration.java_bridge import JavaSerdeError
from tests.integration.java_formats import JavaFormats, java_formats

pytestmark = pytest.mark.jvm

PROTOBUF = ProtobufFormat()
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


@pytest.fixture(scope="module")
def java(penstock_server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaFormats]:
    with java_formats(penstock_server, tmp_path_factory.mktemp("java"), REGISTRY) as bridge:
        yield bridge


def read(java: JavaFormats, topic: str, frames: list[bytes]) -> list[tuple[str, bytes]]:
    return [(value.name, value.data) for value in java.read(topic, frames)]


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
    results = [glue.get_schema_version(SchemaVersionId=item["SchemaVersionId"]) for item in listed]
    return sorted(results, key=lambda item: item["VersionNumber"])


def test_java_registers_writes_and_reads(java: JavaFormats, penstock_server: RunningServer) -> None:
    topic, schema = f"java-{uuid.uuid4().hex[:8]}", PROTOBUF.parse(FIRST)
    data = [flight(schema, number) for number in range(3)]
    frames = java.dynamic(topic, schema, "Flight", data)
    (version,) = versions(penstock_server, topic)
    assert version["Status"] == "AVAILABLE"
    assert "option map_entry = true" in version["SchemaDefinition"]
    assert PROTOBUF.parse(version["SchemaDefinition"]).fingerprint == schema.fingerprint
    assert {frame[2:18] for frame in frames} == {uuid.UUID(version["SchemaVersionId"]).bytes}
    assert read(java, topic, frames) == [("nyc.flights.Flight", item) for item in data]


def test_javas_message_index_is_ours(java: JavaFormats) -> None:
    topic, schema = f"java-{uuid.uuid4().hex[:8]}", PROTOBUF.parse(FIRST)
    for message in schema.tree.own_messages:
        if not message.is_map_entry:
            (frame,) = java.dynamic(topic, schema, message.local_name.replace(".", "/"), [UNKNOWN_FIELD])
            assert frame[18] == schema.tree.message_index_glue(message.full_name)
            assert read(java, topic, [frame]) == [(message.full_name, UNKNOWN_FIELD)]


def test_java_finds_what_was_registered_as_it_is_written(java: JavaFormats, penstock_server: RunningServer) -> None:
    topic, schema = f"written-{uuid.uuid4().hex[:8]}", PROTOBUF.parse(FIRST)
    glue = penstock_server.client("glue")
    made = glue.create_schema(
        RegistryId={"RegistryName": REGISTRY},
        SchemaName=topic,
        DataFormat="PROTOBUF",
        Compatibility="BACKWARD",
        SchemaDefinition=FIRST,
    )
    frames = java.dynamic(topic, schema, "Flight", [flight(schema, 1)])
    assert frames[0][2:18] == uuid.UUID(made["SchemaVersionId"]).bytes
    assert [item["SchemaDefinition"] for item in versions(penstock_server, topic)] == [FIRST]
    assert read(java, topic, frames) == [("nyc.flights.Flight", flight(schema, 1))]


def test_java_evolves(java: JavaFormats, penstock_server: RunningServer) -> None:
    topic, first, second = f"java-{uuid.uuid4().hex[:8]}", PROTOBUF.parse(FIRST), PROTOBUF.parse(SECOND)
    frames = java.dynamic(topic, first, "Flight", [flight(first, 1)])
    frames += java.dynamic(topic, second, "Flight", [flight(second, 2, model="A320")])
    assert [item["VersionNumber"] for item in versions(penstock_server, topic)] == [1, 2]
    assert [data for _, data in read(java, topic, frames)] == [flight(first, 1), flight(second, 2, model="A320")]


def test_java_is_told_why_a_definition_is_refused(java: JavaFormats, penstock_server: RunningServer) -> None:
    topic, first = f"java-{uuid.uuid4().hex[:8]}", PROTOBUF.parse(FIRST)
    java.dynamic(topic, first, "Flight", [flight(first, 1)])
    third = PROTOBUF.parse(FIRST.replace("int32 flight = 1", "string flight = 1"))
    with pytest.raises(JavaSerdeError, match="FAILURE"):
        java.dynamic(topic, third, "Flight", [UNKNOWN_FIELD])
    assert [item["Status"] for item in versions(penstock_server, topic)] == ["AVAILABLE", "FAILURE"]
