"""The registry's operations through boto3 and the dispatcher, without sockets."""

import asyncio
import io
import json
from collections.abc import Callable, Iterator, MutableMapping
from types import SimpleNamespace
from typing import Any

import boto3
import fastavro
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.retries.standard import ThrottledRetryableChecker

from penstock.api.aws.protocol.dispatch import AwsApp
from penstock.api.aws.protocol.endpoints import EndpointTable
from penstock.api.aws.protocol.operations import RequestContext
from penstock.api.aws.registry.operations import operations
from penstock.api.errors import Throttled
from penstock.api.observer import CompletedRequest
from penstock.api.throttle import Throttle
from penstock.registry.errors import VersionNotFound
from penstock.registry.model import SchemaKey, ScopeConfig
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.schema.compatibility import CompatibilityMode
from penstock.store.memory.registry import MemoryRegistryStore

ACCOUNT = "000000000000"
SCHEMA = {"RegistryName": "r", "SchemaName": "s"}
V1 = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
V2 = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"long","default":0}]}'
BROKEN = '{"type":"record","name":"R","fields":[{"name":"a","type":"string"}]}'

SERVED = operations(RegistryService(MemoryRegistryStore()))


class Silent:
    def started(self) -> None:
        pass

    def finished(self, request: CompletedRequest) -> None:
        pass


class BytesBody(io.BytesIO):
    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.getvalue()


@pytest.fixture(scope="module")
def loop() -> Iterator[Any]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def client() -> Any:
    """One client for all tests: botocore takes long to read Glue's model."""
    return boto3.client(
        "glue",
        region_name="us-east-1",
        endpoint_url="http://penstock.invalid",
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=Config(retries={"total_max_attempts": 1}),
    )


@pytest.fixture
def glue(loop: Any, client: Any) -> Iterator[Any]:
    """The client, whose requests go straight into the dispatcher over an empty registry."""
    table = EndpointTable([operations(RegistryService(MemoryRegistryStore()))])
    app = AwsApp(table, authenticator=None, account=ACCOUNT, region="us-east-1", observer=Silent())

    def answer(request: Any, **_: str) -> Any:
        sent = []

        async def receive() -> Any:
            return {"type": "http.request", "body": request.body or b"", "more_body": False}

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        headers = [
            (key.lower().encode(), value if isinstance(value, bytes) else value.encode())
            for key, value in request.headers.items()
        ]
        scope = {
            "type": "http", "method": "POST", "path": "/", "raw_path": b"/", "query_string": b"", "headers": headers,
            "client": ("test", 1), "server": ("test", 80), "scheme": "http", "http_version": "1.1",
        }  # fmt: skip
        loop.run_until_complete(app(scope, receive, send))
        fields: Any = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
        body = b"".join(message.get("body", b"") for message in sent[1:])
        return AWSResponse(request.url, sent[0]["status"], fields, BytesBody(body))

    client.meta.events.register("before-send.glue", answer)
    yield client
    client.meta.events.unregister("before-send.glue", answer)
    app.close()


@pytest.fixture
def stored(glue: Any) -> SimpleNamespace:
    """Registry ``r`` with schema ``s`` (BACKWARD) of one version; the client and CreateSchema's answer."""
    glue.create_registry(RegistryName="r", Description="first", Tags={"team": "x"})
    created = glue.create_schema(
        RegistryId={"RegistryName": "r"}, SchemaName="s", DataFormat="AVRO", Compatibility="BACKWARD", SchemaDefinition=V1
    )
    return SimpleNamespace(glue=glue, created=created, id=created["SchemaVersionId"], arn=created["SchemaArn"])


def refused(call: Callable[..., Any], code: str, text: str, **request: Any) -> None:
    with pytest.raises(ClientError) as error:
        call(**request)
    assert error.value.response["Error"]["Code"] == code
    assert text in error.value.response["Error"]["Message"]


def test_all_registry_and_tag_operations_are_served() -> None:
    assert len(SERVED.handlers) == 27
    assert SERVED.inline <= SERVED.handlers.keys()


