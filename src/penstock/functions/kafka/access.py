"""Resolves the access of a mapping to its Kafka cluster: the login from secrets, an MSK cluster's brokers from AWS.

Secrets have the members that Lambda requires:
https://docs.aws.amazon.com/lambda/latest/dg/kafka-cluster-auth.html.
"""

import json
from typing import Any

from penstock.client.broker import BrokerSettings
from penstock.client.connection import open_client, translated_errors
from penstock.client.secrets import broker_credentials
from penstock.errors import InvalidInput
from penstock.functions.kafka.event import KafkaOrigin
from penstock.functions.model import KafkaAccess, KafkaSource
from penstock.names import parse_arn

__all__ = ["resolve_access"]

_TLS = "BootstrapBrokerStringTls"


def resolve_access(source: KafkaSource) -> tuple[dict[str, Any], KafkaOrigin]:
    """Return librdkafka's settings for the source's cluster, and its origin for events.

    Raises the errors of the client of Secrets Manager, and :class:`InvalidInput` for a secret with another content.
    """
    access = source.access
    brokers, managed = (source.brokers, None) if source.brokers else _managed_brokers(source)
    settings: dict[str, Any] = {}
    if access.ca:
        settings["ssl.ca.pem"] = _member(_secret(access.ca), "certificate", access.ca)
    if access.certificate:
        pair = _secret(access.certificate)
        settings["ssl.certificate.pem"] = _member(pair, "certificate", access.certificate)
        settings["ssl.key.pem"] = _member(pair, "privateKey", access.certificate)
        if pair.get("privateKeyPassword"):
            settings["ssl.key.password"] = str(pair["privateKeyPassword"])
    security = access.security
    if security is None and (settings or managed == _TLS):
        security = "SASL_SSL" if access.login else "SSL"
    config = BrokerSettings(
        brokers=brokers,
        credentials=broker_credentials(access.login) if access.login else None,
        security=security,
        mechanism=access.mechanism,
        extra=settings,
    ).client_config()
    return config, KafkaOrigin(bootstrap_servers=brokers, arn=source.arn)


def _managed_brokers(source: KafkaSource) -> tuple[str, str]:
    """Return the cluster's brokers for the authentication method, and their name in MSK's API."""
    assert source.arn is not None
    client = open_client("kafka", region=parse_arn(source.arn).region)
    with translated_errors(client, f"the brokers of {source.arn}"):
        brokers = client.get_bootstrap_brokers(ClusterArn=source.arn)
    for name in _preferred(source.access):
        if brokers.get(name):
            return str(brokers[name]), name
    raise InvalidInput(
        f"Cluster {source.arn} has no brokers for this authentication method.",
        remedy="Give SourceAccessConfigurations that the cluster allows, or BootstrapServers.",
    )


def _preferred(access: KafkaAccess) -> tuple[str, ...]:
    if access.login:
        return ("BootstrapBrokerStringSaslScram",)
    if access.certificate or access.ca:
        return (_TLS,)
    return ("BootstrapBrokerString", _TLS)


def _secret(secret_id: str) -> dict[str, Any]:
    region = parse_arn(secret_id).region if secret_id.startswith("arn:") else None
    client = open_client("secretsmanager", region=region or None)
    with translated_errors(client, f"secret {secret_id}"):
        text = client.get_secret_value(SecretId=secret_id).get("SecretString")
    try:
        content = json.loads(text or "")
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise InvalidInput(
            f"Secret {secret_id} is not a JSON object.", remedy='That of a certificate is {"certificate": "PEM"}.'
        )
    return content


def _member(secret: dict[str, Any], name: str, secret_id: str) -> str:
    value = secret.get(name)
    if not isinstance(value, str) or "-----BEGIN" not in value:
        raise InvalidInput(f"Secret {secret_id} has no PEM text in '{name}'.", remedy="Put the certificate's PEM there.")
    return value
