"""Records of Confluent's serialisers are read by ours and ours by theirs: the reference is confluent-kafka's own bytes."""

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from confluent_kafka.schema_registry import (
    dual_schema_id_deserializer,
    header_schema_id_serializer,
    prefix_schema_id_serializer,
)
from confluent_kafka.schema_registry._sync.mock_schema_registry_client import MockSchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.schema_registry.schema_registry_client import Schema
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import json_format
from google.rpc import error_details_pb2
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidInput, NotFound
from penstock.schema.format import ReferencedText
from penstock.schema.version import SchemaText
from penstock.serdes import confluent_frame as confluent
from penstock.serdes.avro.codec import AvroSchema, encoder
from penstock.serdes.codec import MessageReader, confluent_writer
from penstock.serdes.config import SerdeConfig
from penstock.serdes.errors import NotFramed, SerdeError, TruncatedFrame, UnknownWriterSchema, UnreadableSchema
from penstock.serdes.kafka.confluent import (
    ConfluentAvroSerializer,
    ConfluentJsonSerializer,
    ConfluentProtobufSerializer,
    IdPlace,
)
from penstock.serdes.kafka.serdes import GlueAvroDeserializer, GlueAvroSerializer
from penstock.serdes.protobuf.encoder import definition_of
from tests.unit.serdes.fake_registry import FakeRegistry

SCHEMA = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
NEWER = {"type": "record", "name": "R", "fields": [*SCHEMA["fields"], {"name": "b", "type": "string", "default": "x"}]}
GUID = UUID("b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63")


def guid_prefix(payload: bytes, ctx: SerializationContext | None, schema_id: Any) -> bytes:
    return bytes(schema_id.guid_to_bytes()) + payload


SERIALIZERS: dict[str, Callable[..., bytes]] = {
    "prefix": prefix_schema_id_serializer,
    "guid": guid_prefix,
    "header": header_schema_id_serializer,
}


class Registry:
    """confluent-kafka's own registry in memory, seen through our port."""

    def __init__(self) -> None:
        self.theirs = MockSchemaRegistryClient({"url": "mock://"})
        self.calls = 0
        self.references: tuple[ReferencedText, ...] = ()

    def text(self, schema_id: int | UUID) -> SchemaText:
        self.calls += 1
        try:
            schema = (
                self.theirs.get_schema_by_guid(str(schema_id))
                if isinstance(schema_id, UUID)
                else self.theirs.get_schema(schema_id)
            )
        except Exception as error:
            raise NotFound(str(error)) from error
        kind = schema.schema_type or "AVRO"
        return SchemaText(definition=str(schema.schema_str), data_format=kind, references=self.references)

    def find(self, subject: str, definition: str, data_format: str = "AVRO") -> tuple[int, UUID | None]:
        return _ids(self.theirs.lookup_schema(subject, Schema(definition, data_format)))

    def register(self, subject: str, definition: str, data_format: str = "AVRO") -> tuple[int, UUID | None]:
        return _ids(self.theirs.register_schema_full_response(subject, Schema(definition, data_format)))


def _ids(found: Any) -> tuple[int, UUID | None]:
    return found.schema_id, UUID(found.guid) if found.guid else None


def context(field: Any = MessageField.VALUE) -> SerializationContext:
    return SerializationContext("flights", field, headers=[])


@pytest.mark.parametrize("field", [MessageField.VALUE, MessageField.KEY])
@pytest.mark.parametrize("place", list(SERIALIZERS))
def test_ours_reads_what_theirs_writes(place: str, field: str) -> None:
    registry, ctx = Registry(), context(field)
    write = AvroSerializer(registry.theirs, json.dumps(SCHEMA), conf={"schema.id.serializer": SERIALIZERS[place]})
    message = write({"a": 5}, ctx)
    read = GlueAvroDeserializer(source=FakeRegistry(), confluent=registry)
    assert read(message, ctx) == {"a": 5}
    for number in range(20):
        assert read(write({"a": number}, ctx), ctx) == {"a": number}
    assert registry.calls == 1
    assert GlueAvroDeserializer(source=FakeRegistry(), confluent=registry, reader_schema=NEWER)(message, ctx) == {
        "a": 5,
        "b": "x",
    }


