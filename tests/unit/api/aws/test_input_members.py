"""Every input member of every served operation, in botocore's models: read by a handler, or refused by its name.

Three proofs, none of which knows an operation by name: what is not declared is refused by the real checkers; what is
declared is read by the real handlers, which get mappings that note what is asked of them; and structures that are kept
whole come back whole. A new operation, or a new member in a new botocore, fails here until it is served or refused.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from penstock.access.identities.entities import EntityKind
from penstock.api.aws.members import members_of
from penstock.api.aws.protocol.endpoints import Endpoint, EndpointTable
from penstock.api.aws.protocol.errors import InvalidShape, MemberNotServed
from penstock.api.aws.protocol.models import SERVICES, ServiceModel
from penstock.api.aws.protocol.operations import OperationSet, RequestContext
from penstock.errors import PenstockError
from penstock.server.wiring import Services, prepare, wire
from penstock.settings.server import ServerSettings
from tests.unit.api.handlers import called

ACCOUNT = "111122223333"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/reader"
POLICY = f"arn:aws:iam::{ACCOUNT}:policy/read"
RECORD = '{"type":"record","name":"r","fields":[{"name":"f","type":"int"}]}'
DOCUMENT = '{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}'
TRUST = DOCUMENT.replace('"Resource":"*"', f'"Principal":{{"AWS":"{ACCOUNT}"}}').replace(
    '"Action":"*"', '"Action":"sts:AssumeRole"'
)
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

# What a member is called with, by "Shape.Member" or by its name alone: all else is made up from its shape.
VALUES: Mapping[str, Any] = {
    "AccountId": ACCOUNT,
    "AttributesToGet": ["NAME"],
    "CatalogId": ACCOUNT,
    "CatalogName": "AwsDataCatalog",
    "Catalog": "AwsDataCatalog",
    "Compatibility": "BACKWARD",
    "Configuration": '{"Version":1.0}',
    "ConnectionNameList": ["nobody"],
    "ConnectionProperties": {"KAFKA_BOOTSTRAP_SERVERS": "b:9092"},
    "ConnectionSchemaVersion": 1,
    "ConnectionType": "KAFKA",
    "CreateAccountRequestId": "car-11112222333344445555666677778888",
    "CrawlerNames": ["shelves"],
    "CrawlerNameList": ["shelves"],
    "DataFormat": "AVRO",
    "DataLakePrincipalIdentifier": "IAM_ALLOWED_PRINCIPALS",
    "DatabaseName": "air",
    "Database": "air",
    "DurationSeconds": 900,
    "Email": "ana@example.org",
    "EncryptionConfiguration": {},
    "ExecutionParameters": [],
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
    **{f"{each}CrawlerRequest.Name": "shelves" for each in ("Get", "Update", "Start", "Stop", "Delete")},
    "GetDataCatalogInput.Name": "AwsDataCatalog",
    "Filter.Key": "name",
    "SecretBinary": None,
}  # fmt: skip

# What is read where others are left out, or where another value is sent.
VARIANTS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "GetSchemaVersion": ({"SchemaVersionId": "11111111-2222-3333-4444-555555555555"},),
    "PutSecretValue": ({"SecretId": "password", "SecretBinary": b"x", "RotationToken": None},),
    "CreateSecret": ({"Name": "other", "SecretBinary": b"x"},),
    "UpdateSecret": ({"SecretId": "password", "SecretBinary": b"x"},),
}

# Kept as they come and given back: test_structures_that_are_kept_come_back_whole has each of them.
STATISTICS = ("Binary", "Boolean", "Date", "Decimal", "Double", "Long", "String")
KEPT = {
    "glue": {
        "ColumnStatistics", "ColumnStatisticsData", "DecimalNumber", "ResourceUri", "UserDefinedFunctionInput",
        *(f"{each}ColumnStatisticsData" for each in STATISTICS),
        "DataLakePrincipal", "DatabaseIdentifier", "DatabaseInput", "Order", "PartitionInput",
        "PhysicalConnectionRequirements", "PrincipalPermissions", "S3Target", "SkewedInfo", "StorageDescriptor",
        "SchemaReference", "TableIdentifier", "TableInput",
    }
}  # fmt: skip


class Noted(dict[str, Any]):
    """A structure of a request that notes which of its members were asked for, whether it has them or not."""

    def __init__(self, value: Mapping[str, Any], shape: str, model: ServiceModel, read: set[tuple[str, str]]) -> None:
        self._shape, self._read = shape, read
        members = model.shapes[shape]["members"]
        super().__init__(
            {name: noted(item, members[name]["shape"], model, read) for name, item in value.items() if name in members}
        )

    def __getitem__(self, name: str) -> Any:
        self._read.add((self._shape, name))
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._read.add((self._shape, name))
        return super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        # Whoever goes through all members reads them where it takes them: this only keeps dict(x) from doing it unseen.
        return super().__iter__()


def noted(value: Any, shape: str, model: ServiceModel, read: set[tuple[str, str]]) -> Any:
    described = model.shapes[shape]
    if described["type"] == "structure" and isinstance(value, dict):
        return Noted(value, shape, model, read)
    if described["type"] == "list" and isinstance(value, list):
        return [noted(item, described["member"]["shape"], model, read) for item in value]
    return value


@dataclass(frozen=True)
class World:
    services: Services
    endpoints: EndpointTable

    def served(self, service: str) -> Iterator[Endpoint]:
        for each in self.services.operations:
            if each.service == service:
                for operation in each.handlers:
                    model = self.endpoints._services[service].model
                    found = self.endpoints.get(f"{model.target_prefix}.{operation}")
                    assert found is not None
                    yield found

    def ask(self, endpoint: Endpoint, request: Mapping[str, Any]) -> Mapping[str, Any]:
        context = RequestContext(
            service=endpoint.service.model.name, operation=endpoint.operation, account=ACCOUNT, region="us-east-1",
            principal=f"arn:aws:iam::{ACCOUNT}:root", request_id="1",
        )  # fmt: skip
        return called(endpoint.handler, request, context)

    def call(self, service: str, operation: str, **request: Any) -> Mapping[str, Any]:
        endpoint = next(each for each in self.served(service) if each.operation == operation)
        return self.ask(endpoint, request)


def start(folder: Path) -> World:
    (folder / "lakes/lake/shelves").mkdir(parents=True)
    settings = ServerSettings(
        store_url=f"sqlite:///{folder / 'store.db'}",
        lake=folder / "lakes",
        account_lakes=folder / "account-lakes",
        master_key_file=folder / "master.key",
        account=ACCOUNT,
    )
    prepare(settings)
    services = wire(settings)
    return World(services, EndpointTable(services.operations))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = start(tmp_path)
    fill(made)
    yield made
    made.services.close()


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One that nothing is asked of."""
    made = start(tmp_path_factory.mktemp("members"))
    yield made
    made.services.close()


