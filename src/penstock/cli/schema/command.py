"""``penstock schema``: ``check`` checks a definition against the registry, ``diff`` compares two definitions."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.schema.diff import diff
from penstock.cli.schema.files import problems_end_with_two, read_definition, read_reference
from penstock.cli.schema.options import RULES, output_option, reference_option, registry_options, rules_option
from penstock.cli.schema.report import report_json, report_text
from penstock.cli.streams.broker_options import broker_options
from penstock.client.check import CheckedDefinition, check_definition
from penstock.client.confluent import ConfluentClient
from penstock.client.registry import RegistryClient
from penstock.errors import InvalidInput
from penstock.schema.compatibility import CompatibilityMode
from penstock.schema.formats import FORMATS
from penstock.schema.version import SchemaText

if TYPE_CHECKING:
    from penstock.produce.trial import Trial

__all__ = ["command"]

_INCOMPATIBLE = 1


@click.group("schema")
def command() -> None:
    """Check and compare schema definitions."""


@command.command("check")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@registry_options
@click.option("--schema-name", required=True, help="The schema whose next version the definition would be.")
@output_option
@click.option("--mode", type=click.Choice(list(CompatibilityMode)), help="Compatibility mode; default the schema's own.")
@rules_option
@click.option(
    "--data-format", type=click.Choice(sorted(FORMATS)), help="Format; needed if the schema is not registered yet."
)
@reference_option("FILE refers")
@click.option("--against-topic", metavar="TOPIC", help="Also decode the topic's last records with the definition.")
@click.option(
    "--last",
    type=click.IntRange(min=1),
    default=1_000,
    show_default=True,
    help="Number of records, spread evenly over the partitions.",
)
@click.option(
    "--partition", "partitions", type=click.IntRange(min=0), multiple=True, help="Read only this partition; repeatable."
)
@click.option("--key", is_flag=True, help="Decode the records' keys instead of their values.")
@broker_options(required=False)
@click.option(
    "--schema-registry-url",
    envvar="SCHEMA_REGISTRY_URL",
    help="URL of a registry with Confluent's API, for records with its schema ids.",
)
@click.option(
    "--schema-registry-user-info",
    envvar="SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO",
    help="USER:PASSWORD for that registry; better set in the environment.",
)
def check(file: Path, output: str, **options: Any) -> None:
    """Check the definition in FILE (- is standard input) against the registry, without registering it.

    Exits with 0 if it is compatible; with 1 if it is not, or breaks a record of --against-topic; with 2 if the check
    fails: an invalid definition, wrong options, a registry or broker that does not answer.
    """
    with problems_end_with_two(output):
        checked, trial = _check(file, options)
    if output == "json":
        click.echo(json.dumps(report_json(checked, trial, options["rules"]), indent=2, ensure_ascii=False))
    else:
        click.echo(report_text(str(file), checked, trial))
    if not checked.accepted or (trial is not None and trial.broken):
        raise click.exceptions.Exit(_INCOMPATIBLE)


def _check(file: Path, options: dict[str, Any]) -> tuple[CheckedDefinition, "Trial | None"]:
    if options["against_topic"] and not options["brokers"]:
        raise InvalidInput("--against-topic needs a broker.", remedy="Add --brokers HOST:PORT.")
    client = RegistryClient(region=options["region"], endpoint_url=options["endpoint_url"])
    checked = check_definition(
        client,
        options["registry_name"],
        options["schema_name"],
        read_definition(file),
        data_format=options["data_format"],
        mode=CompatibilityMode(options["mode"]) if options["mode"] else None,
        rules=RULES[options["rules"]],
        references=[read_reference(reference) for reference in options["references"]],
    )
    return checked, _try_topic(client, checked, options) if options["against_topic"] else None


def _try_topic(client: RegistryClient, checked: CheckedDefinition, options: dict[str, Any]) -> "Trial":
    try:
        from penstock.cli.streams.broker import broker_settings  # noqa: PLC0415 - Kafka's client is an extra
        from penstock.produce.tail import last_records  # noqa: PLC0415
        from penstock.produce.trial import try_records  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("penstock"):
            raise
        raise InvalidInput(
            f"--against-topic needs the package '{error.name}'.", remedy="Install it with: pip install 'penstock[kafka]'"
        ) from error
    url = options["schema_registry_url"]
    topic = options["against_topic"]
    return try_records(
        topic,
        last_records(broker_settings(options), topic, options["last"], partitions=options["partitions"] or None),
        SchemaText(
            definition=checked.parsed.text,
            data_format=checked.parsed.data_format,
            references=tuple(read_reference(reference) for reference in options["references"]),
        ),
        client,
        confluent=ConfluentClient(url, user_info=options["schema_registry_user_info"]) if url else None,
        key=options["key"],
    )


command.add_command(diff)
