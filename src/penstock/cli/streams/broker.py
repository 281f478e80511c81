"""Broker settings from a command's options, with the login from its secret."""

from collections.abc import Mapping
from typing import Any

from penstock.client.broker import BrokerSettings
from penstock.client.secrets import broker_credentials

__all__ = ["broker_settings"]


def broker_settings(options: Mapping[str, Any]) -> BrokerSettings:
    """Return the settings of :mod:`penstock.cli.streams.broker_options`, ``region`` and ``endpoint_url`` in ``options``."""
    secret = options["secret_arn"]
    credentials = (
        broker_credentials(secret, region=options["region"], endpoint_url=options["endpoint_url"]) if secret else None
    )
    return BrokerSettings(
        brokers=options["brokers"],
        credentials=credentials,
        security=options["security_protocol"],
        mechanism=options["sasl_mechanism"],
        ca_file=options["ca_file"],
        timeout_seconds=options["timeout"],
    )
