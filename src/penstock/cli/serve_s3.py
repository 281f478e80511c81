"""``penstock serve-s3``: the S3 endpoint alone, in the foreground."""

import os
from pathlib import Path

import click

from penstock.cli.listen_options import listen_options, tls_files
from penstock.cli.server_options import audit_options
from penstock.names import DEFAULT_ACCOUNT, DEFAULT_REGION
from penstock.server.s3 import serve_s3
from penstock.settings.home import Home
from penstock.settings.server import BootstrapKey, ServerSettings

__all__ = ["command"]


@click.command("serve-s3")
@click.option("--home", type=click.Path(path_type=Path), envvar="PENSTOCK_HOME", help="Folder of the state. [.penstock]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8751, show_default=True, help="0 takes a free port.")
@listen_options
@click.option("--region", envvar="AWS_REGION", default=DEFAULT_REGION, show_default=True, help="Region it answers for.")
@click.option("--account", default=DEFAULT_ACCOUNT, show_default=True, help="Account id of the server, twelve digits.")
@click.option("--store-url", envvar="PENSTOCK_STORE_URL", help="SQLAlchemy URL of the server's store. [SQLite in the home]")
@click.option("--lake", type=click.Path(path_type=Path), help="Folder of the first account's buckets. [lake/ in the home]")
@click.option("--account-lakes", type=click.Path(path_type=Path), help="Further accounts' lakes. [lakes/ in the home]")
@click.option("--bucket", default="lake", show_default=True, help="A bucket that every account has.")
@click.option("--master-key-file", type=click.Path(path_type=Path), help="Key for secrets at rest. [master.key in the home]")
@click.option("--auth/--no-auth", default=True, help="--no-auth lets everybody do everything: for trials.")
@audit_options
def command(  # noqa: PLR0917 -- click passes options by name
    home: Path | None,
    host: str,
    port: int,
    tls_certificate: Path | None,
    tls_key: Path | None,
    tls_client_authority: Path | None,
    allowed_host: tuple[str, ...],
    insecure_plain_http: bool,
    region: str,
    account: str,
    store_url: str | None,
    lake: Path | None,
    account_lakes: Path | None,
    bucket: str,
    master_key_file: Path | None,
    auth: bool,
    audit_log: bool,
    audit_reads: bool,
    audit_keep_days: int,
    audit_keep_mb: int,
) -> None:
    """Run the S3 endpoint of a server alone: the same lakes, users, keys and policies.

    It knows the access key given as PENSTOCK_BOOTSTRAP_ACCESS_KEY_ID and PENSTOCK_BOOTSTRAP_SECRET_ACCESS_KEY as the first
    account's root, and all others from the server's store.
    """
    folder = Home(home.absolute()) if home is not None else Home.from_environment(os.environ)
    settings = ServerSettings(
        store_url=store_url or folder.store_url,
        lake=(lake or folder.lake).absolute(),
        account_lakes=(account_lakes or folder.account_lakes).absolute(),
        master_key_file=(master_key_file or folder.master_key_file).absolute(),
        results_location=f"s3://{bucket}/athena-results/",
        region=region,
        account=account,
        host=host,
        port=port,
        tls=tls_files(tls_certificate, tls_key, tls_client_authority),
        allowed_hosts=allowed_host,
        insecure_plain_http=insecure_plain_http,
        authenticate=auth,
        audit_folder=folder.audit if audit_log else None,
        audit_reads=audit_reads,
        audit_keep_days=audit_keep_days,
        audit_keep_bytes=audit_keep_mb * 1024 * 1024,
        bootstrap_key=BootstrapKey.from_environment(os.environ),
    )
    if not auth:
        click.echo("penstock: WARNING: --no-auth: everybody who reaches this port may do everything.", err=True)
    serve_s3(settings, announce=lambda url: click.echo(f"Penstock's S3 endpoint listens on {url} ({region})."))
