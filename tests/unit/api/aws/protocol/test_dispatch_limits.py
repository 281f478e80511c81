"""What the dispatcher bounds: bodies, threads, requests of a key."""

import asyncio
import threading
from typing import Any

import orjson
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

from penstock.access.authorize import Authorizer
from penstock.access.federation.oidc_keys import IssuerKeys
from penstock.access.federation.web_identity import WebIdentities
from penstock.access.sessions import Sessions
from penstock.access.sts import TokenService
from penstock.api import body as bodies
from penstock.api import workers
from penstock.api.aws.iam import sts
from penstock.api.aws.protocol import dispatch, query
from penstock.api.limits import Limits, Throttle
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.sealing import Sealer
from penstock.testing.sqlite import new_database
from tests.unit.api.aws.protocol.dispatcher import CREDENTIALS, ID, World


@pytest.mark.parametrize("depth", [101, 1_000, 100_000])
def test_bounds_how_deep_a_body_goes(world: World, depth: int) -> None:
    answer = world.call("AWSGlue.GetSchemaVersion", b'{"a":' + b"[" * depth + b"]" * depth + b"}")
    assert answer.body["__type"] == "SerializationException"
    assert world.call("AWSGlue.GetSchemaVersion", orjson.dumps(ID | {"Wide": [[]] * 5_000})).status == 200


@pytest.mark.parametrize("item", [b"[]", b"{}", b"0", b'{"a":0}'])
def test_a_body_of_too_many_values_is_refused(world: World, item: bytes) -> None:
    answer = world.call("AWSGlue.GetSchemaVersion", b'{"x":[' + b",".join([item] * 600_000) + b"]}")
    assert (answer.status, answer.body["__type"]) == (413, "RequestEntityTooLargeException")
    assert "500,000 values" in answer.message


def test_a_large_body_is_parsed_on_a_thread_also_for_operations_of_the_event_loop(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []
    parse = bodies.parse_json

    def noted(body: bytes) -> Any:
        parsed.append(threading.current_thread().name)
        return parse(body)

    monkeypatch.setattr(dispatch, "parse_json", noted)
    for size in (10, 100_000):
        assert world.call("AWSGlue.GetSchemaVersion", ID | {"Unknown": "x" * size}).status == 200
    threads = [thread for _, _, thread in world.handlers.seen]
    assert [[name.startswith("penstock-api") for name in names] for names in (parsed, threads)] == [[False, True]] * 2
    with pytest.raises(RuntimeError, match="event loop"):
        asyncio.run(_parsed(b" " * 100_000))


async def _parsed(body: bytes) -> Any:
    return bodies.parse_json(body)


def test_a_form_is_bounded_and_a_large_one_is_read_on_a_thread(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    read_fields = query.read_fields

    def noted(text: str) -> dict[str, str]:
        read.append(threading.current_thread().name)
        return read_fields(text)

    monkeypatch.setattr(dispatch, "read_fields", noted)
    start = b"Action=GetUser&Version=2010-05-08&UserName=a&Unknown="
    for size in (100, 100_000, 1024 * 1024 + 1):
        form = start + b"a" * (size - len(start))
        made = AWSRequest("POST", "http://localhost/", {"Content-Type": "application/x-www-form-urlencoded"}, form)
        SigV4Auth(CREDENTIALS, "iam", "us-east-1").add_auth(made)
        answer = world.send(made)
        assert answer.status == (413 if size > 1024 * 1024 else 200)
    assert [name.startswith("penstock-api") for name in read] == [False, True]


def test_bounds_the_body_and_still_answers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MAX_BYTES", 100)
    made = AWSRequest("POST", "http://localhost/", {"X-Amz-Target": "AWSGlue.GetSchemaVersion"}, b"")
    SigV4Auth(CREDENTIALS, "glue", "us-east-1").add_auth(made)
    for chunks in ([b"x" * 101], [b"x" * 60] * 2):
        answer = world.send(made, chunks=chunks)
        assert (answer.status, answer.body["__type"]) == (413, "RequestEntityTooLargeException")


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


def test_an_access_key_over_its_rate_is_throttled(world: World) -> None:
    login = world.app._login
    assert login is not None
    login._limits = world.app._limits = Limits(throttle=Throttle(1.0, clock=lambda: 0.0))
    request = {"SchemaVersionId": "b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63"}
    assert world.call("AWSGlue.GetSchemaVersion", request).status == 200
    answer = world.call("AWSGlue.GetSchemaVersion", request)
    assert (answer.status, answer.body["__type"]) == (400, "ThrottlingException")
    assert answer.headers["retry-after"] == "1"


def test_recorded_operations_have_a_rate_for_all_keys_of_an_account(world: World) -> None:
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
    # Each call is recorded, and returns a new access key with its own rate.
    store = SqlAccessStore(new_database(), Sealer(bytes(32)))
    tokens = TokenService(store, Authorizer(store), Sessions(Sealer(bytes(32))))
    operations = sts.operations(tokens, WebIdentities(store, IssuerKeys({})))
    assert operations.bounded == {"AssumeRole", "AssumeRoleWithWebIdentity", "GetFederationToken"}
    assert operations.unsigned == {"AssumeRoleWithWebIdentity"}
