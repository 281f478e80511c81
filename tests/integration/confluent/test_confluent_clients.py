"""confluent-kafka's own registry client and serialisers against a server with two workers, on each store."""

import contextlib
import importlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka.schema_registry import (
    Metadata,
    MetadataProperties,
    MetadataTags,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    SchemaRegistryError,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.schema_registry.schema_registry_client import ConfigCompatibilityLevel, ServerConfig
from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError
from grpc_tools import protoc

from penstock.testing.postgres import running_postgres
from penstock.testing.server import RunningServer, running_server

CITY = '{"type":"record","name":"City","namespace":"geo","fields":[{"name":"name","type":"string"}]}'
FLIGHT = json.dumps(
    {
        "type": "record",
        "name": "Flight",
        "fields": [{"name": "number", "type": "int"}, {"name": "to", "type": "geo.City"}],
    }
)
V1 = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
V2 = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"long","default":0}]}'
BROKEN = '{"type":"record","name":"R","fields":[{"name":"a","type":"string"}]}'
JSON_CITY = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "http://example.com/city.json",
        "title": "City",
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    }
)
JSON_FLIGHT = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "http://example.com/flight.json",
        "title": "Flight",
        "type": "object",
        "properties": {"number": {"type": "integer"}, "to": {"$ref": "http://example.com/city.json"}},
    }
)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    home = tmp_path_factory.mktemp("confluent")
    with contextlib.ExitStack() as stack:
        environment = {}
        if request.param == "postgresql":
            environment["PENSTOCK_STORE_URL"] = stack.enter_context(running_postgres()).new_database()
        yield stack.enter_context(running_server(home, arguments=("--workers", "2"), environment=environment))


Connect = Callable[..., SchemaRegistryClient]


@pytest.fixture
def connect(server: RunningServer) -> Iterator[Connect]:
    """Makes clients, of ``path`` (a context's) and with ``secret`` if given, and closes them."""
    with contextlib.ExitStack() as stack:

        def make(*, path: str = "", secret: str | None = None) -> SchemaRegistryClient:
            user_info = f"{server.access_key_id}:{secret or server.secret_access_key}"
            made = SchemaRegistryClient(
                {"url": f"{server.endpoint_url}{path}", "basic.auth.user.info": user_info, "max.retries": 0, "timeout": 60}
            )
            stack.callback(made.close)
            return made

        yield make


@pytest.fixture
def client(connect: Connect) -> SchemaRegistryClient:
    return connect()


