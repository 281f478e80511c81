"""A certificate authority, a broker certificate it signed, and the settings of a TLS listener beside the plain one."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

__all__ = ["Authority", "listener"]

_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


class Authority:
    """A self-signed CA; its certificate is in the PEM file ``path``."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}.pem"
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        signed = self._builder(self._name, self._key).add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        certificate = signed.sign(self._key, hashes.SHA256())
        self.path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number())
        return builder.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=1))

    def server(self) -> Path:
        """A PEM file with key and certificate of a server on 127.0.0.1."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "broker")])
        certificate = self._builder(subject, key).add_extension(names, False).sign(self._key, hashes.SHA256())
        path = self._folder / "server.pem"
        plain = serialization.NoEncryption()
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
        return path


def listener(pem: Path, *, plain: int, tls: int, controller: int) -> dict[str, str]:
    """The broker's settings for SASL_SSL on port ``tls``, beside SASL_PLAINTEXT on ``plain``."""
    return {
        "listeners": f"CLIENT://127.0.0.1:{plain},TLS://127.0.0.1:{tls},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"CLIENT://127.0.0.1:{plain},TLS://127.0.0.1:{tls}",
        "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,TLS:SASL_SSL,CONTROLLER:SASL_PLAINTEXT",
        "listener.name.tls.scram-sha-512.sasl.jaas.config": f"{_MODULE} required;",
        "listener.name.tls.ssl.keystore.type": "PEM",
        "listener.name.tls.ssl.keystore.location": str(pem),
    }
