"""What the platform's commands share: the --home option and what they say about a home."""

from pathlib import Path

import click

__all__ = ["home_option"]

home_option = click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="PENSTOCK_HOME",
    help="Folder of the platform's state, or PENSTOCK_HOME. [default: .penstock]",
)
