"""Every input member of every served operation, in botocore's models: read by a handler, or refused by name.

Three tests, none of which names an operation: the real checkers refuse members that are not declared; the real handlers read
members that are declared, from mappings that record which members are read; and structures that are stored whole come back
whole. A new operation, or a new member in a new botocore, fails here until it is served or refused."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from penstock.api.aws.members.served import members_of
from penstock.api.aws.protocol.endpoints import Endpoint, EndpointTable
from penstock.api.aws.protocol.errors import InvalidShape, MemberNotServed
from penstock.api.aws.protocol.models import SERVICES, ServiceModel
from penstock.api.aws.protocol.operations import OperationSet, RequestContext
from penstock.api.aws.protocol.shapes import ShapeCompiler
from penstock.errors import PenstockError
from tests.unit.api.aws.every_operation import (
    ACCOUNT,
    KEPT,
    World,
    start,
    structures,
    whole,
)

# Members that are only read if others are missing, or with another value.
_TABLE = {"CatalogId": ACCOUNT, "DatabaseName": "air"}
_RESOURCES: tuple[Mapping[str, Any], ...] = (
    {"Catalog": {"Id": "x"}},
    {"Table": {**_TABLE, "TableWildcard": {}}},
    {"TableWithColumns": {**_TABLE, "Name": "flights", "ColumnNames": ["year"]}},
    {"TableWithColumns": {**_TABLE, "Name": "flights", "ColumnWildcard": {"ExcludedColumnNames": ["year"]}}},
    {"DataLocation": {"CatalogId": ACCOUNT, "ResourceArn": "arn:aws:s3:::lake"}},
    {"DataCellsFilter": {"TableCatalogId": ACCOUNT, "DatabaseName": "air", "TableName": "flights", "Name": "some"}},
    {"LFTag": {"CatalogId": ACCOUNT, "TagKey": "team", "TagValues": ["ops"]}},
    {"LFTagPolicy": {"CatalogId": ACCOUNT, "ResourceType": "TABLE", "ExpressionName": "some"}},
    {"LFTagPolicy": {"ResourceType": "TABLE", "Expression": [{"TagKey": "team", "TagValues": ["ops"]}]}},
    {"LFTagExpression": {"CatalogId": ACCOUNT, "Name": "some"}},
)
_ENTRY = {"Principal": {"DataLakePrincipalIdentifier": "p"}, "Permissions": ["SELECT"], "PermissionsWithGrantOption": []}
_LOCATION = {"ResourceArn": "arn:aws:s3:::lake", "RoleArn": "r", "WithFederation": True, "HybridAccessEnabled": True}
_FIELDS = [{"Id": 1, "Name": "id", "Type": "long", "Required": True}]
_SORTED = {"SourceId": 1, "Transform": "identity", "Direction": "asc", "NullOrder": "nulls-last"}
_ICEBERG = {
    "Location": "s3://lake/ice",
    "Schema": {"Fields": _FIELDS},
    "PartitionSpec": {"Fields": [{"SourceId": 1, "Transform": "identity", "Name": "id"}]},
    "WriteOrder": {"OrderId": 1, "Fields": [_SORTED]},
}
VARIANTS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "GrantPermissions": tuple({**_ENTRY, "Resource": resource} for resource in _RESOURCES),
    **{
        f"Batch{name}Permissions": ({"Entries": [{**_ENTRY, "Id": "1", "Resource": {"Database": {"Name": "air"}}}]},)
        for name in ("Grant", "Revoke")
    },
    "ListPermissions": ({"ResourceType": "TABLE", "Principal": {"DataLakePrincipalIdentifier": "p"}},),
    "RegisterResource": (_LOCATION, {**_LOCATION, "UseServiceLinkedRole": True}),
    "UpdateResource": (_LOCATION,),
    "DescribeLogStreams": ({"logGroupName": "/aws-glue/jobs/output", "limit": 1, "nextToken": "x"},),
    "GetSchemaVersion": ({"SchemaVersionId": "11111111-2222-3333-4444-555555555555"},),
    "PutSecretValue": ({"SecretId": "password", "SecretBinary": b"x", "RotationToken": None},),
    "CreateTable": (
        {
            **{"DatabaseName": "air", "Name": "ice"},
            "OpenTableFormatInput": {"IcebergInput": {"MetadataOperation": "CREATE", "CreateIcebergTableInput": _ICEBERG}},
        },
    ),
    "CreateSecret": ({"Name": "other", "SecretBinary": b"x"},),
    "UpdateSecret": ({"SecretId": "password", "SecretBinary": b"x"},),
}


class Noted(dict[str, Any]):
    """A structure of a request that records which members are read, whether it has them or not."""

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
        # A loop over all members reads those that it uses; this only prevents dict(x) from reading them unseen.
        return super().__iter__()


def noted(value: Any, shape: str, model: ServiceModel, read: set[tuple[str, str]]) -> Any:
    described = model.shapes[shape]
    if described["type"] == "structure" and isinstance(value, dict):
        return Noted(value, shape, model, read)
    if described["type"] == "list" and isinstance(value, list):
        return [noted(item, described["member"]["shape"], model, read) for item in value]
    return value


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world without requests."""
    made = start(tmp_path_factory.mktemp("members"))
    yield made
    made.services.close()


