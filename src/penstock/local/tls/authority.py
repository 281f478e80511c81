"""The certificate authority of one home, for its listeners and for clients of its broker.

Clients must trust its certificate; its key never leaves the folder. Server certificates are for loopback names and the
platform's own; the common name of a client certificate is its identity (RFC 5280; extended key usages keep the two apart).
Imported only with TLS: ``cryptography`` comes with the extra of the server.
"""

import ipaddress
import re
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.local.files import write_private

__all__ = ["LocalAuthority"]

_AUTHORITY_DAYS = 3650
_SERVER_DAYS = 90
_CLIENT_DAYS = 365
_RENEW_SHARE = 1 / 3  # share of its days left at which a certificate is renewed
_SKEW = timedelta(hours=1)  # tolerated clock skew of verifiers
_CLIENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


class LocalAuthority:
    """The authority in ``folder``, created on first use. Only their owner can read its files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def certificate(self) -> Path:
        """The certificate that clients trust, PEM."""
        return self._folder / "authority.crt"

    @property
    def server_files(self) -> tuple[Path, Path]:
        """Certificate and key of the platform's listeners, PEM."""
        return self._folder / "server.crt", self._folder / "server.key"

    def ensure_server(self, hosts: Sequence[str]) -> bool:
        """Issue or renew the certificate of listeners named ``hosts``. Return whether that was needed.

        Loopback names are always in it. A host that begins with a dot means all its subdomains.
        """
        issuer, key = self._load()
        names = sorted({"localhost", "*.localhost", "127.0.0.1", "::1", *(_pattern(host) for host in hosts)})
        certificate, private = self.server_files
        if private.exists() and self._serves(certificate, names, issuer):
            return False
        issued, own = _issue(issuer, key, names[0] if len(names) == 1 else "penstock", _SERVER_DAYS, names=names)
        write_private(private, _key_text(own))
        write_private(certificate, _text(issued))
        return True

    def issue_client(self, name: str) -> tuple[Path, Path]:
        """Return the files of a new client certificate, known to the broker as ``name``, and of its key, PEM.

        Raises :class:`InvalidInput` for a name that a principal cannot have.
        """
        if not _CLIENT.fullmatch(name):
            raise InvalidInput(
                f"'{name}' is not a valid client name.", remedy="Use up to 64 ASCII letters, digits and . _ @ -."
            )
        issuer, key = self._load()
        issued, own = _issue(issuer, key, name, _CLIENT_DAYS, names=None)
        clients = self._folder / "clients"
        clients.mkdir(mode=0o700, exist_ok=True)
        files = clients / f"{name}.crt", clients / f"{name}.key"
        write_private(files[1], _key_text(own))
        write_private(files[0], _text(issued))
        return files

    def _load(self) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:

        key_file = self._folder / "authority.key"
        if not self.certificate.exists():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            own = ec.generate_private_key(ec.SECP256R1())
            write_private(key_file, _key_text(own))
            write_private(self.certificate, _text(_self_signed(own)))
        try:
            certificate = x509.load_pem_x509_certificate(self.certificate.read_bytes())
            key = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
        except (OSError, ValueError) as error:
            raise EnvironmentProblem(
                f"The certificate authority in {self._folder} cannot be read: {error}.",
                remedy="Restore its files, or remove the folder to get a new authority, which clients must then trust.",
            ) from error
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
            raise EnvironmentProblem(
                f"The key of the certificate authority in {self._folder} does not belong to its certificate.",
                remedy="Restore its files, or remove the folder to get a new authority, which clients must then trust.",
            )
        if certificate.not_valid_after_utc < datetime.now(UTC) + timedelta(days=_SERVER_DAYS):
            raise EnvironmentProblem(
                f"The certificate authority in {self._folder} expires on {certificate.not_valid_after_utc:%Y-%m-%d}.",
                remedy="Remove the folder to get a new authority, which clients must then trust.",
            )
        return certificate, key

    def _serves(self, path: Path, names: list[str], issuer: x509.Certificate) -> bool:
        """Return whether the issuer's certificate in ``path`` is for the names, and has a third of its time left."""

        try:
            certificate = x509.load_pem_x509_certificate(path.read_bytes())
            certificate.verify_directly_issued_by(issuer)
            served = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except (OSError, ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
            return False
        remaining = certificate.not_valid_after_utc - datetime.now(UTC)
        return (
            sorted(str(name.value) for name in served) == names and remaining > timedelta(days=_SERVER_DAYS) * _RENEW_SHARE
        )


def _pattern(host: str) -> str:
    host = host.strip("[]").lower()
    return f"*{host}" if host.startswith(".") else host


def _self_signed(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = _name(f"Penstock local authority {secrets.token_hex(4)}")
    builder = _builder(name, name, key.public_key(), _AUTHORITY_DAYS)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
    return builder.sign(key, hashes.SHA256())


def _issue(
    issuer: x509.Certificate, key: ec.EllipticCurvePrivateKey, common_name: str, days: int, *, names: list[str] | None
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """Return a certificate for a server named ``names``, or without them for a client, and its key."""

    own = ec.generate_private_key(ec.SECP256R1())
    usage = ExtendedKeyUsageOID.CLIENT_AUTH if names is None else ExtendedKeyUsageOID.SERVER_AUTH
    builder = _builder(_name(common_name), issuer.subject, own.public_key(), days)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
    builder = builder.add_extension(authority, critical=False)
    if names is not None:
        builder = builder.add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
    return builder.sign(key, hashes.SHA256()), own


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    return builder.not_valid_before(now - _SKEW).not_valid_after(now + timedelta(days=days))


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _text(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _key_text(key: ec.EllipticCurvePrivateKey) -> str:
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain).decode()
