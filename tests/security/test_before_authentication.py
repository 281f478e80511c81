"""Before a request is authenticated, little is spent on it."""

import asyncio
import base64
import http.client
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from penstock.testing.server import RunningServer, running_server

BODY = 10 * 1024 * 1024
MOST_MEMORY = 64 * 1024 * 1024
JSON = "application/x-amz-json-1.1"
FORM = "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A separate server: failed logins count, and its memory is measured."""
    with running_server(tmp_path_factory.mktemp("before") / "home") as started:
        yield started


def _signed(server: RunningServer, body: bytes, *, target: str = "AWSGlue.ListRegistries", **changed: Any) -> dict[str, str]:
    """Return the headers of a signed request; ``key``, ``region``, ``service`` and ``minutes`` make it invalid."""
    request = AWSRequest("POST", f"{server.endpoint_url}/", {"X-Amz-Target": target, "Content-Type": JSON}, body)
    credentials = Credentials(changed.get("key", server.access_key_id), server.secret_access_key)
    signer = SigV4Auth(credentials, changed.get("service", "glue"), changed.get("region", server.region))
    signer.add_auth(request)
    headers = dict(request.headers.items())
    if "minutes" in changed:
        moment = datetime.now(UTC) - timedelta(minutes=changed["minutes"])
        headers["X-Amz-Date"] = moment.strftime("%Y%m%dT%H%M%SZ")
    return headers


def _basic(key_id: str, secret: str) -> str:
    return "Basic " + base64.b64encode(f"{key_id}:{secret}".encode()).decode()


def _head(server: RunningServer, path: str, length: int, headers: dict[str, str]) -> bytes:
    host = urlsplit(server.endpoint_url).netloc
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}", f"Content-Length: {length}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _connect(server: RunningServer) -> socket.socket:
    url = urlsplit(server.endpoint_url)
    return socket.create_connection((url.hostname, url.port), timeout=120)


def _answer(connection: socket.socket) -> tuple[int, dict[str, Any]]:
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    content = answer.read()
    assert answer.status == 401 or answer.getheader("x-amzn-requestid") or answer.getheader("x-request-id")
    return answer.status, {"close": answer.getheader("connection"), "text": content.decode()}


def _refused_heads(server: RunningServer) -> dict[str, tuple[str, dict[str, str], str]]:
    """Return invalid requests: path, headers and the message of the answer."""
    unknown = _signed(server, b"", key="AKIATESTSUNKNOWNKEYS")
    return {
        "no signature": ("/", {"X-Amz-Target": "AWSGlue.ListRegistries", "Content-Type": JSON}, "MissingAuthentication"),
        "no signature on a form": ("/", {"Content-Type": FORM}, "MissingAuthenticationToken"),
        "an unknown key": ("/", unknown, "UnrecognizedClientException"),
        "another region": ("/", _signed(server, b"", region="mars-north-1"), "valid region"),
        "another service": ("/", _signed(server, b"", service="athena"), "correct service"),
        "an unserved service": ("/", _signed(server, b"", service="dynamodb"), "does not serve"),
        "an old date": ("/", _signed(server, b"", minutes=600), "InvalidSignatureException"),
        "an unknown operation": ("/", {"X-Amz-Target": "Nobody.Knows"}, "UnknownOperationException"),
        "no credentials": ("/subjects/s/versions", {}, "Unauthorized"),
        "an unknown user": ("/subjects/s/versions", {"Authorization": _basic("AKIATESTSUNKNOWNKEYS", "x")}, "Unauthorized"),
        "a wrong password": ("/subjects/s/versions", {"Authorization": _basic(server.access_key_id, "x")}, "Unauthorized"),
        "a signed hash": ("/", _wrong_hash(server), "InvalidSignatureException"),
    }


def _wrong_hash(server: RunningServer) -> dict[str, str]:
    """A signature over a declared hash, which is checked without the body; it was made with another secret."""
    request = AWSRequest("POST", f"{server.endpoint_url}/", {"X-Amz-Target": "AWSGlue.ListRegistries"}, b"{}")
    request.headers["X-Amz-Content-SHA256"] = "0" * 64
    SigV4Auth(Credentials(server.access_key_id, "guessed"), "glue", server.region).add_auth(request)
    return dict(request.headers.items())


@pytest.mark.parametrize(
    "case",
    [
        "no signature",
        "no signature on a form",
        "an unknown key",
        "another region",
        "another service",
        "an unserved service",
        "an old date",
        "an unknown operation",
        "no credentials",
        "an unknown user",
        "a wrong password",
        "a signed hash",
    ],
)
def test_a_request_that_nobody_signed_is_answered_before_its_body_is_sent(server: RunningServer, case: str) -> None:
    path, headers, expected = _refused_heads(server)[case]
    with _connect(server) as connection:
        connection.sendall(_head(server, path, BODY, headers))
        status, answer = _answer(connection)
    assert status in {400, 401, 403}
    assert expected in answer["text"]
    assert answer["close"] == "close"


@pytest.mark.parametrize("path", ["/", "/subjects/s/versions"])
def test_an_unsigned_request_that_expects_100_continue_is_refused(server: RunningServer, path: str) -> None:
    headers = {"X-Amz-Target": "AWSGlue.ListRegistries", "Expect": "100-continue"}
    with _connect(server) as connection:
        connection.sendall(_head(server, path, BODY, headers))
        assert connection.recv(64).startswith(b"HTTP/1.1 40")


def test_a_signed_request_is_answered_100_continue(server: RunningServer) -> None:
    with _connect(server) as connection:
        connection.sendall(_head(server, "/", 2, _signed(server, b"{}") | {"Expect": "100-continue"}))
        assert connection.recv(64) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"{}")
        assert _answer(connection)[0] == 200


