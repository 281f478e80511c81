"""``penstock up``: create or resume the platform of a home, and keep it running."""

import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from penstock.cli.options import FILE, home_option
from penstock.cli.platform.fetch import fetch_shown
from penstock.cli.server.options import issuer_keys, remembered_audit_options, remembered_caller_options
from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.interpreter import python_module
from penstock.local.artefacts import cache_folder
from penstock.local.java import find_java
from penstock.local.platform import Platform, home_at
from penstock.server.http.serving import Listening, check_listening
from penstock.settings.addresses import is_wildcard
from penstock.settings.home import Home, PlatformConfig
from penstock.settings.tls import TlsFiles

__all__ = ["command"]

_DETACHED_TIMEOUT = 300  # seconds; each part has a shorter timeout of its own
# The last line of a start's output, after which a detached start returns.
_LAST_LINE = "To stop it:"
_PORT = click.IntRange(1, 65535)


def _region(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"[a-z]{2,}(-[a-z0-9]+)+", value):
        raise click.BadParameter(f"'{value}' is not an AWS region, such as us-east-1.")
    return value


@click.command("up")
@home_option
@click.option("--server-port", type=_PORT, help="Port of the Penstock server. [default: 8750]")
@click.option("--s3-port", type=_PORT, help="Port of the S3 endpoint. [default: 8751]")
@click.option("--kafka-port", type=_PORT, help="Port of the Kafka broker. [default: 8752]")
@click.option("--controller-port", type=_PORT, help="Port of Kafka's controller, used by the broker alone. [default: 8753]")
@click.option("--host", help="Address or name to listen on, which clients use. [default: 127.0.0.1]")
@click.option("--tls/--no-tls", default=None, help="TLS for server, S3 endpoint and broker, with an authority of the home.")
@click.option("--tls-certificate", type=FILE, help="Use this PEM certificate and its chain instead.")
@click.option("--tls-key", type=FILE, help="The certificate's private key, PEM without a password.")
@click.option(
    "--tls-authority", type=FILE, help="The authority of that certificate, for clients. [the system's authorities]"
)
@click.option("--mtls-port", type=_PORT, help="Port of a broker listener where clients log in by certificate.")
@click.option(
    "--mtls-authority", type=FILE, help="The authority of client certificates. [the home's: see 'penstock certificate']"
)
@click.option("--allowed-host", multiple=True, help="A further host name to answer; .example.com means all subdomains.")
@click.option(
    "--insecure-plain-http",
    is_flag=True,
    default=None,
    help="Listen without TLS on a network, where others can read the traffic.",
)
@click.option("--insecure-basic-auth", is_flag=True, default=None, help="Accept passwords without TLS on a network.")
@click.option("--metrics-without-key", is_flag=True, default=None, help="Serve /metrics without authentication.")
@click.option("--jobs/--no-jobs", default=None, help="Run Glue's jobs and sessions, each in a sandbox. [default: off]")
@click.option("--jobs-connect", type=_PORT, multiple=True, help="A further TCP port that jobs may connect to.")
@click.option(
    "--jobs-without-sandbox",
    is_flag=True,
    default=None,
    help="Where this machine has no sandbox, give jobs the rights of this user; for one account.",
)
@remembered_caller_options
@click.option("--no-oidc-keys", is_flag=True, help="Remove the issuers' keys from the home.")
@remembered_audit_options
@click.option("--region", callback=_region, help="AWS region of the platform. [default: us-east-1]")
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Number of worker processes of the server."
)
@click.option("--detach", is_flag=True, help="Return when the platform is ready, and leave it running.")
@click.option("--new-key", is_flag=True, help="Give the home a new access key, if its own was deactivated or deleted.")
@click.option(
    "--no-auth",
    is_flag=True,
    help="Allow every request to server and S3 endpoint without authentication, for trials; the broker keeps its login.",
)
def command(  # noqa: PLR0917 - click passes options by name
    home: Path | None,
    server_port: int | None,
    s3_port: int | None,
    kafka_port: int | None,
    controller_port: int | None,
    workers: int,
    detach: bool,
    new_key: bool,
    no_auth: bool,
    oidc_keys: tuple[str, ...],
    no_oidc_keys: bool,
    **remembered: Any,
) -> None:
    """Start the Kafka broker, the S3 endpoint and the server. An existing home resumes with all its data.

    The home remembers the options, except --workers and --no-auth. Ctrl-C or 'penstock down' stops the platform.
    Acknowledged data are on the disk, except records of topics made without flush.messages=1, which the only broker
    keeps in memory for seconds.
    """
    place = home_at(home)
    options = {
        "server_port": server_port,
        "s3_port": s3_port,
        "kafka_port": kafka_port,
        "controller_port": controller_port,
        **{name: _setting(value) for name, value in remembered.items() if name not in {"allowed_host", "jobs_connect"}},
        "jobs_connect": ",".join(map(str, remembered["jobs_connect"])) or None,
        "allowed_hosts": ",".join(remembered["allowed_host"]) or None,
        "oidc_keys": _issuers(oidc_keys, forget=no_oidc_keys),
    }
    if options["tls_certificate"] and options["tls"] is None:
        options["tls"] = True
    config = _configuration(
        place, {**_forgotten(options), **{name: value for name, value in options.items() if value is not None}}
    )
    _check_listening(config)
    find_java(os.environ)
    fetch_shown(["kafka"], cache=cache_folder(os.environ))
    if detach:
        flags = [*(["--no-auth"] if no_auth else []), *(["--new-key"] if new_key else [])]
        _detach(place, [*_options(options), f"--workers={workers}", *flags])
    else:
        config = config.with_new_key() if new_key else config
        _foreground(Platform(place, config, workers=workers, signed=not no_auth, report=_report))


