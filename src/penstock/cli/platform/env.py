"""``penstock env``: the environment variables that point clients and Penstock's commands at the platform."""

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from penstock.cli.options import home_option
from penstock.local.platform import home_at

__all__ = ["command", "render"]


def _posix(name: str, value: str) -> str:
    return f"export {name}={shlex.quote(value)}"


def _fish(name: str, value: str) -> str:
    quoted = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"set -gx {name} '{quoted}'"


def _dotenv(name: str, value: str) -> str:
    quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("\n", "\\n")
    return f'{name}="{quoted}"'


_LINES: dict[str, Callable[[str, str], str]] = {"sh": _posix, "fish": _fish, "dotenv": _dotenv}


def render(variables: Mapping[str, str], form: str) -> str:
    """Return the variables as ``form``: sh, fish, dotenv or json."""
    if form == "json":
        return json.dumps(dict(variables), indent=2)
    return "\n".join(_LINES[form](name, value) for name, value in variables.items())


@click.command("env")
@home_option
@click.option("--format", "form", type=click.Choice([*_LINES, "json"]), default="sh", show_default=True, help="Syntax.")
def command(home: Path | None, form: str) -> None:
    """Print the environment variables for the platform's clients, with credentials.

    \b
    In a shell: eval "$(penstock env)"      In fish: penstock env --format fish | source
    """
    place = home_at(home)
    # Spark reads and writes the lake's folder directly, under the s3:// names that the endpoint's clients use.
    folders = {"PENSTOCK_HOME": str(place.root), "PENSTOCK_LAKE": str(place.lake)}
    click.echo(render({**place.load().client_environment(), **folders}, form))
