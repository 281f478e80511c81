"""Structures that are kept whole come back whole."""

from collections.abc import Callable, Mapping
from typing import Any

from penstock.access.entities import EntityKind
from tests.unit.api.aws.every_operation import ACCOUNT, DOCUMENT, KEPT, STATISTICS, TRUST, World, structures, whole


def test_structures_that_are_kept_come_back_whole(world: World) -> None:
    """Each shape of :data:`KEPT`, every declared member of it with a value of its own."""
    model = world.endpoints._services["glue"].model
    seen: set[str] = set()

    def made(shape: str, **changes: Any) -> dict[str, Any]:
        structures(model, shape, seen)
        return {**whole(model, shape, ""), **changes}

    database = made("DatabaseInput", Name="whole")
    world.call("glue", "CreateDatabase", DatabaseInput=database)
    result = world.call("glue", "GetDatabase", Name="whole")["Database"]
    assert {name: result[name] for name in database} == database

    table = made("TableInput", Name="whole")
    world.call("glue", "CreateTable", DatabaseName="whole", TableInput=table)
    result = world.call("glue", "GetTable", DatabaseName="whole", Name="whole")["Table"]
    assert {name: result[name] for name in table} == table

    partition = made("PartitionInput", Values=["a"])
    world.call("glue", "CreatePartition", DatabaseName="whole", TableName="whole", PartitionInput=partition)
    result = world.call("glue", "GetPartition", DatabaseName="whole", TableName="whole", PartitionValues=["a"])["Partition"]
    assert {name: result[name] for name in partition} == partition

    connection = made("ConnectionInput", Name="whole")
    world.call("glue", "CreateConnection", ConnectionInput=connection)
    result = world.call("glue", "GetConnection", Name="whole")["Connection"]
    assert {name: result[name] for name in connection} == connection

    crawled_come_back(world, made)

    crawler = {**made("CreateCrawlerRequest"), "Name": "whole"}
    world.call("glue", "CreateCrawler", **crawler)
    result = world.call("glue", "GetCrawler", Name="whole")["Crawler"]
    assert result["Targets"]["S3Targets"] == crawler["Targets"]["S3Targets"]
    # Tags are GetTags', and the catalog is the account's.
    compared = set(crawler) - {"Targets", "Tags", "CatalogId", "Schedule"}
    assert result["Schedule"] == {"ScheduleExpression": crawler["Schedule"], "State": "SCHEDULED"}
    assert {name: result[name] for name in compared} == {name: crawler[name] for name in compared}

    reference = {"SchemaId": {"RegistryName": "shop", "SchemaName": "order"}, "SchemaVersionNumber": 1}
    by_id = {"SchemaVersionId": world.call("glue", "GetSchemaVersion", SchemaId=reference["SchemaId"],
                                           SchemaVersionNumber={"VersionNumber": 1})["SchemaVersionId"]}  # fmt: skip
    for name, item in (("by_name", reference), ("by_id", by_id)):
        storage = {"SchemaReference": item}
        world.call("glue", "CreateTable", DatabaseName="whole", TableInput={"Name": name, "StorageDescriptor": storage})
        result = world.call("glue", "GetTable", DatabaseName="whole", Name=name)["Table"]
        assert result["StorageDescriptor"]["SchemaReference"] == item

    for kind in STATISTICS:
        member = f"{kind}ColumnStatisticsData"
        data = {"Type": kind.upper(), member: made(member)}
        given = made("ColumnStatistics", ColumnName=table["StorageDescriptor"]["Columns"][0]["Name"], StatisticsData=data)
        home = {"DatabaseName": "whole", "TableName": "whole"}
        for suffix, place in (("ForTable", home), ("ForPartition", {**home, "PartitionValues": ["a"]})):
            answer = world.call("glue", f"UpdateColumnStatistics{suffix}", **place, ColumnStatisticsList=[given])
            assert answer["Errors"] == []
            result = world.call("glue", f"GetColumnStatistics{suffix}", **place, ColumnNames=[given["ColumnName"]])
            assert result["ColumnStatisticsList"] == [given]

    function = made("UserDefinedFunctionInput")
    world.call("glue", "CreateUserDefinedFunction", DatabaseName="whole", FunctionInput=function)
    expected = {"DatabaseName": "whole", "FunctionName": function["FunctionName"]}
    result = world.call("glue", "GetUserDefinedFunction", **expected)["UserDefinedFunction"]
    assert function.items() <= result.items()

    optimizer_comes_back(world, {**made("TableOptimizerConfiguration"), "enabled": True})
    assert KEPT["glue"] <= seen