def input_shape(endpoint: Endpoint) -> str | None:
    result: str | None = endpoint.service.model.operations[endpoint.operation].get("input", {}).get("shape")
    return result


def requests(endpoint: Endpoint) -> Iterator[dict[str, Any]]:
    """Yield the whole request, and it without each optional member in turn: some are only read without others."""
    model, shape = endpoint.service.model, input_shape(endpoint)
    assert shape is not None
    request = whole(model, shape, "")
    yield request
    yield from map(dict, VARIANTS.get(endpoint.operation, ()))
    required = set(model.shapes[shape].get("required", ())) & set(request)
    for name in set(request) - required:
        yield {item: value for item, value in request.items() if item != name}
    yield {name: request[name] for name in required}


ORDER = ("Create", "Put", "Get", "List", "Batch", "Search", "Update", "Attach", "Tag", "Start", "Stop", "Remove", "Delete")


def position(endpoint: Endpoint) -> tuple[int, bool, str]:
    """Return a sort key: deletions last, those of databases after the others, so that other operations find resources."""
    indexes = [index for index, verb in enumerate(ORDER) if endpoint.operation.startswith(verb)]
    return indexes[0] if indexes else ORDER.index("Update"), "Database" in endpoint.operation, endpoint.operation


@pytest.mark.parametrize("service", SERVICES)
def test_every_declared_member_is_read(world: World, service: str) -> None:
    read: set[tuple[str, str]] = set()
    for endpoint in sorted(world.served(service), key=position):
        if input_shape(endpoint) is None:
            continue
        for request in requests(endpoint):
            # The request may fail: members that were read before count.
            with suppress(PenstockError):
                world.ask(endpoint, noted(request, input_shape(endpoint) or "", endpoint.service.model, read))
    kept = KEPT.get(service, set())
    declared = {(shape, name) for shape, names in members_of(service).read.items() for name in names if shape not in kept}
    assert sorted(declared - read) == [], "declared as served, and read by no handler"


@pytest.mark.parametrize("service", SERVICES)
def test_declared_members_belong_to_requests(idle: World, service: str) -> None:
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
        assert all(item.reason.endswith(".") for item in harmless.values())