def _issuers(texts: tuple[str, ...], *, forget: bool) -> dict[str, str] | None:
    """Return the issuers' files that replace the home's; None to leave those."""
    if forget and texts:
        raise click.UsageError("--oidc-keys replaces the home's keys: omit --no-oidc-keys.")
    files = {issuer: str(file) for issuer, file in issuer_keys(texts).items()}
    for issuer, file in files.items():
        if not Path(file).is_file():
            raise InvalidInput(f"The keys of {issuer} are not in {file}.", remedy="Name a file with its JWKS.")
    return files if files or forget else None


def _setting(value: object) -> object:
    return str(value.absolute()) if isinstance(value, Path) else value


def _forgotten(options: Mapping[str, object]) -> dict[str, object]:
    """Return the settings to reset: TLS's with --no-tls, the former authority with another certificate; those of jobs."""
    if options["tls"] is False:
        return {"tls_certificate": "", "tls_key": "", "tls_authority": "", "mtls_port": 0, "mtls_authority": ""}
    off = {"jobs_connect": "", "jobs_without_sandbox": False} if options.get("jobs") is False else {}
    return {**off, **({"tls_authority": ""} if options["tls_certificate"] else {})}


def _options(options: Mapping[str, object]) -> Iterator[str]:
    """Yield the options that give another process the same settings."""
    for name, value in options.items():
        option = name.replace("_", "-")
        if name == "allowed_hosts":
            yield from (f"--allowed-host={host}" for host in str(value or "").split(",") if host)
        elif name == "jobs_connect":
            yield from (f"--jobs-connect={port}" for port in str(value or "").split(",") if port)
        elif isinstance(value, dict):
            yield from (f"--oidc-keys={issuer}={file}" for issuer, file in value.items())
            yield from () if value else ("--no-oidc-keys",)
        elif isinstance(value, bool):
            yield f"--{option}" if value else f"--no-{option}"
        elif value is not None:
            yield f"--{option}={value}"


def _check_listening(config: PlatformConfig) -> None:
    """Raise if the platform cannot listen with ``config``, before anything is fetched or started."""
    if is_wildcard(config.host):
        raise InvalidInput(
            f"Clients cannot connect to '{config.host}'.", remedy="Give --host one address or name of this machine."
        )
    if not config.tls and (config.mtls_port or config.tls_certificate):
        raise InvalidInput("--mtls-port and --tls-certificate need TLS.", remedy="Give --tls.")
    if bool(config.tls_certificate) != bool(config.tls_key):
        raise click.UsageError("--tls-certificate and --tls-key go together.")
    own = TlsFiles(certificate=Path(config.tls_certificate), key=Path(config.tls_key)) if config.tls_certificate else None
    check_listening(
        Listening(
            host=config.host,
            port=0,
            tls=own,
            allowed_hosts=config.allowed_host_names,
            # The platform makes certificates of the home's own authority when it starts.
            insecure_plain_http=config.tls or config.insecure_plain_http,
        )
    )


