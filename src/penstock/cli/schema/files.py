"""Shared by the commands of ``penstock schema``: definitions from files, and errors that exit with 2."""

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

_MAX_BYTES = 4 * MAX_DEFINITION_CHARS  # a character takes at most 4 bytes of UTF-8
_WRONG = 2


def read_definition(file: Path) -> str:
    """Return the text of a definition's file (``-``: standard input); :class:`InvalidInput` if it cannot be read."""
    try:
        raw = sys.stdin.buffer.read(_MAX_BYTES + 1) if str(file) == "-" else _bytes(file)
        if len(raw) > _MAX_BYTES:
            raise InvalidInput(
                f"{file} has more than {_MAX_BYTES} bytes; a definition has at most {MAX_DEFINITION_CHARS} characters."
            )
        return raw.decode("utf-8-sig")
    except FileNotFoundError:
        raise InvalidInput(f"The file {file} does not exist.") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} is not UTF-8 text, from byte {error.start} on.") from None


def _bytes(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(_MAX_BYTES + 1)


def read_reference(option: str) -> ReferencedText:
    """Return the definition of an option NAME=FILE."""
    name, equals, file = option.partition("=")
    if not name or not equals or not file:
        raise InvalidInput(f"--reference '{option[:200]}' does not have the form NAME=FILE.")
    return ReferencedText(name=name, text=read_definition(Path(file)))


@contextmanager
def problems_end_with_two(output: str) -> Iterator[None]:
    """Exit with 2 on every error, since 1 is an answer of the command. ``output`` is its --format."""
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
