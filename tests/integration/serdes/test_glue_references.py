"""Frames of schemas that build on others, read by clients of Glue's, which has no references: ours and AWS's Java serde."""

import json
import uuid
from typing import Any

import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass

from penstock.client.confluent import ConfluentClient
from penstock.client.registry import RegistryClient
from penstock.schema.format import ReferencedText
from penstock.schema.formats.protobuf import ProtobufFormat
from penstock.serdes import frame
from penstock.serdes.codec import MessageReader
from penstock.serdes.errors import MalformedPayload
from penstock.testing.server import RunningServer
from tests.integration.java_formats import JavaFormats

pytestmark = pytest.mark.jvm

ADDRESS = {
    "$id": "http://example.com/address.json",
    "type": "object",
    "properties": {"city": {"$ref": "#/definitions/name"}, "near": {"$ref": "#"}},
    "definitions": {"name": {"type": "string", "maxLength": 5}},
    "additionalProperties": False,
}
PERSON = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"house": {"$ref": "address.json"}},
}
COMMON = """syntax = "proto3"; package acme.common; import "google/protobuf/timestamp.proto";
message Address { string city = 1; Kind kind = 2; map<string, Deep> deeps = 3; message Deep { repeated int32 x = 1; } }
enum Kind { HOME = 0; WORK = 1; }
message Stamped { google.protobuf.Timestamp at = 1; Address address = 2; }"""
ORDER = """syntax = "proto3"; package sales; import "acme/common.proto"; option java_multiple_files = true;
message zebra { acme.common.Address house = 1; acme.common.Stamped stamped = 2; acme.common.Address.Deep deep = 3; }
message Apple { repeated acme.common.Kind kinds = 1; }"""
VALUES: dict[str, dict[str, Any]] = {
    "sales.zebra": {
        "house": {"city": "Rome", "kind": "WORK", "deeps": {"k": {"x": [1, 300]}}},
        "stamped": {"at": "2026-01-02T03:04:05Z", "address": {"city": "Pisa"}},
        "deep": {"x": [7]},
    },
    "sales.Apple": {"kinds": ["WORK", "HOME"]},
}


def registered(server: RunningServer, data_format: str, base: str, name: str, user: str) -> uuid.UUID:
    """The id of ``user``'s version, registered with its reference by a client of Confluent's."""
    keys = server.environment()
    login = f"{keys['AWS_ACCESS_KEY_ID']}:{keys['AWS_SECRET_ACCESS_KEY']}"
    client = ConfluentClient(server.endpoint_url, user_info=login)
    prefix = uuid.uuid4().hex[:8]

    def post(subject: str, text: str, references: list[dict[str, Any]]) -> Any:
        body = {"schema": text, "schemaType": data_format, "references": references}
        return client.request("POST", f"/subjects/{prefix}-{subject}/versions", json.dumps(body).encode())

    post("base", base, [])
    references = [{"name": name, "subject": f"{prefix}-base", "version": 1}]
    made = post("user", user, references)
    # Those who know references still get them, and the text as it was.
    seen = client.request("GET", f"/subjects/{prefix}-user/versions/1")
    assert (seen["schema"], seen["references"]) == (user, references)
    return uuid.UUID(made["guid"])


def test_json(penstock_server: RunningServer, source: RegistryClient, java: JavaFormats) -> None:
    version = registered(penstock_server, "JSON", json.dumps(ADDRESS), "address.json", json.dumps(PERSON))
    reader = MessageReader(source, formats=("JSON",))
    good, bad = {"house": {"near": {"city": "Rome"}}}, {"house": {"near": {"city": "Roma Capitale"}}}
    messages = [frame.encode(version, json.dumps(value).encode()) for value in (good, bad)]
    assert reader.read(messages[0]) == good
    with pytest.raises(MalformedPayload, match="/house/near/city"):
        reader.read(messages[1])
    (value,) = java.read("t", messages[:1])
    assert json.loads(value.data) == good
    # And AWS's serialiser, which holds values against the schema, takes it for one.
    text = source.version(version).definition
    (written,) = java.json("json-alone", json.loads(text), [good], schemaAutoRegistrationEnabled="true")
    assert reader.read(written) == good


def test_protobuf(penstock_server: RunningServer, source: RegistryClient, java: JavaFormats) -> None:
    version = registered(penstock_server, "PROTOBUF", COMMON, "acme/common.proto", ORDER)
    parsed = ProtobufFormat().parse(ORDER, (ReferencedText(name="acme/common.proto", text=COMMON),))
    pool = DescriptorPool()
    for file in parsed.tree.files:
        pool.Add(file)
    messages: list[bytes] = []
    payloads: list[bytes] = []
    for name, value in VALUES.items():
        payloads.append(ParseDict(value, GetMessageClass(pool.FindMessageTypeByName(name))()).SerializeToString())
        # AWS's serialiser writes the rank of the message among those of its own file.
        messages.append(frame.encode(version, bytes([parsed.tree.message_index_glue(name)]) + payloads[-1]))
    reader = MessageReader(source, formats=("PROTOBUF",))
    assert [reader.read(message) for message in messages] == list(VALUES.values())
    java_values = java.read("t", messages)
    assert [item.name for item in java_values] == list(VALUES)
    assert [item.data for item in java_values] == payloads
