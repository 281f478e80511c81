"""Random requests to every registry operation: the answer is a success or a documented error, never an internal error.

Members come from Glue's own model, half of them with values that mean something in the registry behind, so that requests get
past the checks of shapes and into the handlers; the others are of any type. Every example runs on the same registry, which
fills and empties as they go.
"""

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.api.aws.protocol.dispatch import AwsApp
from penstock.api.aws.protocol.endpoints import EndpointTable
from penstock.api.aws.protocol.models import load_model
from penstock.api.aws.registry.operations import operations
from penstock.registry.service import RegistryService
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.testing.sqlite import new_database

MODEL = load_model("glue")
PREFIX = MODEL.target_prefix
ARN = "arn:aws:glue:us-east-1:000000000000"

AVRO = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
DEFINITIONS = [
    AVRO,
    '{"type":"record","name":"R","fields":[{"name":"a","type":"long"},{"name":"b","type":"int","default":1}]}',
    '{"type":"record","name":"R","fields":[{"name":"a","type":"string"}]}',
    '{"type":"record","name":"R","fields":[{"name":"next","type":["null","R"],"default":null}]}',
    '{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"integer"}}}',
    '{"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#/definitions/a"}}}',
    '{"$ref":"file:///etc/passwd"}',
    '{"type":"object","patternProperties":{"(a+)+$":{"type":"string"}}}',
    "{",
    "true",
    "[" * 5_000,
    "syntax = 'proto3'; message M { string a = 1; }",
    "\ud800",
    "\x00",
]
# What members of these names are often filled with; the model has the rest.
KNOWN: dict[str, list[Any]] = {
    "RegistryId": [{"RegistryName": "r"}, {"RegistryArn": f"{ARN}:registry/r"}, {}],
    "SchemaId": [
        {"RegistryName": "r", "SchemaName": "s"},
        {"RegistryName": "r", "SchemaName": "j"},
        {"SchemaArn": f"{ARN}:schema/r/s"},
        {"SchemaName": "s"},
        {},
    ],
    "SchemaVersionNumber": [{"LatestVersion": True}, {"VersionNumber": 1}, {"VersionNumber": 2}, {}],
    "FirstSchemaVersionNumber": [{"VersionNumber": 1}, {"LatestVersion": True}],
    "SecondSchemaVersionNumber": [{"VersionNumber": 2}, {"LatestVersion": True}],
    "MetadataKeyValue": [{"MetadataKey": "k", "MetadataValue": "v"}, {}],
    "RegistryName": ["r", "default-registry", "none", "a b", ""],
    "SchemaName": ["s", "j", "none", "a/b", "x" * 300],
    "SchemaArn": [f"{ARN}:schema/r/s", f"{ARN}:schema/r", f"{ARN}:registry/r", "arn", f"{ARN}:schema//"],
    "RegistryArn": [f"{ARN}:registry/r", f"{ARN}:registry/none", f"{ARN}:schema/r/s", "arn:aws:glue:::registry/"],
    "ResourceArn": [f"{ARN}:registry/r", f"{ARN}:schema/r/s", f"{ARN}:table/d/t", "x", f"{ARN}:schema/r/s/t"],
    "VersionNumber": [1, 2, 0, -1, 100_000, 2**63, 1.5, True],
    "Versions": ["1", "1-3", "2-1", "1,2", "1-99999", "-", "٣"],
    "DataFormat": ["AVRO", "JSON", "PROTOBUF"],
    "Compatibility": ["NONE", "DISABLED", "BACKWARD", "BACKWARD_ALL", "FORWARD", "FORWARD_ALL", "FULL", "FULL_ALL"],
    "SchemaDefinition": DEFINITIONS,
    "SchemaDiffType": ["SYNTAX_DIFF"],
    "MaxResults": [1, 25, 100, 0, 101],
    "NextToken": ["", "x", "bm90IGEgdG9rZW4=", "{}"],
    "Tags": [{}, {"a": "b"}, {"": ""}, {f"k{number}": "v" for number in range(60)}],
    "TagsToAdd": [{"a": "b"}, {"aws:x": "y"}],
    "TagsToRemove": [["a"], []],
    "MetadataKey": ["k", "x-amz-meta-transport", "", "k" * 200],
    "MetadataValue": ["v", "", "v" * 300],
}
ANY = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.text(max_size=20),
        st.sampled_from(["r", "s", AVRO]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=8,
)  # fmt: skip
COMMON = {"SerializationException", "ValidationException", "UnknownOperationException"}


