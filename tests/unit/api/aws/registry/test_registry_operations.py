"""The registry's operations through boto3 and the dispatcher, without sockets."""

from types import SimpleNamespace
from typing import Any

from penstock.api.aws.protocol.endpoints import EndpointTable
from penstock.api.aws.protocol.operations import RequestContext
from penstock.api.aws.registry.operations import operations
from penstock.registry.model import ScopeConfig
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.schema.compatibility import CompatibilityMode
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.testing.sqlite import new_database
from tests.unit.api.aws.registry.registry_client import ACCOUNT, SCHEMA, V1, refused

SERVED = operations(RegistryService(SqlRegistryStore(new_database())))


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


def test_metadata(stored: SimpleNamespace) -> None:
    glue = stored.glue
    for value in ("1", "2"):
        pair = {"MetadataKey": "k", "MetadataValue": value}
        put = glue.put_schema_version_metadata(SchemaVersionId=stored.id, MetadataKeyValue=pair)
        assert (put["LatestVersion"], put["VersionNumber"], put["MetadataValue"]) == (True, 1, value)
    result = glue.query_schema_version_metadata(
        SchemaId=SCHEMA, SchemaVersionNumber={"VersionNumber": 1}, MetadataList=[{"MetadataKey": "k"}]
    )["MetadataInfoMap"]["k"]
    assert result["MetadataValue"] == "2"
    assert [item["MetadataValue"] for item in result["OtherMetadataValueList"]] == ["1"]
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
    served = operations(RegistryService(SqlRegistryStore(new_database())), tag_owners=(jobs,))
    handler: Any = served.handlers["GetTags"]
    assert handler({"ResourceArn": "arn:aws:glue:r:1:job/j"}, None) == {"Tags": {"job": "j"}}


def test_an_inherited_compatibility_is_shown_as_the_effective_one() -> None:
    service = RegistryService(SqlRegistryStore(new_database()))
    service.schemas.create(NewSchema(name="s", data_format="AVRO", compatibility=None))
    handler: Any = operations(service).handlers["GetSchema"]
    request = {"SchemaId": {"RegistryName": "default-registry", "SchemaName": "s"}}
    assert handler(request, None)["Compatibility"] == "BACKWARD"
    service.configs.put(ScopeConfig(scope="", compatibility=CompatibilityMode.FULL))
    assert handler(request, None)["Compatibility"] == "FULL"


def test_changes_are_recorded_as_the_callers(loop: Any, client: Any) -> None:
    context = RequestContext(
        service="glue", operation="CreateRegistry", account=ACCOUNT, region="us-east-1", principal="ana", request_id="1",
        client="10.0.0.7",
    )  # fmt: skip
    service = RegistryService(SqlRegistryStore(new_database()))
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