def fill(world: World) -> None:
    """One thing of each kind, under the names of :data:`VALUES`."""
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
    world.call("secretsmanager", "CreateSecret", Name="password", SecretString="x")
    world.call("iam", "CreateUser", UserName="ana")
    world.call("iam", "CreateRole", RoleName="reader", AssumeRolePolicyDocument=TRUST)
    world.call("iam", "CreatePolicy", PolicyName="read", PolicyDocument=DOCUMENT)
    world.call("iam", "CreateGroup", GroupName="readers")
    world.call("iam", "CreateInstanceProfile", InstanceProfileName="machine")
    world.call("iam", "CreateOpenIDConnectProvider", Url="https://oidc.example.org")


def input_shape(endpoint: Endpoint) -> str | None:
    found: str | None = endpoint.service.model.operations[endpoint.operation].get("input", {}).get("shape")
    return found


PLAIN: Mapping[str, Any] = {"timestamp": NOW, "boolean": True, "blob": b"blob"}


def whole(model: ServiceModel, shape: str, name: str, *, declared: bool = True, depth: int = 0) -> Any:
    """A value with every declared member of the shape, or every one, as a checker gives it to a handler."""
    described = model.shapes[shape]
    match described["type"]:
        case "structure":
            made = {
                each: VALUES.get(f"{shape}.{each}", VALUES.get(each))
                if declared and (each in VALUES or f"{shape}.{each}" in VALUES)
                else whole(model, member["shape"], each, declared=declared, depth=depth + 1)
                for each, member in described["members"].items()
                if depth < 8 and (members_of(model.name).serves(shape, each) or not declared)
            }
            return {each: value for each, value in made.items() if value is not None}
        case "list":
            return [whole(model, described["member"]["shape"], name, declared=declared, depth=depth + 1)]
        case "map":
            return {"key": whole(model, described["value"]["shape"], name, declared=declared, depth=depth + 1)}
        case "integer" | "long" | "double" | "float":
            return described.get("min", 1) or 1
        case kind:
            text = described["enum"][0] if "enum" in described else f"{name.lower()}1".ljust(described.get("min", 0), "0")
            return PLAIN.get(kind, text)


