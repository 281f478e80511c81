"""The options of commands that connect to a Kafka broker; without Kafka's client, which comes with an extra."""

from collections.abc import Callable

import click

from penstock.cli.options import FILE, Command, option_group

__all__ = ["broker_options"]


def broker_options(*, required: bool) -> Callable[[Command], Command]:
    """Add addresses, login and TLS, named as in ``penstock produce``; :mod:`penstock.cli.streams.broker` reads them."""
    return option_group(
        click.option(
            "-brokers", "--brokers", envvar="PENSTOCK_BROKERS", required=required, help="Bootstrap servers, HOST:PORT[,…]."
        ),
        click.option(
            "-secretArn", "--secret-arn", envvar="PENSTOCK_SECRET_ID", help="Secret (ARN or name) with the broker's login."
        ),
        click.option(
            "--security-protocol",
            envvar="PENSTOCK_SECURITY_PROTOCOL",
            type=click.Choice(["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]),
            help="Default: SASL_SSL with a secret (SASL_PLAINTEXT to this machine), else PLAINTEXT.",
        ),
        click.option("--sasl-mechanism", default="SCRAM-SHA-512", show_default=True),
        click.option(
            "--ca-file",
            envvar="PENSTOCK_CA_FILE",
            type=FILE,
            help="CA certificates (PEM) to trust.",
        ),
        click.option(
            "--timeout",
            type=click.FloatRange(min=1),
            default=30.0,
            show_default=True,
            help="Seconds to wait for the broker.",
        ),
    )
