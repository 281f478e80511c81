"""Requests checked and responses rendered from AWS's models; botocore serialises and parses the other side."""

import threading
from datetime import UTC, datetime
from functools import cache
from typing import Any

import orjson
import pytest
from botocore.loaders import Loader
from botocore.model import OperationModel, ServiceModel
from botocore.parsers import create_parser
from botocore.serialize import create_serializer
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.api.aws.protocol.endpoints import Endpoint, EndpointTable
from penstock.api.aws.protocol.errors import InvalidShape
from penstock.api.aws.protocol.models import SERVICES, load_model
from penstock.api.aws.protocol.operations import OperationSet
from penstock.api.aws.protocol.shapes import ShapeCompiler
from penstock.api.errors import UnreadableRequest


def endpoint(operation: str, service: str = "glue") -> Endpoint:
    table = EndpointTable([OperationSet(service=service, handlers={operation: lambda request, context: {}})])
    result = table.get(f"{load_model(service).target_prefix}.{operation}")
    assert result is not None
    return result


def test_every_operation_of_every_service_compiles() -> None:
    for name in SERVICES:
        model = load_model(name)
        compiler = ShapeCompiler(model.shapes)
        for operation in model.operations.values():
            for side in ("input", "output"):
                if side in operation:
                    compiler.checker(operation[side]["shape"])
                    compiler.renderer(operation[side]["shape"])


def test_ignores_members_that_the_model_does_not_have() -> None:
    assert endpoint("GetDatabase").check({"Name": "a", "Colour": "red", "CatalogId": None}) == {"Name": "a"}


@pytest.mark.parametrize(
    ("request_body", "says"),
    [
        (
            {},
            "1 validation error detected: Value null at 'schemaName' failed to satisfy constraint: Member must not be null",
        ),
        ({"SchemaName": "", "DataFormat": "AVRO"}, "Value '' at 'schemaName' .* length greater than or equal to 1"),
        ({"SchemaName": "a" * 256}, "Value 'a{200}' at 'schemaName' .* length less than or equal to 255"),
        ({"SchemaName": "a b"}, r"at 'schemaName' .* regular expression pattern: \[a-zA-Z0-9-_\$#.\]\+"),
        ({"SchemaName": "a", "DataFormat": "XML"}, r"at 'dataFormat' .* enum value set: \[AVRO, JSON, PROTOBUF\]"),
        ({"SchemaName": "a", "RegistryId": {"RegistryName": "!"}}, "Value '!' at 'registryId.registryName'"),
        ({"SchemaName": "a", "Tags": {"": "v"}}, "at 'tags.key' .* length greater than or equal to 1"),
        ({"SchemaName": "a", "Tags": {"k": None}}, "Value null at 'tags.k.member'"),
    ],
)
def test_lists_broken_rules_in_aws_words(request_body: dict[str, Any], says: str) -> None:
    complete = {"DataFormat": "AVRO", "Compatibility": "NONE"} | request_body
    with pytest.raises(InvalidShape, match=says):
        endpoint("CreateSchema").check(complete)


def test_lists_all_broken_rules_at_once() -> None:
    with pytest.raises(InvalidShape, match=r"^2 validation errors detected: .*'schemaName'.*; .*'dataFormat'"):
        endpoint("CreateSchema").check({})


def test_counts_list_members_from_one() -> None:
    columns = [{"Name": "a"}, {"Name": "b", "Comment": "x\n"}]
    request = {"DatabaseName": "d", "TableInput": {"Name": "t", "StorageDescriptor": {"Columns": columns}}}
    with pytest.raises(InvalidShape, match=r"at 'tableInput.storageDescriptor.columns.2.member.comment'"):
        endpoint("CreateTable").check(request)


