"""TLS of the listeners: a context that loads renewed certificates without a restart.

Every connection gets a TLS object from the context (``SSLContext.wrap_bio``), which then checks the files, at most once a
second. A renewed pair gets a new context, because a loaded one keeps the old certificate beside the new if their key types
differ. While files do not match, as during a renewal, the old pair stays in use.
"""

import logging
import ssl
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from cryptography import x509

from penstock.errors import EnvironmentProblem
from penstock.settings.tls import TlsFiles

__all__ = ["ReloadingContext", "server_context"]

_log = logging.getLogger("penstock.server")

_LOOK_SECONDS = 1.0
_Stamp = tuple[tuple[int, int, int], ...]


def server_context(files: TlsFiles) -> "ReloadingContext":
    """Return the context for a listener with ``files``; TLS 1.2 and later.

    Raises :class:`EnvironmentProblem` if a file is missing, unreadable or not PEM, if the key does not belong to the
    certificate, or if the certificate has expired.
    """
    context = ReloadingContext(ssl.PROTOCOL_TLS_SERVER)
    context.watch(files)
    return context


class ReloadingContext(ssl.SSLContext):
    """A server's context that uses the certificate in its files when a connection begins."""

    _files: TlsFiles
    _current: ssl.SSLContext
    _stamp: _Stamp
    _looked_at: float
    _clock: Callable[[], float]

    def watch(self, files: TlsFiles, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Load ``files`` and watch them; ``clock`` gives seconds. Raises the errors of :func:`server_context`."""
        self._files, self._clock = files, clock
        self._stamp = _stamp(files)
        self._current = _load(files)
        self._looked_at = clock()

    def wrap_bio(self, *arguments: Any, **named: Any) -> ssl.SSLObject:
        """Return a TLS object with the certificate that is in the files now."""
        now = self._clock()
        if now - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = now
            self._renew()
        return self._current.wrap_bio(*arguments, **named)

    def _renew(self) -> None:
        stamp = _stamp(self._files)
        if stamp == self._stamp:
            return
        try:
            self._current = _load(self._files)
            _log.warning("the certificate in %s was renewed and is in use", self._files.certificate)
        except EnvironmentProblem as problem:
            _log.error("the former certificate stays in use: %s", problem)
        self._stamp = stamp


def _stamp(files: TlsFiles) -> _Stamp:
    """Return values that change when a file is replaced; empty while one is missing."""
    try:
        stats = [path.stat() for path in files.paths]
    except OSError:
        return ()
    return tuple((stat.st_ino, stat.st_mtime_ns, stat.st_size) for stat in stats)


def _load(files: TlsFiles) -> ssl.SSLContext:
    for path in files.paths:
        try:
            path.read_bytes()
        except OSError as error:
            raise EnvironmentProblem(
                f"The TLS file {path} cannot be read: {error.strerror}.",
                remedy="Name PEM files that the server's user can read.",
            ) from error
    _check_certificate(files)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(["http/1.1"])
    try:
        # OpenSSL would ask for a password on the terminal.
        context.load_cert_chain(files.certificate, files.key, password=lambda: "")
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH" or "mismatch" in str(error).lower():
            raise EnvironmentProblem(
                f"The private key in {files.key} does not belong to the certificate in {files.certificate}.",
                remedy="Give the key of that certificate.",
            ) from error
        raise EnvironmentProblem(
            f"{files.key} holds no usable private key: {error.reason or error}.",
            remedy="Give a PEM file with a private key without a password.",
        ) from error
    if files.client_authority is not None:
        _require_clients(context, files)
    return context


def _check_certificate(files: TlsFiles) -> None:
    try:
        certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    except ValueError as error:
        raise EnvironmentProblem(
            f"{files.certificate} holds no certificate.",
            remedy="Give a PEM file that begins with the server's certificate.",
        ) from error
    now, begin, end = datetime.now(UTC), certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if end < now:
        raise EnvironmentProblem(
            f"The certificate in {files.certificate} expired on {end:%Y-%m-%d %H:%M} UTC.",
            remedy="Renew it: clients refuse it.",
        )
    if begin > now:
        raise EnvironmentProblem(
            f"The certificate in {files.certificate} is not valid before {begin:%Y-%m-%d %H:%M} UTC.",
            remedy="Check this machine's clock, or wait.",
        )


def _require_clients(context: ssl.SSLContext, files: TlsFiles) -> None:
    try:
        context.load_verify_locations(files.client_authority)
    except ssl.SSLError as error:
        raise EnvironmentProblem(
            f"{files.client_authority} holds no certificate of an authority.",
            remedy="Give a PEM file with one or more certificates.",
        ) from error
    context.verify_mode = ssl.CERT_REQUIRED
