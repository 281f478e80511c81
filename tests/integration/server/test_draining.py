"""SIGTERM drains: while a server tells its callers to go elsewhere, it answers them, on old connections and new ones."""

import contextlib
import http.client
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from penstock.testing.server import RunningServer, start_server

DRAIN = ("--drain-seconds", "600")


@pytest.fixture(params=["1", "2"])
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    server = start_server(tmp_path, arguments=[*DRAIN, "--workers", request.param])
    yield server
    server.stop(signal.SIGKILL)


def connect(server: RunningServer) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(server.endpoint_url).netloc, timeout=60)


def ask(connection: http.client.HTTPConnection, path: str) -> tuple[int, str | None, str]:
    """Return status, Connection header and the body's status."""
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.headers.get("connection"), json.loads(answer.read())["status"]


def ask_once(server: RunningServer, path: str) -> tuple[int, str | None, str]:
    with contextlib.closing(connect(server)) as connection:
        return ask(connection, path)


def draining(server: RunningServer) -> bool:
    return ask_once(server, "/readyz")[0] == 503


def test_a_server_that_drains_answers_on_old_and_new_connections(server: RunningServer) -> None:
    idle = [connect(server) for _ in range(4)]
    for connection in idle:
        assert ask(connection, "/healthz") == (200, None, "ok")
    server.process.send_signal(signal.SIGTERM)
    # A new connection each time, so that all workers are asked.
    quiet = 0
    while quiet < 20:
        quiet = quiet + 1 if draining(server) else 0
        time.sleep(0.01)
    for connection in idle:
        assert ask(connection, "/readyz") == (503, "close", "draining")
        connection.close()
    assert ask_once(server, "/healthz") == (200, "close", "ok")
    server.client("glue").create_registry(RegistryName="late")
    assert server.process.poll() is None


def test_a_second_signal_ends_the_draining(server: RunningServer) -> None:
    assert ask_once(server, "/healthz")[0] == 200
    server.process.send_signal(signal.SIGTERM)
    while not draining(server):
        time.sleep(0.01)
    assert server.stop(signal.SIGTERM) == 0


def test_an_interrupt_does_not_drain(tmp_path: Path) -> None:
    server = start_server(tmp_path, arguments=DRAIN)
    assert server.stop(signal.SIGINT) in {0, 130, -signal.SIGINT}
