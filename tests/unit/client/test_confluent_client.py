"""The client of Confluent's API against a server of canned answers."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import UUID

import pytest

from penstock.client.confluent import ConfluentClient
from penstock.errors import AccessDenied, EnvironmentProblem, InvalidInput, NotFound
from penstock.local.processes.ports import free_ports

GUID = UUID("b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63")


class Canned(ThreadingHTTPServer):
    """Answers by method and path; each list's last answer is repeated."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, list[tuple[int, Any]]] = {}
        self.asked: list[str] = []
        self.headers: dict[str, str] = {}
        self.bodies: list[Any] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, what: str, *bodies: Any, status: int = 200) -> None:
        self.answers.setdefault(what, []).extend((status, body) for body in bodies)


class _Handler(BaseHTTPRequestHandler):
    server: Canned

    def log_message(self, *_: Any) -> None:
        pass

    def _reply(self) -> None:
        what = f"{self.command} {self.path}"
        self.server.asked.append(what)
        self.server.headers = dict(self.headers.items())
        size = int(self.headers.get("Content-Length", 0))
        self.server.bodies.append(json.loads(self.rfile.read(size)) if size else None)
        known = self.server.answers.get(what, [(404, {"error_code": 40403, "message": "Schema not found"})])
        status, body = known.pop(0) if len(known) > 1 else known[0]
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    do_GET = do_POST = _reply  # noqa: N815 - the library's names


@pytest.fixture
def server() -> Iterator[Canned]:
    with Canned() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def client(server: Canned, **settings: Any) -> ConfluentClient:
    return ConfluentClient(server.url + "/", sleep=lambda _: None, **settings)


def test_texts_are_requested_once(server: Canned) -> None:
    server.answer("GET /schemas/ids/7", {"schema": '"int"'})
    server.answer(f"GET /schemas/guids/{GUID}", {"schema": "{}", "schemaType": "JSON"})
    asking = client(server)
    for _ in range(3):
        assert (asking.text(7).definition, asking.text(7).data_format) == ('"int"', "AVRO")
        assert asking.text(GUID).data_format == "JSON"
    assert len(server.asked) == 2


def test_an_unknown_id_is_remembered_for_a_while(server: Canned) -> None:
    now = [0.0]
    asking = client(server, clock=lambda: now[0])
    for _ in range(3):
        with pytest.raises(NotFound, match="Schema not found"):
            asking.text(9)
    assert len(server.asked) == 1
    server.answer("GET /schemas/ids/9", {"schema": '"int"'})
    now[0] = 31.0
    assert asking.text(9).definition == '"int"'


def test_references_come_with_what_they_build_on_in_front(server: Canned) -> None:
    def refer(*subjects: str) -> list[dict[str, Any]]:
        return [{"name": f"n.{subject}", "subject": subject, "version": 1} for subject in subjects]

    server.answer("GET /schemas/ids/1", {"schema": "top", "references": refer("a/b", "c")})
    server.answer("GET /subjects/a%2Fb/versions/1", {"schema": "left", "references": refer("base")})
    server.answer("GET /subjects/c/versions/1", {"schema": "right", "references": refer("base")})
    server.answer("GET /subjects/base/versions/1", {"schema": "base"})
    schema_text = client(server).text(1)
    assert [(item.name, item.text) for item in schema_text.references] == [
        ("n.base", "base"),
        ("n.a/b", "left"),
        ("n.c", "right"),
    ]


def test_circular_references(server: Canned) -> None:
    server.answer("GET /schemas/ids/1", {"schema": "x", "references": [{"name": "n", "subject": "s", "version": 1}]})
    server.answer("GET /subjects/s/versions/1", {"schema": "x", "references": [{"name": "n", "subject": "s", "version": 1}]})
    with pytest.raises(EnvironmentProblem, match="circular or too many references"):
        client(server).text(1)


def test_find_and_register(server: Canned) -> None:
    server.answer("POST /subjects/t-value", {"id": 3})
    server.answer("POST /subjects/t-value/versions", {"id": 4, "guid": str(GUID)})
    assert client(server).find("t-value", '"int"') == (3, None)
    assert client(server).register("t-value", '"int"') == (4, GUID)
    assert server.bodies[0] == {"schema": '"int"', "schemaType": "AVRO"}


@pytest.mark.parametrize("place", ["setting", "url"])
def test_login_and_context(server: Canned, place: str) -> None:
    server.answer("GET /schemas/ids/7?subject=%3A.other%3A", {"schema": '"int"'})
    if place == "setting":
        asking = client(server, user_info="me:secret", context="other")
    else:
        asking = ConfluentClient(server.url.replace("//", "//me:secret@"), context="other")
    assert asking.text(7)
    assert server.headers["Authorization"] == "Basic " + base64.b64encode(b"me:secret").decode()
    assert "secret" not in asking.url


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, {"error_code": 401, "message": "Unauthorized"}, (AccessDenied, "basic.auth.user.info", 1)),
        (409, {"error_code": 409, "message": "Schema being registered is incompatible"}, (InvalidInput, "incompatible", 1)),
        (503, b"<html>", (EnvironmentProblem, "Service Unavailable", 3)),
        (429, {"message": "slow down"}, (EnvironmentProblem, "slow down", 3)),
        (200, b"[]", (EnvironmentProblem, "not an object", 1)),
        (200, b"{", (EnvironmentProblem, "did not answer as a schema registry", 1)),
        (200, {"schema": 5}, (EnvironmentProblem, "no usable 'schema'", 1)),
        (200, {"schema": "x", "references": [7]}, (EnvironmentProblem, "no usable 'subject'", 1)),
    ],
)
def test_what_goes_wrong(
    server: Canned, status: int, body: bytes | dict[str, Any], expected: tuple[type[Exception], str, int]
) -> None:
    error, says, tries = expected
    server.answer("GET /schemas/ids/7", body, status=status)
    with pytest.raises(error, match=says):
        client(server).text(7)
    assert len(server.asked) == tries


def test_a_redirect_is_not_followed_with_the_password(server: Canned) -> None:
    server.answer("GET /schemas/ids/7", {"schema": '"int"'}, status=302)
    with pytest.raises(InvalidInput, match="302"):
        client(server, user_info="me:secret").text(7)
    assert len(server.asked) == 1


def test_another_try_helps(server: Canned) -> None:
    server.answer("GET /schemas/ids/7", {}, status=503)
    server.answer("GET /schemas/ids/7", {"schema": '"int"'})
    assert client(server).text(7).definition == '"int"'


def test_no_server_and_an_invalid_url() -> None:
    (port,) = free_ports(1)
    with pytest.raises(EnvironmentProblem, match="gave no usable answer"):
        ConfluentClient(f"http://127.0.0.1:{port}", sleep=lambda _: None).text(1)
    for url in ("file:///etc/passwd", "registry:8081", "http://"):
        with pytest.raises(InvalidInput, match="must begin with http"):
            ConfluentClient(url)
