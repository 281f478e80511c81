"""The query protocol, compared with botocore's serialiser and parser for every operation of STS, IAM and SimpleDB."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest
from botocore.loaders import Loader
from botocore.model import OperationModel, ServiceModel
from botocore.parsers import create_parser
from botocore.serialize import create_serializer

from penstock.api.aws.protocol.endpoints import Endpoint, EndpointTable
from penstock.api.aws.protocol.errors import RenderedError
from penstock.api.aws.protocol.models import load_model
from penstock.api.aws.protocol.operations import OperationSet, RequestContext
from penstock.api.aws.protocol.query import read_fields, read_members, write_error, write_response
from penstock.api.errors import UnreadableRequest

# SimpleDB is not served, but it has lists without an element around them, which the other two do not have.
NAMES = ("sts", "iam", "sdb")
THEIRS = {name: ServiceModel(Loader().load_service_model(name, "service-2"), name) for name in NAMES}
OPERATIONS = [(service, operation) for service in NAMES for operation in THEIRS[service].operation_names]
TIME = datetime(2026, 11, 21, 10, 11, 12, tzinfo=UTC)


SCALARS: dict[str, Any] = {
    "integer": 12,
    "long": 2**40,
    "boolean": True,
    "timestamp": TIME,
    "blob": b"\x00\xff",
    "double": 1.5,
    "float": 1.5,
}
AWKWARD = "ä &<>\"'+%=;  \n é😀"


def parsed_by_botocore(model: OperationModel, status: int, body: bytes) -> Any:
    shape: Any = model.output_shape
    return create_parser("query").parse({"status_code": status, "headers": {}, "body": body}, shape)


def input_shape(service: str, operation: str) -> str:
    shape = THEIRS[service].operation_model(operation).input_shape
    assert shape is not None
    return shape.name


def sample(shape: Any, depth: int = 0) -> Any:
    """A value of ``shape`` with every member, lists of two and awkward characters; a shape in itself ends at six levels."""
    if shape.type_name == "structure":
        members = shape.members.items() if depth < 6 else ()
        return {name: sample(member, depth + 1) for name, member in members}
    if shape.type_name == "list":
        return [sample(shape.member, depth + 1) for _ in range(2)] if depth < 6 else []
    if shape.type_name == "map":
        return {"a.b": sample(shape.value, depth + 1), "c": sample(shape.value, depth + 1)}
    return SCALARS.get(shape.type_name, AWKWARD)


def as_json(value: Any) -> Any:
    """What the JSON protocols have for a timestamp and a blob, which checkers take."""
    match value:
        case dict():
            return {key: as_json(item) for key, item in value.items()}
        case list():
            return [as_json(item) for item in value]
        case datetime():
            return value.strftime("%Y-%m-%dT%H:%M:%SZ")
        case bytes():
            return "AP8="
        case _:
            return value


@pytest.mark.parametrize(("service", "operation"), OPERATIONS)
def test_reads_what_botocore_sends(service: str, operation: str) -> None:
    model = THEIRS[service].operation_model(operation)
    expected = {} if model.input_shape is None else sample(model.input_shape)
    sent = create_serializer("query", include_validation=False).serialize_to_request(expected, model)
    fields = read_fields(urlencode(sent["body"]))
    assert (fields["Action"], fields["Version"]) == (operation, THEIRS[service].api_version)
    shape = None if model.input_shape is None else model.input_shape.name
    assert read_members(load_model(service), shape, fields) == as_json(expected)


@pytest.mark.parametrize(("service", "operation"), OPERATIONS)
def test_botocore_reads_what_is_written(service: str, operation: str) -> None:
    model = THEIRS[service].operation_model(operation)
    expected = {} if model.output_shape is None else sample(model.output_shape)
    body = write_response(load_model(service), operation, expected, "request-1")
    parsed = parsed_by_botocore(model, 200, body)
    metadata = parsed.pop("ResponseMetadata")
    assert metadata["RequestId"] == "request-1"
    assert parsed == expected


def test_botocore_reads_an_error() -> None:
    model = THEIRS["iam"].operation_model("GetUser")
    error = write_error(
        load_model("iam"), RenderedError(400, "NoSuchEntity", b"", "The user <x> & \x00 is not there"), request_id="r"
    )
    assert error.status == 404
    parsed = parsed_by_botocore(model, 404, error.body)
    assert parsed["Error"] == {"Type": "Sender", "Code": "NoSuchEntity", "Message": "The user <x> & � is not there"}


def test_empty_lists_are_lists() -> None:
    shape = input_shape("iam", "UntagUser")
    assert read_members(load_model("iam"), shape, {"TagKeys": ""}) == {"TagKeys": []}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"DurationSeconds": "soon"}, "'soon' is not a number, at 'DurationSeconds'"),
        ({"RoleArn.x": "y"}, "A value is expected at 'RoleArn'"),
        ({"Tags.member.one.Key": "y"}, "'one' is not the number of an entry, at 'Tags'"),
        ({"Tags.member.99999999.Key": "y"}, "is not the number of an entry"),
        ({".".join("a" * 100): "y"}, "nested more than 20 levels"),
    ],
)
def test_refuses_invalid_requests(fields: dict[str, str], problem: str) -> None:
    shape = input_shape("sts", "AssumeRole")
    with pytest.raises(UnreadableRequest) as refusal:
        read_members(load_model("sts"), shape, fields)
    assert problem in str(refusal.value)


@pytest.mark.parametrize("text", ["a=1&a=2", "&".join(f"a{n}=1" for n in range(3_000)), "a=%ff"])
def test_refuses_forms(text: str) -> None:
    with pytest.raises(UnreadableRequest):
        read_fields(text)


def test_signature_fields_of_a_presigned_request_are_not_members() -> None:
    assert read_fields("Action=GetCallerIdentity&X-Amz-Signature=1&X-Amz-Date=2") == {"Action": "GetCallerIdentity"}


def endpoint() -> Endpoint:
    def handler(request: Any, _context: RequestContext) -> Any:
        return request

    result = EndpointTable([OperationSet(service="sts", handlers={"AssumeRole": handler})]).get(
        "query 2011-06-15.AssumeRole"
    )
    assert result is not None
    return result


def test_members_are_checked_by_the_model() -> None:
    with pytest.raises(Exception, match=r"2 validation errors detected: .*'roleArn'.*'durationSeconds'"):
        endpoint().check({"RoleArn": "x", "RoleSessionName": "job", "DurationSeconds": "1"})