@pytest.mark.parametrize(
    ("request_body", "says"),
    [
        ({"Name": 7}, "NUMBER_VALUE can not be converted to a String, at 'name'"),
        ({"Name": {}}, "START_OBJECT can not be converted to a String"),
        ([], "Unexpected START_ARRAY at ''"),
        ("x", "Unexpected STRING_VALUE"),
        (None, "Unexpected NULL_VALUE"),
        ({"Name": "d", "Tags": []}, "Unexpected START_ARRAY at 'tags': a map"),
    ],
)
def test_refuses_values_of_another_type(request_body: Any, says: str) -> None:
    with pytest.raises(UnreadableRequest, match=says):
        endpoint("CreateCrawler").check(request_body)


def test_reads_numbers_booleans_and_times() -> None:
    check = endpoint("GetTables").check
    assert check({"DatabaseName": "d", "MaxResults": 3.0})["MaxResults"] == 3
    with pytest.raises(UnreadableRequest, match="STRING_VALUE can not be converted to an Integer, at 'maxResults'"):
        check({"DatabaseName": "d", "MaxResults": "3"})
    with pytest.raises(UnreadableRequest, match="NUMBER_VALUE can not be converted to an Integer"):
        check({"DatabaseName": "d", "MaxResults": 2**31})
    with pytest.raises(UnreadableRequest, match="TRUE_VALUE can not be converted to an Integer"):
        check({"DatabaseName": "d", "MaxResults": True})
    with pytest.raises(InvalidShape, match=r"'maxResults' .* value less than or equal to 100"):
        check({"DatabaseName": "d", "MaxResults": 101})
    moment = datetime(2026, 11, 21, tzinfo=UTC)
    check = endpoint("LookupEvents", "cloudtrail").check
    assert check({"StartTime": moment.timestamp()})["StartTime"] == moment
    assert check({"StartTime": "2026-11-21T00:00:00Z"})["StartTime"] == moment
    with pytest.raises(UnreadableRequest, match="Timestamp"):
        check({"StartTime": 1e300})


def test_reads_java_surrogate_ranges_as_code_points() -> None:
    body = {"DatabaseInput": {"Name": "d", "Description": "🚰 naïve\n"}}
    assert endpoint("CreateDatabase").check(body)["DatabaseInput"]["Description"] == "🚰 naïve\n"


def test_never_shows_a_sensitive_value() -> None:
    with pytest.raises(InvalidShape) as refused:
        endpoint("CreateSecret", "secretsmanager").check({"Name": "n", "SecretString": "hush" * 20_000})
    assert "hush" not in str(refused.value)


def test_athena_has_its_own_code_for_broken_rules() -> None:
    service = endpoint("StartQueryExecution", "athena").service
    assert service.renamed[InvalidShape] == "InvalidRequestException"


def test_a_blob_that_is_not_base64_is_refused() -> None:
    check = endpoint("PutSecretValue", "secretsmanager").check
    assert check({"SecretId": "a", "SecretBinary": "AP8="})["SecretBinary"] == b"\x00\xff"
    for wrong in ("A", "%%%%", 3):
        with pytest.raises(UnreadableRequest, match="Blob"):
            check({"SecretId": "a", "SecretBinary": wrong})


def value_of(shapes: Any, name: str, depth: int = 0) -> st.SearchStrategy[Any]:  # noqa: PLR0911 -- one a type
    """Values that botocore takes for a shape and AWS's rules allow, for shapes without patterns."""
    shape = shapes[name]
    match shape["type"]:
        case "structure":
            members = shape["members"]
            required = set(shape.get("required", ()))
            optional = {} if depth > 2 else {key: member for key, member in members.items() if key not in required}
            return st.fixed_dictionaries(
                {key: value_of(shapes, members[key]["shape"], depth + 1) for key in required},
                optional={key: value_of(shapes, member["shape"], depth + 1) for key, member in optional.items()},
            )
        case "list":
            return st.lists(value_of(shapes, shape["member"]["shape"], depth + 1), min_size=shape.get("min", 0), max_size=2)
        case "map":
            return st.dictionaries(
                st.text("ab", min_size=1, max_size=3), value_of(shapes, shape["value"]["shape"], depth + 1), max_size=2
            )
        case "string":
            if "enum" in shape:
                return st.sampled_from(shape["enum"])
            return st.text("abcxyz", min_size=max(1, shape.get("min", 1)), max_size=max(5, shape.get("min", 1)))
        case "timestamp":
            return st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)).map(
                lambda moment: moment.replace(microsecond=0)
            )
        case "blob":
            return st.binary(min_size=1, max_size=5)
        case "boolean":
            return st.booleans()
        case "double" | "float":
            return st.floats(-1000, 1000)
        case _:
            return st.integers(shape.get("min", 0), min(shape.get("max", 1000), 2**31 - 1))


