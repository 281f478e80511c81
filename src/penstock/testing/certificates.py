"""Certificates for tests: an authority, and valid or expired certificates, made without the product's code."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

__all__ = ["TestAuthority"]

_Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class TestAuthority:
    """A self-signed CA; its certificate is in the PEM file ``path``."""

    __test__ = False

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}.pem"
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        builder = self._builder(self._name, self._key).add_extension(constraints, critical=True)
        certificate = builder.sign(self._key, hashes.SHA256())
        self.path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, *, days: float = 1, kind: str = "ec", common_name: str | None = None) -> tuple[Path, Path]:
        """PEM files ``NAME.crt`` and ``NAME.key`` for localhost and 127.0.0.1; negative ``days`` make expired ones."""
        key: _Key = ec.generate_private_key(ec.SECP256R1()) if kind == "ec" else rsa.generate_private_key(65537, 2048)
        names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
        builder = self._builder(_named(common_name or name), key, days).add_extension(names, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        files = self._folder / f"{name}.crt", self._folder / f"{name}.key"
        plain = serialization.NoEncryption()
        files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
        return files

    def server(self) -> Path:
        """A PEM file with key and certificate of a server on 127.0.0.1."""
        certificate, key = self.issue("server")
        path = self._folder / "server.pem"
        path.write_bytes(key.read_bytes() + certificate.read_bytes())
        return path

    def _builder(self, subject: x509.Name, key: _Key, days: float = 1) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number())
        begin = min(now, now + timedelta(days=days)) - timedelta(hours=1)
        return builder.not_valid_before(begin).not_valid_after(now + timedelta(days=days))


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
