"""Shared by the platform's commands: the --home option, and the home that it names."""

from pathlib import Path

import click

__all__ = ["home_option"]

home_option = click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="PENSTOCK_HOME",
    help="Folder of the platform's state, or PENSTOCK_HOME. [default: .penstock]",
)
