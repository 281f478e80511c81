"""Requests at the edge of HTTP, as bytes on a socket, and who may read the paths besides the APIs."""

import base64
import contextlib
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from penstock.local.platform import Platform
from penstock.testing.server import running_server


def exchange(url: str, request: bytes) -> bytes:
    """Return the answer to ``request`` until the server closes the connection, or has answered and waits."""
    where = urlsplit(url)
    with socket.create_connection((where.hostname or "", where.port or 0), timeout=120) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(request)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while data := connection.recv(65536):
                answer += data
    return answer


def status_of(answer: bytes) -> int:
    return int(answer.split()[1])


def get(url: str, path: str = "/healthz", *headers: str) -> int:
    lines = "".join(f"{line}\r\n" for line in headers)
    return status_of(exchange(url, f"GET {path} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode()))


def basic(key_id: str, secret: str) -> str:
    return "Authorization: Basic " + base64.b64encode(f"{key_id}:{secret}".encode()).decode()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (("Host: localhost",), 200),
        (("Host: 127.0.0.1:8750",), 200),
        (("Host: [::1]:8750",), 200),
        (("Host: registry.localhost",), 200),
        ((), 400),
        (("Host: localhost", "Host: localhost"), 400),
        (("Host: localhost", "Host: rebound.example"), 400),
        (("Host:",), 400),
        (("Host: local host",), 400),
        (("Host: rebound.example",), 421),
        (("Host: rebound.example:80",), 421),
        (("Host: localhost.rebound.example",), 421),
        (("Host: 192.0.2.1",), 421),
    ],
)
def test_a_request_names_one_host_of_the_server(target: Any, headers: tuple[str, ...], status: int) -> None:
    assert get(target.url, "/healthz", *headers) == status


def test_a_foreign_host_reaches_no_api(target: Any) -> None:
    """A page under another name could send this if its name resolved to this machine: refused even with a key."""
    login = basic(target.access_key_id, target.secret_access_key)
    assert get(target.url, "/subjects", "Host: localhost", login) == 200
    for path in ("/subjects", "/metrics", "/readyz", "/"):
        assert get(target.url, path, "Host: rebound.example", login) == 421
    assert status_of(exchange(target.url, b"GET http://rebound.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")) == 421


def test_the_s3_endpoint_refuses_foreign_hosts(platform: Platform) -> None:
    url = platform.config.s3_endpoint_url
    assert get(url, "/lake", "Host: localhost") == 403
    assert get(url, "/lake", "Host: rebound.example") == 421
    assert get(url, "/lake") == 400


@pytest.mark.parametrize(("size", "status"), [(65_536, 200), (65_537, 431), (70_000, 431), (120_000, 431)])
def test_a_head_has_64_kib_to_the_byte(target: Any, size: int, status: int) -> None:
    start, end = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: ", b"\r\n\r\n"
    assert status_of(exchange(target.url, start + b"a" * (size - len(start) - len(end)) + end)) == status


def test_metrics_need_a_key_of_the_servers_own_account(target: Any) -> None:
    host = "Host: localhost"
    assert get(target.url, "/metrics", host) == 401
    assert get(target.url, "/metrics", host, basic(target.access_key_id, "wrong")) == 401
    assert get(target.url, "/metrics", host, basic(target.access_key_id, target.secret_access_key)) == 200
    iam = target.client("iam")
    iam.create_user(UserName="scraper")
    try:
        key = iam.create_access_key(UserName="scraper")["AccessKey"]
        assert get(target.url, "/metrics", host, basic(key["AccessKeyId"], key["SecretAccessKey"])) == 200
        iam.delete_access_key(UserName="scraper", AccessKeyId=key["AccessKeyId"])
    finally:
        iam.delete_user(UserName="scraper")


def test_health_needs_no_key(target: Any) -> None:
    assert get(target.url, "/healthz", "Host: localhost") == 200
    assert get(target.url, "/readyz", "Host: localhost") == 200


def test_hosts_and_metrics_open_by_name(tmp_path: Path) -> None:
    arguments = ("--allowed-host", ".example.com", "--metrics-without-key")
    with running_server(tmp_path, arguments=arguments) as server:
        assert get(server.endpoint_url, "/metrics", "Host: lake.example.com") == 200
        assert get(server.endpoint_url, "/metrics", "Host: example.com") == 421
