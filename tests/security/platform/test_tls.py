"""TLS: certificates by path and renewed in place, and requests refused without TLS, as others' clients see it."""

import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore.exceptions import SSLError
from cryptography import x509

from penstock.testing.certificates import TestAuthority
from penstock.testing.polling import eventually
from penstock.testing.server import RunningServer, start_server


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> TestAuthority:
    return TestAuthority(tmp_path_factory.mktemp("authority"), "authority")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, authority: TestAuthority) -> Iterator[RunningServer]:
    """``penstock serve`` with two workers and a certificate of the authority in its own files."""
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = authority.issue("first")
    shutil.copy(certificate, folder / "server.crt")
    shutil.copy(key, folder / "server.key")
    files = ("--tls-certificate", str(folder / "server.crt"), "--tls-key", str(folder / "server.key"))
    running = start_server(folder, arguments=(*files, "--workers", "2"))
    yield running
    running.stop()


def port_of(server: RunningServer) -> int:
    return int(server.endpoint_url.rpartition(":")[2])


def serial_served(server: RunningServer, authority: TestAuthority) -> int:
    context = ssl.create_default_context(cafile=str(authority.path))
    with (
        socket.create_connection(("127.0.0.1", port_of(server)), timeout=30) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        certificate = connection.getpeercert(binary_form=True)
    assert certificate is not None
    return x509.load_der_x509_certificate(certificate).serial_number


def test_boto3_speaks_to_the_server_over_tls(server: RunningServer, authority: TestAuthority) -> None:
    assert server.endpoint_url.startswith("https://")
    glue = server.client("glue", verify=str(authority.path))
    glue.create_registry(RegistryName="over-tls")
    assert glue.get_registry(RegistryId={"RegistryName": "over-tls"})["RegistryName"] == "over-tls"


def test_a_client_that_does_not_know_the_authority_sends_nothing(server: RunningServer) -> None:
    with pytest.raises(SSLError):
        server.client("glue").list_registries()


def test_plain_http_is_not_answered_where_tls_is_served(server: RunningServer) -> None:
    with socket.create_connection(("127.0.0.1", port_of(server)), timeout=30) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = connection.recv(1000)
    assert b"HTTP" not in answer


def test_a_renewed_certificate_is_served_without_a_restart(server: RunningServer, authority: TestAuthority) -> None:
    certificate, key = authority.issue("second")
    new = x509.load_pem_x509_certificate(certificate.read_bytes()).serial_number
    assert serial_served(server, authority) != new
    # A client that is connected stays so.
    glue = server.client("glue", verify=str(authority.path))
    glue.list_registries()
    for source, name in ((certificate, "server.crt"), (key, "server.key")):
        shutil.copy(source, server.home / "new")
        (server.home / "new").replace(server.home / name)
    # Either worker may take a connection, and each looks once a second.
    eventually(lambda: {serial_served(server, authority) for _ in range(10)} == {new}, "both workers serve the new one")
    glue.list_registries()


def serve(tmp_path: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "penstock", "serve", "--home", str(tmp_path), "--port", "0", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def test_plain_http_on_a_network_is_refused(tmp_path: Path) -> None:
    done = serve(tmp_path, "--host", "0.0.0.0")
    assert done.returncode == 2
    assert "0.0.0.0 is not a loopback address" in done.stderr
    assert "--tls-certificate" in done.stderr
    assert "--insecure-plain-http" in done.stderr
    assert not (tmp_path / "store").exists()


def test_a_certificate_that_does_not_work_is_one_clear_line(tmp_path: Path, authority: TestAuthority) -> None:
    certificate, key = authority.issue("late", days=-1)
    done = serve(tmp_path, "--tls-certificate", str(certificate), "--tls-key", str(key))
    assert done.returncode == 3
    assert f"penstock: The certificate in {certificate} expired on" in done.stderr
    assert "Traceback" not in done.stderr
    done = serve(tmp_path, "--tls-certificate", str(certificate))
    assert done.returncode == 2
    assert "--tls-certificate and --tls-key go together" in done.stderr
