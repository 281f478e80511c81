"""``penstock serve``: runs the server alone, in the foreground."""

from typing import Any

import click

from penstock.cli.server.jobs_options import jobs_options, jobs_settings
from penstock.cli.server.listen_options import listen_options
from penstock.cli.server.options import audit_options, caller_options, issuer_keys, settings_of, state_options
from penstock.cli.server.spark_options import spark_sql_options, spark_sql_settings
from penstock.server.run import serve

__all__ = ["command"]


@click.command("serve")
@state_options
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8750, show_default=True, help="Port to listen on; 0 for a free one."
)
@listen_options
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Number of worker processes.")
@click.option(
    "--drain-seconds",
    type=click.FloatRange(0, 3600),
    default=0,
    show_default=True,
    help="Serve on for so long after SIGTERM, with /readyz at 503, until load balancers have noticed.",
)
@click.option("--s3-endpoint-url", envvar="AWS_ENDPOINT_URL_S3", help="URL of the S3 endpoint over the same lake.")
@caller_options
@jobs_options
@click.option(
    "--crawl-host",
    "crawl_hosts",
    multiple=True,
    envvar="PENSTOCK_CRAWL_HOSTS",
    metavar="HOST[:PORT]",
    help="Database that crawls may connect to. Repeatable.",
)
@click.option(
    "--crawl-dynamodb", is_flag=True, help="Let the first account's crawls read DynamoDB, by this process's login."
)
@click.option("--insecure-basic-auth", is_flag=True, help="Accept passwords without TLS on a network.")
@click.option("--metrics-without-key", is_flag=True, help="Serve /metrics without authentication.")
@spark_sql_options
@audit_options
def command(
    *,
    workers: int,
    drain_seconds: float,
    s3_endpoint_url: str | None,
    requests_per_second: float,
    min_free_mb: int,
    oidc_keys: tuple[str, ...],
    insecure_basic_auth: bool,
    metrics_without_key: bool,
    crawl_hosts: tuple[str, ...],
    crawl_dynamodb: bool,
    access_log: bool,
    **shared: Any,
) -> None:
    """Run the server alone.

    It first stores the access key in PENSTOCK_BOOTSTRAP_ACCESS_KEY_ID and PENSTOCK_BOOTSTRAP_SECRET_ACCESS_KEY, if set.
    """
    spark_sql, jobs = spark_sql_settings(shared), jobs_settings(shared)
    settings = settings_of(
        shared,
        spark_sql=spark_sql,
        s3_endpoint_url=s3_endpoint_url,
        workers=workers,
        drain_seconds=drain_seconds,
        access_log=access_log,
        insecure_basic_auth=insecure_basic_auth,
        metrics_without_key=metrics_without_key,
        crawl_hosts=crawl_hosts,
        crawl_dynamodb=crawl_dynamodb,
        requests_per_second=requests_per_second or None,
        minimum_free=min_free_mb * 1_000_000,
        oidc_keys=issuer_keys(oidc_keys),
        jobs=jobs,
    )
    where = f"({settings.region}, account {settings.account})"
    serve(settings, announce=lambda url: click.echo(f"Penstock listens on {url} {where}."))
