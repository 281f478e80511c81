"""The TLS context of a server: whose certificate a connection sees, and what is wrong with files that do not work."""

import asyncio
import shutil
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from penstock.errors import EnvironmentProblem
from penstock.server.http import serving
from penstock.server.http.tls import ReloadingContext, server_context
from penstock.settings.tls import TlsFiles
from penstock.testing.certificates import TestAuthority


@pytest.fixture
def authority(tmp_path: Path) -> TestAuthority:
    return TestAuthority(tmp_path, "authority")


def shake(
    server: ssl.SSLContext, authority: Path, *, minimum: ssl.TLSVersion | None = None, own: tuple[Path, Path] | None = None
) -> ssl.SSLObject:
    """The client's end of a handshake in memory."""
    context = ssl.create_default_context(cafile=str(authority))
    if minimum is not None:
        context.minimum_version, context.maximum_version = minimum, minimum
    if own is not None:
        context.load_cert_chain(*own)
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        context.wrap_bio(down, up, server_hostname="localhost"),
        server.wrap_bio(up, down, server_side=True),
    ]
    waiting = [True, True]
    for _ in range(10):
        for place, end in enumerate(ends):
            try:
                end.do_handshake()
                waiting[place] = False
            except ssl.SSLWantReadError:
                pass
        if not any(waiting):
            return ends[0]
    raise AssertionError("the handshake does not end")


def serial(end: ssl.SSLObject) -> int:
    shown = end.getpeercert(binary_form=True)
    assert shown is not None
    return x509.load_der_x509_certificate(shown).serial_number


def serial_of(certificate: Path) -> int:
    return x509.load_pem_x509_certificate(certificate.read_bytes()).serial_number


class Watched:
    """A context over files of its own, with a clock that the test turns."""

    def __init__(self, folder: Path, pair: tuple[Path, Path]) -> None:
        self.files = TlsFiles(certificate=folder / "now.crt", key=folder / "now.key")
        self.now = 0.0
        self.put(*pair)
        self.context = ReloadingContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.watch(self.files, clock=lambda: self.now)

    def put(self, certificate: Path | None = None, key: Path | None = None) -> None:
        for source, target in ((certificate, self.files.certificate), (key, self.files.key)):
            if source is not None:
                shutil.copy(source, target.with_suffix(".new"))
                target.with_suffix(".new").replace(target)
        self.now += 1.0


@pytest.mark.parametrize("kind", ["ec", "rsa"])
def test_the_next_connection_gets_the_renewed_certificate(authority: TestAuthority, tmp_path: Path, kind: str) -> None:
    old, new = authority.issue("old"), authority.issue("new", kind=kind)
    watched = Watched(tmp_path, old)
    assert serial(shake(watched.context, authority.path)) == serial_of(old[0])
    watched.put(*new)
    assert serial(shake(watched.context, authority.path)) == serial_of(new[0])


def test_half_a_renewal_leaves_the_former_pair_in_use(authority: TestAuthority, tmp_path: Path) -> None:
    old, new = authority.issue("old"), authority.issue("new")
    watched = Watched(tmp_path, old)
    watched.put(new[0])
    assert serial(shake(watched.context, authority.path)) == serial_of(old[0])
    watched.files.key.unlink()
    watched.now += 1
    assert serial(shake(watched.context, authority.path)) == serial_of(old[0])
    watched.put(key=new[1])
    assert serial(shake(watched.context, authority.path)) == serial_of(new[0])


def test_an_expired_certificate_is_not_taken_for_a_renewal(
    authority: TestAuthority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old = authority.issue("old")
    watched = Watched(tmp_path, old)
    watched.put(*authority.issue("late", days=-1))
    for _ in range(3):
        assert serial(shake(watched.context, authority.path)) == serial_of(old[0])
        watched.now += 1
    assert [record.getMessage()[:44] for record in caplog.records] == ["the former certificate stays in use: The cer"]


def test_old_versions_of_tls_are_refused(authority: TestAuthority, tmp_path: Path) -> None:
    watched = Watched(tmp_path, authority.issue("server"))
    assert shake(watched.context, authority.path, minimum=ssl.TLSVersion.TLSv1_2).version() == "TLSv1.2"
    assert shake(watched.context, authority.path).version() == "TLSv1.3"
    assert watched.context._current.minimum_version == ssl.TLSVersion.TLSv1_2


def test_clients_send_a_certificate_if_it_is_required(authority: TestAuthority, tmp_path: Path) -> None:
    certificate, key = authority.issue("server")
    context = server_context(TlsFiles(certificate=certificate, key=key, client_authority=authority.path))
    old = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError):
        shake(context, authority.path, minimum=old)
    shake(context, authority.path, minimum=old, own=authority.issue("client"))
    (tmp_path / "other").mkdir()
    stranger = TestAuthority(tmp_path / "other", "stranger")
    with pytest.raises(ssl.SSLError):
        shake(context, authority.path, minimum=old, own=stranger.issue("client"))


def _missing(folder: Path, authority: TestAuthority) -> TlsFiles:
    return TlsFiles(certificate=folder / "none.crt", key=authority.issue("a")[1])


def _mismatch(_folder: Path, authority: TestAuthority) -> TlsFiles:
    return TlsFiles(certificate=authority.issue("a")[0], key=authority.issue("b")[1])


def _expired(_folder: Path, authority: TestAuthority) -> TlsFiles:
    certificate, key = authority.issue("a", days=-2)
    return TlsFiles(certificate=certificate, key=key)


def _no_certificate(folder: Path, authority: TestAuthority) -> TlsFiles:
    (folder / "text").write_text("hello")
    return TlsFiles(certificate=folder / "text", key=authority.issue("a")[1])


def _no_key(folder: Path, authority: TestAuthority) -> TlsFiles:
    (folder / "text").write_text("hello")
    return TlsFiles(certificate=authority.issue("a")[0], key=folder / "text")


def _no_authority(folder: Path, authority: TestAuthority) -> TlsFiles:
    (folder / "text").write_text("hello")
    certificate, key = authority.issue("a")
    return TlsFiles(certificate=certificate, key=key, client_authority=folder / "text")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (_missing, r"none\.crt cannot be read: No such file"),
        (_mismatch, r"b\.key does not belong to the certificate in .*a\.crt"),
        (_expired, r"a\.crt expired on 20\d\d-"),
        (_no_certificate, "text holds no certificate"),
        (_no_key, "text holds no usable private key"),
        (_no_authority, "text holds no certificate of an authority"),
    ],
)
def test_files_that_do_not_work_are_named(
    authority: TestAuthority, tmp_path: Path, make: Callable[..., Any], says: str
) -> None:
    with pytest.raises(EnvironmentProblem, match=says):
        server_context(make(tmp_path, authority))


def test_a_handshake_that_does_not_come_is_given_up(authority: TestAuthority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "HANDSHAKE_SECONDS", 0.1)
    certificate, key = authority.issue("server")

    async def run() -> bytes:
        context = server_context(TlsFiles(certificate=certificate, key=key))
        listener = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0, ssl=context)
        reader, writer = await asyncio.open_connection(*listener.sockets[0].getsockname()[:2])
        try:
            return await reader.read()
        finally:
            writer.close()
            listener.close()

    with asyncio.Runner(loop_factory=serving.ServerLoop) as runner:
        assert runner.run(asyncio.wait_for(run(), 30)) == b""