def context(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def refused(call: Any, *arguments: Any, **options: Any) -> SchemaRegistryError:
    with pytest.raises(SchemaRegistryError) as caught:
        call(*arguments, **options)
    return caught.value


def test_avro_records_round_trip(client: SchemaRegistryClient) -> None:
    write = AvroSerializer(client, V2)
    read = AvroDeserializer(client, V1)
    frame = write({"a": 1, "b": 2}, context("avro"))
    assert frame[0] == 0
    assert int.from_bytes(frame[1:5], "big") == client.get_latest_version("avro-value").schema_id
    assert read(frame, context("avro")) == {"a": 1}
    assert AvroDeserializer(client)(frame, context("avro")) == {"a": 1, "b": 2}


def test_a_consumer_may_name_another_subject_than_the_producer(client: SchemaRegistryClient) -> None:
    def by_record(_context: SerializationContext, record: str | None) -> str | None:
        return record

    write = AvroSerializer(client, V1, conf={"subject.name.strategy": by_record})
    frame = write({"a": 1}, context("strategy"))
    assert refused(client.get_latest_version, "strategy-value").error_code == 40401
    # It asks for the id under the subject of its topic.
    assert AvroDeserializer(client)(frame, context("strategy")) == {"a": 1}


def test_metadata_and_aliases(client: SchemaRegistryClient) -> None:
    metadata = Metadata(
        tags=MetadataTags({"R.a": ["PII"]}), properties=MetadataProperties({"owner": "ana"}), sensitive=["owner"]
    )
    owned = client.register_schema_full_response("owned", Schema(V1, "AVRO", metadata=metadata))
    plain = client.register_schema("plain-before", Schema(V1, "AVRO"))
    assert owned.schema_id != plain
    client.register_schema("owned", Schema(V2, "AVRO", metadata=Metadata(None, MetadataProperties({"owner": "bob"}), None)))
    client.clear_caches()
    latest_with_metadata = client.get_latest_with_metadata("owned", {"owner": "ana"})
    assert (latest_with_metadata.version, latest_with_metadata.schema_id, latest_with_metadata.schema.metadata) == (
        1,
        owned.schema_id,
        metadata,
    )
    assert client.lookup_schema("owned", Schema(V1, "AVRO", metadata=metadata)).schema_id == owned.schema_id
    write = AvroSerializer(
        client, None, conf={"auto.register.schemas": False, "use.latest.with.metadata": {"owner": "ana"},
        "subject.name.strategy": lambda *_: "owned"},
    )  # fmt: skip
    assert int.from_bytes(write({"a": 1}, context("t"))[1:5], "big") == owned.schema_id
    # The client has no member for it yet.
    client._rest_client.put("config/renamed", body={"alias": "owned"})
    assert client.get_versions("renamed") == [1, 2]
    assert client.get_latest_version("renamed").subject == "owned"


def test_avro_with_references(client: SchemaRegistryClient) -> None:
    client.register_schema("avro-city", Schema(CITY, "AVRO"))
    flight = Schema(FLIGHT, "AVRO", [SchemaReference("geo.City", "avro-city", 1)])
    write = AvroSerializer(client, flight)
    frame = write({"number": 7, "to": {"name": "Ulm"}}, context("avro-flight"))
    assert AvroDeserializer(client)(frame, context("avro-flight")) == {"number": 7, "to": {"name": "Ulm"}}
    latest = client.get_latest_version("avro-flight-value")
    assert client.get_referenced_by("avro-city", 1) == [latest.schema_id]
    assert "Ulm" not in str(latest.schema.schema_str)
    assert refused(client.delete_subject, "avro-city").error_code == 42206


def test_json_records_round_trip_with_references(client: SchemaRegistryClient) -> None:
    client.register_schema("json-city", Schema(JSON_CITY, "JSON"))
    flight = Schema(JSON_FLIGHT, "JSON", [SchemaReference("http://example.com/city.json", "json-city", 1)])
    write = JSONSerializer(flight, client)
    read = JSONDeserializer(flight, schema_registry_client=client)
    frame = write({"number": 7, "to": {"name": "Ulm"}}, context("json-flight"))
    assert read(frame, context("json-flight")) == {"number": 7, "to": {"name": "Ulm"}}
    with pytest.raises(SerializationError):
        write({"number": 7, "to": {}}, context("json-flight"))
    assert client.get_latest_version("json-flight-value").schema.schema_type == "JSON"


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """Classes of a message that imports another file, made by Google's compiler."""
    folder: Path = tmp_path_factory.mktemp("proto")
    (folder / "penstock_city.proto").write_text('syntax = "proto3";\npackage geo;\nmessage City { string name = 1; }\n')
    (folder / "penstock_flight.proto").write_text(
        'syntax = "proto3";\npackage air;\nimport "penstock_city.proto";\nimport "google/protobuf/timestamp.proto";\n'
        "message Flight {\n  int32 number = 1;\n  geo.City to = 2;\n  google.protobuf.Timestamp at = 3;\n"
        "  map<string, int32> seats = 4;\n}\n"
    )
    names = ["penstock_city.proto", "penstock_flight.proto"]
    assert protoc.main(["protoc", f"-I{folder}", *_well_known(), f"--python_out={folder}", *names]) == 0
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("penstock_flight_pb2")
    finally:
        sys.path.remove(str(folder))


def _well_known() -> list[str]:
    import grpc_tools

    return [f"-I{Path(str(grpc_tools.__file__)).parent / '_proto'}"]


def test_protobuf_records_round_trip_with_references(client: SchemaRegistryClient, flights: ModuleType) -> None:
    write = ProtobufSerializer(flights.Flight, client, {"use.deprecated.format": False})
    read = ProtobufDeserializer(flights.Flight, {"use.deprecated.format": False}, client)
    flight = flights.Flight(number=7, to={"name": "Ulm"}, at={"seconds": 1}, seats={"a": 1})
    frame = write(flight, context("proto-flight"))
    assert read(frame, context("proto-flight")) == flight
    latest = client.get_latest_version("proto-flight-value")
    assert "message Flight {" in str(latest.schema.schema_str)
    assert latest.schema.references is not None
    assert [(reference.name, reference.version) for reference in latest.schema.references] == [("penstock_city.proto", 1)]
    assert client.get_latest_version("penstock_city.proto").schema.schema_type == "PROTOBUF"


def test_a_record_with_its_guid_in_a_header(client: SchemaRegistryClient, server: RunningServer) -> None:
    inside = SerializationContext("headed", MessageField.VALUE, [])
    write = AvroSerializer(client, CITY, conf={"schema.id.serializer": header_schema_id_serializer})
    payload = write({"name": "Ulm on the Danube"}, inside)
    assert isinstance(inside.headers, list)
    ((_, header),) = inside.headers
    assert isinstance(header, bytes)
    assert payload == b"\x22Ulm on the Danube"
    glue = server.client("glue").get_schema_version(SchemaVersionId=str(UUID(bytes=header[1:])))
    assert glue["SchemaArn"].endswith(":schema/default-registry/headed-value")
    assert AvroDeserializer(client)(payload, inside) == {"name": "Ulm on the Danube"}


def test_a_guid_is_the_uuid_of_glue(client: SchemaRegistryClient, server: RunningServer) -> None:
    registered = client.register_schema_full_response("guid", Schema(V1, "AVRO"))
    glue = server.client("glue").get_schema_version(SchemaVersionId=str(registered.guid))
    assert glue["SchemaDefinition"] == V1
    assert client.get_schema_by_guid(str(registered.guid)).schema_str == V1


def test_glue_and_confluent_see_the_same_schemas(client: SchemaRegistryClient, server: RunningServer) -> None:
    glue = server.client("glue")
    glue.create_schema(SchemaName="both", DataFormat="AVRO", Compatibility="FORWARD", SchemaDefinition=V1)
    assert client.get_compatibility("both") == "FORWARD"
    schema_id = client.register_schema("both", Schema(V2, "AVRO"))
    seen = glue.get_schema_version(
        SchemaId={"RegistryName": "default-registry", "SchemaName": "both"}, SchemaVersionNumber={"LatestVersion": True}
    )
    assert (seen["VersionNumber"], seen["SchemaDefinition"]) == (2, V2)
    assert client.get_schema(schema_id).schema_str == V2


def test_refusals_reach_the_user(client: SchemaRegistryClient) -> None:
    client.register_schema("strict", Schema(V1, "AVRO"))
    error = refused(client.register_schema, "strict", Schema(BROKEN, "AVRO"))
    assert (error.http_status_code, error.error_code) == (409, 409)
    assert "TYPE_MISMATCH at /a" in error.error_message
    assert client.test_compatibility("strict", Schema(BROKEN, "AVRO")) is False
    assert client.test_compatibility_all_versions("strict", Schema(V2, "AVRO"), verbose=True) is True
    assert refused(client.register_schema, "strict", Schema("{", "AVRO")).error_code == 42201
    assert refused(client.get_schema, 999_999).error_code == 40403
    assert refused(client.get_latest_version, "nobody").error_code == 40401


def test_wrong_credentials_are_refused(connect: Connect) -> None:
    error = refused(connect(secret="another").get_subjects)
    assert (error.http_status_code, error.error_code) == (401, 401)


def test_the_rest_of_the_clients_calls(client: SchemaRegistryClient) -> None:
    registered = client.register_schema("calls", Schema(V1, "AVRO"))
    assert client.lookup_schema("calls", Schema(V1, "AVRO")).version == 1
    assert "calls" in client.get_subjects(subject_prefix="cal")
    assert client.get_versions("calls") == [1]
    assert client.get_version("calls", 1).schema_id == registered
    assert "calls" in client.get_subjects_by_schema_id(registered)
    assert ("calls", 1) in [
        (schema_version.subject, schema_version.version) for schema_version in client.get_schema_versions(registered)
    ]
    assert set(client.get_schema_types()) == {"AVRO", "JSON", "PROTOBUF"}
    # Declared as a string, but in fact a mapping.
    answer: object = client.set_compatibility("calls", "FULL")
    assert answer == {"compatibility": "FULL"}
    assert client.get_compatibility("calls") == "FULL"
    client.set_config("calls", ServerConfig(compatibility=ConfigCompatibilityLevel.FORWARD_TRANSITIVE))
    assert client.get_config("calls").compatibility_level == "FORWARD_TRANSITIVE"
    assert client.delete_config("calls").compatibility_level == "FORWARD_TRANSITIVE"
    assert client.update_mode("calls", "READONLY") == "READONLY"
    assert client.get_mode("calls") == "READONLY"
    assert client.delete_mode("calls") == "READONLY"
    assert client.get_global_mode() == "READWRITE"
    assert client.delete_version("calls", 1) == 1
    assert client.get_subjects(subject_prefix="calls", deleted_only=True) == ["calls"]
    assert client.delete_subject("calls", permanent=True) == [1]


def test_a_configuration_beside_the_level(client: SchemaRegistryClient) -> None:
    def metadata(**properties: str) -> Metadata:
        return Metadata(tags=None, properties=MetadataProperties(properties), sensitive=[])

    expected = ServerConfig(
        compatibility=ConfigCompatibilityLevel.BACKWARD,
        compatibility_group="major",
        default_metadata=metadata(owner="nobody", major="1"),
        override_metadata=metadata(team="core"),
    )
    client.set_config("grouped", expected)
    said = client.get_config("grouped")
    assert (said.compatibility_level, said.compatibility_group) == ("BACKWARD", "major")
    assert (said.default_metadata, said.override_metadata) == (expected.default_metadata, expected.override_metadata)
    client.register_schema("grouped", Schema(V1, "AVRO"))
    merged = client.get_latest_version("grouped").schema.metadata
    assert merged is not None
    assert merged.properties == MetadataProperties({"owner": "nobody", "major": "1", "team": "core"})
    assert refused(client.register_schema, "grouped", Schema(BROKEN, "AVRO")).error_code == 409
    client.register_schema("grouped", Schema(BROKEN, "AVRO", metadata=metadata(major="2")))
    assert client.get_latest_with_metadata("grouped", {"major": "1"}).version == 1
    assert client.get_latest_with_metadata("grouped", {"major": "2", "team": "core"}).version == 2


def test_contexts(client: SchemaRegistryClient, connect: Connect, server: RunningServer) -> None:
    inside = connect(path="/contexts/.team")
    schema_id = inside.register_schema("orders", Schema(V1, "AVRO"))
    assert ".team" in client.get_contexts()
    assert inside.get_subjects() == [":.team:orders"]
    assert client.get_latest_version(":.team:orders").schema_id == schema_id
    assert connect(path="/contexts/.team").get_schema(schema_id).schema_str == V1
    glue = server.client("glue").list_schemas(RegistryId={"RegistryName": "team"})
    assert [schema["SchemaName"] for schema in glue["Schemas"]] == ["orders"]
    frame = AvroSerializer(inside, V1)({"a": 1}, context("flights"))
    assert AvroDeserializer(connect(path="/contexts/.team"))(frame, context("flights")) == {"a": 1}


def test_import_mode_keeps_ids(connect: Connect) -> None:
    inside = connect(path="/contexts/.import")
    rest = inside._rest_client
    rest.put("mode", {"mode": "IMPORT"})
    for schema_id, version, schema in ((4_711, 2, V1), (4_712, 3, V2)):
        answer = rest.post("subjects/s/versions", {"schema": schema, "id": schema_id, "version": version})
        assert (answer["id"], answer["version"]) == (schema_id, version)
    assert inside.get_versions("s") == [2, 3]
    assert inside.get_schema(4_711).schema_str == V1
    rest.put("mode", {"mode": "READWRITE"})
    assert inside.register_schema("t", Schema(V2, "AVRO")) == 4_712


def test_thirty_two_threads_get_one_id(connect: Connect) -> None:
    barrier = threading.Barrier(32)
    answers: list[tuple[str, int, int]] = []
    clients = [connect() for _ in range(32)]

    def register(place: int) -> None:
        subject = f"crowd-{place % 2}"
        schema = Schema(CITY.replace("City", "Crowd"), "AVRO")
        barrier.wait()
        made = clients[place].register_schema_full_response(subject, schema)
        answers.append((subject, int(made.schema_id or 0), int(made.version or 0)))

    threads = [threading.Thread(target=register, args=(place,)) for place in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 32
    assert len({schema_id for _, schema_id, _ in answers}) == 1
    assert {version for _, _, version in answers} == {1}