def requests(endpoint: Endpoint) -> Iterator[dict[str, Any]]:
    """The whole request, and it without each of its optional members in turn: some are read only without others."""
    model, shape = endpoint.service.model, input_shape(endpoint)
    assert shape is not None
    request = whole(model, shape, "")
    yield request
    yield from map(dict, VARIANTS.get(endpoint.operation, ()))
    required = set(model.shapes[shape].get("required", ())) & set(request)
    for name in set(request) - required:
        yield {each: value for each, value in request.items() if each != name}
    yield {name: request[name] for name in required}


ORDER = ("Create", "Put", "Get", "List", "Batch", "Search", "Update", "Attach", "Tag", "Start", "Stop", "Remove", "Delete")


def position(endpoint: Endpoint) -> tuple[int, bool, str]:
    """Deletions at the end, those of databases behind the others, so that there is something to ask about."""
    found = [index for index, verb in enumerate(ORDER) if endpoint.operation.startswith(verb)]
    return found[0] if found else ORDER.index("Update"), "Database" in endpoint.operation, endpoint.operation


def structures(model: ServiceModel, shape: str, seen: set[str]) -> set[str]:
    """The structures within a shape, itself with them; each once, so that one that holds itself ends."""
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


@pytest.mark.parametrize("service", SERVICES)
def test_every_declared_member_is_read(world: World, service: str) -> None:
    read: set[tuple[str, str]] = set()
    for endpoint in sorted(world.served(service), key=position):
        if input_shape(endpoint) is None:
            continue
        for request in requests(endpoint):
            # It may not be had: what was read on the way to that is read all the same.
            with suppress(PenstockError):
                world.ask(endpoint, noted(request, input_shape(endpoint) or "", endpoint.service.model, read))
    kept = KEPT.get(service, set())
    declared = {(shape, name) for shape, names in members_of(service).read.items() for name in names if shape not in kept}
    assert sorted(declared - read) == [], "declared as served, and read by no handler"


@pytest.mark.parametrize("service", SERVICES)
def test_what_is_declared_is_of_a_request(idle: World, service: str) -> None:
    reachable: set[str] = set()
    for endpoint in idle.served(service):
        shape = input_shape(endpoint)
        if shape is not None:
            structures(endpoint.service.model, shape, reachable)
    model, declared = idle.endpoints._services[service].model, members_of(service)
    for shape, names in (*declared.read.items(), *declared.harmless.items()):
        assert shape in reachable, f"{shape} is in no request"
        assert set(names) <= set(model.shapes[shape]["members"]), shape
    for shape, harmless in declared.harmless.items():
        assert not set(harmless) & declared.read.get(shape, set()), f"{shape} is read and harmless"
        assert all(each.reason.endswith(".") for each in harmless.values())