def test_registries(glue: Any) -> None:
    made = glue.create_registry(RegistryName="r", Description="d", Tags={"a": "b"})
    assert made["RegistryArn"] == f"arn:aws:glue:us-east-1:{ACCOUNT}:registry/r"
    assert made["Tags"] == {"a": "b"}
    assert glue.update_registry(RegistryId={"RegistryArn": made["RegistryArn"]}, Description="e")["RegistryName"] == "r"
    read = glue.get_registry(RegistryId={"RegistryName": "r"})
    assert (read["Description"], read["Status"]) == ("e", "AVAILABLE")
    assert read["CreatedTime"].endswith("Z")
    glue.create_registry(RegistryName="q")
    page = glue.list_registries(MaxResults=1)
    assert [item["RegistryName"] for item in page["Registries"]] == ["q"]
    assert [item["RegistryName"] for item in glue.list_registries(NextToken=page["NextToken"])["Registries"]] == ["r"]
    assert glue.delete_registry(RegistryId={"RegistryName": "q"})["Status"] == "DELETING"
    refused(glue.get_registry, "EntityNotFoundException", "Registry is not found.", RegistryId={"RegistryName": "q"})
    refused(glue.create_registry, "AlreadyExistsException", "already exists", RegistryName="r")
    refused(glue.get_registry, "InvalidInputException", "names no registry", RegistryId={})


def test_schemas(stored: SimpleNamespace) -> None:
    glue, created = stored.glue, stored.created
    assert (created["LatestSchemaVersion"], created["NextSchemaVersion"], created["SchemaCheckpoint"]) == (1, 2, 1)
    assert created["SchemaVersionStatus"] == "AVAILABLE"
    read = glue.get_schema(SchemaId={"SchemaArn": stored.arn})
    assert (read["DataFormat"], read["Compatibility"], read["SchemaStatus"]) == ("AVRO", "BACKWARD", "AVAILABLE")
    assert [item["SchemaName"] for item in glue.list_schemas(RegistryId={"RegistryName": "r"})["Schemas"]] == ["s"]
    glue.update_schema(SchemaId=SCHEMA, Compatibility="FULL", SchemaVersionNumber={"LatestVersion": True}, Description="n")
    assert glue.get_schema(SchemaId=SCHEMA)["Compatibility"] == "FULL"
    refused(glue.update_schema, "InvalidInputException", "checkpoint", SchemaId=SCHEMA, Compatibility="NONE")
    refused(
        glue.create_schema, "AlreadyExistsException", "already exists", RegistryId={"RegistryName": "r"}, SchemaName="s",
        DataFormat="AVRO", Compatibility="NONE", SchemaDefinition=V1,
    )  # fmt: skip
    assert glue.delete_schema(SchemaId=SCHEMA)["Status"] == "DELETING"
    refused(glue.get_schema, "EntityNotFoundException", "Schema is not found.", SchemaId=SCHEMA)


def test_a_definition_that_builds_on_others_stands_on_its_own_for_glues_clients(stored: SimpleNamespace) -> None:
    glue = stored.glue
    order = '{"type":"record","name":"Order","fields":[{"name":"r","type":"R"},{"name":"again","type":"R"}]}'
    made = glue.create_schema(
        RegistryId={"RegistryName": "r"}, SchemaName="order", DataFormat="AVRO", Compatibility="BACKWARD",
        SchemaDefinition=order, Tags={"penstock:references": "R=r/s@1"},
    )  # fmt: skip
    read = glue.get_schema_version(SchemaVersionId=made["SchemaVersionId"])
    parsed: Any = fastavro.parse_schema(json.loads(read["SchemaDefinition"]))
    fields = parsed["fields"]
    assert [field["type"] for field in fields] == [{**json.loads(V1), "name": "R"}, "R"]
    for text in (order, read["SchemaDefinition"]):
        found = glue.get_schema_by_definition(SchemaId={**SCHEMA, "SchemaName": "order"}, SchemaDefinition=text)
        assert found["SchemaVersionId"] == made["SchemaVersionId"]