def unserved(endpoint: Endpoint, shape: str, seen: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield the members of a request that are not declared: the name, and a value of ``shape`` with only that member."""
    described = endpoint.service.model.shapes[shape]
    match described["type"]:
        case "structure" if shape not in seen:
            for name, member in described["members"].items():
                if members_of(endpoint.service.model.name).serves(shape, name):
                    results = unserved(endpoint, member["shape"], (*seen, shape))
                else:
                    results = ((name, value) for value in refusable(endpoint.service.model, shape, name))
                yield from ((refused, {name: value}) for refused, value in results)
        case "list":
            yield from ((name, [value]) for name, value in unserved(endpoint, described["member"]["shape"], seen))
        case "map":
            yield from ((name, {"key": value}) for name, value in unserved(endpoint, described["value"]["shape"], seen))


def refusable(model: ServiceModel, shape: str, name: str) -> Iterator[Any]:
    """Yield values of a member that are refused; none if every value is harmless."""
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


def test_the_recorded_members_are_those_of_the_models() -> None:
    """If it fails: run tools/aws-members, and serve or exclude what is new."""
    tool = Path(__file__).parents[4] / "tools/aws-members"
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_member_that_a_later_botocore_brings_is_refused(idle: World) -> None:
    (endpoint,) = (item for item in idle.served("glue") if item.operation == "CreateRegistry")
    model = endpoint.service.model
    shape = model.shapes["CreateRegistryInput"]
    later = {**shape, "members": {**shape["members"], "Replicas": {"shape": "NameString"}}}
    compiler = ShapeCompiler({**model.shapes, "CreateRegistryInput": later}, members_of("glue"))
    newer = Endpoint(replace(endpoint.service, compiler=compiler), endpoint.operation, endpoint.handler, inline=False)
    with pytest.raises(MemberNotServed, match=r"^Replicas \(at 'replicas'\) is a member of CreateRegistry that"):
        newer.check({"RegistryName": "r", "Replicas": "eu-west-1"})


def test_a_member_that_asks_for_nothing_is_accepted() -> None:
    def handler(_request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        return {}

    table = EndpointTable([OperationSet(service="secretsmanager", handlers={"CreateSecret": handler})])
    endpoint = table.get("secretsmanager.CreateSecret")
    assert endpoint is not None
    # As Terraform's provider sends it.
    endpoint.check({"Name": "n", "ForceOverwriteReplicaSecret": False})
    with pytest.raises(InvalidShape, match="AddReplicaRegions"):
        endpoint.check({"Name": "n", "AddReplicaRegions": [{"Region": "eu-west-1"}]})


def test_harmless_members_may_be_sent(idle: World) -> None:
    sent = set()
    for service in SERVICES:
        for endpoint in idle.served(service):
            shape, model = input_shape(endpoint), endpoint.service.model
            for name, harmless in members_of(service).harmless.get(shape or "", {}).items():
                value = whole(model, model.shapes[shape or ""]["members"][name]["shape"], name, declared=False)
                checker = endpoint.service.compiler.checker(shape or "")
                for item in harmless.values or [value]:
                    assert name in checker(wire_value({name: item}), "", [])
                    sent.add(name)
    assert {"AuditContext", "QuerySessionContext", "EnableHybrid", "IncludeStatusDetails"} <= sent


def test_a_structure_that_is_not_enabled_asks_for_nothing(idle: World) -> None:
    (endpoint,) = (item for item in idle.served("athena") if item.operation == "StartQueryExecution")
    off = {"ResultReuseByAgeConfiguration": {"Enabled": False, "MaxAgeInMinutes": 60}}
    endpoint.check({"QueryString": "SELECT 1", "ResultReuseConfiguration": off})


def test_an_operation_that_declares_nothing_serves_no_member() -> None:
    table = EndpointTable([OperationSet(service="glue", handlers={"CreateBlueprint": lambda _request, _context: {}})])
    endpoint = table.get("AWSGlue.CreateBlueprint")
    assert endpoint is not None
    with pytest.raises(MemberNotServed, match="Name"):
        endpoint.check({"Name": "j", "Role": "r", "Command": {"Name": "glueetl"}})
