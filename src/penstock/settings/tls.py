"""Where the certificate of a listener is: paths alone, so that whoever renews the files need not ask."""

from dataclasses import dataclass
from pathlib import Path

__all__ = ["TlsFiles"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """PEM files of one TLS listener.

    ``certificate`` holds the server's certificate and then its intermediate ones, ``key`` the private key without a
    password. With ``client_authority`` only clients with a certificate of one of its authorities are let in.
    """

    certificate: Path
    key: Path
    client_authority: Path | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files, to watch for a renewal."""
        return (self.certificate, self.key, *([self.client_authority] if self.client_authority else []))
