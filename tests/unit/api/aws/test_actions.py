"""Every served operation is authorized on resources that are declared for it."""

from typing import Any

import pytest

from penstock.access.errors import NotAuthorized
from penstock.api.aws.authorization.actions import named_account, resources_of
from penstock.api.aws.authorization.extra_actions import extra_actions
from penstock.api.aws.authorization.resource_context import EVERYTHING, ResourceContext
from penstock.api.confluent.authorize import _BY_ID, _REQUIRED_ACTIONS, UNRESTRICTED
from penstock.registry.model import SchemaKey
from penstock.server.wiring import offline_coverage
from tests.unit.api.confluent.confluent_api import ConfluentApi

A, B = "111122223333", "444455556666"
# AWS has no resource types for these, or has types of resources that Penstock does not have.
SERVED = [(service, name) for service, known in offline_coverage().items() for name, served in known.items() if served]
SECURITY = {name for service, name in SERVED if service == "glue" and "SecurityConfiguration" in name}
WITHOUT = {
    "athena": {"ListDataCatalogs", "ListEngineVersions", "ListWorkGroups"},
    "cloudtrail": {"LookupEvents"},
    "glue": {
        "CheckSchemaVersionValidity",
        *SECURITY,
        *(f"{verb}Classifier" for verb in ("Create", "Delete", "Get", "Update")),
        "GetClassifiers",
    },
    "iam": {
        *("ListPolicies", "ListVirtualMFADevices", "GetAccountSummary", "GetAccountAuthorizationDetails"),
        *("CreateAccountAlias", "DeleteAccountAlias", "ListAccountAliases", "SimulateCustomPolicy"),
    },
    # Its permissions on resources are its own: IAM's policies name no resources of it.
    "lakeformation": {name for service, name in SERVED if service == "lakeformation"},
    "logs": set(),
    "organizations": {
        "CreateAccount",
        "DescribeOrganization",
        "DescribeOrganizationalUnit",
        "DescribePolicy",
        "ListAWSServiceAccessForOrganization",
        "ListAccounts",
        "ListAccountsForParent",
        "ListChildren",
        "ListCreateAccountStatus",
        "ListDelegatedAdministrators",
        "ListOrganizationalUnitsForParent",
        "ListPolicies",
        "ListRoots",
    },
    # The resources are authorized by their own services' actions.
    "resourcegroupstaggingapi": {"GetResources", "GetTagKeys", "GetTagValues", "TagResources", "UntagResources"},
    "secretsmanager": {"BatchGetSecretValue", "GetRandomPassword", "ListSecrets"},
    "sts": {"AssumeRole", "AssumeRoleWithWebIdentity", "GetCallerIdentity", "GetSessionToken"},
}


class Nothing:
    def schema_of_version(self, version_id: str) -> SchemaKey | None:
        return SchemaKey("streams", "sensor") if version_id == "known" else None

    def secret_arn(self, secret_id: str) -> str | None:
        return f"arn:aws:secretsmanager:us-east-1:{A}:secret:{secret_id}-AbCdEf"

    def entity_arn(self, kind: str, name: str) -> str | None:
        return f"arn:aws:iam::{A}:{kind}/team/{name}" if name == "ana" else None

    def work_group_of(self, any_id: str) -> str | None:
        return "team" if any_id == "known" else None

    def boundary_of(self, kind: str, name: str) -> str | None:
        return None


NOTHING: Any = Nothing()
CONTEXT = ResourceContext("us-east-1", A, NOTHING)
SAMPLE = {
    "Name": "n",
    "DatabaseName": "d",
    "RegistryName": "r",
    "SchemaName": "s",
    "PolicyName": "p",
    "PolicyArn": "arn:p",
    "SecretId": "x",
    "OpenIDConnectProviderArn": "arn:o",
    "Url": "https://oidc.example.com",
    "AccountId": "111122223333",
    "resourceArn": "arn:aws:logs:us-east-1:111122223333:log-group:g",
    "PolicySourceArn": "arn:aws:iam::111122223333:user/ana",
    "ResourceARN": "arn:aws:athena:us-east-1:111122223333:workgroup/team",
}


@pytest.mark.parametrize(("service", "operation"), SERVED)
def test_each_operation_has_its_resources(service: str, operation: str) -> None:
    results = resources_of(service, operation, SAMPLE, CONTEXT)
    assert (results == EVERYTHING) == (operation in WITHOUT[service])
    assert results


def test_each_route_of_confluents_api_has_its_actions() -> None:
    routes = {route.name for route in ConfluentApi().app._apis["000000000000"].router.table.routes}
    assert routes == UNRESTRICTED | _BY_ID | set(_REQUIRED_ACTIONS)


def glue(*resources: str, region: str = "us-east-1", account: str = A) -> list[str]:
    return [f"arn:aws:glue:{region}:{account}:{resource}" for resource in resources]