def test_a_refused_call_with_a_small_body_keeps_its_connection(server: RunningServer) -> None:
    with _connect(server) as connection:
        for _ in range(2):
            connection.sendall(_head(server, "/", 2, {"X-Amz-Target": "AWSGlue.ListRegistries"}) + b"{}")
            status, answer = _answer(connection)
            assert (status, answer["close"]) == (400, None)
        connection.sendall(_head(server, "/", 2, _signed(server, b"{}")) + b"{}")
        assert _answer(connection)[0] == 200


@pytest.mark.parametrize("path", ["/", "/subjects/s/versions"])
def test_unsigned_bodies_use_no_memory(tmp_path: Path, path: str) -> None:
    with running_server(tmp_path / "home") as server:
        assert _fail_aws(server, 1) == "UnrecognizedClientException"
        peak = asyncio.run(_flood(server, path, requests=120))
        assert peak < MOST_MEMORY, f"{peak / 1e6:.0f} MB"
        assert server.client("glue").list_registries()["Registries"] == []


async def _flood(server: RunningServer, path: str, *, requests: int) -> int:
    """Return the maximal growth of the server's memory in bytes during so many unsigned bodies of 10 MB at once."""
    process = psutil.Process(server.process.pid)
    before = process.memory_info().rss
    peak = 0
    chunk = bytes(256 * 1024)
    url = urlsplit(server.endpoint_url)

    async def send() -> None:
        nonlocal peak
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        try:
            writer.write(_head(server, path, BODY, {"X-Amz-Target": "AWSGlue.ListRegistries"}))
            for _ in range(BODY // len(chunk)):
                writer.write(chunk)
                await writer.drain()
                peak = max(peak, process.memory_info().rss - before)
            await reader.read(1024)
        except ConnectionError:
            pass  # closed in the middle of what nobody asked for
        finally:
            writer.close()

    await asyncio.gather(*(send() for _ in range(requests)))
    return peak


def test_one_key_does_not_take_all_room_for_bodies(server: RunningServer) -> None:
    user = server.client("iam")
    user.create_user(UserName="uploader")
    user.attach_user_policy(UserName="uploader", PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess")
    made = user.create_access_key(UserName="uploader")["AccessKey"]
    greedy = [_connect(server) for _ in range(24)]
    try:
        for connection in greedy:
            connection.sendall(_head(server, "/", BODY, _signed(server, b"")))
        keys = {"access_key_id": made["AccessKeyId"], "secret_access_key": made["SecretAccessKey"]}
        large = server.client("glue", **keys)
        with pytest.raises(ClientError) as refused:
            large.create_registry(RegistryName="r", Description="x" * 1_000_000)
        assert refused.value.response["Error"]["Code"] == "ValidationException"
        # Requests that waited for room are told to retry; none of them has sent anything.
        assert _answer(greedy[-1])[0] == 503
    finally:
        for connection in greedy:
            connection.close()


def test_failed_logins_of_an_address_are_bounded_and_do_not_lock_out_a_key_that_succeeded(tmp_path: Path) -> None:
    # Three failures a second and thirty at once: so few that a busy machine runs into the bound, too.
    with running_server(tmp_path / "home", arguments=("--requests-per-second", "3")) as server:
        client = server.client("glue")
        client.list_registries()
        with ThreadPoolExecutor(8) as pool:
            first = list(pool.map(lambda number: _fail_aws(server, number), range(20)))
            confluent = list(pool.map(lambda number: _fail_confluent(server, number), range(60)))
            aws = list(pool.map(lambda number: _fail_aws(server, number), range(40)))
        assert set(first) == {"UnrecognizedClientException"}
        assert set(confluent) == {401, 429}
        assert "ThrottlingException" in aws
        assert client.list_registries()["Registries"] == []


def _fail_aws(server: RunningServer, number: int) -> str:
    with _connect(server) as connection:
        connection.sendall(_head(server, "/", 2, _signed(server, b"{}", key=f"AKIANOBODYHASKEY{number:04}")) + b"{}")
        return str(json.loads(_answer(connection)[1]["text"])["__type"])


def _fail_confluent(server: RunningServer, number: int) -> int:
    connection = http.client.HTTPConnection(urlsplit(server.endpoint_url).netloc, timeout=120)
    connection.request("GET", "/subjects", headers={"Authorization": _basic(f"AKIANOBODYHASKEY{number:04}", "x")})
    status = connection.getresponse().status
    connection.close()
    return status


def test_requests_to_both_apis_count_for_a_keys_limit(tmp_path: Path) -> None:
    with running_server(tmp_path / "home", arguments=("--requests-per-second", "3")) as server:
        connection = http.client.HTTPConnection(urlsplit(server.endpoint_url).netloc, timeout=120)
        statuses = []
        for _ in range(20):
            connection.request(
                "GET", "/subjects", headers={"Authorization": _basic(server.access_key_id, server.secret_access_key)}
            )
            answer = connection.getresponse()
            answer.read()
            statuses.append(answer.status)
        connection.close()
        assert set(statuses) == {200, 429}
        client = server.client("glue")
        with pytest.raises(ClientError) as refused:
            [client.list_registries() for _ in range(20)]
        assert refused.value.response["Error"]["Code"] == "ThrottlingException"
    # Stopped, so that everything is written.
    records = "".join(file.read_text() for file in (tmp_path / "home" / "audit").glob("logins-*"))
    assert '"errorCode":"ThrottlingException"' in records
    assert server.access_key_id in records