@cache
def botocore_operation(service: str, operation: str) -> OperationModel:
    return ServiceModel(Loader().load_service_model(service, "service-2"), service).operation_model(operation)


CHECKED = [
    ("glue", "CreateTable"),
    ("glue", "GetTables"),
    ("athena", "StartQueryExecution"),
    ("secretsmanager", "PutSecretValue"),
]


@pytest.mark.parametrize(("service", "operation"), CHECKED)
@settings(deadline=None)
@given(data=st.data())
def test_reads_what_botocore_sends(service: str, operation: str, data: st.DataObject) -> None:
    model = load_model(service)
    shape = model.operations[operation]["input"]["shape"]
    value = data.draw(value_of(model.shapes, shape))
    sent = create_serializer("json").serialize_to_request(value, botocore_operation(service, operation))
    broken: list[str] = []
    read = ShapeCompiler(model.shapes).checker(shape)(orjson.loads(sent["body"]), "", broken)
    assert read == value
    assert all("regular expression" in rule for rule in broken)


RENDERED = [
    ("glue", "GetTables"),
    ("athena", "GetQueryExecution"),
    ("secretsmanager", "GetSecretValue"),
    ("glue", "GetCrawler"),
]


@pytest.mark.parametrize(("service", "operation"), RENDERED)
@settings(deadline=None)
@given(data=st.data())
def test_writes_what_botocore_reads(service: str, operation: str, data: st.DataObject) -> None:
    model = load_model(service)
    shape = model.operations[operation]["output"]["shape"]
    value = data.draw(value_of(model.shapes, shape))
    body = orjson.dumps(ShapeCompiler(model.shapes).renderer(shape)(value))
    output: Any = botocore_operation(service, operation).output_shape
    parsed = create_parser("json").parse({"status_code": 200, "headers": {}, "body": body}, output)
    parsed.pop("ResponseMetadata")
    assert parsed == value


class SlowShapes(dict[str, Any]):
    """Shapes of which the first read waits in the middle of being compiled."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.inside, self.go_on = threading.Event(), threading.Event()

    def __getitem__(self, name: str) -> Any:
        if not self.inside.is_set():
            self.inside.set()
            self.go_on.wait(10)
        return super().__getitem__(name)


@pytest.mark.parametrize("side", ["checker", "renderer"])
def test_a_shape_that_another_thread_is_compiling_is_waited_for(side: str) -> None:
    shapes = SlowShapes({"Name": {"type": "string"}})
    compiler = ShapeCompiler(shapes)
    arguments: tuple[Any, ...] = ("x", "", []) if side == "checker" else ("x",)
    results: list[Any] = []

    def compile_and_use() -> None:
        try:
            results.append(getattr(compiler, side)("Name")(*arguments))
        except RecursionError as error:
            results.append(error)

    threads = [threading.Thread(target=compile_and_use) for _ in range(2)]
    threads[0].start()
    assert shapes.inside.wait(10)
    threads[1].start()
    # Time enough for the second one to use what is not ready, if it does not wait.
    threads[1].join(0.2)
    shapes.go_on.set()
    for thread in threads:
        thread.join()
    assert results == ["x", "x"]