@pytest.mark.parametrize(
    ("operation", "request_", "expected"),
    [
        ("GetSchema", {"SchemaId": {"SchemaName": "s", "RegistryName": "r"}}, glue("registry/r", "schema/r/s")),
        (
            "GetSchema",
            {"SchemaId": {"SchemaArn": f"arn:aws-cn:glue:eu-west-1:{B}:schema/r/s"}},
            glue("registry/r", "schema/r/s", region="eu-west-1", account=B),
        ),
        ("GetSchemaVersion", {"SchemaVersionId": "known"}, glue("registry/streams", "schema/streams/sensor")),
        ("GetSchemaVersion", {"SchemaVersionId": "unknown"}, glue("schema/*")),
        ("CreateSchema", {"SchemaName": "s"}, glue("registry/default-registry", "schema/default-registry/s")),
        (
            "CreateSchema",
            {"SchemaName": "s", "RegistryId": {"RegistryArn": f"arn:aws:glue:us-east-1:{B}:registry/r"}},
            glue("registry/r", "schema/r/s", account=B),
        ),
        ("ListSchemas", {}, glue("registry/*")),
        ("ListSchemas", {"RegistryId": {"RegistryName": "r"}}, glue("registry/r")),
        ("GetResourcePolicy", {}, glue("catalog")),
        ("GetTable", {"DatabaseName": "Sales", "Name": "Orders"}, glue("catalog", "database/sales", "table/sales/orders")),
        ("GetTables", {"DatabaseName": "sales"}, glue("catalog", "database/sales")),
        (
            "BatchDeleteTable",
            {"DatabaseName": "d", "TablesToDelete": ["a", "b"]},
            glue("catalog", "database/d", "table/d/a", "table/d/b"),
        ),
        (
            "UpdateTable",
            {"DatabaseName": "d", "Name": "a", "TableInput": {"Name": "b"}},
            glue("catalog", "database/d", "table/d/a", "table/d/b"),
        ),
        ("CreateDatabase", {"DatabaseInput": {"Name": "D"}}, glue("catalog", "database/d")),
        ("GetDatabase", {"Name": "D"}, glue("catalog", "database/d")),
        ("DeleteDatabase", {"Name": "D"}, glue("catalog", "database/d", "table/d/*", "userDefinedFunction/d/*")),
        ("DeleteTable", {"DatabaseName": "D", "Name": "T"}, glue("catalog", "database/d", "table/d/t")),
        (
            "BatchGetTableOptimizer",
            {"Entries": [{"databaseName": "D", "tableName": "T"}, {"databaseName": "D", "tableName": "u"}]},
            glue("catalog", "database/d", "table/d/t", "table/d/u"),
        ),
        (
            "CreateTableOptimizer",
            {"DatabaseName": "d", "TableName": "t", "Type": "compaction"},
            glue("catalog", "database/d", "table/d/t"),
        ),
        ("GetCatalog", {"CatalogId": A}, glue("catalog")),
        ("ListCrawls", {"CrawlerName": "a"}, glue("crawler/a")),
        ("UpdateCrawlerSchedule", {"CrawlerName": "a"}, glue("crawler/a")),
        ("BatchGetCrawlers", {"CrawlerNames": ["a", "b"]}, glue("crawler/a", "crawler/b")),
        ("GetCrawlerMetrics", {"CrawlerNameList": ["a", "b"]}, glue("crawler/a", "crawler/b")),
        ("GetCrawlerMetrics", {}, glue("crawler/*")),
        ("CreateJob", {"Name": "a"}, glue("job/a")),
        ("GetJobRun", {"JobName": "a", "RunId": "jr_1"}, glue("job/a")),
        ("BatchGetJobs", {"JobNames": ["a", "b"]}, glue("job/a", "job/b")),
        ("ListJobs", {}, glue("job/*")),
        ("GetConnection", {"Name": "MSK"}, glue("catalog", "connection/MSK")),
        ("CreateConnection", {"ConnectionInput": {"Name": "msk"}}, glue("catalog", "connection/msk")),
        ("DeleteConnection", {"ConnectionName": "msk"}, glue("catalog", "connection/msk")),
        ("BatchDeleteConnection", {"ConnectionNameList": ["a", "b"]}, glue("catalog", "connection/a", "connection/b")),
        ("GetConnections", {}, glue("catalog", "connection/*")),
    ],
)
def test_resources_of_glue(operation: str, request_: dict[str, object], expected: list[str]) -> None:
    assert list(resources_of("glue", operation, request_, CONTEXT)) == expected


def test_resources_of_other_services() -> None:
    assert resources_of("iam", "GetUser", {"UserName": "ana"}, CONTEXT) == (f"arn:aws:iam::{A}:user/team/ana",)
    new = {"UserName": "ben", "Path": "/x/"}
    assert resources_of("iam", "CreateUser", new, CONTEXT) == (f"arn:aws:iam::{A}:user/x/ben",)
    secret = resources_of("secretsmanager", "GetSecretValue", {"SecretId": "broker"}, CONTEXT)
    assert secret == (f"arn:aws:secretsmanager:us-east-1:{A}:secret:broker-AbCdEf",)