def test_the_order_of_calls_of_aws_java_serde(glue: Any) -> None:
    """GetSchemaByDefinition, CreateSchema with empty tags, RegisterSchemaVersion, metadata; its choices by message text."""
    refused(
        glue.get_schema_by_definition, "EntityNotFoundException", "Schema is not found.",
        SchemaId={"RegistryName": "default-registry", "SchemaName": "t"}, SchemaDefinition=V1,
    )  # fmt: skip
    made = glue.create_schema(SchemaName="t", DataFormat="AVRO", Compatibility="BACKWARD", SchemaDefinition=V1, Tags={})
    key = {"RegistryName": "default-registry", "SchemaName": "t"}
    assert made["RegistryName"] == "default-registry"
    refused(
        glue.get_schema_by_definition,
        "EntityNotFoundException",
        "Schema version is not found.",
        SchemaId=key,
        SchemaDefinition=V2,
    )
    registered = glue.register_schema_version(SchemaId=key, SchemaDefinition=V2)
    assert (registered["VersionNumber"], registered["Status"]) == (2, "AVAILABLE")
    glue.put_schema_version_metadata(
        SchemaVersionId=registered["SchemaVersionId"],
        MetadataKeyValue={"MetadataKey": "x-amz-meta-transport", "MetadataValue": "topic"},
    )
    respelled = json.dumps(json.loads(V2), indent=3, sort_keys=True)
    found = glue.get_schema_by_definition(SchemaId=key, SchemaDefinition=respelled)
    assert (found["SchemaVersionId"], found["Status"]) == (registered["SchemaVersionId"], "AVAILABLE")


def test_versions(stored: SimpleNamespace) -> None:
    glue = stored.glue
    assert glue.register_schema_version(SchemaId=SCHEMA, SchemaDefinition=V1)["SchemaVersionId"] == stored.id
    second = glue.register_schema_version(SchemaId=SCHEMA, SchemaDefinition=V2)
    by_id = glue.get_schema_version(SchemaVersionId=second["SchemaVersionId"])
    latest = glue.get_schema_version(SchemaId=SCHEMA, SchemaVersionNumber={"LatestVersion": True})
    for answer in (by_id, latest):
        assert (answer["SchemaDefinition"], answer["VersionNumber"], answer["SchemaArn"]) == (V2, 2, stored.arn)
    page = glue.list_schema_versions(SchemaId=SCHEMA, MaxResults=1)
    rest = glue.list_schema_versions(SchemaId=SCHEMA, NextToken=page["NextToken"])
    assert [item["VersionNumber"] for item in page["Schemas"] + rest["Schemas"]] == [1, 2]
    errors = glue.delete_schema_versions(SchemaId=SCHEMA, Versions="2-3")["SchemaVersionErrors"]
    assert [(item["VersionNumber"], item["ErrorDetails"]["ErrorCode"]) for item in errors] == [
        (3, "EntityNotFoundException")
    ]
    refused(
        glue.get_schema_version, "EntityNotFoundException", "Schema version is not found.",
        SchemaVersionId=second["SchemaVersionId"],
    )  # fmt: skip
    refused(glue.delete_schema_versions, "InvalidInputException", "is the checkpoint", SchemaId=SCHEMA, Versions="1")
    refused(glue.delete_schema_versions, "InvalidInputException", "not a range", SchemaId=SCHEMA, Versions="3-2")
    refused(glue.get_schema_version, "InvalidInputException", "names no schema version", SchemaId=SCHEMA)
    refused(
        glue.get_schema_version, "InvalidInputException", "either a VersionNumber or LatestVersion", SchemaId=SCHEMA,
        SchemaVersionNumber={"LatestVersion": True, "VersionNumber": 1},
    )  # fmt: skip


def test_a_refused_version_says_why_in_two_places(stored: SimpleNamespace) -> None:
    glue = stored.glue
    answer = glue.register_schema_version(SchemaId=SCHEMA, SchemaDefinition=BROKEN)
    assert (answer["Status"], answer["VersionNumber"]) == ("FAILURE", 2)
    assert glue.get_schema_version(SchemaVersionId=answer["SchemaVersionId"])["Status"] == "FAILURE"
    metadata = glue.query_schema_version_metadata(SchemaVersionId=answer["SchemaVersionId"])["MetadataInfoMap"]
    assert metadata["penstock:incompatibility"]["MetadataValue"] == "TYPE_MISMATCH@/a:BACKWARD:1"
    diff = glue.get_schema_versions_diff(
        SchemaId=SCHEMA,
        FirstSchemaVersionNumber={"LatestVersion": True},
        SecondSchemaVersionNumber={"VersionNumber": 2},
        SchemaDiffType="SYNTAX_DIFF",
    )["Diff"]
    assert json.loads(diff)[0] | {"penstock:refused": []} == {
        "op": "replace", "path": "/fields/0/type", "value": "string", "penstock:refused": []
    }  # fmt: skip
    assert "TYPE_MISMATCH at /a: the reader expects string and the writer wrote int" in diff