def optimizer_comes_back(world: World, settings: dict[str, Any]) -> None:
    table = {"Name": "i", "Parameters": {"table_type": "ICEBERG"}}
    world.call("glue", "CreateTable", DatabaseName="whole", TableInput=table)
    place = {"CatalogId": ACCOUNT, "DatabaseName": "whole", "TableName": "i", "Type": "retention"}
    world.call("glue", "CreateTableOptimizer", **place, TableOptimizerConfiguration=settings)
    assert world.call("glue", "GetTableOptimizer", **place)["TableOptimizer"]["configuration"] == settings


def test_entities_of_iam_and_secrets_come_back_whole(world: World) -> None:
    tags = [{"Key": "team", "Value": "ops"}]
    user = {"UserName": "bea", "Path": "/team/", "Tags": tags}
    world.call("iam", "CreateUser", **user)
    assert user.items() <= world.call("iam", "GetUser", UserName="bea")["User"].items()
    role = {"RoleName": "bees", "Path": "/team/", "Description": "d", "MaxSessionDuration": 7200, "Tags": tags}
    world.call("iam", "CreateRole", **role, AssumeRolePolicyDocument=TRUST)
    assert role.items() <= world.call("iam", "GetRole", RoleName="bees")["Role"].items()
    policy = {"PolicyName": "bee", "Path": "/team/", "Description": "d", "Tags": tags}
    arn = world.call("iam", "CreatePolicy", **policy, PolicyDocument=DOCUMENT)["Policy"]["Arn"]
    assert policy.items() <= world.call("iam", "GetPolicy", PolicyArn=arn)["Policy"].items()
    secret = {"Name": "hive", "Description": "d", "KmsKeyId": "alias/k", "Tags": tags}
    world.call("secretsmanager", "CreateSecret", **secret, SecretString="honey", ClientRequestToken="t" * 32)
    assert secret.items() <= world.call("secretsmanager", "DescribeSecret", SecretId="hive").items()
    value = world.call("secretsmanager", "GetSecretValue", SecretId="hive")
    assert (value["SecretString"], value["VersionId"]) == ("honey", "t" * 32)
    assert world.services.directory.store.get_entity(EntityKind.USER, ACCOUNT, "bea") is not None


CLASSIFIERS: Mapping[str, Mapping[str, Any]] = {
    "Grok": {"GrokPattern": "%{INT:a} %{WORD:b}", "CustomPatterns": "B [a-z]+"},
    "XML": {},
    "Csv": {
        "Delimiter": ";", "QuoteSymbol": "'", "ContainsHeader": "ABSENT", "Header": ["a"], "CustomDatatypes": ["DATE"],
        "Serde": "OpenCSVSerDe",
    },
}  # fmt: skip


def crawled_come_back(world: World, made: Callable[..., dict[str, Any]]) -> None:
    classifiers_come_back(world, made)
    targets_come_back(world, made)


def classifiers_come_back(world: World, made: Callable[..., dict[str, Any]]) -> None:
    for kind, settings in CLASSIFIERS.items():
        for verb in ("Create", "Update"):
            given = made(f"{verb}{kind}ClassifierRequest", Name=f"whole{kind}", **settings)
            world.call("glue", f"{verb}Classifier", **{f"{kind}Classifier": given})
            result = world.call("glue", "GetClassifier", Name=f"whole{kind}")["Classifier"][f"{kind}Classifier"]
            assert given.items() <= result.items()


TARGETS: Mapping[str, Mapping[str, Any]] = {
    "Jdbc": {"ConnectionName": "database", "Path": "air/public/%", "EnableAdditionalMetadata": ["COMMENTS"]},
    "DynamoDB": {"Path": "airports", "scanAll": False, "scanRate": 0.7},
    "Catalog": {"DatabaseName": "air", "Tables": ["flights"]},
    "Iceberg": {"Paths": ["s3://lake/ice/"], "MaximumTraversalDepth": 3},
    "Delta": {"DeltaTables": ["s3://lake/delta/"], "WriteManifest": False, "CreateNativeDeltaTable": True},
}


def targets_come_back(world: World, made: Callable[..., dict[str, Any]]) -> None:
    login = {"JDBC_CONNECTION_URL": "jdbc:postgresql://db.example.org/air"}
    connection = {"Name": "database", "ConnectionType": "JDBC", "ConnectionProperties": login}
    world.call("glue", "CreateConnection", ConnectionInput=connection)
    for kind, settings in TARGETS.items():
        targets = {f"{kind}Targets": [made(f"{kind}Target", **settings)]}
        policy = {"DeleteBehavior": "LOG"}
        world.call("glue", "CreateCrawler", Name=f"of{kind}", Role="reader", Targets=targets, SchemaChangePolicy=policy)
        result = world.call("glue", "GetCrawler", Name=f"of{kind}")["Crawler"]["Targets"]
        assert {member: item for member, item in result.items() if item} == targets
