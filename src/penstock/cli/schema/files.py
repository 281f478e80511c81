"""What the commands of ``penstock schema`` share: definitions out of files, and errors that end with 2."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from penstock.cli.failures import DEBUG, explained
from penstock.cli.schema.report import error_json
from penstock.errors import InvalidInput
from penstock.schema.format import MAX_DEFINITION_CHARS, ReferencedText

__all__ = ["problems_end_with_two", "read_definition", "read_reference"]

_MAX_BYTES = 4 * MAX_DEFINITION_CHARS  # UTF-8's longest
_WRONG = 2


def read_definition(file: Path) -> str:
    """The text of a definition's file, ``-`` being standard input; :class:`InvalidInput` if it cannot be one."""
    try:
        raw = sys.stdin.buffer.read(_MAX_BYTES + 1) if str(file) == "-" else _bytes(file)
        if len(raw) > _MAX_BYTES:
            raise InvalidInput(
                f"{file} has more than {_MAX_BYTES} bytes; a definition has {MAX_DEFINITION_CHARS} characters."
            )
        return raw.decode("utf-8-sig")
    except FileNotFoundError:
        raise InvalidInput(f"There is no file {file}.") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} is not UTF-8 text: byte {error.start}.") from None


def _bytes(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(_MAX_BYTES + 1)


def read_reference(item: str) -> ReferencedText:
    """The definition that an option NAME=FILE gives."""
    name, equals, file = item.partition("=")
    if not name or not equals or not file:
        raise InvalidInput(f"--reference is '{item[:200]}'.", remedy="It is NAME=FILE.")
    return ReferencedText(name=name, text=read_definition(Path(file)))


@contextmanager
def problems_end_with_two(output: str) -> Iterator[None]:
    """Where 1 is an answer, every error has to end with another code. ``output`` is the command's --format."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.exceptions.Abort):
        raise
    except Exception as error:
        if os.environ.get(DEBUG) == "1":
            raise
        problem = explained(error)
        if output == "json":
            click.echo(json.dumps(error_json(problem), indent=2, ensure_ascii=False))
        click.echo(f"penstock: {problem}", err=True)
        raise click.exceptions.Exit(_WRONG) from None
