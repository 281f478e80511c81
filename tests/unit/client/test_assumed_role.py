"""Sessions that act as a role: which STS they ask, and for what."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs

import pytest

from penstock.client.assumed_role import assumed_role_session

ANSWER = b"""<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>
<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"""


class Sts(HTTPServer):
    """An endpoint that grants any role, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, list[str]]] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: Sts

    def do_POST(self) -> None:
        self.server.asked.append(parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        self.send_response(200)
        self.send_header("Content-Length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture
def sts() -> Iterator[Sts]:
    with Sts() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_the_given_sts_is_asked_once_for_the_role(sts: Sts, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"AWS_ACCESS_KEY_ID": "AKIAOWN", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    endpoint = f"http://127.0.0.1:{sts.server_port}"
    session = assumed_role_session("arn:aws:iam::111122223333:role/reader", "night", endpoint_url=endpoint)
    for _ in range(2):
        credentials = session.get_credentials()
        assert credentials is not None
        assert credentials.get_frozen_credentials().access_key == "ASIAROLE"
    (asked,) = sts.asked
    assert (asked["RoleArn"], asked["RoleSessionName"]) == (["arn:aws:iam::111122223333:role/reader"], ["night"])
