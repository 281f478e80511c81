"""The JSON protocol's dispatcher, called as ASGI without a socket."""

import asyncio
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from penstock.access.authenticate import Authenticator, KeyCache
from penstock.access.authorize import Authorizer
from penstock.access.federation.oidc_keys import IssuerKeys
from penstock.access.federation.web_identity import WebIdentities
from penstock.access.keys import AccessKey
from penstock.access.sessions import Sessions
from penstock.access.sts import TokenService
from penstock.api import body as bodies
from penstock.api import workers
from penstock.api.aws.iam import sts
from penstock.api.aws.protocol.dispatch import AwsApp
from penstock.api.aws.protocol.endpoints import EndpointTable
from penstock.api.aws.protocol.operations import OperationSet, RequestContext, RunOnThread
from penstock.api.limits import Limits
from penstock.api.observer import CompletedRequest
from penstock.api.throttle import Throttle
from penstock.errors import EnvironmentProblem, InternalError, InvalidInput, NotFound
from penstock.store.memory.access import MemoryAccessStore
from penstock.store.sql.sealing import Sealer

KEY = AccessKey(
    access_key_id="AKIAIOSFODNN7EXAMPLE",
    secret_access_key="a secret of thirty characters.",
    account="111122223333",
    principal="arn:aws:iam::111122223333:user/ana",
    created=datetime(2026, 1, 1, tzinfo=UTC),
)
CREDENTIALS = Credentials(KEY.access_key_id, KEY.secret_access_key)


class SchemaMissing(NotFound):
    """A class without a code of its own takes its ancestor's."""


class Handlers:
    """Handlers that note what they were given."""

    def __init__(self) -> None:
        self.seen: list[tuple[Mapping[str, Any], RequestContext, str]] = []
        self.failure: Exception | None = None
        self.longer = False

    def __call__(self, request: Mapping[str, Any], context: RequestContext) -> Mapping[str, Any]:
        self.seen.append((request, context, threading.current_thread().name))
        if self.failure is not None:
            raise self.failure
        if self.longer and context.on_loop:
            raise RunOnThread
        return {"SchemaVersionId": "b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63", "VersionNumber": 1, "Unmodelled": 1}


@dataclass
class Noted:
    served: list[CompletedRequest] = field(default_factory=list)
    in_flight: int = 0

    def started(self) -> None:
        self.in_flight += 1

    def finished(self, request: CompletedRequest) -> None:
        self.in_flight -= 1
        self.served.append(request)


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def message(self) -> str:
        return str(self.body.get("Message") or self.body.get("message"))


