"""What ``penstock up`` refuses to listen on, before anything is fetched or started, and what it remembers of TLS."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from penstock.cli.platform import up
from penstock.cli.server import serve, serve_s3
from penstock.errors import InvalidInput
from penstock.local.platform import parts_of
from penstock.settings.home import Home, PlatformConfig
from penstock.testing.certificates import TestAuthority


class Started(Exception):
    """Raised in the place of the platform's start."""


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Run the command up to its start. Return the configuration that it stored in the home."""

    def run(*arguments: str) -> PlatformConfig:
        kept: list[PlatformConfig] = []

        class Platform:
            def __init__(self, home: Home, config: PlatformConfig, **_: object) -> None:
                kept.append(config)
                home.save(config)

        def foreground(_platform: object) -> None:
            raise Started

        monkeypatch.setattr(up, "Platform", Platform)
        monkeypatch.setattr(up, "_foreground", foreground)
        monkeypatch.setattr(up, "find_java", lambda _environment: None)
        monkeypatch.setattr(up, "fetch_shown", lambda *_, **__: None)
        done = CliRunner().invoke(up.command, ["--home", str(tmp_path / "home"), *arguments])
        if isinstance(done.exception, Started):
            return kept[0]
        assert done.exception is not None
        raise done.exception

    return run


@pytest.mark.parametrize("host", ["192.0.2.7", "lake.example.com"])
def test_a_network_without_tls_is_refused_without_the_explicit_option(start: Callable[..., Any], host: str) -> None:
    with pytest.raises(InvalidInput, match="is not a loopback address") as refused:
        start("--host", host)
    assert "--tls" in str(refused.value)
    assert "--insecure-plain-http" in str(refused.value)
    assert start("--host", host, "--insecure-plain-http").insecure_plain_http
    assert start("--host", host, "--tls").tls


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_an_address_that_clients_cannot_go_to_is_refused(start: Callable[..., Any], host: str) -> None:
    with pytest.raises(InvalidInput, match="Clients cannot connect to"):
        start("--host", host, "--tls")


def test_client_certificates_need_tls(start: Callable[..., Any]) -> None:
    with pytest.raises(InvalidInput, match="need TLS"):
        start("--mtls-port", "8754")


def test_tls_options_are_remembered_until_they_are_reset(start: Callable[..., Any], tmp_path: Path) -> None:
    certificate, key = (str(path) for path in TestAuthority(tmp_path, "given").issue("server"))
    first = start("--tls-certificate", certificate, "--tls-key", key, "--tls-authority", certificate, "--mtls-port", "8754")
    assert (first.tls, first.tls_certificate, first.tls_authority) == (True, certificate, certificate)
    assert start() == first
    assert start("--tls-certificate", certificate).tls_authority == ""
    plain = start("--no-tls")
    assert (plain.tls, plain.tls_certificate, plain.mtls_port) == (False, "", 0)
    assert start("--tls").tls_certificate == ""
    assert json.loads((tmp_path / "home" / "platform.json").read_text())["tls"] is True


def test_a_detached_start_hands_everything_on() -> None:
    given = {
        "server_port": 1234,
        "host": "lake.example.com",
        "tls": True,
        "tls_key": "/a key",
        "mtls_port": None,
        "insecure_plain_http": None,
        "metrics_without_key": True,
        "allowed_hosts": "a.example,.b.example",
    }
    assert list(up._options(given)) == [
        *("--server-port=1234", "--host=lake.example.com", "--tls", "--tls-key=/a key", "--metrics-without-key"),
        *("--allowed-host=a.example", "--allowed-host=.b.example"),
    ]


def test_options_of_serve_are_remembered_and_reset(start: Callable[..., Any], tmp_path: Path) -> None:
    keys = tmp_path / "keys, of a cluster.json"
    keys.write_text("{}")
    issuer = "https://cluster.example.com/id"
    told = [
        "--no-audit-reads",
        "--audit-keep-days=7",
        "--audit-keep-mb=100000",
        "--requests-per-second=50",
        "--min-free-mb=9",
    ]
    first = start("--oidc-keys", f"{issuer}={keys}", "--no-access-log", *told)
    assert start() == first
    assert Home(tmp_path / "home").load() == first
    assert set(first.audit_arguments) == {"--audit-log", *told[:3]}
    assert set(first.caller_arguments) == {
        *("--requests-per-second=50.0", "--min-free-mb=9", "--no-access-log", f"--oidc-keys={issuer}={keys}")
    }
    again = start("--no-oidc-keys", "--audit-reads", "--no-audit-log", "--requests-per-second=0")
    assert (again.oidc_keys, again.audit_reads, again.audit_log, again.requests_per_second) == ({}, True, False, 0)
    assert again.audit_keep_days == 7


def test_both_servers_are_started_with_the_remembered_options(start: Callable[..., Any], tmp_path: Path) -> None:
    """As the commands themselves read it: an option that one of them does not have ends it."""
    keys = tmp_path / "keys.json"
    keys.write_text("{}")
    config = start("--oidc-keys", f"https://cluster.example.com={keys}", "--no-audit-log", "--requests-per-second=7")
    parts = {part.service.name: part.service for part in parts_of(Home(tmp_path / "home"), config)}
    for name, command in (("server", serve.command), ("s3", serve_s3.command)):
        arguments = list(parts[name].command())
        read = command.make_context(name, arguments[arguments.index("--home") :]).params
        assert read["audit_log"] is False
        if name == "server":
            assert (read["requests_per_second"], read["oidc_keys"]) == (7.0, (f"https://cluster.example.com={keys}",))


def test_jobs_are_off_unless_asked_for_and_may_use_the_broker(start: Callable[..., Any], tmp_path: Path) -> None:
    def server(config: PlatformConfig) -> dict[str, Any]:
        (part,) = [part.service for part in parts_of(Home(tmp_path / "home"), config) if part.service.name == "server"]
        arguments = list(part.command())
        return serve.command.make_context("server", arguments[arguments.index("--home") :]).params

    assert server(start())["jobs"] is False
    start("--jobs", "--jobs-connect", "443", "--jobs-connect", "5439")
    again = server(start())
    assert (again["jobs"], again["jobs_connect"], again["jobs_without_sandbox"]) == (True, (8752, 443, 5439), False)
    off = start("--no-jobs")
    assert (off.jobs, off.jobs_connect) == (False, "")
    given = {"jobs": True, "jobs_connect": "443,5439", "jobs_without_sandbox": True}
    told = ["--jobs", "--jobs-connect=443", "--jobs-connect=5439", "--jobs-without-sandbox"]
    assert list(up._options(given)) == told


@pytest.mark.parametrize("named", ["https://cluster.example.com=/nowhere/keys.json", "https://cluster.example.com"])
def test_keys_that_are_not_there_are_refused_before_anything_starts(
    start: Callable[..., Any], named: str, tmp_path: Path
) -> None:
    with pytest.raises((InvalidInput, SystemExit)):
        start("--oidc-keys", named)
    assert not (tmp_path / "home").exists()


def test_a_detached_start_hands_issuers_on() -> None:
    given = {"oidc_keys": {"https://a.example": "/k=1"}, "requests_per_second": 2.0, "audit_log": False}
    options = ["--oidc-keys=https://a.example=/k=1", "--requests-per-second=2.0", "--no-audit-log"]
    assert list(up._options(given)) == options
    assert list(up._options({"oidc_keys": {}})) == ["--no-oidc-keys"]
