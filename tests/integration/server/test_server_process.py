"""The real server as a child process: workers, logs, kills, shutdown, start."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from penstock.errors import EnvironmentProblem
from penstock.testing.server import RunningServer, running_server, start_server
from tests.integration.server.bare_http import get, refusal, signed


def test_reports_its_health(penstock_server: RunningServer) -> None:
    penstock_server.client("glue").get_databases()
    assert get(penstock_server, "/healthz")[0] == 200
    assert json.loads(get(penstock_server, "/readyz")[1])["status"] == "ready"
    metrics = get(penstock_server, "/metrics")[1]
    assert 'penstock_requests_total{code="OK",operation="GetDatabases",service="glue"}' in metrics
    assert 'penstock_request_seconds_bucket{le="0.01",operation="GetDatabases",service="glue"}' in metrics
    assert "penstock_requests_in_flight 0.0" in metrics
    assert "kafka_schema_registry_registered_count " in metrics
    assert "kafka_schema_registry_api_success_count " in metrics


def test_logs_requests_and_no_secrets(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        server.client("secretsmanager").create_secret(Name="quiet", SecretString="hush-hush")
        refusal(server.client("glue", aws_secret_access_key="another").get_databases)
    lines = [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]
    assert [(line["operation"], line["code"], line["principal"]) for line in lines] == [
        ("CreateSecret", "OK", "arn:aws:iam::000000000000:root"),
        ("unknown", "InvalidSignatureException", "-"),
    ]
    assert "hush-hush" not in server.log
    assert server.secret_access_key not in server.log
    assert b"hush-hush" not in b"".join(path.read_bytes() for path in (tmp_path / "store").iterdir())
    for path in (tmp_path / "master.key", tmp_path / "store"):
        assert path.stat().st_mode & 0o077 == 0


def test_two_workers_are_one_server(tmp_path: Path) -> None:
    with running_server(tmp_path, arguments=["--workers", "2"]) as server:
        for number in range(6):
            server.client("secretsmanager").create_secret(Name=f"s{number}", SecretString="x")
        for _ in range(6):
            assert len(server.client("secretsmanager").list_secrets()["SecretList"]) == 6
        # A worker adds its counters to those of all twice a second.
        created = 'penstock_requests_total{code="OK",operation="CreateSecret",service="secretsmanager"} 6.0'
        _wait_until(lambda: created in get(server, "/metrics")[1])
    assert server.process.returncode == 0


def test_a_dead_worker_is_replaced_and_a_killed_parent_leaves_none(tmp_path: Path) -> None:
    with running_server(tmp_path, arguments=["--workers", "2"]) as server:
        parent = psutil.Process(server.process.pid)
        workers = _workers(parent, 2)
        workers[0].kill()
        _wait_until(lambda: len(_listed(parent)) == 2 and workers[0] not in _listed(parent))
        assert json.loads(get(server, "/readyz")[1])["status"] == "ready"
        everyone = parent.children(recursive=True)
        server.stop(signal.SIGKILL)
        _wait_until(lambda: not any(child.is_running() for child in everyone))


def _listed(parent: psutil.Process) -> list[psutil.Process]:
    """The workers: children of the fork server."""
    processes: list[psutil.Process] = []
    for child in parent.children(recursive=True):
        # One may end while it is looked at.
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.ppid() != parent.pid:
                processes.append(child)
    return processes


def _workers(parent: psutil.Process, count: int) -> list[psutil.Process]:
    _wait_until(lambda: len(_listed(parent)) == count)
    return _listed(parent)


def test_a_killed_server_keeps_what_it_answered(tmp_path: Path) -> None:
    first = start_server(tmp_path)
    first.client("secretsmanager").create_secret(Name="kept", SecretString="value")
    assert first.stop(signal.SIGKILL) == -signal.SIGKILL
    second = start_server(tmp_path, access_key_id=first.access_key_id, secret_access_key=first.secret_access_key)
    try:
        assert second.client("secretsmanager").get_secret_value(SecretId="kept")["SecretString"] == "value"
    finally:
        assert second.stop() == 0


def test_shutdown_lets_requests_end(tmp_path: Path) -> None:
    """A request whose body is still coming in when SIGTERM comes is answered."""
    with running_server(tmp_path) as server:
        prepared = signed(server, "AWSGlue.GetDatabases")
        where = urlsplit(server.endpoint_url)
        head = "".join(f"{name}: {_text(value)}\r\n" for name, value in prepared.headers.items())
        with socket.create_connection((where.hostname or "", where.port or 0), timeout=120) as connection:
            connection.sendall(f"POST / HTTP/1.1\r\nHost: {where.netloc}\r\n{head}\r\n".encode())
            _wait_until(lambda: "penstock_requests_in_flight 1.0" in get(server, "/metrics")[1])
            server.process.send_signal(signal.SIGTERM)
            _wait_until(lambda: _refuses(where.hostname or "", where.port or 0))
            connection.sendall(b"{}")
            assert connection.recv(4096).startswith(b"HTTP/1.1 200 OK")
        assert server.process.wait(30) == 0


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _refuses(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=5).close()
    except ConnectionRefusedError:
        return True
    return False


def _wait_until(condition: Callable[[], bool], seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "penstock", "serve", "--home", str(tmp_path), "--port", str(port)],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    assert done.returncode == 3
    assert f"Port {port} of 127.0.0.1 cannot be used" in done.stderr
    assert "--port" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_auth_warns_and_lets_everybody_in(tmp_path: Path) -> None:
    with running_server(tmp_path, arguments=["--no-auth"]) as server:
        assert (
            server.client("glue", aws_access_key_id="any", aws_secret_access_key="thing").get_databases()["DatabaseList"]
            == []
        )
    assert "WARNING: --no-auth" in server.log


def test_servers_that_start_at_once_share_a_home(tmp_path: Path) -> None:
    started: list[RunningServer] = []

    def start(name: str) -> None:
        started.append(start_server(tmp_path / "home", log_name=name))

    threads = [threading.Thread(target=start, args=(f"{number}.log",)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        one, two = started
        one.client("secretsmanager").create_secret(Name="shared", SecretString="x")
        assert two.client("secretsmanager").get_secret_value(SecretId="shared")["SecretString"] == "x"
    finally:
        for server in started:
            server.stop()


def test_a_database_of_a_newer_penstock_is_refused(tmp_path: Path) -> None:
    import sqlite3

    with running_server(tmp_path):
        pass
    connection = sqlite3.connect(tmp_path / "store" / "penstock.db")
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    with pytest.raises(EnvironmentProblem, match=r"written by a newer Penstock.*9999.*Upgrade"):
        start_server(tmp_path)
