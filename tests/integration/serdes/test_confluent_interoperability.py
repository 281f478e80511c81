"""Both families of serialisers over one real server: what one writes the other reads, whatever the frame."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka.schema_registry import (
    SchemaRegistryClient,
    dual_schema_id_deserializer,
    header_schema_id_serializer,
    prefix_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.schema_registry.schema_registry_client import Schema, SchemaReference
from confluent_kafka.serialization import MessageField, SerializationContext
from google.rpc import error_details_pb2

from penstock.client.confluent import ConfluentClient
from penstock.client.registry import RegistryClient
from penstock.errors import AccessDenied, InvalidInput, NotFound
from penstock.serdes.codec import MessageReader
from penstock.serdes.errors import NotFramed
from penstock.serdes.kafka.confluent import (
    ConfluentAvroSerializer,
    ConfluentJsonSerializer,
    ConfluentProtobufSerializer,
    IdPlace,
)
from penstock.serdes.kafka.serdes import GlueAvroDeserializer, GlueAvroSerializer
from penstock.testing.server import RunningServer

SCHEMA = {
    "type": "record",
    "name": "Flight",
    "namespace": "demo",
    "fields": [{"name": "id", "type": "int"}, {"name": "carrier", "type": "string"}],
}
VALUE = {"id": 517, "carrier": "United Air Lines Inc."}


@pytest.fixture
def login(penstock_server: RunningServer) -> str:
    return f"{penstock_server.access_key_id}:{penstock_server.secret_access_key}"


@pytest.fixture
def properties(penstock_server: RunningServer, login: str) -> dict[str, str]:
    return {"schema.registry.url": penstock_server.endpoint_url, "basic.auth.user.info": login}


@pytest.fixture
def theirs(penstock_server: RunningServer, login: str) -> Iterator[SchemaRegistryClient]:
    made = SchemaRegistryClient({"url": penstock_server.endpoint_url, "basic.auth.user.info": login, "timeout": 60})
    yield made
    made.close()


@pytest.fixture
def ours(penstock_server: RunningServer, login: str) -> ConfluentClient:
    return ConfluentClient(penstock_server.endpoint_url, user_info=login)


@pytest.fixture
def context() -> SerializationContext:
    return SerializationContext(f"flights-{uuid4().hex[:8]}", MessageField.VALUE, headers=[])


@pytest.mark.parametrize("serializer", [prefix_schema_id_serializer, header_schema_id_serializer])
@pytest.mark.usefixtures("at_server")
def test_ours_reads_what_theirs_writes(
    theirs: SchemaRegistryClient, context: SerializationContext, properties: dict[str, str], serializer: Any
) -> None:
    message = AvroSerializer(theirs, json.dumps(SCHEMA), conf={"schema.id.serializer": serializer})(VALUE, context)
    assert GlueAvroDeserializer(properties)(message, context) == VALUE
    if serializer is prefix_schema_id_serializer:
        with pytest.raises(NotFramed):
            GlueAvroDeserializer()(message, context)


@pytest.mark.parametrize("place", ["prefix", "guid", "header"])
def test_theirs_reads_what_ours_writes(
    theirs: SchemaRegistryClient, ours: ConfluentClient, context: SerializationContext, place: IdPlace
) -> None:
    with pytest.raises(NotFound):
        ConfluentAvroSerializer(ours, SCHEMA, id_in=place)(VALUE, context)
    message = ConfluentAvroSerializer(ours, SCHEMA, id_in=place, auto_register=True)(VALUE, context)
    reader = AvroDeserializer(theirs, conf={"schema.id.deserializer": dual_schema_id_deserializer})
    assert reader(message, context) == VALUE
    assert MessageReader(glue_that_knows_nothing(), confluent=ours).read(message, context.headers) == VALUE


@pytest.mark.parametrize("place", ["prefix", "guid", "header"])
def test_theirs_reads_json_and_protobuf_of_ours(
    theirs: SchemaRegistryClient, ours: ConfluentClient, context: SerializationContext, place: IdPlace
) -> None:
    flight = {"title": "Flight", "type": "object", "properties": {"id": {"type": "integer"}, "carrier": {"type": "string"}}}
    conf: dict[str, Any] = {"schema.id.deserializer": dual_schema_id_deserializer}
    message = ConfluentJsonSerializer(ours, flight, id_in=place, auto_register=True)(VALUE, context)
    assert JSONDeserializer(None, schema_registry_client=theirs, conf=conf)(message, context) == VALUE

    nested = error_details_pb2.BadRequest.FieldViolation
    there = SerializationContext(f"{context.topic}-proto", MessageField.VALUE, headers=[])
    message = ConfluentProtobufSerializer(ours, nested, id_in=place, auto_register=True)({"field": "id"}, there)
    read = ProtobufDeserializer(nested, {"use.deprecated.format": False, **conf}, theirs)
    assert read(message, there) == nested(field="id")


@pytest.mark.parametrize("serializer", [prefix_schema_id_serializer, header_schema_id_serializer])
def test_ours_reads_json_and_protobuf_of_theirs(
    theirs: SchemaRegistryClient, ours: ConfluentClient, context: SerializationContext, serializer: Any
) -> None:
    reader = MessageReader(glue_that_knows_nothing(), confluent=ours, formats=("JSON", "PROTOBUF"))
    part = f"carrier-{uuid4().hex[:8]}"
    theirs.register_schema(part, Schema('{"type": "string", "maxLength": 40}', "JSON"))
    flight = {"title": "Flight", "type": "object", "properties": {"id": {"type": "integer"}, "carrier": {"$ref": "c.json"}}}
    schema = Schema(json.dumps(flight), "JSON", references=[SchemaReference("c.json", part, 1)])
    message = JSONSerializer(schema, theirs, conf={"schema.id.serializer": serializer})(VALUE, context)
    assert reader.read(message, context.headers) == VALUE

    # A nested message, which the frame names by its path.
    nested = error_details_pb2.BadRequest.FieldViolation
    place = SerializationContext(f"{context.topic}-proto", MessageField.VALUE, headers=[])
    settings = {"use.deprecated.format": False, "schema.id.serializer": serializer}
    message = ProtobufSerializer(nested, theirs, settings)(nested(field="id", reason="GONE"), place)
    assert reader.read(message, place.headers) == {"field": "id", "reason": "GONE"}


def glue_that_knows_nothing() -> Any:
    class Nothing:
        def version(self, version_id: Any) -> Any:
            raise NotFound("Schema version is not found.")

        def latest(self, registry: str, schema: str) -> Any:
            raise NotFound("Schema is not found.")

    return Nothing()


def test_one_schema_written_by_both_families(
    theirs: SchemaRegistryClient, ours: ConfluentClient, source: RegistryClient, context: SerializationContext
) -> None:
    name = f"{context.topic}-value"
    theirs.register_schema(name, Schema(json.dumps(SCHEMA), "AVRO"))
    glued = GlueAvroSerializer({"registry.name": "default-registry", "schemaName": name}, source=source)(VALUE, context)
    framed = ConfluentAvroSerializer(ours, SCHEMA)(VALUE, context)
    assert (glued or b"")[18:] == (framed or b"")[5:]
    read = GlueAvroDeserializer(source=source, confluent=ours)
    assert [read(glued, context), read(framed, context)] == [VALUE, VALUE]


def test_a_type_of_another_subject(
    theirs: SchemaRegistryClient, ours: ConfluentClient, context: SerializationContext
) -> None:
    place = f"plane-{uuid4().hex[:8]}"
    plane = {"type": "record", "name": "Plane", "namespace": "demo", "fields": [{"name": "tail", "type": "string"}]}
    theirs.register_schema(place, Schema(json.dumps(plane), "AVRO"))
    leg = {"type": "record", "name": "Leg", "namespace": "demo", "fields": [{"name": "plane", "type": "demo.Plane"}]}
    schema = Schema(json.dumps(leg), "AVRO", references=[SchemaReference("demo.Plane", place, 1)])
    value = {"plane": {"tail": "N14228"}}
    message = AvroSerializer(theirs, schema)(value, context)
    assert MessageReader(glue_that_knows_nothing(), confluent=ours).read(message) == value


def test_refusals(penstock_server: RunningServer, ours: ConfluentClient, context: SerializationContext) -> None:
    subject = f"{context.topic}-value"
    ours.register(subject, json.dumps(SCHEMA))
    with pytest.raises(InvalidInput, match="409"):
        ours.register(subject, json.dumps({**SCHEMA, "fields": [{"name": "id", "type": "string"}]}))
    with pytest.raises(NotFound, match="not found"):
        ours.text(2**30)
    with pytest.raises(AccessDenied, match="401"):
        ConfluentClient(penstock_server.endpoint_url, user_info="AKIANOBODY:no").text(1)
