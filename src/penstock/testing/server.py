"""A real server for tests: ``penstock serve`` as a child process, on a free port, with a home of its own."""

import contextlib
import os
import re
import secrets
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.errors import EnvironmentProblem
from penstock.interpreter import python_module
from penstock.names import DEFAULT_ACCOUNT, DEFAULT_REGION
from penstock.retries import wait_until
from penstock.testing.clients import boto3_client

__all__ = ["RunningServer", "running_server", "start_server"]

_LISTENS = re.compile(r"^Penstock listens on (https?://\S+) ", re.MULTILINE)
_START_SECONDS = 60.0
_STOP_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningServer:
    """A running server: its URL and credentials. ``lake`` is the folder of its buckets."""

    endpoint_url: str
    access_key_id: str
    secret_access_key: str = field(repr=False)
    region: str = DEFAULT_REGION
    account: str = DEFAULT_ACCOUNT
    home: Path
    process: "subprocess.Popen[bytes]" = field(repr=False)
    log_file: Path

    @property
    def lake(self) -> Path:
        """Parent folder of the buckets."""
        return self.home / "lake"

    @property
    def log(self) -> str:
        """The server's standard output and error so far."""
        return self.log_file.read_text(errors="replace")

    def client(self, service: str, **overrides: Any) -> Any:
        """Return a boto3 client of ``service`` (``glue``, ``athena``, ``secretsmanager``), without retries."""
        keys = {"access_key_id": self.access_key_id, "secret_access_key": self.secret_access_key}
        return boto3_client(service, self.endpoint_url, self.region, **{**keys, **overrides})

    def environment(self) -> dict[str, str]:
        """Return the variables that point any AWS client of a child process at this server."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_ACCESS_KEY_ID": self.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
        }

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Signal the server by its process id and wait for its end. Return the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise EnvironmentProblem(f"The server ignored {how.name} for {_STOP_SECONDS:.0f} seconds.\n{self.log}") from None


def start_server(
    home: Path,
    *,
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    access_key_id: str | None = None,
    secret_access_key: str | None = None,
    log_name: str = "serve.log",
    program: Sequence[str] = tuple(python_module("penstock")),
) -> RunningServer:
    """Start ``penstock serve`` over ``home`` and wait until it listens. The caller stops it.

    ``arguments`` are further options of the command, ``program`` runs it; keys have no limit of requests. Raises
    :class:`EnvironmentProblem` with the server's output if it ends or does not listen in time.
    """
    home.mkdir(parents=True, exist_ok=True)
    key_id = access_key_id or "AKIA" + secrets.token_hex(8).upper()
    secret = secret_access_key or secrets.token_urlsafe(30)
    log = home / log_name
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PENSTOCK_"))}
    keys = {"PENSTOCK_BOOTSTRAP_ACCESS_KEY_ID": key_id, "PENSTOCK_BOOTSTRAP_SECRET_ACCESS_KEY": secret}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*program, "serve", "--home", str(home), "--port", "0", "--requests-per-second", "0", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=inherited | keys | dict(environment or {}),
        )

    def listening() -> re.Match[str] | None:
        return _LISTENS.search(log.read_text(errors="replace"))

    wait_until(lambda: listening() or process.poll() is not None, seconds=_START_SECONDS, every=0.02)
    listens = listening()
    if listens is None:
        process.kill()
        process.wait()
        raise EnvironmentProblem(f"The server did not start:\n{log.read_text(errors='replace')}")
    return RunningServer(
        endpoint_url=listens.group(1),
        access_key_id=key_id,
        secret_access_key=secret,
        home=home,
        process=process,
        log_file=log,
    )


@contextlib.contextmanager
def running_server(
    home: Path | None = None, *, arguments: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> Iterator[RunningServer]:
    """Run a server during the block, over ``home`` or a temporary folder."""
    with contextlib.ExitStack() as stack:
        folder = home or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-")))
        server = start_server(folder, arguments=arguments, environment=environment)
        try:
            yield server
        finally:
            server.stop()