def members(shape: str, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values of a shape of the model, mostly."""
    model = MODEL.shapes[shape]
    kind = model["type"]
    if kind == "structure" and depth < 6:
        names = model["members"]
        required = set(model.get("required", ()))
        made = {name: member(name, inner["shape"], depth) for name, inner in names.items()}
        return st.fixed_dictionaries(
            {name: made[name] for name in names if name in required},
            optional={name: made[name] for name in names if name not in required},
        )
    if kind == "list":
        return st.lists(members(model["member"]["shape"], depth + 1), max_size=3)
    if kind == "map":
        return st.dictionaries(st.text(max_size=10), members(model["value"]["shape"], depth + 1), max_size=3)
    if "enum" in model:
        return st.sampled_from(model["enum"])
    return {
        "string": st.text(max_size=20),
        "integer": st.integers(-1, 200_000),
        "long": st.integers(-1, 200_000),
        "boolean": st.booleans(),
        "timestamp": st.integers(0, 2**40),
    }.get(kind, ANY)


def member(name: str, shape: str, depth: int) -> st.SearchStrategy[Any]:
    usual = st.sampled_from(KNOWN[name]) if KNOWN.get(name) else members(shape, depth + 1)
    # One time in ten something else, so that a request of several members is often right in all but one.
    return st.integers(0, 9).flatmap(lambda roll: (ANY if roll == 9 else usual) if roll else members(shape, depth + 1))


class Silent:
    def started(self) -> None:
        pass

    def finished(self, served: Any) -> None:
        pass


class Caller:
    """Sends bodies to the dispatcher, over one registry that is filled again when it has lost its schemas."""

    def __init__(self) -> None:
        self.served = operations(RegistryService(SqlRegistryStore(new_database())))
        self.app = AwsApp(
            EndpointTable([self.served]), authenticator=None, account="000000000000", region="us-east-1", observer=Silent()
        )
        self.loop = asyncio.new_event_loop()

    def close(self) -> None:
        self.app.close()
        self.loop.close()

    def stock(self) -> str:
        """The registry with its schemas, whatever earlier requests deleted; a version's id."""
        self.call("CreateRegistry", {"RegistryName": "r"})
        registry = {"RegistryName": "r"}
        answer: dict[str, Any] = {}
        for name, data_format, text in (("j", "JSON", DEFINITIONS[4]), ("s", "AVRO", AVRO)):
            expected = {"SchemaName": name, "DataFormat": data_format, "SchemaDefinition": text, "Compatibility": "BACKWARD"}
            self.call("CreateSchema", {"RegistryId": registry, **expected})
            schema = {"SchemaId": {**registry, "SchemaName": name}, "SchemaVersionNumber": {"LatestVersion": True}}
            answer = self.call("GetSchemaVersion", schema)[1]
        return str(answer.get("SchemaVersionId", uuid4()))

    def call(self, operation: str, request: Any) -> tuple[int, dict[str, Any]]:
        return self.send(operation, json.dumps(request).encode("utf-8", "surrogatepass"))

    def send(self, operation: str, body: bytes) -> tuple[int, dict[str, Any]]:
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"x-amz-target", f"{PREFIX}.{operation}".encode()), (b"content-type", b"application/x-amz-json-1.1")]
        scope = {
            "type": "http", "method": "POST", "path": "/", "raw_path": b"/", "query_string": b"", "headers": headers,
            "client": ("test", 1), "server": ("test", 80), "scheme": "http", "http_version": "1.1",
        }  # fmt: skip
        self.loop.run_until_complete(self.app(scope, receive, send))
        answer = json.loads(b"".join(message.get("body", b"") for message in sent[1:]))
        return sent[0]["status"], answer


@pytest.fixture(scope="module")
def caller() -> Iterator[Caller]:
    made = Caller()
    yield made
    made.close()


OPERATIONS = sorted(operations(RegistryService(SqlRegistryStore(new_database()))).handlers)
REQUESTS = st.sampled_from(OPERATIONS).flatmap(
    lambda operation: st.tuples(st.just(operation), members(MODEL.operations[operation]["input"]["shape"]))
)


def documented(operation: str, status: int, answer: dict[str, Any]) -> None:
    if status == 200:
        return
    errors = {error["shape"] for error in MODEL.operations[operation]["errors"]}
    assert status < 500, (operation, answer)
    assert answer["__type"] in errors | COMMON, (operation, answer)
    text = answer.get("message") or answer.get("Message")
    assert text
    assert "Traceback" not in text


SETTINGS = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))


@SETTINGS
@given(requests=st.lists(REQUESTS, min_size=1, max_size=5), ids=st.integers(0, 3))
def test_requests_of_the_models_shapes(caller: Caller, requests: list[tuple[str, Any]], ids: int) -> None:
    known = [caller.stock(), str(uuid4()), "x"]
    for operation, given_request in requests:
        named = ids and isinstance(given_request, dict) and "SchemaVersionId" in given_request
        request = {**given_request, "SchemaVersionId": known[ids - 1]} if named else given_request
        documented(operation, *caller.call(operation, request))


@SETTINGS
@given(operation=st.sampled_from(OPERATIONS), request=ANY)
def test_any_json(caller: Caller, operation: str, request: Any) -> None:
    documented(operation, *caller.call(operation, request))


@SETTINGS
@given(operation=st.sampled_from(OPERATIONS), body=st.one_of(st.binary(max_size=40), st.text(max_size=40).map(str.encode)))
def test_any_bytes(caller: Caller, operation: str, body: bytes) -> None:
    documented(operation, *caller.send(operation, body))


@pytest.mark.parametrize("data_format", ["AVRO", "JSON", "PROTOBUF"])
@pytest.mark.parametrize("text", [*DEFINITIONS, "9" * 5_000, '{"a":' * 30_000, "\ufeff" + AVRO])
def test_definitions(caller: Caller, data_format: str, text: str) -> None:
    expected = {"DataFormat": data_format, "SchemaDefinition": text}
    documented("CheckSchemaVersionValidity", *caller.call("CheckSchemaVersionValidity", expected))
    name = f"n{uuid4().hex[:8]}"
    documented("CreateSchema", *caller.call("CreateSchema", {"SchemaName": name, "Compatibility": "FULL_ALL", **expected}))
