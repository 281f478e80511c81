"""``penstock schema diff``: compares two versions or files as AWS's console does, and checks their compatibility."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from penstock.cli.schema.diff_report import DiffSide, diff_json, diff_text
from penstock.cli.schema.files import problems_end_with_two, read_definition, read_reference
from penstock.cli.schema.options import RULES, output_option, reference_option, registry_options, rules_option
from penstock.client.registry import RegistryClient
from penstock.client.versions import LATEST, find_version, names_version
from penstock.errors import InvalidInput
from penstock.schema.diff.compare import compare
from penstock.schema.errors import InvalidSchema
from penstock.schema.format import ReferencedText
from penstock.schema.formats import FORMATS, format_of

__all__ = ["diff"]

_ENDINGS = {rules.ending: name for name, rules in FORMATS.items()}
_DIFFERENT = 1


@click.command("diff")
@click.argument("old")
@click.argument("new", default=LATEST)
@registry_options
@click.option("--schema-name", help="The schema of the versions OLD and NEW; not needed for version ids.")
@output_option
@rules_option
@click.option("--data-format", type=click.Choice(sorted(FORMATS)), help="Format of two files whose names do not show it.")
@reference_option("the two refer")
@click.option("--context", type=click.IntRange(min=0), help="Number of equal lines around a change; default all.")
@click.option("--width", type=click.IntRange(min=40), help="Width of the text in columns; default the terminal's.")
def diff(old: str, new: str, output: str, **options: Any) -> None:
    """Compare OLD with NEW side by side, and show which compatibility modes each change breaks.

    Each is a version number, 'latest', a version id, or else a file (- is standard input, ./1 a file named 1).

    Exits as diff does: with 0 if the two mean the same, with 1 if they differ, compatible or not, and with 2 if the
    comparison fails.
    """
    with problems_end_with_two(output):
        sides, differences = _compare(old, new, options)
    if output == "json":
        shown = json.dumps(diff_json(sides, differences, options["rules"]), indent=2, ensure_ascii=False)
    else:
        shown = diff_text(sides, differences, context=options["context"], width=options["width"])
    click.echo(shown)
    if differences.changes:
        raise click.exceptions.Exit(_DIFFERENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Definition:
    """One side, not parsed yet."""

    name: str
    text: str
    data_format: str | None
    version: int | None = None


def _compare(old: str, new: str, options: dict[str, Any]) -> Any:
    if old == new == "-":
        raise InvalidInput("Only one side can be standard input.")
    are_versions = [names_version(argument) for argument in (old, new)]
    client = RegistryClient(region=options["region"], endpoint_url=options["endpoint_url"]) if any(are_versions) else None
    read = [
        _registered(client, argument, options) if client is not None and is_version else _in_file(argument)
        for argument, is_version in zip((old, new), are_versions, strict=True)
    ]
    data_format = _format(read, options["data_format"])
    references = [read_reference(definition) for definition in options["references"]]
    sides = [_parsed(definition, data_format, references) for definition in read]
    return sides, compare(sides[0].parsed, sides[1].parsed, RULES[options["rules"]])


def _registered(client: RegistryClient, version_text: str, options: dict[str, Any]) -> _Definition:
    schema = options["schema_name"]
    if schema is None and "-" not in version_text:
        raise InvalidInput(
            f"'{version_text}' is a version, but its schema is not given.",
            remedy=f"Add --schema-name, or write ./{version_text} for a file of that name.",
        )
    version = find_version(client, options["registry_name"], schema or "", version_text, available_only=False)
    refused = "" if version.status == "AVAILABLE" else f" ({version.status})"
    return _Definition(
        name=f"{version.registry_name}/{version.schema_name} version {version.number}{refused}",
        text=version.definition,
        data_format=version.data_format,
        version=version.number,
    )


def _in_file(argument: str) -> _Definition:
    return _Definition(
        name=argument, text=read_definition(Path(argument)), data_format=_ENDINGS.get(Path(argument).suffix.lower())
    )


def _format(sides: Sequence[_Definition], requested: str | None) -> str:
    """Return the format: a version's, else --data-format, else by the files' names."""
    registered = [side.data_format for side in sides if side.version is not None]
    if requested is not None and any(chosen != requested for chosen in registered):
        raise InvalidInput(f"The registered version is {registered[0]}, not {requested}.", remedy="Omit --data-format.")
    if registered and len(set(registered)) > 1:
        raise InvalidInput(f"One version is {registered[0]}, the other {registered[1]}: they cannot be compared.")
    names_by_format = {side.data_format: side.name for side in sides if side.data_format}
    if not registered and requested is None and len(names_by_format) > 1:
        formats = " and ".join(f"{name} is {data_format}" for data_format, name in names_by_format.items())
        raise InvalidInput(
            f"By their names {formats}: they cannot be compared.",
            remedy=f"If a name is wrong, give --data-format {', '.join(sorted(FORMATS))}.",
        )
    chosen = registered[0] if registered else requested or next(iter(names_by_format), None)
    if chosen is None:
        raise InvalidInput(
            f"The format of {sides[0].name} is not clear from its name.",
            remedy=f"Give --data-format {', '.join(sorted(FORMATS))}.",
        )
    return chosen


def _parsed(side: _Definition, data_format: str, references: Sequence[ReferencedText]) -> DiffSide:
    try:
        parsed = format_of(data_format).parse(side.text, references)
    except InvalidSchema as error:
        raise InvalidSchema(
            f"{side.name} cannot be read: {error}",
            remedy=None if references else "If it refers to other definitions, give them: --reference NAME=FILE.",
        ) from error
    return DiffSide(name=side.name, version=side.version, parsed=parsed)