def test_validity(glue: Any) -> None:
    assert glue.check_schema_version_validity(DataFormat="AVRO", SchemaDefinition=V1)["Valid"] is True
    answer = glue.check_schema_version_validity(DataFormat="AVRO", SchemaDefinition='{"type": "record", "name": "1"}')
    assert answer["Valid"] is False
    assert "is not a valid type name" in answer["Error"]
    answer = glue.check_schema_version_validity(DataFormat="PROTOBUF", SchemaDefinition='syntax = "proto3"; message M {')
    assert answer["Valid"] is False
    assert "line 1, column" in answer["Error"]


def test_metadata(stored: SimpleNamespace) -> None:
    glue = stored.glue
    for value in ("1", "2"):
        pair = {"MetadataKey": "k", "MetadataValue": value}
        put = glue.put_schema_version_metadata(SchemaVersionId=stored.id, MetadataKeyValue=pair)
        assert (put["LatestVersion"], put["VersionNumber"], put["MetadataValue"]) == (True, 1, value)
    found = glue.query_schema_version_metadata(
        SchemaId=SCHEMA, SchemaVersionNumber={"VersionNumber": 1}, MetadataList=[{"MetadataKey": "k"}]
    )["MetadataInfoMap"]["k"]
    assert found["MetadataValue"] == "2"
    assert [item["MetadataValue"] for item in found["OtherMetadataValueList"]] == ["1"]
    refused(
        glue.put_schema_version_metadata, "AlreadyExistsException", "k=1", SchemaVersionId=stored.id,
        MetadataKeyValue={"MetadataKey": "k", "MetadataValue": "1"},
    )  # fmt: skip
    glue.remove_schema_version_metadata(
        SchemaVersionId=stored.id, MetadataKeyValue={"MetadataKey": "k", "MetadataValue": "2"}
    )
    refused(
        glue.remove_schema_version_metadata, "EntityNotFoundException", "k=2", SchemaVersionId=stored.id,
        MetadataKeyValue={"MetadataKey": "k", "MetadataValue": "2"},
    )  # fmt: skip


def test_tags(stored: SimpleNamespace) -> None:
    glue = stored.glue
    registry_arn = f"arn:aws:glue:us-east-1:{ACCOUNT}:registry/r"
    assert glue.get_tags(ResourceArn=registry_arn)["Tags"] == {"team": "x"}
    glue.tag_resource(ResourceArn=stored.arn, TagsToAdd={"a": "1", "b": "2"})
    glue.untag_resource(ResourceArn=stored.arn, TagsToRemove=["a"])
    assert glue.get_tags(ResourceArn=stored.arn)["Tags"] == {"b": "2"}
    refused(glue.get_tags, "EntityNotFoundException", "not found", ResourceArn=f"{registry_arn}x")
    refused(glue.get_tags, "InvalidInputException", "not served", ResourceArn=f"arn:aws:glue:us-east-1:{ACCOUNT}:job/j")


def test_tags_of_other_resources_go_to_their_owner() -> None:
    class Jobs:
        def owns(self, resource_arn: str) -> bool:
            return ":job/" in resource_arn

        def get(self, resource_arn: str) -> dict[str, str]:
            return {"job": resource_arn[-1]}

    jobs: Any = Jobs()
    served = operations(RegistryService(MemoryRegistryStore()), tag_owners=(jobs,))
    handler: Any = served.handlers["GetTags"]
    assert handler({"ResourceArn": "arn:aws:glue:r:1:job/j"}, None) == {"Tags": {"job": "j"}}


def test_a_version_is_named_by_its_id_or_by_its_schema(stored: SimpleNamespace) -> None:
    other = {"RegistryName": "r", "SchemaName": "other"}
    refused(
        stored.glue.put_schema_version_metadata, "InvalidInputException", "No other input parameters", SchemaId=other,
        SchemaVersionId=stored.id, MetadataKeyValue={"MetadataKey": "k", "MetadataValue": "1"},
    )  # fmt: skip


PERSON = {
    "JSON": '{"type":"object","properties":{"name":{"type":"string","description":"Whole."}}}',
    "PROTOBUF": 'syntax = "proto3"; package p; message Person { string name = 1; }',
}
WIDER = {
    "JSON": '{"type":"object","properties":{"name":{"type":["string","null"],"description":"Whole."}}}',
    "PROTOBUF": 'syntax = "proto3"; package p; message Person { string name = 1; int32 age = 2; }',
}
BROKEN_TYPE = {
    "JSON": '{"type":"object","properties":{"name":{"type":"integer"}}}',
    "PROTOBUF": 'syntax = "proto3"; package p; message Person { int32 name = 1; }',
}


