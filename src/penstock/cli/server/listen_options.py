"""Options of commands that listen: TLS, and what is refused on a network without an explicit option."""

from pathlib import Path

import click

from penstock.cli.options import FILE, option_group
from penstock.settings.tls import TlsFiles

__all__ = ["listen_options", "tls_files"]

listen_options = option_group(
    click.option("--tls-certificate", type=FILE, help="Serve TLS with this PEM certificate and its chain."),
    click.option("--tls-key", type=FILE, help="The certificate's private key, PEM without a password."),
    click.option("--tls-client-authority", type=FILE, help="Accept only clients with a certificate of these authorities."),
    click.option("--allowed-host", multiple=True, help="A further host name to answer; .example.com means all subdomains."),
    click.option(
        "--insecure-plain-http", is_flag=True, help="Listen without TLS on a network, where others can read the traffic."
    ),
)
"""The options of a port; :func:`tls_files` reads the first three."""


def tls_files(certificate: Path | None, key: Path | None, client_authority: Path | None = None) -> TlsFiles | None:
    """Return the given files, or None without any; :class:`click.UsageError` if one is missing."""
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
