"""Every served operation answers bad input by one of AWS's codes and a status of 4xx, never by an internal error.

The cases are generated from the operations' models: a complete request, with one member after the other left out, of another
type, too long, or a text that nobody expects, at any depth.
"""

import base64
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import pytest

from penstock.access.principals import Caller, root_arn
from penstock.api.aws.protocol.endpoints import Endpoint
from penstock.api.aws.protocol.errors import InvalidShape, render
from penstock.api.aws.protocol.models import SERVICES, ServiceModel
from penstock.api.aws.protocol.operations import RequestContext
from penstock.api.aws.protocol.shapes import UnservedMember
from tests.unit.api.aws.every_operation import ACCOUNT, World, fill, start, whole
from tests.unit.api.handlers import called

TEXTS = ("", "../'\"%00 \n{}*?é", "arn:aws:glue:us-east-1:1:x", "9" * 6_000)
OTHERS: Mapping[str, tuple[Any, ...]] = {
    "string": (7, ["x"], {}, *TEXTS),
    "structure": ("x", [], {}),
    "list": ("x", {}, [None], [[]]),
    "map": ("x", [], {"": ""}),
    "integer": ("x", -(2**40), 1.5, 10**30),
    "long": ("x", 10**30, 1.5),
    "boolean": ("x", 7),
    "timestamp": ("x", 10**30),
    "blob": (7, "%%%"),
}
# What a statement's text and a session's code do is attacked elsewhere; here they would start processes.
STARTS = {"StartQueryExecution", "StartJobRun", "CreateSession", "RunStatement"}
MOST_DEEP = 5


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = start(tmp_path_factory.mktemp("bad"))
    fill(made)
    yield made
    made.services.close()


def _wire(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {name: _wire(item) for name, item in value.items()}
    return [_wire(item) for item in value] if isinstance(value, list) else value


def _spoiled(endpoint: Endpoint) -> Iterator[tuple[str, Any]]:
    model = endpoint.service.model
    shape = model.operations[endpoint.operation].get("input", {}).get("shape")
    if shape is None:
        return
    complete = _wire(whole(model, shape, endpoint.operation))
    if not model.query:
        yield "a list", []
    yield from _variants(model, shape, complete, 0)


def _variants(model: ServiceModel, shape: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield what was changed, and the value with one thing changed at any depth."""
    described = model.shapes[shape]
    kind = described["type"]
    if depth:
        # A form has texts alone, whatever a member's type is.
        others = OTHERS.get(kind, ("x",)) if not model.query else TEXTS if kind == "string" else ()
        yield from ((f"= {str(other)[:30]!r}", other) for other in others)
    if kind == "structure" and isinstance(value, Mapping) and depth < MOST_DEEP:
        yield from _members(model, described["members"], value, depth)
    if kind == "list" and isinstance(value, list) and value and depth < MOST_DEEP:
        for what, other in _variants(model, described["member"]["shape"], value[0], depth + 1):
            yield f"[] {what}", [other]


def _members(
    model: ServiceModel, members: Mapping[str, Any], value: Mapping[str, Any], depth: int
) -> Iterator[tuple[str, Any]]:
    yield "= {}", {}
    for name, member in members.items():
        if name in value:
            yield f"without {name}", {entry: item for entry, item in value.items() if entry != name}
        if name in value or model.shapes[member["shape"]]["type"] == "string":
            for what, other in _variants(model, member["shape"], value.get(name), depth + 1):
                yield f"{name} {what}", {**value, name: other}


def _answer(endpoint: Endpoint, raw: Any, context: RequestContext) -> tuple[int, str]:
    """Return the status and code of the answer."""
    service = endpoint.service
    try:
        if service.model.query:
            shape = service.model.operations[endpoint.operation]["input"]["shape"]
            broken: list[str] = []
            checked = service.compiler.checker(shape)(raw, "", broken)
            if broken:
                raise InvalidShape("; ".join(broken))
        else:
            checked = endpoint.check(raw)
        if endpoint.operation in STARTS:
            return 200, "OK"
        endpoint.encode(called(endpoint.handler, checked, context), context)
    except UnservedMember as found:
        return 400, found.member
    except Exception as error:  # noqa: BLE001 -- rendered as the dispatcher renders it
        rendered = render(error, request_id="1", renamed=service.renamed, message_keys=service.message_keys)
        return rendered.status, rendered.code
    return 200, "OK"


@pytest.mark.parametrize("service", SERVICES)
def test_bad_input_is_refused_by_a_code_and_a_status_of_4xx(
    service: str, filled: World, caplog: pytest.LogCaptureFixture
) -> None:
    wrong: dict[str, tuple[int, str]] = {}
    count = 0
    for endpoint in filled.served(service):
        root = Caller(account=ACCOUNT, principal=root_arn(ACCOUNT), user_id=ACCOUNT)
        context = RequestContext(
            service=service, operation=endpoint.operation, account=ACCOUNT, region="us-east-1",
            principal=root.principal, request_id="1", caller=root,
        )  # fmt: skip
        for what, raw in _spoiled(endpoint):
            status, code = _answer(endpoint, raw, context)
            count += 1
            if not (status == 200 or (400 <= status < 500 and code)):
                wrong[f"{endpoint.operation} {what}"] = (status, code)
    assert count
    assert wrong == {}, [record.exc_info[1] for record in caplog.records if record.exc_info]