@pytest.mark.parametrize("data_format", ["JSON", "PROTOBUF"])
def test_every_operation_on_versions_serves_the_other_formats(glue: Any, data_format: str) -> None:
    schema = {"RegistryName": "r", "SchemaName": "person"}
    glue.create_registry(RegistryName="r")
    first = glue.create_schema(
        RegistryId={"RegistryName": "r"}, SchemaName="person", DataFormat=data_format, Compatibility="BACKWARD",
        SchemaDefinition=PERSON[data_format],
    )  # fmt: skip
    spaced = PERSON[data_format].replace(" ", "  ").replace(",", " ,\n")
    found = glue.get_schema_by_definition(SchemaId=schema, SchemaDefinition=spaced)
    assert (found["SchemaVersionId"], found["DataFormat"]) == (first["SchemaVersionId"], data_format)
    second = glue.register_schema_version(SchemaId=schema, SchemaDefinition=WIDER[data_format])
    assert (second["VersionNumber"], second["Status"]) == (2, "AVAILABLE")
    third = glue.register_schema_version(SchemaId=schema, SchemaDefinition=BROKEN_TYPE[data_format])
    assert (third["VersionNumber"], third["Status"]) == (3, "FAILURE")
    diff = glue.get_schema_versions_diff(
        SchemaId=schema, FirstSchemaVersionNumber={"VersionNumber": 2}, SecondSchemaVersionNumber={"VersionNumber": 3},
        SchemaDiffType="SYNTAX_DIFF",
    )["Diff"]  # fmt: skip
    (refused,) = json.loads(diff)[0]["penstock:refused"]
    assert refused["version"] == 3
    assert refused["verdict"].startswith("Incompatible under BACKWARD:\n- reading data of version 2: ")
    assert any("int" in str(operation.get("value")) for operation in json.loads(diff))
    told = glue.query_schema_version_metadata(SchemaVersionId=third["SchemaVersionId"])["MetadataInfoMap"]
    assert "penstock:incompatibility" in told
    glue.update_schema(SchemaId=schema, SchemaVersionNumber={"VersionNumber": 2})
    assert glue.get_schema(SchemaId=schema)["SchemaCheckpoint"] == 2
    assert glue.check_schema_version_validity(DataFormat=data_format, SchemaDefinition=PERSON[data_format])["Valid"]
    invalid = glue.check_schema_version_validity(DataFormat=data_format, SchemaDefinition='{"type": 7} message')
    assert not invalid["Valid"]
    assert invalid["Error"]


def test_a_soft_deleted_version_is_absent_and_readable_by_its_id(loop: Any, client: Any) -> None:
    service = RegistryService(MemoryRegistryStore())
    handlers: Any = operations(service).handlers
    service.registries.create("r")
    created = handlers["CreateSchema"](
        {"RegistryId": {"RegistryName": "r"}, "SchemaName": "s", "DataFormat": "AVRO", "SchemaDefinition": V1}, None
    )
    service.deletion.soft(SchemaKey("r", "s"), 1)
    assert handlers["ListSchemaVersions"]({"SchemaId": SCHEMA}, None) == {"Schemas": []}
    assert handlers["GetSchemaVersion"]({"SchemaVersionId": created["SchemaVersionId"]}, None)["SchemaDefinition"] == V1
    with pytest.raises(VersionNotFound):
        handlers["GetSchemaVersion"]({"SchemaId": SCHEMA, "SchemaVersionNumber": {"VersionNumber": 1}}, None)


def test_an_inherited_compatibility_shows_as_the_one_that_holds() -> None:
    service = RegistryService(MemoryRegistryStore())
    service.schemas.create(NewSchema(name="s", data_format="AVRO", compatibility=None))
    handler: Any = operations(service).handlers["GetSchema"]
    request = {"SchemaId": {"RegistryName": "default-registry", "SchemaName": "s"}}
    assert handler(request, None)["Compatibility"] == "BACKWARD"
    service.configs.put(ScopeConfig(scope="", compatibility=CompatibilityMode.FULL))
    assert handler(request, None)["Compatibility"] == "FULL"


