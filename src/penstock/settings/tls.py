"""The paths of a listener's certificate; only paths, so that the files can be renewed at any time."""

from dataclasses import dataclass
from pathlib import Path

__all__ = ["TlsFiles"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """PEM files of one TLS listener.

    ``certificate`` has the server's certificate and then the intermediate ones, ``key`` the private key without a
    password. With ``client_authority`` only clients with a certificate of one of its authorities are accepted.
    """

    certificate: Path
    key: Path
    client_authority: Path | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return all files, to watch for a renewal."""
        return (self.certificate, self.key, *([self.client_authority] if self.client_authority else []))
