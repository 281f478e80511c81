"""A Deny on a resource holds however it is reached: by name, in another case, by its container, in a list.

The operations are those that the server serves: a new one has to be put into one of the groups below, or the test fails."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError

from penstock.server.wiring import offline_coverage
from tests.security.access import denied_athena, denied_identities
from tests.security.access.denied_requests import HIDDEN, SHOWN, Arguments, World, connection

VALUE = {"Column": "x"}


def _table(world: World) -> Arguments:
    # The very spelling that the Deny does not have.
    return {"DatabaseName": world.database, "Name": "Hushed"}


def _of_table(**more: Any) -> Callable[[World], Arguments]:
    return lambda world: {"DatabaseName": world.database, "TableName": HIDDEN, **more}


def _optimizer(**more: Any) -> Callable[[World], Arguments]:
    return lambda world: {**_of_table(Type="compaction", **more)(world), "CatalogId": world.target.account}


def _table_input(world: World) -> Arguments:
    return {"DatabaseName": world.database, "TableInput": {"Name": "HUSHED"}}


def _database(world: World) -> Arguments:
    return {"Name": world.secret.replace("-", "_").capitalize()}


def _database_input(world: World) -> Arguments:
    return {"DatabaseInput": _database(world)}


def _schema(**more: Any) -> Callable[[World], Arguments]:
    return lambda world: {"SchemaId": {"RegistryName": world.registry, "SchemaName": HIDDEN}, **more}


def _arn(world: World, resource: str) -> str:
    return f"arn:aws:glue:{world.target.region}:{world.target.account}:{resource}"


def _schema_arn(**more: Any) -> Callable[[World], Arguments]:
    return lambda world: {"ResourceArn": _arn(world, f"schema/{world.registry}/{HIDDEN}"), **more}


def _registry(**more: Any) -> Callable[[World], Arguments]:
    return lambda world: {"RegistryId": {"RegistryName": world.secret}, **more}


def _version(**more: Any) -> Callable[[World], Arguments]:
    return lambda world: {"SchemaVersionId": world.version_id, **more}


def _named(**more: Any) -> Callable[[World], Arguments]:
    return lambda world: {"Name": world.secret, **more}


def _job(**more: Any) -> Callable[[World], Arguments]:
    return lambda world: {"JobName": world.secret, **more}


def _role(world: World) -> str:
    return f"arn:aws:iam::{world.target.account}:role/etl"


def _log_group(world: World) -> str:
    return f"arn:aws:logs:{world.target.region}:{world.target.account}:log-group:{world.secret}"


def _secret(**more: Any) -> Callable[[World], Arguments]:
    return lambda world: {"SecretId": world.secret, **more}


def _function(world: World) -> Arguments:
    return {"DatabaseName": world.database, "FunctionName": "Hushed"}


_PARTITION = {"Values": ["1"], "StorageDescriptor": {}}


_NUMBER = {"LatestVersion": True}


_PAIR = {"MetadataKey": "k", "MetadataValue": "v"}


DENIED: Mapping[tuple[str, str], Callable[[World], Arguments]] = {
    ("glue", "BatchCreatePartition"): _of_table(PartitionInputList=[_PARTITION]),
    ("glue", "BatchDeletePartition"): _of_table(PartitionsToDelete=[{"Values": ["1"]}]),
    ("glue", "BatchDeleteTableVersion"): _of_table(VersionIds=["1"]),
    ("glue", "BatchGetPartition"): _of_table(PartitionsToGet=[{"Values": ["1"]}]),
    ("glue", "BatchUpdatePartition"): _of_table(Entries=[{"PartitionValueList": ["1"], "PartitionInput": _PARTITION}]),
    ("glue", "CreatePartition"): _of_table(PartitionInput=_PARTITION),
    ("glue", "DeletePartition"): _of_table(PartitionValues=["1"]),
    ("glue", "GetPartition"): _of_table(PartitionValues=["1"]),
    ("glue", "GetPartitions"): _of_table(),
    ("glue", "UpdatePartition"): _of_table(PartitionValueList=["1"], PartitionInput=_PARTITION),
    ("glue", "DeleteTableVersion"): _of_table(VersionId="1"),
    ("glue", "GetTableVersion"): _of_table(),
    ("glue", "GetTableVersions"): _of_table(),
    ("glue", "GetTable"): _table,
    ("glue", "DeleteTable"): _table,
    ("glue", "CreateTable"): _table_input,
    ("glue", "UpdateTable"): _table_input,
    ("glue", "BatchDeleteTable"): lambda world: {
        "DatabaseName": world.database.upper(),
        "TablesToDelete": [SHOWN, "Hushed"],
    },
    ("glue", "CreatePartitionIndex"): _of_table(PartitionIndex={"IndexName": "i", "Keys": ["p"]}),
    ("glue", "DeletePartitionIndex"): _of_table(IndexName="i"),
    ("glue", "GetPartitionIndexes"): _of_table(),
    ("glue", "CreateTableOptimizer"): _optimizer(TableOptimizerConfiguration={}),
    ("glue", "UpdateTableOptimizer"): _optimizer(TableOptimizerConfiguration={}),
    ("glue", "DeleteTableOptimizer"): _optimizer(),
    ("glue", "GetTableOptimizer"): _optimizer(),
    ("glue", "ListTableOptimizerRuns"): _optimizer(),
    ("glue", "BatchGetTableOptimizer"): lambda world: {
        "Entries": [
            {
                "catalogId": world.target.account,
                "databaseName": world.database,
                "tableName": "Hushed",
                "type": "compaction",
            }
        ]
    },
    ("glue", "DeleteColumnStatisticsForPartition"): _of_table(PartitionValues=["1"], ColumnName="c"),
    ("glue", "DeleteColumnStatisticsForTable"): _of_table(ColumnName="c"),
    ("glue", "GetColumnStatisticsForPartition"): _of_table(PartitionValues=["1"], ColumnNames=["c"]),
    ("glue", "GetColumnStatisticsForTable"): _of_table(ColumnNames=["c"]),
    ("glue", "UpdateColumnStatisticsForPartition"): _of_table(PartitionValues=["1"], ColumnStatisticsList=[]),
    ("glue", "UpdateColumnStatisticsForTable"): _of_table(ColumnStatisticsList=[]),
    ("glue", "CreateUserDefinedFunction"): lambda world: {
        "DatabaseName": world.database,
        "FunctionInput": {"FunctionName": "Hushed"},
    },
    ("glue", "DeleteUserDefinedFunction"): _function,
    ("glue", "GetUserDefinedFunction"): _function,
    ("glue", "UpdateUserDefinedFunction"): lambda world: {**_function(world), "FunctionInput": {}},
    ("glue", "GetDatabase"): _database,
    ("glue", "DeleteDatabase"): _database,
    ("glue", "CreateDatabase"): _database_input,
    ("glue", "UpdateDatabase"): lambda world: {**_database(world), **_database_input(world)},
    ("glue", "CreateRegistry"): lambda world: {"RegistryName": world.secret},
    ("glue", "DeleteRegistry"): _registry(),
    ("glue", "GetRegistry"): _registry(),
    ("glue", "UpdateRegistry"): _registry(Description="x"),
    ("glue", "CreateSchema"): lambda world: {
        "RegistryId": {"RegistryName": world.registry},
        "SchemaName": HIDDEN,
        "DataFormat": "AVRO",
        "SchemaDefinition": '"int"',
    },
    ("glue", "DeleteSchema"): _schema(),
    ("glue", "DeleteSchemaVersions"): _schema(Versions="1"),
    ("glue", "GetSchema"): _schema(),
    ("glue", "GetSchemaByDefinition"): _schema(SchemaDefinition='"int"'),
    ("glue", "GetSchemaVersionsDiff"): _schema(
        FirstSchemaVersionNumber=_NUMBER, SecondSchemaVersionNumber=_NUMBER, SchemaDiffType="SYNTAX_DIFF"
    ),
    ("glue", "ListSchemaVersions"): _schema(),
    ("glue", "RegisterSchemaVersion"): _schema(SchemaDefinition='"int"'),
    ("glue", "UpdateSchema"): _schema(Compatibility="NONE"),
    ("glue", "GetSchemaVersion"): _version(),
    ("glue", "PutSchemaVersionMetadata"): _version(MetadataKeyValue=_PAIR),
    ("glue", "QuerySchemaVersionMetadata"): _version(),
    ("glue", "RemoveSchemaVersionMetadata"): _version(MetadataKeyValue=_PAIR),
    ("glue", "GetTags"): _schema_arn(),
    ("glue", "TagResource"): _schema_arn(TagsToAdd={"a": "b"}),
    ("glue", "UntagResource"): _schema_arn(TagsToRemove=["a"]),
    ("glue", "DeleteResourcePolicy"): _schema_arn(),
    ("glue", "GetResourcePolicy"): _schema_arn(),
    ("glue", "PutResourcePolicy"): _schema_arn(PolicyInJson="{}"),
    ("glue", "CreateConnection"): lambda world: {"ConnectionInput": connection(world.secret)},
    ("glue", "UpdateConnection"): lambda world: {**_named()(world), "ConnectionInput": connection(world.secret)},
    ("glue", "DeleteConnection"): lambda world: {"ConnectionName": world.secret},
    ("glue", "BatchDeleteConnection"): lambda world: {"ConnectionNameList": [world.secret]},
    ("glue", "GetConnection"): _named(),
    ("glue", "CreateCrawler"): _named(Role="crawler", DatabaseName="d", Targets={"S3Targets": [{"Path": "s3://lake/x/"}]}),
    ("glue", "UpdateCrawler"): _named(Description="x"),
    ("glue", "DeleteCrawler"): _named(),
    ("glue", "GetCrawler"): _named(),
    ("glue", "StartCrawler"): _named(),
    ("glue", "StopCrawler"): _named(),
    ("glue", "ListCrawls"): lambda world: {"CrawlerName": world.secret},
    ("glue", "StartCrawlerSchedule"): lambda world: {"CrawlerName": world.secret},
    ("glue", "StopCrawlerSchedule"): lambda world: {"CrawlerName": world.secret},
    ("glue", "UpdateCrawlerSchedule"): lambda world: {"CrawlerName": world.secret, "Schedule": ""},
    ("glue", "BatchGetCrawlers"): lambda world: {"CrawlerNames": [world.secret]},
    ("logs", "GetLogEvents"): lambda world: {"logGroupName": "/aws-glue/jobs/output", "logStreamName": world.secret},
    **{
        ("logs", name): lambda world: {"logGroupName": world.secret}
        for name in ("CreateLogGroup", "DeleteLogGroup", "DeleteRetentionPolicy", "ListTagsLogGroup")
    },
    ("logs", "PutRetentionPolicy"): lambda world: {"logGroupName": world.secret, "retentionInDays": 1},
    ("logs", "TagLogGroup"): lambda world: {"logGroupName": world.secret, "tags": {"a": "b"}},
    ("logs", "UntagLogGroup"): lambda world: {"logGroupName": world.secret, "tags": ["a"]},
    ("logs", "TagResource"): lambda world: {"resourceArn": _log_group(world), "tags": {"a": "b"}},
    ("logs", "UntagResource"): lambda world: {"resourceArn": _log_group(world), "tagKeys": ["a"]},
    ("logs", "ListTagsForResource"): lambda world: {"resourceArn": _log_group(world)},
    ("logs", "FilterLogEvents"): lambda world: {
        "logGroupName": "/aws-glue/jobs/output",
        "logStreamNames": [world.secret],
    },
    ("glue", "CreateTrigger"): _named(Type="ON_DEMAND", Actions=[{"JobName": "j"}]),
    ("glue", "UpdateTrigger"): _named(TriggerUpdate={"Description": "x"}),
    **{("glue", f"{verb}Trigger"): _named() for verb in ("Delete", "Get", "Start", "Stop")},
    ("glue", "BatchGetTriggers"): lambda world: {"TriggerNames": [world.secret]},
    **{("glue", f"{verb}Workflow"): _named() for verb in ("Create", "Update", "Delete", "Get")},
    ("glue", "BatchGetWorkflows"): lambda world: {"Names": [world.secret]},
    ("glue", "StartWorkflowRun"): _named(),
    ("glue", "GetWorkflowRuns"): _named(),
    ("glue", "StopWorkflowRun"): _named(RunId="wr_1"),
    ("glue", "ResumeWorkflowRun"): _named(RunId="wr_1", NodeIds=["wnode_job_j"]),
    ("glue", "GetWorkflowRun"): _named(RunId="wr_1"),
    ("glue", "GetWorkflowRunProperties"): _named(RunId="wr_1"),
    ("glue", "PutWorkflowRunProperties"): _named(RunId="wr_1", RunProperties={}),
    ("glue", "CreateSession"): lambda world: {"Id": world.secret, "Role": _role(world), "Command": {"Name": "glueetl"}},
    **{("glue", f"{verb}Session"): lambda world: {"Id": world.secret} for verb in ("Delete", "Get", "Stop")},
    ("glue", "RunStatement"): lambda world: {"SessionId": world.secret, "Code": "1"},
    **{("glue", f"{verb}Statement"): lambda world: {"SessionId": world.secret, "Id": 1} for verb in ("Get", "Cancel")},
    ("glue", "ListStatements"): lambda world: {"SessionId": world.secret},
    ("glue", "CreateDataQualityRuleset"): _named(Ruleset="Rules = [ RowCount > 0 ]"),
    **{("glue", f"{verb}DataQualityRuleset"): _named() for verb in ("Delete", "Get", "Update")},
    ("glue", "CreateJob"): _named(Role="etl", Command={"ScriptLocation": "s3://lake/a.py"}),
    ("glue", "UpdateJob"): _job(JobUpdate={"Description": "x"}),
    ("glue", "GetJob"): _job(),
    ("glue", "DeleteJob"): _job(),
    ("glue", "BatchGetJobs"): lambda world: {"JobNames": [world.secret]},
    ("glue", "StartJobRun"): _job(),
    ("glue", "GetJobRun"): _job(RunId="jr_1"),
    ("glue", "GetJobRuns"): _job(),
    ("glue", "BatchStopJobRun"): _job(JobRunIds=["jr_1"]),
    ("glue", "GetJobBookmark"): _job(),
    ("glue", "ResetJobBookmark"): _job(),
    ("resourcegroupstaggingapi", "TagResources"): lambda world: {
        "ResourceARNList": [_arn(world, f"job/{world.secret}")],
        "Tags": {"a": "b"},
    },
    ("resourcegroupstaggingapi", "UntagResources"): lambda world: {
        "ResourceARNList": [_log_group(world)],
        "TagKeys": ["a"],
    },
    ("secretsmanager", "CreateSecret"): _named(SecretString="x"),
    ("secretsmanager", "DeleteSecret"): _secret(),
    ("secretsmanager", "DescribeSecret"): _secret(),
    ("secretsmanager", "GetSecretValue"): _secret(),
    ("secretsmanager", "ListSecretVersionIds"): _secret(),
    ("secretsmanager", "PutSecretValue"): _secret(SecretString="y"),
    ("secretsmanager", "RestoreSecret"): _secret(),
    ("secretsmanager", "TagResource"): _secret(Tags=[{"Key": "a", "Value": "b"}]),
    ("secretsmanager", "UntagResource"): _secret(TagKeys=["a"]),
    ("secretsmanager", "UpdateSecret"): _secret(SecretString="y"),
    ("secretsmanager", "GetResourcePolicy"): _secret(),
    ("secretsmanager", "PutResourcePolicy"): _secret(ResourcePolicy="{}"),
    ("secretsmanager", "DeleteResourcePolicy"): _secret(),
    ("secretsmanager", "ValidateResourcePolicy"): _secret(ResourcePolicy="{}"),
    ("secretsmanager", "UpdateSecretVersionStage"): _secret(VersionStage="AWSCURRENT"),
    ("secretsmanager", "RotateSecret"): _secret(),
    ("secretsmanager", "CancelRotateSecret"): _secret(),
    **denied_athena.DENIED,
    **denied_identities.DENIED,
}


LISTED: Mapping[tuple[str, str], Callable[[World], Arguments]] = {
    ("glue", "GetTables"): lambda world: {"DatabaseName": world.database},
    ("glue", "SearchTables"): lambda _: {"SearchText": HIDDEN},
    ("glue", "GetUserDefinedFunctions"): lambda world: {"DatabaseName": world.database, "Pattern": "*"},
    ("glue", "GetDatabases"): lambda _: {},
    ("logs", "DescribeLogGroups"): lambda _: {},
    ("glue", "GetConnections"): lambda _: {},
    ("glue", "GetCrawlers"): lambda _: {},
    ("glue", "ListCrawlers"): lambda _: {},
    ("glue", "GetCrawlerMetrics"): lambda _: {},
    ("glue", "GetJobs"): lambda _: {},
    ("glue", "ListDataQualityRulesets"): lambda _: {},
    ("glue", "GetTriggers"): lambda _: {},
    ("glue", "ListTriggers"): lambda _: {},
    ("glue", "ListWorkflows"): lambda _: {},
    ("glue", "ListJobs"): lambda _: {},
    ("glue", "ListRegistries"): lambda _: {},
    ("glue", "ListSchemas"): lambda world: {"RegistryId": {"RegistryName": world.registry}},
    ("resourcegroupstaggingapi", "GetResources"): lambda _: {"ResourceTypeFilters": ["logs"]},
    ("secretsmanager", "ListSecrets"): lambda _: {},
    ("secretsmanager", "BatchGetSecretValue"): lambda world: {
        "Filters": [{"Key": "name", "Values": [world.secret, world.secret.replace(HIDDEN, SHOWN)]}]
    },
    **denied_athena.LISTED,
    **denied_identities.LISTED,
}


NEITHER = {
    # Has no resource, or one that there is once.
    ("glue", "CheckSchemaVersionValidity"),
    *(("glue", f"{name}SecurityConfiguration") for name in ("Create", "Delete", "Get")),
    ("glue", "GetSecurityConfigurations"),
    # A session to list would need a process: a denied one cannot be named.
    ("glue", "ListSessions"),
    # The same holds for the streams of a group.
    ("logs", "DescribeLogStreams"),
    ("glue", "GetResourcePolicies"),
    # Classifiers have no resource types in policies.
    *(("glue", f"{verb}Classifier") for verb in ("Create", "Delete", "Get", "Update")),
    ("glue", "GetClassifiers"),
    ("glue", "GetCatalog"),
    ("glue", "GetCatalogs"),
    ("glue", "GetCatalogImportStatus"),
    ("glue", "ImportCatalogToGlue"),
    ("glue", "GetDataCatalogEncryptionSettings"),
    ("glue", "PutDataCatalogEncryptionSettings"),
    ("secretsmanager", "GetRandomPassword"),
    # Keys and values of all tags, of no resource.
    ("resourcegroupstaggingapi", "GetTagKeys"),
    ("resourcegroupstaggingapi", "GetTagValues"),
    # Has no resources in policies: who may call it is decided by Lake Formation's own administrators and grants.
    *(
        (service, name)
        for service, known in offline_coverage().items()
        for name in known
        if service == "lakeformation" and known[name]
    ),
    *denied_athena.NEITHER,
    *denied_identities.NEITHER,
}


def test_every_operation_that_is_served_is_attacked() -> None:
    served = {
        (service, name) for service, known in offline_coverage().items() for name, is_served in known.items() if is_served
    }
    attacked = set(DENIED) | set(LISTED) | NEITHER
    assert served - attacked == set(), "put it into DENIED, LISTED or NEITHER"
    assert attacked - served == set()


@pytest.mark.parametrize(("service", "operation"), sorted(DENIED))
def test_a_denied_resource_cannot_be_named(world: World, service: str, operation: str) -> None:
    with pytest.raises(ClientError) as refused:
        world.call(service, operation, DENIED[service, operation](world))
    forms = service in {"iam", "sts"}
    assert refused.value.response["Error"]["Code"] == ("AccessDenied" if forms else "AccessDeniedException")
    if (service, operation) == ("sts", "AssumeRole"):
        # It gives no reason, as in AWS. The same user may assume the shown role.
        arguments = {
            **DENIED[service, operation](world),
            "RoleArn": f"arn:aws:iam::{world.target.account}:role/{world.shown}",
        }
        assert world.call(service, operation, arguments)["Credentials"]
    else:
        assert "explicit deny" in refused.value.response["Error"]["Message"]


def test_values_in_batches_are_those_of_single_secrets(world: World) -> None:
    shown = world.secret.replace(HIDDEN, SHOWN)
    # A caller who names a secret gets the denial; a search does not show the secret.
    for arguments, codes in (
        ({"SecretIdList": [shown, world.secret]}, ["AccessDeniedException"]),
        ({"Filters": [{"Key": "name", "Values": [shown, world.secret]}]}, []),
    ):
        answer = world.call("secretsmanager", "BatchGetSecretValue", arguments)
        assert [secret_value["Name"] for secret_value in answer["SecretValues"]] == [shown]
        assert [error["ErrorCode"] for error in answer["Errors"]] == codes


@pytest.mark.parametrize(("service", "operation"), sorted(LISTED))
def test_a_denied_resource_is_not_in_lists(world: World, service: str, operation: str) -> None:
    hidden = world.hidden_account if service == "organizations" else HIDDEN
    arguments = LISTED[service, operation](world)
    as_root = _all_pages(world.target.client(service), operation, arguments)
    assert hidden in as_root
    as_user = _all_pages(world.client(service), operation, arguments)
    assert hidden not in as_user


def test_denied_identities_are_not_in_an_accounts_details(world: World) -> None:
    def names(client: Any) -> list[str]:
        result = client.get_account_authorization_details()
        lists = {kind: result[f"{kind}DetailList"] for kind in ("User", "Group", "Role")} | {"Policy": result["Policies"]}
        own = [entity[f"{kind}Name"] for kind, entities in lists.items() for entity in entities]
        attached = [
            policy["PolicyName"]
            for kind in ("User", "Group", "Role")
            for item in lists[kind]
            for policy in item["AttachedManagedPolicies"]
        ]
        groups = [name for item in lists["User"] for name in item["GroupList"]]
        profiles = [
            instance_profile["InstanceProfileName"]
            for role in lists["Role"]
            for instance_profile in role["InstanceProfileList"]
        ]
        return [*own, *attached, *groups, *profiles]

    assert sum(HIDDEN in name for name in names(world.target.client("iam"))) >= 4
    assert not [name for name in names(world.client("iam")) if HIDDEN in name]


def _all_pages(client: Any, operation: str, arguments: Arguments) -> str:
    answers: list[Any] = []
    more: dict[str, Any] = {}
    while True:
        answer = getattr(client, xform_name(operation))(**arguments, **more)
        answer.pop("ResponseMetadata")
        answers.append(answer)
        token = answer.get("NextToken") or answer.get("Marker") or answer.get("nextToken")
        if not token:
            return json.dumps(answers, default=str)
        more = {next(name for name in ("Marker", "NextToken", "nextToken") if name in answer): token}


def test_denied_subjects_and_contexts_are_not_in_lists(world: World) -> None:
    http = _Confluent(world)
    assert f":.{world.registry}:{SHOWN}" in http.get("/subjects?subjectPrefix=:*:")
    assert HIDDEN not in json.dumps(http.get("/subjects?subjectPrefix=:*:"))
    assert HIDDEN not in json.dumps(http.get("/contexts"))
    assert HIDDEN not in json.dumps(http.get("/schemas?subjectPrefix=:*:"))
    for path in (f"/subjects/:.{world.registry}:{HIDDEN}/versions", f"/subjects/:.{world.registry}:{HIDDEN}/versions/1"):
        assert http.get(path)["error_code"] == 403


class _Confluent:
    def __init__(self, world: World) -> None:
        self._world = world

    def get(self, path: str) -> Any:
        import requests

        world = self._world
        return requests.get(
            f"{world.target.url}{path}", auth=(world.key["AccessKeyId"], world.key["SecretAccessKey"]), timeout=30
        ).json()
