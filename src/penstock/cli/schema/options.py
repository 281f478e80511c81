"""Options that the commands of ``penstock schema`` share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from penstock.schema.rules import CONFLUENT_RULES, GLUE_RULES

__all__ = ["RULES", "output_options", "reference_option", "registry_options", "rules_option"]

F = TypeVar("F", bound=Callable[..., Any])

RULES = {"glue": GLUE_RULES, "confluent": CONFLUENT_RULES}


def registry_options(command: F) -> F:
    """``--registry-name``, ``--region``, ``--endpoint-url``."""
    for option in (
        click.option(
            "--endpoint-url", envvar="PENSTOCK_ENDPOINT_URL", help="Server to ask instead of AWS (or AWS_ENDPOINT_URL)."
        ),
        click.option("-region", "--region", help="AWS region; default as for any AWS client."),
        click.option("-registryName", "--registry-name", default="default-registry", show_default=True),
    ):
        command = option(command)
    return command


def output_options(command: F) -> F:
    """``--format``, text or JSON, as ``output``."""
    choice = click.Choice(["text", "json"])
    return click.option("--format", "output", type=choice, default="text", show_default=True)(command)


def rules_option(command: F) -> F:
    """``--rules``: a key of :data:`RULES`."""
    return click.option(
        "--rules",
        type=click.Choice(list(RULES)),
        default="glue",
        show_default=True,
        help="Whose rules, where AWS Glue's and Confluent's differ.",
    )(command)


def reference_option(of: str) -> Callable[[F], F]:
    """``--reference NAME=FILE``, as ``references``; ``of`` says what builds on them."""
    return click.option(
        "--reference",
        "references",
        multiple=True,
        metavar="NAME=FILE",
        help=f"A definition that {of} on, by the name it has there; repeatable, each behind what it builds on itself.",
    )