def _configuration(home: Home, options: dict[str, object]) -> PlatformConfig:
    if home.config_file.exists():
        return replace(home.load(), **options)  # type: ignore[arg-type]
    return PlatformConfig.generate(**options)


def _foreground(platform: Platform) -> None:
    # A signal handler may not take locks, and a SimpleQueue is made to be written from one.
    requests: queue.SimpleQueue[int | None] = queue.SimpleQueue()

    def on_signal(number: int, _frame: FrameType | None) -> None:
        requests.put(number)

    def obey() -> None:
        if requests.get() is not None:
            platform.request_stop()

    # A platform started with nohup must not end with its terminal.
    heeded = [n for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, on_signal) for number in heeded}
    listener = threading.Thread(target=obey, name="signals", daemon=True)
    listener.start()
    try:
        began = time.monotonic()
        platform.start()
        if platform.state.phase == "running":
            _describe(platform, time.monotonic() - began)
        platform.watch()
        _report("Stopping.")
    finally:
        platform.stop()
        requests.put(None)
        listener.join()
        for number, handler in before.items():
            signal.signal(number, handler)
    _report("Stopped.")


def _detach(home: Home, options: list[str]) -> None:
    """Run the same command without --detach in a new session, show its output, and return when it is ready."""
    home.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = home.logs / "platform.log"
    # Append: a platform that runs in this home already writes to the same log.
    with log.open("ab") as output:
        begin = output.tell()
        process = subprocess.Popen(
            python_module("penstock", "up", "--home", str(home.root), *options),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _follow(process, log, begin)
    except BaseException:
        # After an interrupt or a failure the other session must not continue alone.
        process.terminate()
        raise


def _follow(process: "subprocess.Popen[bytes]", log: Path, begin: int) -> None:
    """Echo the output of a platform's start, from byte ``begin`` of the log up to its last line.

    Raises :class:`EnvironmentProblem` if the platform ends instead, or takes too long.
    """
    deadline = time.monotonic() + _DETACHED_TIMEOUT
    with log.open("r", errors="replace") as lines:
        lines.seek(begin)
        while True:
            status = process.poll()
            line = lines.readline()
            click.echo(line, nl=False)
            if line.startswith(_LAST_LINE):
                return
            if not line:
                if status is not None:
                    if lines.tell() == begin:
                        raise EnvironmentProblem(
                            f"The platform ended with status {status}, without a message in {log}.",
                            remedy="Check that its disk is not full; run 'penstock up' without --detach.",
                        )
                    raise click.exceptions.Exit(status or 1)
                if time.monotonic() > deadline:
                    raise EnvironmentProblem(
                        f"The platform was not ready after {_DETACHED_TIMEOUT} s.", remedy=f"Its log is {log}."
                    )
                time.sleep(0.05)


def _describe(platform: Platform, seconds: float) -> None:
    """Print the parts' addresses, and how to use them."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("part", "listens on", "ready after"):
        table.add_column(column, no_wrap=True)
    for part in platform.state.parts:
        table.add_row(part.title, part.address, f"{part.start_seconds or 0:.1f} s")
    console = Console(highlight=False, soft_wrap=True)
    console.print(table)
    home = platform.home.root
    option = "" if Path(".penstock").absolute() == home else f" --home {home}"
    console.print(f"Ready after {seconds:.1f} s; state in {home}, logs in {platform.home.logs}.", markup=False)
    if authority := platform.config.tls_authority:
        console.print(f"Clients must trust {authority}; 'penstock env' sets that for a shell.", markup=False)
    console.print(f'For a shell:  eval "$(penstock env{option})"   then: aws glue list-registries', markup=False)
    console.print(f"{_LAST_LINE}   penstock down{option}", markup=False)


def _report(text: str) -> None:
    # A closed terminal or a full disk must not end the platform.
    with contextlib.suppress(OSError):
        click.echo(text)
        sys.stdout.flush()
