"""``penstock serve-s3``: runs the S3 endpoint alone, in the foreground."""

from typing import Any

import click

from penstock.cli.server.listen_options import listen_options
from penstock.cli.server.options import audit_options, rate_option, settings_of, state_options
from penstock.server.s3 import serve_s3

__all__ = ["command"]


@click.command("serve-s3")
@state_options
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8751, show_default=True, help="Port to listen on; 0 for a free one."
)
@listen_options
@click.option("--bucket", default="lake", show_default=True, help="A bucket that every account has.")
@rate_option
@audit_options
def command(*, bucket: str, requests_per_second: float, **shared: Any) -> None:
    """Run a server's S3 endpoint alone, with the server's lakes, users, keys and policies.

    The access key in PENSTOCK_BOOTSTRAP_ACCESS_KEY_ID and PENSTOCK_BOOTSTRAP_SECRET_ACCESS_KEY is the first account's
    root; all others are in the server's store.
    """
    rate = requests_per_second or None
    settings = settings_of(shared, results_location=f"s3://{bucket}/athena-results/", requests_per_second=rate)
    serve_s3(settings, announce=lambda url: click.echo(f"Penstock's S3 endpoint listens on {url} ({settings.region})."))
