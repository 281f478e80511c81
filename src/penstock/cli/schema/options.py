"""Shared options of the commands of ``penstock schema``."""

from collections.abc import Callable

import click

from penstock.cli.options import Command, option_group
from penstock.schema.rules import CONFLUENT_RULES, GLUE_RULES

__all__ = ["RULES", "output_option", "reference_option", "registry_options", "rules_option"]

RULES = {"glue": GLUE_RULES, "confluent": CONFLUENT_RULES}


registry_options = option_group(
    click.option("-registryName", "--registry-name", default="default-registry", show_default=True),
    click.option("-region", "--region", help="AWS region; default as for any AWS client."),
    click.option(
        "--endpoint-url",
        envvar="PENSTOCK_ENDPOINT_URL",
        help="URL of the server to use instead of AWS (or AWS_ENDPOINT_URL).",
    ),
)

output_option = click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)

rules_option = click.option(
    "--rules",
    type=click.Choice(list(RULES)),
    default="glue",
    show_default=True,
    help="Whose rules to apply if AWS Glue's and Confluent's differ.",
)


def reference_option(of: str) -> Callable[[Command], Command]:
    """Add ``--reference NAME=FILE``, as ``references``; ``of`` names what refers to them."""
    return click.option(
        "--reference",
        "references",
        multiple=True,
        metavar="NAME=FILE",
        help=f"A definition that {of} to, under that name; repeatable, each after those that it refers to itself.",
    )
