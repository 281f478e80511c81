"""Requests that are answered together: each as if it was the only one."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from penstock.access.errors import NotAuthorized
from penstock.api.aws.protocol.endpoints import Endpoint, EndpointTable
from penstock.api.aws.protocol.operations import BatchHandler, OperationSet, RequestContext
from penstock.api.errors import UnreadableRequest
from penstock.errors import NotFound

VERSION = "b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63"


class Store:
    """One account's handler, which records its batches."""

    def __init__(self, status: str) -> None:
        self.status = status
        self.calls: list[list[tuple[str, str]]] = []

    def answer(self, asked: Sequence[tuple[Mapping[str, Any], RequestContext]]) -> list[Any]:
        names = [request["SchemaId"]["SchemaName"] for request, _ in asked]
        self.calls.append([(name, context.principal) for name, (_, context) in zip(names, asked, strict=True)])
        return [
            NotFound(f"no {name}")
            if name == "missing"
            else {"SchemaVersionId": VERSION, "Status": "\ud800" if name == "unsayable" else self.status}
            for name in names
        ]

    def handler(self) -> BatchHandler:
        return BatchHandler(self.answer)


class OperationAuthorizer:
    """Denies ``eve``, and returns the handler of their account for others."""

    def __init__(self, handlers: dict[str, Any]) -> None:
        self.handlers = handlers

    def authorize(self, endpoint: Endpoint, request: dict[str, Any], context: RequestContext) -> tuple[Any, ...]:
        if context.principal == "eve":
            raise NotAuthorized("eve may not.")
        return self.handlers.get(context.account, endpoint.handler), context


def endpoint(handler: Callable[..., Any] | BatchHandler) -> Endpoint:
    result = EndpointTable([OperationSet(service="glue", handlers={"RegisterSchemaVersion": handler})]).get(
        "AWSGlue.RegisterSchemaVersion"
    )
    assert result is not None
    return result


def answers_of(handler: Callable[..., Any] | BatchHandler, authorizer: Any, raw: Any) -> list[Any]:
    return endpoint(handler).answer(raw, authorizer)


def asked(name: str, principal: str = "ana", account: str = "1") -> tuple[dict[str, Any], RequestContext]:
    context = RequestContext(
        service="glue",
        operation="RegisterSchemaVersion",
        account=account,
        region="us-east-1",
        principal=principal,
        request_id="r",
    )
    return {"SchemaId": {"RegistryName": "r", "SchemaName": name}, "SchemaDefinition": "{}"}, context


def test_each_request_is_checked_authorized_and_answered_separately() -> None:
    store = Store("AVAILABLE")
    unshaped = ({"SchemaId": 7}, asked("x")[1])
    raw = [asked("a"), unshaped, asked("b", "eve"), asked("missing"), asked("c", "bob"), asked("unsayable")]
    answers = answers_of(store.handler(), OperationAuthorizer({}), raw)
    assert json.loads(answers[0]) == json.loads(answers[4]) == {"SchemaVersionId": VERSION, "Status": "AVAILABLE"}
    assert [type(answers[place]) for place in (1, 2, 3)] == [UnreadableRequest, NotAuthorized, NotFound]
    assert isinstance(answers[5], TypeError)
    assert store.calls == [[("a", "ana"), ("missing", "ana"), ("c", "bob"), ("unsayable", "ana")]]


def test_each_account_has_its_own_handler() -> None:
    ours, theirs = Store("AVAILABLE"), Store("FAILURE")
    handler = ours.handler()
    authorizer = OperationAuthorizer({"2": theirs.handler()})
    raw = [asked("a"), asked("b", "bob", "2"), asked("c"), asked("d", "bob", "2")]
    answers = answers_of(handler, authorizer, raw)
    assert [json.loads(answer)["Status"] for answer in answers] == ["AVAILABLE", "FAILURE", "AVAILABLE", "FAILURE"]
    assert ours.calls == [[("a", "ana"), ("c", "ana")]]
    assert theirs.calls == [[("b", "bob"), ("d", "bob")]]


@pytest.mark.parametrize(
    "authorizer",
    [None, OperationAuthorizer({"2": lambda *_: {"Status": "DELETING"}})],
    ids=["no authorizer", "another handler"],
)
def test_a_handler_that_answers_one_is_called_for_each(authorizer: OperationAuthorizer | None) -> None:
    def alone(request: dict[str, Any], _: RequestContext) -> dict[str, str]:
        if request["SchemaId"]["SchemaName"] == "missing":
            raise NotFound("no missing")
        return {"Status": "PENDING"}

    raw = [asked("a"), asked("missing"), asked("b", account="2")]
    one, missing, two = answers_of(alone, authorizer, raw)
    assert json.loads(one) == {"Status": "PENDING"}
    assert isinstance(missing, NotFound)
    assert json.loads(two) == {"Status": "DELETING" if authorizer else "PENDING"}
