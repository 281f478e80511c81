"""``penstock serve``: the server alone, in the foreground."""

import os
from pathlib import Path

import click

from penstock.cli.listen_options import listen_options, tls_files
from penstock.cli.server_options import audit_options, caller_options, issuer_keys
from penstock.names import DEFAULT_ACCOUNT, DEFAULT_REGION
from penstock.server.run import serve
from penstock.settings.home import Home
from penstock.settings.server import BootstrapKey, ServerSettings

__all__ = ["command"]

_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


@click.command("serve")
@click.option("--home", type=click.Path(path_type=Path), envvar="PENSTOCK_HOME", help="Folder of the state. [.penstock]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8750, show_default=True, help="0 takes a free port.")
@listen_options
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Worker processes.")
@click.option("--region", envvar="AWS_REGION", default=DEFAULT_REGION, show_default=True, help="Region it answers for.")
@click.option("--account", default=DEFAULT_ACCOUNT, show_default=True, help="Account id, twelve digits.")
@click.option("--store-url", envvar="PENSTOCK_STORE_URL", help="SQLAlchemy URL of the store. [SQLite in the home]")
@click.option("--lake", type=click.Path(path_type=Path), help="Folder of the first account's buckets. [lake/ in the home]")
@click.option("--account-lakes", type=click.Path(path_type=Path), help="Further accounts' lakes. [lakes/ in the home]")
@click.option("--s3-endpoint-url", envvar="AWS_ENDPOINT_URL_S3", help="The S3 endpoint over the same lake.")
@click.option("--master-key-file", type=click.Path(path_type=Path), help="Key for secrets at rest. [master.key in the home]")
@click.option("--auth/--no-auth", default=True, help="--no-auth lets everybody do everything: for trials.")
@caller_options
@click.option("--insecure-basic-auth", is_flag=True, help="Take passwords without TLS where others can read along.")
@click.option("--metrics-without-key", is_flag=True, help="Show /metrics to everybody who reaches the port.")
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
    workers: int,
    region: str,
    account: str,
    store_url: str | None,
    lake: Path | None,
    account_lakes: Path | None,
    s3_endpoint_url: str | None,
    master_key_file: Path | None,
    auth: bool,
    requests_per_second: float,
    min_free_mb: int,
    oidc_keys: tuple[str, ...],
    insecure_basic_auth: bool,
    metrics_without_key: bool,
    audit_log: bool,
    audit_reads: bool,
    audit_keep_days: int,
    audit_keep_mb: int,
    access_log: bool,
) -> None:
    """Run the server alone.

    An access key given as PENSTOCK_BOOTSTRAP_ACCESS_KEY_ID and PENSTOCK_BOOTSTRAP_SECRET_ACCESS_KEY is stored first.
    """
    if len(account) != 12 or not account.isdigit():
        raise click.BadParameter("an account id is twelve digits", param_hint="--account")
    folder = Home(home.absolute()) if home is not None else Home.from_environment(os.environ)
    settings = ServerSettings(
        store_url=store_url or folder.store_url,
        lake=(lake or folder.lake).absolute(),
        account_lakes=(account_lakes or folder.account_lakes).absolute(),
        master_key_file=(master_key_file or folder.master_key_file).absolute(),
        s3_endpoint_url=s3_endpoint_url,
        region=region,
        account=account,
        host=host,
        port=port,
        tls=tls_files(tls_certificate, tls_key, tls_client_authority),
        allowed_hosts=allowed_host,
        insecure_plain_http=insecure_plain_http,
        workers=workers,
        authenticate=auth,
        access_log=access_log,
        insecure_basic_auth=insecure_basic_auth,
        metrics_without_key=metrics_without_key,
        audit_folder=folder.audit if audit_log else None,
        audit_reads=audit_reads,
        audit_keep_days=audit_keep_days,
        audit_keep_bytes=audit_keep_mb * 1024 * 1024,
        requests_per_second=requests_per_second or None,
        minimum_free=min_free_mb * 1_000_000,
        oidc_keys=issuer_keys(oidc_keys),
        bootstrap_key=BootstrapKey.from_environment(os.environ),
    )
    if not auth:
        click.echo("penstock: WARNING: --no-auth: everybody who reaches this port may do everything.", err=True)
        if host not in _LOOPBACK:
            click.echo(f"penstock: WARNING: {host} is not loopback: others on the network reach this port.", err=True)
    serve(settings, announce=lambda url: click.echo(f"Penstock listens on {url} ({region}, account {account})."))
