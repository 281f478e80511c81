"""An upload may take as long as it goes on, and no longer."""

from types import SimpleNamespace
from typing import Any

import pytest

from penstock.server.http import s3 as s3_http
from penstock.server.http.protocol import BoundedProtocol, IncompleteRequests
from penstock.server.http.s3 import MIN_PROGRESS, UploadProtocol


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> IncompleteRequests:
    made = IncompleteRequests(10)
    monkeypatch.setattr(s3_http, "waiting", made)
    return made


@pytest.fixture
def connection(waiting: IncompleteRequests, monkeypatch: pytest.MonkeyPatch) -> UploadProtocol:
    monkeypatch.setattr(BoundedProtocol, "on_body", lambda self, body: None)
    made = UploadProtocol.__new__(UploadProtocol)
    made._progress = 0
    loop: Any = SimpleNamespace(time=lambda: 50.0, call_later=lambda *_: None)
    made.loop = loop
    made._requests = 1
    waiting.since[made] = 1.0
    return made


def test_only_enough_bytes_restart_the_deadline(connection: UploadProtocol, waiting: IncompleteRequests) -> None:
    for _ in range(10):
        connection.on_body(b"x")
    assert waiting.since[connection] == 1.0
    connection.on_body(bytes(MIN_PROGRESS - 11))
    assert waiting.since[connection] == 1.0
    connection.on_body(b"x")
    assert waiting.since[connection] == 50.0


def test_bytes_after_the_answer_have_no_deadline_of_their_own(
    connection: UploadProtocol, waiting: IncompleteRequests
) -> None:
    connection.answer_ends()
    connection.on_body(bytes(10 * MIN_PROGRESS))
    assert waiting.since[connection] == 1.0


def test_a_refusal_is_a_document_of_s3(connection: UploadProtocol) -> None:
    kind, body = connection.document(408, "RequestTimeoutException", "Too <late>.")
    assert kind == "application/xml"
    assert b"<Code>RequestTimeout</Code><Message>Too &lt;late&gt;.</Message>" in body
