"""``penstock metastore``: the catalog by Hive's protocol, for Spark, Hive and Trino on this machine."""

import os
from pathlib import Path

import click

from penstock.cli.signals import stop_on_signals
from penstock.cli.streams.spark_options import lake_option
from penstock.client.connection import open_client
from penstock.metastore.folders import LakeFolders, S3Folders
from penstock.metastore.handler import MetastoreHandler
from penstock.metastore.server import serving
from penstock.spark.catalog_session import catalog_configuration

__all__ = ["command"]


@click.command("metastore")
@click.option("--port", type=click.IntRange(0, 65_535), default=9083, show_default=True, help="Port on loopback; 0 for any.")
@click.option("--warehouse", metavar="s3://BUCKET/PREFIX", help="Where databases without a location are.")
@lake_option
def command(port: int, warehouse: str | None, lake: Path | None) -> None:
    """Serve the catalog by Hive's metastore protocol until a signal, and print the settings of Spark for it.

    The catalog is that of AWS's variables: Penstock's server where 'penstock env' set them, else AWS. Only processes
    of the same user are served, because the protocol has no signatures.
    """
    folders = LakeFolders(lake) if lake is not None else S3Folders(open_client("s3"))
    handler = MetastoreHandler(open_client("glue"), folders)
    stop = stop_on_signals("the calls that run")
    with serving(handler, port=port) as server:
        click.echo(f"# The metastore listens on {server.uri}. Spark's settings:")
        configuration = catalog_configuration(
            server.uri,
            warehouse=warehouse or f"s3://{os.environ.get('PENSTOCK_BUCKET', 'lake')}/warehouse",
            environment=os.environ,
            folder_lake=lake is not None,
        )
        for key, value in configuration.items():
            click.echo(f"{key} {value}")
        stop.wait()