def unserved(endpoint: Endpoint, shape: str, seen: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """The members of a request that are not declared: the name, and a request's value of ``shape`` with it alone."""
    described = endpoint.service.model.shapes[shape]
    match described["type"]:
        case "structure" if shape not in seen:
            for name, member in described["members"].items():
                if members_of(endpoint.service.model.name).serves(shape, name):
                    found = unserved(endpoint, member["shape"], (*seen, shape))
                else:
                    found = ((name, value) for value in refusable(endpoint.service.model, shape, name))
                yield from ((refused, {name: value}) for refused, value in found)
        case "list":
            yield from ((name, [value]) for name, value in unserved(endpoint, described["member"]["shape"], seen))
        case "map":
            yield from ((name, {"key": value}) for name, value in unserved(endpoint, described["value"]["shape"], seen))


def refusable(model: ServiceModel, shape: str, name: str) -> Iterator[Any]:
    """A value of a member that is not served, unless every value of it is harmless."""
    harmless = members_of(model.name).harmless.get(shape, {}).get(name)
    described = model.shapes[model.shapes[shape]["members"][name]["shape"]]
    if harmless is None:
        yield whole(model, model.shapes[shape]["members"][name]["shape"], name, declared=False)
    elif harmless.values is not None:
        yield from set(described["enum"]) - harmless.values


@pytest.mark.parametrize("service", SERVICES)
def test_every_other_member_is_refused_by_its_name(idle: World, service: str) -> None:
    refused = 0
    for endpoint in idle.served(service):
        shape = input_shape(endpoint)
        for name, request in unserved(endpoint, shape) if shape is not None else ():
            # As the wire has it: the compiled checker is asked behind the form's reader.
            check = replace(endpoint.service, model=replace(endpoint.service.model, query=False))
            asked = Endpoint(check, endpoint.operation, endpoint.handler, inline=False)
            with pytest.raises(MemberNotServed, match=rf"^{name} \(at '.*'\) is a member of {endpoint.operation} that"):
                asked.check(wire_value(request))
            refused += 1
    assert refused or service == "iam"  # whose operations are served with every member


def wire_value(value: Any) -> Any:
    match value:
        case dict():
            return {name: wire_value(item) for name, item in value.items()}
        case list():
            return [wire_value(item) for item in value]
        case datetime():
            return value.timestamp()
        case bytes():
            return "AAAA"
        case _:
            return value


def test_a_member_that_asks_for_nothing_is_no_fault() -> None:
    def handler(_request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        return {}

    table = EndpointTable([OperationSet(service="secretsmanager", handlers={"CreateSecret": handler})])
    endpoint = table.get("secretsmanager.CreateSecret")
    assert endpoint is not None
    # As Terraform's provider sends it.
    endpoint.check({"Name": "n", "ForceOverwriteReplicaSecret": False})
    with pytest.raises(InvalidShape, match="AddReplicaRegions"):
        endpoint.check({"Name": "n", "AddReplicaRegions": [{"Region": "eu-west-1"}]})


def test_what_is_harmless_may_be_sent_whole(idle: World) -> None:
    sent = set()
    for service in SERVICES:
        for endpoint in idle.served(service):
            shape, model = input_shape(endpoint), endpoint.service.model
            for name, harmless in members_of(service).harmless.get(shape or "", {}).items():
                value = whole(model, model.shapes[shape or ""]["members"][name]["shape"], name, declared=False)
                checker = endpoint.service.compiler.checker(shape or "")
                for each in harmless.values or [value]:
                    assert name in checker(wire_value({name: each}), "", [])
                    sent.add(name)
    assert {"AuditContext", "QuerySessionContext", "EnableHybrid", "IncludeStatusDetails"} <= sent


def test_what_is_not_enabled_asks_for_nothing(idle: World) -> None:
    (endpoint,) = (each for each in idle.served("athena") if each.operation == "StartQueryExecution")
    off = {"ResultReuseByAgeConfiguration": {"Enabled": False, "MaxAgeInMinutes": 60}}
    endpoint.check({"QueryString": "SELECT 1", "ResultReuseConfiguration": off})


def test_an_operation_that_declares_nothing_serves_no_member() -> None:
    table = EndpointTable([OperationSet(service="glue", handlers={"CreateJob": lambda _request, _context: {}})])
    endpoint = table.get("AWSGlue.CreateJob")
    assert endpoint is not None
    with pytest.raises(MemberNotServed, match="Name"):
        endpoint.check({"Name": "j", "Role": "r", "Command": {"Name": "glueetl"}})


def test_structures_that_are_kept_come_back_whole(world: World) -> None:
    """Each shape of :data:`KEPT`, every declared member of it with a value of its own."""
    model = world.endpoints._services["glue"].model
    seen: set[str] = set()

    def made(shape: str, **changes: Any) -> dict[str, Any]:
        structures(model, shape, seen)
        return {**whole(model, shape, ""), **changes}

    database = made("DatabaseInput", Name="whole")
    world.call("glue", "CreateDatabase", DatabaseInput=database)
    found = world.call("glue", "GetDatabase", Name="whole")["Database"]
    assert {name: found[name] for name in database} == database

    table = made("TableInput", Name="whole")
    world.call("glue", "CreateTable", DatabaseName="whole", TableInput=table)
    found = world.call("glue", "GetTable", DatabaseName="whole", Name="whole")["Table"]
    assert {name: found[name] for name in table} == table

    partition = made("PartitionInput", Values=["a"])
    world.call("glue", "CreatePartition", DatabaseName="whole", TableName="whole", PartitionInput=partition)
    found = world.call("glue", "GetPartition", DatabaseName="whole", TableName="whole", PartitionValues=["a"])["Partition"]
    assert {name: found[name] for name in partition} == partition

    connection = made("ConnectionInput", Name="whole")
    world.call("glue", "CreateConnection", ConnectionInput=connection)
    found = world.call("glue", "GetConnection", Name="whole")["Connection"]
    assert {name: found[name] for name in connection} == connection

    crawler = {**made("CreateCrawlerRequest"), "Name": "whole"}
    world.call("glue", "CreateCrawler", **crawler)
    found = world.call("glue", "GetCrawler", Name="whole")["Crawler"]
    assert found["Targets"]["S3Targets"] == crawler["Targets"]["S3Targets"]
    # Tags are GetTags', and the catalog is the account's.
    compared = set(crawler) - {"Targets", "Tags", "CatalogId"}
    assert {name: found[name] for name in compared} == {name: crawler[name] for name in compared}

    reference = {"SchemaId": {"RegistryName": "shop", "SchemaName": "order"}, "SchemaVersionNumber": 1}
    by_id = {"SchemaVersionId": world.call("glue", "GetSchemaVersion", SchemaId=reference["SchemaId"],
                                           SchemaVersionNumber={"VersionNumber": 1})["SchemaVersionId"]}  # fmt: skip
    for name, each in (("by_name", reference), ("by_id", by_id)):
        storage = {"SchemaReference": each}
        world.call("glue", "CreateTable", DatabaseName="whole", TableInput={"Name": name, "StorageDescriptor": storage})
        found = world.call("glue", "GetTable", DatabaseName="whole", Name=name)["Table"]
        assert found["StorageDescriptor"]["SchemaReference"] == each

    for kind in STATISTICS:
        member = f"{kind}ColumnStatisticsData"
        data = {"Type": kind.upper(), member: made(member)}
        given = made("ColumnStatistics", ColumnName=table["StorageDescriptor"]["Columns"][0]["Name"], StatisticsData=data)
        home = {"DatabaseName": "whole", "TableName": "whole"}
        for suffix, place in (("ForTable", home), ("ForPartition", {**home, "PartitionValues": ["a"]})):
            answer = world.call("glue", f"UpdateColumnStatistics{suffix}", **place, ColumnStatisticsList=[given])
            assert answer["Errors"] == []
            found = world.call("glue", f"GetColumnStatistics{suffix}", **place, ColumnNames=[given["ColumnName"]])
            assert found["ColumnStatisticsList"] == [given]

    function = made("UserDefinedFunctionInput")
    world.call("glue", "CreateUserDefinedFunction", DatabaseName="whole", FunctionInput=function)
    wanted = {"DatabaseName": "whole", "FunctionName": function["FunctionName"]}
    found = world.call("glue", "GetUserDefinedFunction", **wanted)["UserDefinedFunction"]
    assert function.items() <= found.items()

    assert KEPT["glue"] <= seen


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
