"""For which hosts a server answers, and on which addresses it listens without TLS."""

import pytest

from penstock.errors import InvalidInput
from penstock.server.http.hosts import host_of, host_rule
from penstock.server.http.serving import Listening, check_listening
from penstock.settings.addresses import is_loopback


@pytest.mark.parametrize(
    ("host", "is_so"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("[::1]", True),
        ("::ffff:127.0.0.1", True),
        ("LocalHost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("", False),
        ("10.0.0.1", False),
        ("localhost.example", False),
        ("2130706433", False),
    ],
)
def test_loopback(host: str, is_so: bool) -> None:
    assert is_loopback(host) is is_so


@pytest.mark.parametrize(
    ("header", "host"),
    [
        (b"Lake.Example:80", "lake.example"),
        (b"[::1]:8750", "::1"),
        (b"x:", "x"),
        (b"", None),
        (b":80", None),
        (b"a b", None),
        (b"x:80:90", None),
        (b"user@x", None),
        (b"[::1", None),
        (b"\xff", None),
    ],
)
def test_the_host_of_a_header(header: bytes, host: str | None) -> None:
    assert host_of(header) == host


def test_on_loopback_only_loopback_names_are_answered() -> None:
    rule = host_rule("127.0.0.1", ["lake.example", ".svc.example"])
    assert rule is not None
    for host in ("localhost", "127.0.0.1", "::1", "bucket.localhost", "lake.example", "a.b.svc.example"):
        assert rule.permits(host), host
    for host in ("evil.example", "svc.example", "xlake.example", "a.lake.example", "10.0.0.1", "localhost.evil.example"):
        assert not rule.permits(host), host
    assert rule.permits("10.0.0.1", local_address="10.0.0.1")


def test_on_a_network_every_host_is_answered_unless_some_are_named() -> None:
    assert host_rule("0.0.0.0") is None
    rule = host_rule("0.0.0.0", ["lake.example"])
    assert rule is not None
    assert not rule.permits("evil.example")


@pytest.mark.parametrize("name", ["http://x", "x:80", "", "a/b", "*.x"])
def test_an_invalid_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="is not a host name"):
        host_rule("127.0.0.1", [name])


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1", "lake.example"])
def test_plain_http_on_a_network_is_refused_without_the_explicit_option(host: str) -> None:
    with pytest.raises(InvalidInput, match="not a loopback address") as refused:
        check_listening(Listening(host=host, port=0))
    assert "--insecure-plain-http" in (refused.value.remedy or "")
    check_listening(Listening(host=host, port=0, insecure_plain_http=True))
    check_listening(Listening(host="127.0.0.1", port=0))
