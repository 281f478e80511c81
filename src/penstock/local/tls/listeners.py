"""TLS of the embedded platform: the files of its listeners, their renewal, and the trust of its own clients."""

import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import EnvironmentProblem
from penstock.local.files import write_private
from penstock.settings.home import Home, PlatformConfig

if TYPE_CHECKING:
    from penstock.local.tls.authority import LocalAuthority

__all__ = ["PlatformTls", "listen_arguments", "local_authority", "trust_environment", "trusting", "unverified"]


def local_authority(home: Home) -> "LocalAuthority":
    """Return the certificate authority of ``home``; :class:`EnvironmentProblem` if its extra is missing."""
    try:
        from penstock.local.tls.authority import LocalAuthority  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("penstock"):
            raise
        raise EnvironmentProblem(
            f"TLS needs the package '{error.name}'.", remedy="Install it with: pip install 'penstock[server]'"
        ) from error
    return LocalAuthority(home.tls)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformTls:
    """The PEM files of one platform's listeners; without ``authority``, clients use the system's authorities.

    ``keystore`` has key and certificate in one file, as Kafka reads them. With ``mutual_port`` the broker has a listener
    where clients log in with a certificate of ``client_authority``.
    """

    home: Home
    hosts: tuple[str, ...]
    own: bool
    certificate: Path
    key: Path
    authority: Path | None
    keystore: Path
    mutual_port: int | None
    client_authority: Path | None

    @classmethod
    def of(cls, home: Home, config: PlatformConfig) -> "PlatformTls | None":
        """Return the files of ``config``, None if it is without TLS. Reads and writes no file."""
        if not config.tls:
            return None
        own = bool(config.tls_certificate)
        certificate, key = home.tls / "server.crt", home.tls / "server.key"
        local = home.tls / "authority.crt"
        return cls(
            home=home,
            hosts=(config.host, *config.allowed_host_names),
            own=own,
            certificate=Path(config.tls_certificate) if own else certificate,
            key=Path(config.tls_key) if own else key,
            authority=(Path(config.tls_authority) if config.tls_authority else None) if own else local,
            keystore=home.tls / "broker.pem",
            mutual_port=config.mtls_port or None,
            client_authority=Path(config.mtls_authority) if config.mtls_authority else local,
        )

    def refresh(self) -> bool:
        """Issue or renew the home's own, and write the broker's keystore. Return whether the broker must reload it.

        Raises :class:`EnvironmentProblem` if files are missing or invalid.
        """
        self.home.tls.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.own or (self.mutual_port is not None and self.client_authority == self.home.tls / "authority.crt"):
            local_authority(self.home).ensure_server(self.hosts)
        text = self._keystore_text()
        if self.keystore.exists() and self.keystore.read_text() == text:
            return False
        write_private(self.keystore, text)
        return True

    def _keystore_text(self) -> str:
        """Return the key as PKCS #8, the only form that Kafka reads, and the certificates."""
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - an extra

        try:
            key = serialization.load_pem_private_key(self.key.read_bytes(), password=None)
            certificates = self.certificate.read_text()
        except (OSError, ValueError, TypeError) as error:
            raise EnvironmentProblem(
                f"The certificate in {self.certificate} and its key in {self.key} cannot be read: {error}.",
                remedy="Give PEM files, the key without a password.",
            ) from error
        plain = serialization.NoEncryption()
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain).decode()
        # As the servers do, so that an incomplete renewal is not used.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.certificate, self.key, password=lambda: "")
        except (OSError, ssl.SSLError) as error:
            raise EnvironmentProblem(
                f"The private key in {self.key} does not belong to the certificate in {self.certificate}.",
                remedy="Give the key of that certificate.",
            ) from error
        return private + "".join(_certificates(certificates))


def listen_arguments(tls: PlatformTls | None, allowed_hosts: Sequence[str], *, insecure_plain_http: bool) -> list[str]:
    """Return the options by which the servers listen (``penstock.cli.server.listen_options``)."""
    arguments = [f"--allowed-host={host}" for host in allowed_hosts]
    if tls is not None:
        return [*arguments, f"--tls-certificate={tls.certificate}", f"--tls-key={tls.key}"]
    return [*arguments, "--insecure-plain-http"] if insecure_plain_http else arguments


def trust_environment(tls: PlatformTls | None) -> dict[str, str]:
    """Return the environment in which AWS clients trust the platform's other parts."""
    return {} if tls is None or tls.authority is None else {"AWS_CA_BUNDLE": str(tls.authority)}


def trusting(authority: Path | None) -> ssl.SSLContext:
    """Return a client's context that trusts ``authority``, or else the system's authorities."""
    return ssl.create_default_context(cafile=None if authority is None else str(authority))


def unverified() -> ssl.SSLContext:
    """Return a client's context for probes without a secret: a part with an expired certificate is alive."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _certificates(text: str) -> Iterator[str]:
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    for part in text.split(begin)[1:]:
        yield begin + part.partition(end)[0] + end + "\n"