POLICY = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"glue:Get*","Resource":"*"}]}'


def test_resource_policies(stored: SimpleNamespace) -> None:
    glue = stored.glue
    refused(glue.get_resource_policy, "EntityNotFoundException", "Policy not found")
    refused(
        glue.put_resource_policy, "ConditionCheckFailureException", "has no resource policy",
        PolicyInJson=POLICY, PolicyExistsCondition="MUST_EXIST",
    )  # fmt: skip
    first = glue.put_resource_policy(PolicyInJson=POLICY, PolicyExistsCondition="NOT_EXIST")["PolicyHash"]
    refused(
        glue.put_resource_policy, "ConditionCheckFailureException", "has a resource policy",
        PolicyInJson=POLICY, PolicyExistsCondition="NOT_EXIST",
    )  # fmt: skip
    second = glue.put_resource_policy(PolicyInJson=POLICY.replace("Allow", "Deny"), PolicyHashCondition=first)["PolicyHash"]
    refused(
        glue.put_resource_policy, "ConditionCheckFailureException", "hash", PolicyInJson=POLICY, PolicyHashCondition=first
    )
    read = glue.get_resource_policy()
    assert (read["PolicyInJson"], read["PolicyHash"]) == (POLICY.replace("Allow", "Deny"), second)
    assert read["CreateTime"] <= read["UpdateTime"]
    glue.put_resource_policy(PolicyInJson=POLICY, ResourceArn=stored.arn)
    listed = glue.get_resource_policies(MaxResults=1)
    more = glue.get_resource_policies(NextToken=listed["NextToken"])["GetResourcePoliciesResponseList"]
    assert [item["PolicyHash"] for item in (*listed["GetResourcePoliciesResponseList"], *more)] == [second, first]
    refused(glue.delete_resource_policy, "ConditionCheckFailureException", "hash", PolicyHashCondition=first)
    glue.delete_resource_policy(PolicyHashCondition=second)
    refused(glue.delete_resource_policy, "EntityNotFoundException", "Policy not found")
    glue.delete_schema(SchemaId=SCHEMA)
    assert glue.get_resource_policies()["GetResourcePoliciesResponseList"] == []


@pytest.mark.parametrize("text", ["{}", "[]", "{{", '{"Statement": 1}', '{"Statement":[],"x":"' + "y" * 10_240 + '"}'])
def test_what_is_no_resource_policy_is_refused(glue: Any, text: str) -> None:
    refused(glue.put_resource_policy, "InvalidInputException", "policy", PolicyInJson=text)


def test_resource_policies_are_of_things_that_exist(glue: Any) -> None:
    for resource, code in ((f"arn:aws:glue:us-east-1:{ACCOUNT}:registry/x", "EntityNotFoundException"),):
        refused(glue.put_resource_policy, code, "registry/x", PolicyInJson=POLICY, ResourceArn=resource)


def test_changes_are_recorded_as_the_callers(loop: Any, client: Any) -> None:
    context = RequestContext(
        service="glue", operation="CreateRegistry", account=ACCOUNT, region="us-east-1", principal="ana", request_id="1",
        client="10.0.0.7",
    )  # fmt: skip
    service = RegistryService(MemoryRegistryStore())
    table = EndpointTable([operations(service)])
    endpoint = table.get("AWSGlue.CreateRegistry")
    assert endpoint is not None
    [answer] = endpoint.answer([({"RegistryName": "r"}, context)], None)
    assert not isinstance(answer, Exception)
    (entry,) = service.audit.list().items
    assert (entry.principal, entry.client, entry.operation, entry.resource) == (
        "ana",
        "10.0.0.7",
        "CreateRegistry",
        "registry/r",
    )


def test_requests_over_the_bound_are_answered_as_aws_does(loop: Any) -> None:
    time = [0.0]
    throttle = Throttle(2.0, clock=lambda: time[0])
    throttle.take("a")
    throttle.take("a")
    throttle.take("b")
    with pytest.raises(Throttled) as refusal:
        throttle.take("a")
    retried: Any = ThrottledRetryableChecker
    assert refusal.value.aws_code in retried._THROTTLED_ERROR_CODES
    assert refusal.value.http_status == 400
    time[0] = 0.5
    throttle.take("a")
    with pytest.raises(Throttled):
        throttle.take("a")
