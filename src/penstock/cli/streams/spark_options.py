"""Shared by the commands that start Spark: their options, and the form of a setting."""

from pathlib import Path

import click

__all__ = [
    "configuration_option",
    "driver_memory_option",
    "lake_option",
    "log_option",
    "master_option",
    "spark_setting",
]

master_option = click.option("--master", default="local[*]", show_default=True, help="Spark's master.")

lake_option = click.option(
    "--lake",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="PENSTOCK_LAKE",
    help="Folder of the embedded lake's buckets, or PENSTOCK_LAKE; without it s3:// is S3.",
)

log_option = click.option(
    "--log",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File for Spark's log. [default: logs/ of the platform's home]",
)

driver_memory_option = click.option("--driver-memory", default="1g", show_default=True, help="Heap of Spark's driver.")

configuration_option = click.option(
    "--conf", "configuration", multiple=True, metavar="KEY=VALUE", help="A Spark setting; repeatable."
)


def spark_setting(text: str) -> tuple[str, str]:
    """Return key and value of an option ``--conf``."""
    key, equals, value = text.partition("=")
    if not equals or not key.startswith("spark."):
        raise click.BadParameter(f"'{text}' does not have the form spark.KEY=VALUE.", param_hint="--conf")
    return key, value
