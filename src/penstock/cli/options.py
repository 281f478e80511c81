"""Options that many commands have, types of paths, and how several options are added at once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["FILE", "FOLDER", "PATH", "Command", "home_option", "option_group"]

Command = TypeVar("Command", bound=Callable[..., object])

PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)

home_option = click.option(
    "--home",
    type=FOLDER,
    envvar="PENSTOCK_HOME",
    help="Folder of the platform's state, or PENSTOCK_HOME. [default: .penstock]",
)


def option_group(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return one decorator for ``options``, which a command's help lists in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate
