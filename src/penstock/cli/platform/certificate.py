"""``penstock certificate``: a client certificate for the broker's listener with mutual TLS."""

from pathlib import Path

import click

from penstock.cli.options import home_option
from penstock.local.platform import home_at
from penstock.local.tls.listeners import local_authority

__all__ = ["command"]


@click.command("certificate")
@home_option
@click.argument("name")
def command(home: Path | None, name: str) -> None:
    """Issue a client certificate for NAME with the home's authority, for the broker's listener with mutual TLS.

    The broker knows the client as User:NAME. The certificate is valid for a year; another can be issued at any time.
    """
    place = home_at(home)
    place.load()
    authority = local_authority(place)
    certificate, key = authority.issue_client(name)
    click.echo(f"certificate  {certificate}\nkey          {key}\nauthority    {authority.certificate}")
