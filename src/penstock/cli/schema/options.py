"""Shared options of the commands of ``penstock schema``."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from penstock.schema.rules import CONFLUENT_RULES, GLUE_RULES

__all__ = ["RULES", "output_options", "reference_option", "registry_options", "rules_option"]

F = TypeVar("F", bound=Callable[..., Any])

RULES = {"glue": GLUE_RULES, "confluent": CONFLUENT_RULES}


def registry_options(command: F) -> F:
    """Add ``--registry-name``, ``--region`` and ``--endpoint-url``."""
    for option in (
        click.option(
            "--endpoint-url",
            envvar="PENSTOCK_ENDPOINT_URL",
            help="URL of the server to use instead of AWS (or AWS_ENDPOINT_URL).",
        ),
        click.option("-region", "--region", help="AWS region; default as for any AWS client."),
        click.option("-registryName", "--registry-name", default="default-registry", show_default=True),
    ):
        command = option(command)
    return command


def output_options(command: F) -> F:
    """Add ``--format``, text or JSON, as ``output``."""
    choice = click.Choice(["text", "json"])
    return click.option("--format", "output", type=choice, default="text", show_default=True)(command)


def rules_option(command: F) -> F:
    """Add ``--rules``: a key of :data:`RULES`."""
    return click.option(
        "--rules",
        type=click.Choice(list(RULES)),
        default="glue",
        show_default=True,
        help="Whose rules to apply if AWS Glue's and Confluent's differ.",
    )(command)


def reference_option(of: str) -> Callable[[F], F]:
    """Add ``--reference NAME=FILE``, as ``references``; ``of`` names what refers to them."""
    return click.option(
        "--reference",
        "references",
        multiple=True,
        metavar="NAME=FILE",
        help=f"A definition that {of} to, under that name; repeatable, each after those that it refers to itself.",
    )
