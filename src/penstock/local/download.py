"""Downloads one file over HTTP: with resumption, retries and a hash; it is visible only when it is complete."""

import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import requests

from penstock import durable
from penstock.errors import EnvironmentProblem
from penstock.retries import DOWNLOAD, RetryStopped, call_with_retries

__all__ = ["Download", "DownloadStopped", "default_repository"]

_CHUNK = 1 << 18
_CONNECT_TIMEOUT = 15
_READ_TIMEOUT = 60
_RETRIED = frozenset({None, 408, 425, 429, 500, 502, 503, 504})  # None: no answer


def default_repository(environment: Mapping[str, str]) -> str:
    """Return the Maven repository's URL: ``PENSTOCK_MAVEN_REPOSITORY``, or jgo's default."""
    if url := environment.get("PENSTOCK_MAVEN_REPOSITORY"):
        return url
    from jgo.maven import MavenContext  # noqa: PLC0415 - half a second that only a download needs

    return str(next(iter(MavenContext().remote_repos.values())))


class DownloadStopped(Exception):
    """Another download failed, or the user interrupted: the partial file stays for the next run."""


@dataclass(slots=True, kw_only=True)
class Download:
    """One file: ``name`` for messages, ``size`` in bytes; ``advance`` gets the bytes received (negative: discarded)."""

    name: str
    url: str
    target: Path
    sha256: str
    size: int
    advance: Callable[[int], None]
    note: Callable[[str], None]
    stop: threading.Event

    @property
    def partial(self) -> Path:
        """The file that has the bytes until all are received."""
        return self.target.with_name(self.target.name + ".part")

    def run(self) -> None:
        """Fetch; raise :class:`EnvironmentProblem` if attempts or the hash fail, :class:`DownloadStopped` if stopped."""
        try:
            self.target.parent.mkdir(parents=True, exist_ok=True)
            self._run()
        except OSError as error:
            if isinstance(error, requests.RequestException):
                raise
            raise EnvironmentProblem(
                f"{self.name} cannot be written to {self.target.parent}: {error.strerror or error}.",
                remedy="Free some space, or set PENSTOCK_CACHE to another folder.",
            ) from error

    def _run(self) -> None:
        started_over = False
        while True:
            digest = self._transfer_with_retries()
            if digest == self.sha256:
                durable.replace(self.partial, self.target)
                return
            resumed_or_cut = self.partial.stat().st_size
            self.partial.unlink()
            self.advance(-resumed_or_cut)
            if started_over:
                raise EnvironmentProblem(
                    f"{self.name} has the wrong SHA-256: expected {self.sha256}, got {digest} from {self.url}.",
                    remedy="A proxy or mirror changes the file: check it, "
                    "or name another repository with PENSTOCK_MAVEN_REPOSITORY.",
                )
            started_over = True

    def _transfer_with_retries(self) -> str:
        tries = 0

        def transfer() -> str:
            nonlocal tries
            tries += 1
            return self._transfer()

        def note(error: Exception, _tries: int, pause: float) -> None:
            self.note(f"{self.name}: {_status(error) or _reason(error)}; trying again in {pause:g} s.")

        try:
            return call_with_retries(transfer, DOWNLOAD, when=_may_pass, on_retry=note, stop=self.stop)
        except RetryStopped:
            raise DownloadStopped from None
        except requests.RequestException as error:
            status = _status(error)
            why = f"the server answered {status}" if status is not None else _reason(error)
            raise EnvironmentProblem(
                f"{self.name} could not be fetched from {self.url}: {why} (attempt {tries} of {DOWNLOAD.attempts}).",
                remedy="Check the network and proxy settings (HTTPS_PROXY), or name a reachable Maven repository with "
                "PENSTOCK_MAVEN_REPOSITORY; then run 'penstock fetch' again: it resumes.",
            ) from error

    def _transfer(self) -> str:
        """Append the missing bytes to the partial file. Return the SHA-256 of the whole."""
        hasher = hashlib.sha256()
        have = 0
        if self.partial.exists():
            with self.partial.open("rb") as file:
                while block := file.read(_CHUNK):
                    hasher.update(block)
            have = self.partial.stat().st_size
        if have >= self.size:
            self.advance(have)
            return hasher.hexdigest()
        headers = {"Range": f"bytes={have}-"} if have else {}
        with requests.get(self.url, headers=headers, stream=True, timeout=(_CONNECT_TIMEOUT, _READ_TIMEOUT)) as response:
            if have and response.status_code != requests.codes.partial_content:
                have, hasher = 0, hashlib.sha256()
            response.raise_for_status()
            self.advance(have)
            received = have
            try:
                with self.partial.open("ab" if have else "wb") as file:
                    for block in response.iter_content(_CHUNK):
                        if self.stop.is_set():
                            raise DownloadStopped
                        file.write(block)
                        hasher.update(block)
                        received += len(block)
                        self.advance(len(block))
                        if received > self.size:
                            break
            except requests.RequestException:
                self.advance(-received)
                raise
        if received < self.size:
            self.advance(-received)
            raise requests.ConnectionError(f"the connection ended after {received} of {self.size} bytes")
        return hasher.hexdigest()


def _status(error: Exception) -> int | None:
    """Return the HTTP status of a failed transfer; None without an answer."""
    response = error.response if isinstance(error, requests.RequestException) else None
    return None if response is None else response.status_code


def _may_pass(error: Exception) -> bool:
    return isinstance(error, requests.RequestException) and _status(error) in _RETRIED


def _reason(error: BaseException) -> str:
    """Return the text of the innermost cause: requests and urllib3 wrap it in texts with objects' addresses."""
    cause = error
    while (inner := cause.__cause__ or cause.__context__) is not None:
        cause = inner
    return str(cause) or type(cause).__name__
