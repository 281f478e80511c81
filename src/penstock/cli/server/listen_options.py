"""Options of commands that listen: TLS, and what is refused on a network unless it is asked for by name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from penstock.settings.tls import TlsFiles

__all__ = ["listen_options", "tls_files"]

_FILE = click.Path(path_type=Path, dir_okay=False)


def listen_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to ``command``; :func:`tls_files` makes a value of the first three."""
    for option in reversed(
        (
            click.option("--tls-certificate", type=_FILE, help="Serve TLS with this PEM certificate and its chain."),
            click.option("--tls-key", type=_FILE, help="Its private key, PEM without a password."),
            click.option("--tls-client-authority", type=_FILE, help="Let in only clients with a certificate of these."),
            click.option("--allowed-host", multiple=True, help="A further host to answer for; .example.com: all below it."),
            click.option("--insecure-plain-http", is_flag=True, help="Listen without TLS where others can read along."),
        )
    ):
        command = option(command)
    return command


def tls_files(certificate: Path | None, key: Path | None, client_authority: Path | None = None) -> TlsFiles | None:
    """The files that were named, None if there are none; :class:`click.UsageError` if one is missing."""
    if certificate is None and key is None:
        if client_authority is not None:
            raise click.UsageError("--tls-client-authority needs --tls-certificate and --tls-key.")
        return None
    if certificate is None or key is None:
        raise click.UsageError("--tls-certificate and --tls-key go together.")
    return TlsFiles(
        certificate=certificate.absolute(),
        key=key.absolute(),
        client_authority=client_authority.absolute() if client_authority else None,
    )