@pytest.mark.parametrize("field", [MessageField.VALUE, MessageField.KEY])
@pytest.mark.parametrize("place", ["prefix", "guid", "header"])
def test_theirs_reads_what_ours_writes(place: IdPlace, field: str) -> None:
    registry, ctx = Registry(), context(field)
    value = {"a": 5, "b": "long enough for a reader that wants six bytes"}
    message = ConfluentAvroSerializer(registry, NEWER, id_in=place, auto_register=True)(value, ctx)
    theirs = AvroDeserializer(registry.theirs, conf={"schema.id.deserializer": dual_schema_id_deserializer})
    assert theirs(message, ctx) == value
    assert registry.theirs.get_subjects() == [f"flights-{field}"]
    again = context(field)
    same = AvroSerializer(
        registry.theirs, json.dumps(NEWER, separators=(",", ":")), conf={"schema.id.serializer": SERIALIZERS[place]}
    )
    assert (same(value, again), again.headers) == (message, ctx.headers)


def test_one_topic_of_both_families() -> None:
    glue, registry, ctx = FakeRegistry(), Registry(), context()
    glue.add(json.dumps(SCHEMA), schema="flights")
    ours = GlueAvroSerializer({"registry.name": "r"}, source=glue)({"a": 1}, ctx)
    theirs = AvroSerializer(registry.theirs, json.dumps(SCHEMA))({"a": 2}, ctx)
    read = GlueAvroDeserializer(source=glue, confluent=registry)
    assert [read(ours, ctx), read(theirs, ctx), read(None, ctx)] == [{"a": 1}, {"a": 2}, None]


def test_without_a_source_of_ids_confluents_frames_are_no_frames() -> None:
    message = confluent.prefix(7) + b"\x02" * 20
    with pytest.raises(NotFramed, match="version byte in data: 0"):
        MessageReader(FakeRegistry()).read(message)
    with pytest.raises(TruncatedFrame, match="registry size: 6"):
        MessageReader(FakeRegistry()).read(message[:6])
    with pytest.raises(NotFramed, match="version byte in data: 1"):
        MessageReader(FakeRegistry()).read(confluent.prefix(GUID) + b"\x02\x02")


@pytest.mark.parametrize(
    ("message", "headers", "error", "says"),
    [
        (b"\x00\x00\x00", None, TruncatedFrame, "message of 3 bytes is too short"),
        (b"\x01" + b"\x00" * 15, None, TruncatedFrame, "has 17 bytes before"),
        (b"", None, TruncatedFrame, "registry size: 0"),
        (b"\x02" * 30, None, NotFramed, "version byte in data: 2"),
        (confluent.prefix(99) + b"\x02", None, UnknownWriterSchema, "Schema 99 is unknown"),
        (confluent.prefix(GUID) + b"\x02", None, UnknownWriterSchema, f"Schema {GUID} is unknown"),
        (b"\x02", [("__value_schema_id", b"\x07abcd")], NotFramed, "id begins with the byte 7"),
        (b"\x02", [("__value_schema_id", b"")], NotFramed, "id begins with nothing"),
        (b"\x02", [("__value_schema_id", b"\x00\x00")], TruncatedFrame, "message of 2 bytes"),
    ],
)
def test_damaged_frames(message: bytes, headers: list[tuple[str, bytes]] | None, error: type[SerdeError], says: str) -> None:
    with pytest.raises(error, match=says):
        MessageReader(FakeRegistry(), confluent=Registry()).read(message, headers)


def test_a_header_goes_before_the_payloads_first_byte_and_belongs_to_its_part() -> None:
    registry = Registry()
    schema_id, _ = registry.register("s", '"int"')
    write = confluent_writer(schema_id, lambda prefix: encoder(AvroSchema('"int"'), prefix=prefix), in_header=True)
    read = MessageReader(FakeRegistry(), confluent=registry)
    headers = [("other", b"x"), (confluent.VALUE_HEADER, confluent.prefix(schema_id) + b"indexes of another format")]
    assert [read.read(write(number), headers) for number in (0, -1, 1)] == [0, -1, 1]
    assert registry.calls == 1
    with pytest.raises(TruncatedFrame):
        read.read(write(0), headers, key=True)
    assert read.read(None, headers) is None


def test_types_of_referenced_schemas() -> None:
    registry = Registry()
    order = {"type": "record", "name": "Order", "fields": [{"name": "r", "type": "R"}]}
    schema_id, _ = registry.register("orders-value", json.dumps(order))
    registry.references = (ReferencedText(name="R", text=json.dumps(SCHEMA)),)
    message = confluent.prefix(schema_id) + b"\x0a"
    assert MessageReader(FakeRegistry(), confluent=registry).read(message) == {"r": {"a": 5}}
    registry.references = (ReferencedText(name="R", text="{}"),)
    with pytest.raises(UnreadableSchema, match="'R' cannot be used"):
        MessageReader(FakeRegistry(), confluent=registry).read(message)