class World:
    def __init__(self, *, authenticated: bool = True) -> None:
        store = MemoryAccessStore()
        store.add(KEY)
        self.handlers = Handlers()
        self.noted = Noted()
        sets = [
            OperationSet(
                service="glue",
                handlers={"GetSchemaVersion": self.handlers, "RegisterSchemaVersion": self.handlers},
                inline=frozenset({"GetSchemaVersion"}),
                bounded=frozenset({"RegisterSchemaVersion"}),
            ),
            OperationSet(service="athena", handlers={"GetQueryExecution": self.handlers}),
            OperationSet(service="secretsmanager", handlers={"GetSecretValue": self.handlers}),
        ]
        authenticator = Authenticator(keys=KeyCache(store), region="us-east-1") if authenticated else None
        self.app = AwsApp(
            EndpointTable(sets), authenticator=authenticator, account="000000000000", region="us-east-1", observer=self.noted
        )

    def send(self, made: AWSRequest, *, chunks: list[bytes] | None = None) -> Answer:
        """The answer to a request; ``chunks`` is the body as it comes in, by default whole."""
        prepared = made.prepare()
        path, _, query = prepared.url.removeprefix("http://localhost").partition("?")
        headers = [(b"host", b"localhost")]
        headers += [
            (name.lower().encode(), _bytes(value)) for name, value in prepared.headers.items() if name.lower() != "host"
        ]
        scope = {
            "type": "http",
            "method": prepared.method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": headers,
            "client": ("127.0.0.1", 1),
        }
        sent: list[Any] = []
        coming = list(chunks) if chunks is not None else [_bytes(prepared.body or b"")]

        async def receive() -> Any:
            if not coming:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": coming.pop(0), "more_body": bool(coming)}

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(self.app(scope, receive, send))
        if not sent:
            return Answer(0, {}, {})
        start, *rest = sent
        assert [message.get("more_body", False) for message in rest] == [True] * (len(rest) - 1) + [False]
        answered = b"".join(message["body"] for message in rest)
        headers_sent = {name.decode(): value.decode() for name, value in start["headers"]}
        assert int(headers_sent["content-length"]) == len(answered)
        return Answer(start["status"], headers_sent, orjson.loads(answered))

    def call(self, target: str, body: Any = None, *, service: str = "glue", **headers: str) -> Answer:
        """The answer to a signed request."""
        data = body if isinstance(body, bytes) else orjson.dumps({} if body is None else body)
        made = AWSRequest(
            "POST",
            "http://localhost/",
            {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.1"} | headers,
            data,
        )
        SigV4Auth(CREDENTIALS, service, "us-east-1").add_auth(made)
        return self.send(made)


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.app.close()


ID = {"SchemaVersionId": "b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63"}


def test_answers_with_the_output_shape(world: World) -> None:
    answer = world.call("AWSGlue.GetSchemaVersion", ID)
    assert answer.status == 200
    assert answer.body == ID | {"VersionNumber": 1}
    assert answer.headers["content-type"] == "application/x-amz-json-1.1"
    assert len(answer.headers["x-amzn-requestid"]) == 36


def test_tells_the_handler_who_asks(world: World) -> None:
    answer = world.call("AWSGlue.GetSchemaVersion", ID)
    request, context, _ = world.handlers.seen[0]
    assert request == ID
    assert (context.service, context.operation, context.account, context.region, context.principal) == (
        "glue",
        "GetSchemaVersion",
        KEY.account,
        "us-east-1",
        KEY.principal,
    )
    assert context.request_id == answer.headers["x-amzn-requestid"]


def test_runs_inline_operations_on_the_loop_and_others_on_threads(world: World) -> None:
    world.call("AWSGlue.GetSchemaVersion", ID)
    world.call("AWSGlue.RegisterSchemaVersion", {"SchemaId": {}, "SchemaDefinition": "x"})
    assert [thread == threading.main_thread().name for *_, thread in world.handlers.seen] == [True, False]
    assert world.handlers.seen[1][2].startswith("penstock-api")


def test_an_inline_operation_that_takes_longer_is_called_again_on_a_thread(world: World) -> None:
    world.handlers.longer = True
    assert world.call("AWSGlue.GetSchemaVersion", ID).status == 200
    assert [thread == threading.main_thread().name for *_, thread in world.handlers.seen] == [True, False]


def test_answers_json_1_0_in_kind(world: World) -> None:
    answer = world.call("AWSGlue.GetSchemaVersion", ID, **{"Content-Type": "application/x-amz-json-1.0"})
    assert answer.headers["content-type"] == "application/x-amz-json-1.0"


def test_renders_an_error_from_its_class(world: World) -> None:
    world.handlers.failure = SchemaMissing("Schema is not found.", remedy="Create it.")
    answer = world.call("AWSGlue.GetSchemaVersion", ID)
    assert answer.status == 400
    assert answer.body == {"__type": "EntityNotFoundException", "Message": "Schema is not found. Create it."}
    assert answer.headers["x-amzn-errortype"] == "EntityNotFoundException"


@pytest.mark.parametrize(
    ("target", "service", "body", "code"),
    [
        ("AWSGlue.GetSchemaVersion", "glue", ID, "InternalServiceException"),
        ("AmazonAthena.GetQueryExecution", "athena", {"QueryExecutionId": "x"}, "InternalServerException"),
        ("secretsmanager.GetSecretValue", "secretsmanager", {"SecretId": "x"}, "InternalServiceError"),
    ],
)
@pytest.mark.parametrize("failure", [KeyError("password123"), InternalError("password123"), EnvironmentProblem("disk")])
def test_a_defect_is_the_services_own_fault(  # noqa: PLR0917 -- pytest passes by name
    world: World, target: str, service: str, body: Any, code: str, failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    world.handlers.failure = failure
    answer = world.call(target, body, service=service)
    assert (answer.status, answer.body["__type"]) == (500, code)
    assert answer.headers["x-amzn-requestid"] in caplog.text
    if isinstance(failure, KeyError):
        assert "password123" not in answer.message
        assert answer.headers["x-amzn-requestid"] in answer.message


def test_athenas_bad_input_has_athenas_code(world: World) -> None:
    world.handlers.failure = InvalidInput("no")
    answer = world.call("AmazonAthena.GetQueryExecution", {"QueryExecutionId": "x"}, service="athena")
    assert answer.body == {"__type": "InvalidRequestException", "Message": "no"}
    answer = world.call("AmazonAthena.GetQueryExecution", {}, service="athena")
    assert answer.body["__type"] == "InvalidRequestException"
    assert "Value null at 'queryExecutionId'" in answer.message


def test_tells_apart_what_nobody_has_and_what_is_not_served(world: World) -> None:
    answer = world.call("AWSGlue.CreateJob")
    assert answer.body["__type"] == "UnknownOperationException"
    assert "CreateJob is an operation of glue that Penstock does not serve yet. 'penstock operations'" in answer.message
    answer = world.call("AWSGlue.CreateEverything")
    assert (answer.body["__type"], answer.message) == (
        "UnknownOperationException",
        "glue has no operation 'CreateEverything'.",
    )
    answer = world.call("AmazonS3.GetObject")
    assert "Known prefixes: AWSGlue, AWSOrganizationsV20161128, AmazonAthena, com.amazonaws.clou" in answer.message
    answer = world.call("")
    assert "names no operation" in answer.message
    assert world.handlers.seen == []


def test_does_not_say_what_is_served_to_strangers(world: World) -> None:
    answer = world.send(AWSRequest("POST", "http://localhost/", {"X-Amz-Target": "AWSGlue.CreateJob"}, b"{}"))
    assert (answer.status, answer.body["__type"]) == (400, "MissingAuthenticationTokenException")


def test_refuses_a_signature_of_another_service(world: World) -> None:
    answer = world.call("AWSGlue.GetSchemaVersion", ID, service="athena")
    assert (answer.body["__type"], "correct service: 'glue'" in answer.message) == ("InvalidSignatureException", True)
    assert world.handlers.seen == []


@pytest.mark.parametrize("body", [b"{", b"\xff", b"nul", b'{"a":1}x'])
def test_refuses_what_is_no_json(world: World, body: bytes) -> None:
    answer = world.call("AWSGlue.GetSchemaVersion", body)
    assert (answer.status, answer.body["__type"]) == (400, "SerializationException")
    assert "not JSON" in answer.message


@pytest.mark.parametrize("depth", [101, 1_000, 100_000])
def test_bounds_how_deep_a_body_goes(world: World, depth: int) -> None:
    answer = world.call("AWSGlue.GetSchemaVersion", b'{"a":' + b"[" * depth + b"]" * depth + b"}")
    assert answer.body["__type"] == "SerializationException"
    assert world.call("AWSGlue.GetSchemaVersion", orjson.dumps(ID | {"Wide": [[]] * 5_000})).status == 200


def test_bounds_the_body_and_still_answers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MAX_BYTES", 100)
    made = AWSRequest("POST", "http://localhost/", {"X-Amz-Target": "AWSGlue.GetSchemaVersion"}, b"")
    SigV4Auth(CREDENTIALS, "glue", "us-east-1").add_auth(made)
    for chunks in ([b"x" * 101], [b"x" * 60] * 2):
        answer = world.send(made, chunks=chunks)
        assert (answer.status, answer.body["__type"]) == (413, "RequestEntityTooLargeException")


def test_joins_a_body_that_comes_in_pieces(world: World) -> None:
    data = orjson.dumps(ID)
    made = AWSRequest("POST", "http://localhost/", {"X-Amz-Target": "AWSGlue.GetSchemaVersion"}, data)
    SigV4Auth(CREDENTIALS, "glue", "us-east-1").add_auth(made)
    assert world.send(made, chunks=[data[:9], data[9:], b""]).status == 200


def test_a_client_that_goes_away_is_no_error(world: World) -> None:
    made = AWSRequest("POST", "http://localhost/", {"X-Amz-Target": "AWSGlue.GetSchemaVersion"}, b"")
    SigV4Auth(CREDENTIALS, "glue", "us-east-1").add_auth(made)
    assert world.send(made, chunks=[]).status == 0
    assert world.noted.served[0].code == "ClientGone"


def test_takes_the_members_of_a_presigned_url(world: World) -> None:
    made = AWSRequest("GET", "http://localhost/", {"X-Amz-Target": "AWSGlue.GetSchemaVersion"}, orjson.dumps(ID))
    SigV4QueryAuth(CREDENTIALS, "glue", "us-east-1").add_auth(made)
    assert world.send(made).status == 200
    assert world.handlers.seen[0][0] == ID


def test_counts_and_times_every_request(world: World) -> None:
    world.call("AWSGlue.GetSchemaVersion", ID)
    world.call("AWSGlue.CreateJob")
    world.call("AWSGlue.MadeUp")
    assert [(each.service, each.operation, each.code, each.status) for each in world.noted.served] == [
        ("glue", "GetSchemaVersion", "OK", 200),
        ("glue", "CreateJob", "UnknownOperationException", 400),
        ("glue", "unknown", "UnknownOperationException", 400),
    ]
    assert world.noted.in_flight == 0


def test_slows_clients_down_when_too_many_wait(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_MAX_OF_ONE", 0)
    assert world.call("AWSGlue.RegisterSchemaVersion", {}).body["__type"] == "ThrottlingException"


def test_threads_are_shared_by_access_key_and_without_one_by_address(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    owners: list[str] = []
    run = workers.Workers.run

    async def noted(self: Any, work: Any, *arguments: Any, owner: str = "") -> Any:
        owners.append(owner)
        return await run(self, work, *arguments, owner=owner)

    world.call("AmazonAthena.GetQueryExecution", {"QueryExecutionId": "x"}, service="athena")
    monkeypatch.setattr(workers.Workers, "run", noted)
    world.call("AmazonAthena.GetQueryExecution", {"QueryExecutionId": "x"}, service="athena")
    anonymous = World(authenticated=False)
    target = {"X-Amz-Target": "AmazonAthena.GetQueryExecution"}
    anonymous.send(AWSRequest("POST", "http://localhost/", target, b'{"QueryExecutionId": "x"}'))
    anonymous.app.close()
    assert owners == [CREDENTIALS.access_key, "127.0.0.1"]


def test_without_authentication_everybody_is_anonymous() -> None:
    world = World(authenticated=False)
    answer = world.send(
        AWSRequest("POST", "http://localhost/", {"X-Amz-Target": "AWSGlue.GetSchemaVersion"}, orjson.dumps(ID))
    )
    assert answer.status == 200
    assert (world.handlers.seen[0][1].principal, world.handlers.seen[0][1].account) == ("anonymous", "000000000000")
    world.app.close()


def test_a_handler_without_an_operation_is_a_mistake_found_at_start() -> None:
    with pytest.raises(ValueError, match="glue has no operation GetSchemaVersoin"):
        EndpointTable([OperationSet(service="glue", handlers={"GetSchemaVersoin": Handlers()})])
    twice = OperationSet(service="glue", handlers={"GetSchemaVersion": Handlers()})
    with pytest.raises(ValueError, match="served twice"):
        EndpointTable([twice, twice])


def test_an_access_key_over_its_bound_is_told_to_wait(world: World) -> None:
    login = world.app._login
    assert login is not None
    login._limits = world.app._limits = Limits(throttle=Throttle(1.0, clock=lambda: 0.0))
    request = {"SchemaVersionId": "b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63"}
    assert world.call("AWSGlue.GetSchemaVersion", request).status == 200
    answer = world.call("AWSGlue.GetSchemaVersion", request)
    assert (answer.status, answer.body["__type"]) == (400, "ThrottlingException")


def test_what_an_account_may_repeat_without_end_is_bounded_for_all_its_keys(world: World) -> None:
    throttle = Throttle(1.0, clock=lambda: 0.0, whose="An account", what="such requests")
    world.app._limits = Limits(account_throttle=throttle)
    for expected in (200, 400):
        world.call("AWSGlue.GetSchemaVersion", ID)
        answer = world.call("AWSGlue.RegisterSchemaVersion", {"SchemaId": {}, "SchemaDefinition": '"int"'})
        assert answer.status == expected
    assert (answer.body["__type"], answer.message) == (
        "ThrottlingException",
        "Rate exceeded. An account may send 1 such requests a second.",
    )
    assert [context.operation for _, context, _ in world.handlers.seen].count("RegisterSchemaVersion") == 1


def test_roles_are_assumed_at_a_bounded_rate() -> None:
    # Each one leaves a record, and gives a new access key with a bound of its own.
    store = MemoryAccessStore()
    tokens = TokenService(store, Authorizer(store), Sessions(Sealer(bytes(32))))
    operations = sts.operations(tokens, WebIdentities(store, IssuerKeys({})))
    assert operations.bounded == {"AssumeRole", "AssumeRoleWithWebIdentity", "GetFederationToken"}
    assert operations.unsigned == {"AssumeRoleWithWebIdentity"}