def test_a_search_of_logs_is_authorized_on_the_group_and_on_each_stream_that_it_names() -> None:
    group = f"arn:aws:logs:us-east-1:{A}:log-group:/g:log-stream:"
    for more, streams in (({}, ()), ({"logStreamNamePrefix": "jr_"}, ()), ({"logStreamNames": ["a", "b"]}, ("a", "b"))):
        results = resources_of("logs", "FilterLogEvents", {"logGroupName": "/g", **more}, CONTEXT)
        assert list(results) == [group, *(f"{group}{stream}" for stream in streams)]
    assert resources_of("logs", "GetLogEvents", {"logGroupName": "/g", "logStreamName": "a"}, CONTEXT) == (f"{group}a",)
    assert resources_of("logs", "DescribeLogStreams", {"logGroupName": "/g"}, CONTEXT) == (group,)
    every = resources_of("logs", "DescribeLogGroups", {"logGroupNamePrefix": "/g"}, CONTEXT)
    assert every == (f"arn:aws:logs:us-east-1:{A}:log-group::log-stream:",)


@pytest.mark.parametrize(
    ("service", "request_", "expected"),
    [
        ("glue", {}, None),
        ("glue", {"SchemaId": {"SchemaArn": f"arn:aws:glue:us-east-1:{B}:schema/r/s"}}, B),
        ("glue", {"RegistryId": {"RegistryArn": f"arn:aws:glue:us-east-1:{B}:registry/r"}}, B),
        ("glue", {"ResourceArn": f"arn:aws:glue:us-east-1:{B}:registry/r"}, B),
        ("glue", {"CatalogId": B}, B),
        ("glue", {"SchemaId": {"SchemaArn": "not an arn"}}, None),
        ("secretsmanager", {"SecretId": f"arn:aws:secretsmanager:us-east-1:{B}:secret:x"}, B),
        ("athena", {"CatalogId": B}, None),
    ],
)
def test_the_account_that_a_request_names(service: str, request_: dict[str, object], expected: str | None) -> None:
    assert named_account(service, request_) == expected


def test_a_table_needs_permission_on_the_schemas_it_refers_to() -> None:
    reference = {"SchemaVersionId": "known"}
    table = {"Parameters": {"SchemaReference": "a text"}, "StorageDescriptor": {"SchemaReference": reference}}
    needed = extra_actions("glue", "CreateTable", {"DatabaseName": "d", "TableInput": table}, CONTEXT)
    assert [(action, list(resources)) for action, resources in needed] == [
        ("glue:GetSchemaVersion", glue("registry/streams", "schema/streams/sensor"))
    ]


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        (f"arn:aws:iam::{A}:role/crawler", f"arn:aws:iam::{A}:role/crawler"),
        ("crawler", f"arn:aws:iam::{A}:role/crawler"),
        ("team/ana", f"arn:aws:iam::{A}:role/team/ana"),
        ("ana", f"arn:aws:iam::{A}:role/team/ana"),
    ],
)
def test_a_crawler_needs_the_right_to_pass_its_role(role: str, expected: str) -> None:
    for operation in ("CreateCrawler", "UpdateCrawler"):
        assert extra_actions("glue", operation, {"Name": "c", "Role": role}, CONTEXT) == [("iam:PassRole", (expected,))]
    assert extra_actions("glue", "UpdateCrawler", {"Name": "c"}, CONTEXT) == []


def test_a_crawler_needs_the_right_to_read_its_connections() -> None:
    targets = {"JdbcTargets": [{"ConnectionName": "db", "Path": "air/%"}, {"ConnectionName": "db", "Path": "sea/%"}]}
    needed = extra_actions("glue", "UpdateCrawler", {"Name": "c", "Targets": targets}, CONTEXT)
    assert [(action, list(resources)) for action, resources in needed] == [
        ("glue:GetConnection", glue("catalog", "connection/db"))
    ]


@pytest.mark.parametrize("role", [f"arn:aws:iam::{B}:role/crawler", f"arn:aws-cn:iam::{B}:role/crawler"])
def test_a_role_of_another_account_cannot_be_passed(role: str) -> None:
    with pytest.raises(NotAuthorized, match="Cross-account pass role is not allowed"):
        extra_actions("glue", "CreateCrawler", {"Name": "c", "Role": role}, CONTEXT)


@pytest.mark.parametrize(
    ("operation", "request_", "action", "resources"),
    [
        ("GetDatabase", {"DatabaseName": "D"}, "glue:GetDatabase", glue("catalog", "database/d")),
        ("ListDatabases", {}, "glue:GetDatabases", glue("catalog")),
        (
            "GetTableMetadata",
            {"DatabaseName": "d", "TableName": "T"},
            "glue:GetTable",
            glue("catalog", "database/d", "table/d/t"),
        ),
        ("ListTableMetadata", {"DatabaseName": "d"}, "glue:GetTables", glue("catalog", "database/d")),
    ],
)
def test_athenas_metadata_is_glues(operation: str, request_: dict[str, str], action: str, resources: list[str]) -> None:
    results = extra_actions("athena", operation, {"CatalogName": "AwsDataCatalog", **request_}, CONTEXT)
    assert [(name, list(arns)) for name, arns in results] == [(action, resources)]
    assert extra_actions("athena", "StartQueryExecution", {"QueryString": "SELECT 1"}, CONTEXT) == []