@pytest.mark.parametrize("place", ["prefix", "guid", "header"])
def test_theirs_reads_json_that_ours_writes(place: IdPlace) -> None:
    registry, ctx = Registry(), context()
    schema = {"title": "R", "type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
    write = ConfluentJsonSerializer(registry, schema, id_in=place, auto_register=True)
    message = write({"a": 5}, ctx)
    conf = {"schema.id.deserializer": dual_schema_id_deserializer}
    assert JSONDeserializer(None, schema_registry_client=registry.theirs, conf=conf)(message, ctx) == {"a": 5}
    assert MessageReader(FakeRegistry(), confluent=registry, formats=("JSON",)).read(message, ctx.headers) == {"a": 5}
    with pytest.raises(SerdeError, match="topic flights"):
        write({"b": 5}, ctx)


@pytest.mark.parametrize("place", ["prefix", "guid", "header"])
@pytest.mark.parametrize("kind", [error_details_pb2.RetryInfo, error_details_pb2.BadRequest.FieldViolation])
def test_theirs_reads_protobuf_that_ours_writes(kind: Any, place: IdPlace) -> None:
    registry, ctx = Registry(), context()
    text = definition_of(kind)
    value = {"retry_delay": "5s"} if kind is error_details_pb2.RetryInfo else {"field": "id", "reason": "GONE"}
    made = json_format.ParseDict(value, kind())
    settings = {"use.deprecated.format": False, "schema.id.deserializer": dual_schema_id_deserializer}
    theirs = ProtobufDeserializer(kind, settings)  # the registry in memory does not give files in binary
    write = ConfluentProtobufSerializer(registry, text, message=kind.DESCRIPTOR.full_name, id_in=place, auto_register=True)
    for form in (value, made):
        ctx = context()
        message = write(form, ctx)
        assert theirs(message, ctx) == made
        read = MessageReader(FakeRegistry(), confluent=registry, formats=("PROTOBUF",))
        assert read.read(message, ctx.headers) == value


def test_the_class_of_a_message_is_a_schema() -> None:
    registry, ctx = Registry(), context()
    kind = error_details_pb2.BadRequest.FieldViolation
    message = ConfluentProtobufSerializer(registry, kind, auto_register=True)({"field": "id"}, ctx)
    reader = ProtobufDeserializer(kind, {"use.deprecated.format": False})
    assert reader(message, ctx) == kind(field="id")
    with pytest.raises(SerdeError, match="topic flights"):
        ConfluentProtobufSerializer(registry, kind)({"nobody": 1}, ctx)
    with pytest.raises(UnreadableSchema, match=r"no message google\.Nobody"):
        ConfluentProtobufSerializer(registry, kind, message="google.Nobody", auto_register=True)({}, ctx)


def test_what_the_serialiser_refuses() -> None:
    registry = Registry()
    with pytest.raises(InvalidInput, match="has no subject"):
        ConfluentAvroSerializer(registry, SCHEMA)({"a": 1})
    with pytest.raises(InvalidInput, match="the context has no headers"):
        ConfluentAvroSerializer(registry, SCHEMA, id_in="header", auto_register=True)(
            {"a": 1}, SerializationContext("t", MessageField.VALUE)
        )
    with pytest.raises(SerdeError, match="topic flights"):
        ConfluentAvroSerializer(registry, SCHEMA, auto_register=True)({"a": "x"}, context())
    assert ConfluentAvroSerializer(registry, SCHEMA)(None, context()) is None


def test_properties_have_confluents_names_and_hide_the_password() -> None:
    config = SerdeConfig.from_properties({"schema.registry.url": "http://h:1", "basic.auth.user.info": "me:secret"})
    assert (config.confluent_url, config.confluent_user_info) == ("http://h:1", "me:secret")
    assert "secret" not in repr(config)


@given(st.one_of(st.integers(0, 2**32 - 1), st.uuids()), st.binary(max_size=30))
def test_prefix_and_split(schema_id: int | UUID, payload: bytes) -> None:
    message = confluent.prefix(schema_id) + payload
    assert confluent.split(message) == schema_id
    assert message[confluent.prefix_size(message) :] == payload


def test_uuid4_is_a_guid() -> None:
    some = uuid4()
    assert confluent.prefix(some) == b"\x01" + some.bytes
