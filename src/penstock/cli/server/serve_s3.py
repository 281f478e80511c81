"""``penstock serve-s3``: the S3 endpoint alone, in the foreground."""

from typing import Any

import click

from penstock.cli.server.listen_options import listen_options
from penstock.cli.server.options import audit_options, settings_of, state_options
from penstock.server.s3 import serve_s3

__all__ = ["command"]


@click.command("serve-s3")
@state_options
@click.option("--port", type=click.IntRange(0, 65535), default=8751, show_default=True, help="0 takes a free port.")
@listen_options
@click.option("--bucket", default="lake", show_default=True, help="A bucket that every account has.")
@audit_options
def command(*, bucket: str, **shared: Any) -> None:
    """Run the S3 endpoint of a server alone: the same lakes, users, keys and policies.

    It knows the access key given as PENSTOCK_BOOTSTRAP_ACCESS_KEY_ID and PENSTOCK_BOOTSTRAP_SECRET_ACCESS_KEY as the first
    account's root, and all others from the server's store.
    """
    settings = settings_of(shared, results_location=f"s3://{bucket}/athena-results/")
    serve_s3(settings, announce=lambda url: click.echo(f"Penstock's S3 endpoint listens on {url} ({settings.region})."))
