"""A server's handlers over stores in memory, and a request of each operation that is served."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from penstock.access.audit.log import NullAuditSink
from penstock.api.aws.members.served import members_of
from penstock.api.aws.protocol.endpoints import Endpoint, EndpointTable
from penstock.api.aws.protocol.models import ServiceModel
from penstock.api.aws.protocol.operations import RequestContext
from penstock.server.wiring import Services, prepare, wire
from penstock.settings.server import ServerSettings
from penstock.testing.sqlite import new_database
from tests.unit.api.handlers import called

__all__ = [
    "ACCOUNT",
    "DOCUMENT",
    "KEPT",
    "NOW",
    "PLAIN",
    "POLICY",
    "RECORD",
    "ROLE",
    "STATISTICS",
    "TRUST",
    "VALUES",
    "World",
    "fill",
    "start",
    "structures",
    "whole",
]

ACCOUNT = "111122223333"


ROLE = f"arn:aws:iam::{ACCOUNT}:role/reader"


POLICY = f"arn:aws:iam::{ACCOUNT}:policy/read"


RECORD = '{"type":"record","name":"r","fields":[{"name":"f","type":"int"}]}'


DOCUMENT = '{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}'


TRUST = DOCUMENT.replace('"Resource":"*"', f'"Principal":{{"AWS":"{ACCOUNT}"}}').replace(
    '"Action":"*"', '"Action":"sts:AssumeRole"'
)


NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


# Values of members, by "Shape.Member" or by name: all others are generated from their shapes.
_PAIRS = [{"CatalogId": ACCOUNT, "TagKey": "team", "TagValues": ["ops"]}]
_FILTER = {
    "TableCatalogId": ACCOUNT, "DatabaseName": "air", "TableName": "flights", "Name": "some", "VersionId": "1",
    "RowFilter": {"FilterExpression": "year = '2013'"}, "ColumnNames": ["year"],
}  # fmt: skip
# One kind of resource each; VARIANTS of the tests have the others.
LAKE_FORMATION: Mapping[str, Any] = {
    **{
        f"{operation}Request.Resource": {"Database": {"CatalogId": ACCOUNT, "Name": "air"}}
        for operation in (
            *("AddLFTagsToResource", "RemoveLFTagsFromResource", "GetResourceLFTags"),
            *("GrantPermissions", "RevokePermissions", "ListPermissions"),
        )
    },
    **{f"{name}LFTagExpressionRequest.Expression": _PAIRS for name in ("Create", "Update")},
    **{f"Search{name}ByLFTagsRequest.Expression": _PAIRS for name in ("Databases", "Tables")},
    **{f"{name}DataCellsFilterRequest.TableData": _FILTER for name in ("Create", "Update")},
    "LFTags": _PAIRS,
    "TableCatalogId": ACCOUNT,
    "TagKey": "team",
    "TagValues": ["ops"],
    "Permissions": ["DESCRIBE"],
    "PermissionsWithGrantOption": ["DESCRIBE"],
}
VALUES: Mapping[str, Any] = {
    "AccountId": ACCOUNT,
    "AttributesToGet": ["NAME"],
    "CatalogId": ACCOUNT,
    **LAKE_FORMATION,
    "CatalogName": "AwsDataCatalog",
    "Catalog": "AwsDataCatalog",
    "Compatibility": "BACKWARD",
    **{f"{name}CrawlerRequest.Configuration": '{"Version":1.0}' for name in ("Create", "Update")},
    "ConnectionNameList": ["nobody"],
    "ConnectionProperties": {"KAFKA_BOOTSTRAP_SERVERS": "b:9092"},
    "ConnectionSchemaVersion": 1,
    "ConnectionType": "KAFKA",
    "CreateAccountRequestId": "car-11112222333344445555666677778888",
    "CrawlerName": "shelves",
    "Schedule": "cron(0 12 * * ? *)",
    "CrawlsFilter.FieldName": "CRAWL_ID",
    "CrawlsFilter.FilterOperator": "EQ",
    "CrawlerNames": ["shelves"],
    "Classifiers": ["shelves"],
    "CrawlerNameList": ["shelves"],
    "DataFormat": "AVRO",
    "DataLakePrincipalIdentifier": "IAM_ALLOWED_PRINCIPALS",
    "DatabaseName": "air",
    "BatchGetTableOptimizerEntry.catalogId": ACCOUNT,
    "ParentCatalogId": ACCOUNT,
    "CatalogEncryptionMode": "DISABLED",
    "ReturnConnectionPasswordEncrypted": False,
    "BatchGetTableOptimizerEntry.databaseName": "air",
    "BatchGetTableOptimizerEntry.tableName": "flights",
    "roleArn": ROLE,
    "Database": "air",
    "DurationSeconds": 900,
    "Email": "ana@example.org",
    "ExecutionParameters": [],
    "ExpectedBucketOwner": ACCOUNT,
    "EncryptionOption": "SSE_S3",
    "NamedQueryId": "11111111-2222-3333-4444-666666666666",
    "ResourceARN": f"arn:aws:athena:us-east-1:{ACCOUNT}:workgroup/primary",
    "SelectedEngineVersion": "AUTO",
    "Expression": "",
    "Marker": None,
    "NextToken": None,
    "ChildId": ACCOUNT,
    "ParentId": "r-penstock",
    "TargetId": ACCOUNT,
    "OpenIDConnectProviderArn": f"arn:aws:iam::{ACCOUNT}:oidc-provider/oidc.example.org",
    "Url": "https://new.example.org",
    "ThumbprintList": ["0" * 40],
    "OutputLocation": "s3://lake/results/",
    "Path": "/",
    "PermissionsBoundary": POLICY,
    "S3Target.Path": "s3://lake/shelves/",
    "PathPrefix": "/",
    "PolicyArn": POLICY,
    "PolicyDescriptorType.arn": POLICY,
    "PolicyDocument": DOCUMENT,
    "UpdateAssumeRolePolicyRequest.PolicyDocument": TRUST,
    "AssumeRolePolicyDocument": TRUST,
    "Policy": DOCUMENT,
    "PolicyInJson": DOCUMENT.replace('"Action"', '"Principal":"*","Action"'),
    "QueryExecutionId": "11111111-2222-3333-4444-555555555555",
    "QueryExecutionIds": ["11111111-2222-3333-4444-555555555555"],
    "QueryResultType": "DATA_ROWS",
    "QueryString": "SELECT 1",
    "RegistryArn": None,  # names or ARNs, and not both
    "RegistryName": "shop",
    "ResourceArn": f"arn:aws:glue:us-east-1:{ACCOUNT}:schema/shop/order",
    "ResourceId": ACCOUNT,
    "ResourceShareType": "ALL",
    "RoleArn": ROLE,
    "Role": "reader",
    "RoleName": "reader",
    "CreateAccountRequest.RoleName": "Owner",
    "SchemaArn": None,
    "LatestVersion": None,
    "SchemaDefinition": '"string"',
    "SchemaName": "order",
    "SchemaReference": None,
    "SecretId": "password",
    "SegmentNumber": 0,
    "TableName": "flights",
    "TablesToDelete": ["nobody"],
    "AccountAlias": "data-team",
    "GetEffectivePermissionsForPathRequest.ResourceArn": "arn:aws:s3:::lake",
    "GetResourcesInput.ResourceARNList": None,
    "ResourceARNList": [f"arn:aws:glue:us-east-1:{ACCOUNT}:database/air"],
    "PaginationToken": None,
    **{f"{verb}DataQualityRulesetRequest.Name": "checks" for verb in ("Delete", "Get", "Update")},
    "Ruleset": "Rules = [ RowCount > 0 ]",
    "logGroupName": "own",
    "logGroupClass": "STANDARD",
    "resourceArn": f"arn:aws:logs:us-east-1:{ACCOUNT}:log-group:own",
    "retentionInDays": 7,
    "ActionNames": ["glue:GetTable"],
    "AWSServiceName": "autoscaling.amazonaws.com",
    "CallerArn": f"arn:aws:iam::{ACCOUNT}:user/ana",
    "PolicySourceArn": f"arn:aws:iam::{ACCOUNT}:user/ana",
    "PolicyInputList": [DOCUMENT],
    "PermissionsBoundaryPolicyInputList": [DOCUMENT],
    "ResourceOwner": f"arn:aws:iam::{ACCOUNT}:root",
    "ResourcePolicy": DOCUMENT.replace('"Action"', '"Principal":"*","Action"'),
    "UserName": "ana",
    "GroupName": "readers",
    "InstanceProfileName": "machine",
    "ValidateCredentials": False,
    "PartitionsToDelete": [{"Values": ["nobody"]}],
    "PartitionValues": ["2013"],
    "PartitionValueList": ["2013"],
    "PartitionValueList.Values": ["2013"],
    "PartitionInput.Values": ["2013"],
    "VersionId": "v1",
    "UpdateTableRequest.VersionId": "0",
    "VersionIds": ["7"],
    "Versions": "1",
    "WorkGroup": "primary",
    "GetConnectionRequest.Name": "kafka",
    "UpdateConnectionRequest.Name": "kafka",
    "ConnectionInput.Name": "kafka",
    "DatabaseInput.Name": "air",
    "DeleteDatabaseRequest.Name": "air",
    "GetDatabaseRequest.Name": "air",
    "UpdateDatabaseRequest.Name": "air",
    "GetTableRequest.Name": "flights",
    "UpdateTableRequest.Name": "flights",
    "DeleteTableRequest.Name": "flights",
    "TableInput.Name": "flights",
    "PartitionKeys": [{"Name": "year", "Type": "string"}],
    **{f"{name}CrawlerRequest.Name": "shelves" for name in ("Get", "Update", "Start", "Stop", "Delete")},
    **{f"{name}ClassifierRequest.Name": "shelves" for name in ("Get", "Delete")},
    **{f"{name}JsonClassifierRequest.JsonPath": "$[*]" for name in ("Create", "Update")},
    "UpdateJsonClassifierRequest.Name": "shelves",
    **{f"{on}ClassifierRequest.{kind}Classifier": None for on in ("Create", "Update") for kind in ("Grok", "XML", "Csv")},
    **{f"CrawlerTargets.{kind}Targets": None for kind in ("Jdbc", "DynamoDB", "Catalog", "Iceberg", "Delta")},
    "GetDataCatalogInput.Name": "AwsDataCatalog",
    "Filter.Key": "name",
    "SecretBinary": None,
}  # fmt: skip


# Stored as they come and returned: test_structures_that_are_kept_come_back_whole has each of them.
STATISTICS = ("Binary", "Boolean", "Date", "Decimal", "Double", "Long", "String")


KEPT = {
    "glue": {
        "ColumnStatistics", "ColumnStatisticsData", "DecimalNumber", "ResourceUri", "UserDefinedFunctionInput",
        *(f"{statistic}ColumnStatisticsData" for statistic in STATISTICS),
        "DataLakePrincipal", "DatabaseIdentifier", "DatabaseInput", "Order", "PartitionInput",
        "PhysicalConnectionRequirements", "PrincipalPermissions",
        *(f"{verb}{kind}ClassifierRequest" for verb in ("Create", "Update") for kind in ("Csv", "Grok", "XML")),
        *("S3Target", "JdbcTarget", "DynamoDBTarget", "CatalogTarget", "IcebergTarget", "DeltaTarget"),
        "SkewedInfo", "StorageDescriptor",
        "SchemaReference", "TableIdentifier", "TableInput",
        "CompactionConfiguration", "IcebergCompactionConfiguration", "IcebergOrphanFileDeletionConfiguration",
        "IcebergRetentionConfiguration", "OrphanFileDeletionConfiguration", "RetentionConfiguration",
        "TableOptimizerConfiguration",
    }
}  # fmt: skip


@dataclass(frozen=True)
class World:
    services: Services
    endpoints: EndpointTable

    def served(self, service: str) -> Iterator[Endpoint]:
        for operation_set in self.services.operations:
            if operation_set.service == service:
                for operation in operation_set.handlers:
                    model = self.endpoints._services[service].model
                    endpoint = self.endpoints.get(f"{model.target_prefix}.{operation}")
                    assert endpoint is not None
                    yield endpoint

    def ask(self, endpoint: Endpoint, request: Mapping[str, Any]) -> Mapping[str, Any]:
        context = RequestContext(
            service=endpoint.service.model.name, operation=endpoint.operation, account=ACCOUNT, region="us-east-1",
            principal=f"arn:aws:iam::{ACCOUNT}:root", request_id="1",
        )  # fmt: skip
        return called(endpoint.handler, request, context)

    def call(self, service: str, operation: str, **request: Any) -> Mapping[str, Any]:
        endpoint = next(item for item in self.served(service) if item.operation == operation)
        return self.ask(endpoint, request)


def start(folder: Path) -> World:
    (folder / "lakes/lake/shelves").mkdir(parents=True)
    settings = ServerSettings(
        store_url=f"sqlite:///{folder / 'store.db'}",
        lake=folder / "lakes",
        account_lakes=folder / "account-lakes",
        master_key_file=folder / "master.key",
        account=ACCOUNT,
        crawl_hosts=("db.example.org",),
        crawl_dynamodb=True,
    )
    new_database(folder / "store.db").close()  # a copy of a migrated one
    prepare(settings)
    services = wire(settings, NullAuditSink())
    return World(services, EndpointTable(services.operations))


def fill(world: World) -> None:
    """Create one resource of each kind, with the names in :data:`VALUES`."""
    world.call("glue", "CreateRegistry", RegistryName="shop")
    world.call(
        "glue", "CreateSchema", RegistryId={"RegistryName": "shop"}, SchemaName="order", DataFormat="AVRO",
        Compatibility="NONE", SchemaDefinition=RECORD,
    )  # fmt: skip
    world.call("glue", "CreateDatabase", DatabaseInput={"Name": "air"})
    keys = [{"Name": "year", "Type": "string"}]
    world.call("glue", "CreateTable", DatabaseName="air", TableInput={"Name": "flights", "PartitionKeys": keys})
    world.call("glue", "CreatePartition", DatabaseName="air", TableName="flights", PartitionInput={"Values": ["2013"]})
    kafka = {"Name": "kafka", "ConnectionType": "KAFKA", "ConnectionProperties": VALUES["ConnectionProperties"]}
    world.call("glue", "CreateConnection", ConnectionInput=kafka)
    targets = {"S3Targets": [{"Path": "s3://lake/shelves/"}]}
    world.call("glue", "CreateCrawler", Name="shelves", Role="reader", DatabaseName="air", Targets=targets)
    world.call("glue", "CreateClassifier", JsonClassifier={"Name": "shelves", "JsonPath": "$[*]"})
    world.call("secretsmanager", "CreateSecret", Name="password", SecretString="x")
    world.call("glue", "CreateDataQualityRuleset", Name="checks", Ruleset=VALUES["Ruleset"])
    world.call("logs", "CreateLogGroup", logGroupName="own")
    world.call("iam", "CreateUser", UserName="ana")
    world.call("iam", "CreateRole", RoleName="reader", AssumeRolePolicyDocument=TRUST)
    world.call("iam", "CreatePolicy", PolicyName="read", PolicyDocument=DOCUMENT)
    world.call("iam", "CreateGroup", GroupName="readers")
    world.call("iam", "CreateInstanceProfile", InstanceProfileName="machine")
    world.call("iam", "CreateOpenIDConnectProvider", Url="https://oidc.example.org")


PLAIN: Mapping[str, Any] = {"timestamp": NOW, "boolean": True, "blob": b"blob"}


def whole(model: ServiceModel, shape: str, name: str, *, declared: bool = True, depth: int = 0) -> Any:
    """Return a value with every declared member of the shape, or every member, as a checker returns it to a handler."""
    described = model.shapes[shape]
    match described["type"]:
        case "structure":
            made = {
                item: VALUES.get(f"{shape}.{item}", VALUES.get(item))
                if declared and (item in VALUES or f"{shape}.{item}" in VALUES)
                else whole(model, member["shape"], item, declared=declared, depth=depth + 1)
                for item, member in described["members"].items()
                if depth < 8 and (members_of(model.name).serves(shape, item) or not declared)
            }
            return {item: value for item, value in made.items() if value is not None}
        case "list":
            return [whole(model, described["member"]["shape"], name, declared=declared, depth=depth + 1)]
        case "map":
            return {"key": whole(model, described["value"]["shape"], name, declared=declared, depth=depth + 1)}
        case "integer" | "long" | "double" | "float":
            return described.get("min", 1) or 1
        case kind:
            text = described["enum"][0] if "enum" in described else f"{name.lower()}1".ljust(described.get("min", 0), "0")
            return PLAIN.get(kind, text)


def structures(model: ServiceModel, shape: str, seen: set[str]) -> set[str]:
    """Return the shape and the structures within it, each once, so that recursion ends."""
    described = model.shapes[shape]
    match described["type"]:
        case "structure":
            if shape not in seen:
                seen.add(shape)
                for member in described["members"].values():
                    structures(model, member["shape"], seen)
        case "list":
            structures(model, described["member"]["shape"], seen)
        case "map":
            structures(model, described["value"]["shape"], seen)
    return seen
