"""A Glue connection of type KAFKA as options of Spark's connector.

Properties: https://docs.aws.amazon.com/glue/latest/webapi/API_Connection.html.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock.client.connections import GlueConnection
from penstock.client.secrets import BrokerCredentials
from penstock.errors import InvalidInput

__all__ = ["KafkaConnection", "kafka_connection"]

_SCRAM = ("SCRAM-SHA-512", "SCRAM-SHA-256")
_REFUSED = {
    "KAFKA_CLIENT_KEYSTORE": "Client certificates are not read from key stores: give kafka.ssl.keystore.* as options.",
    "ENCRYPTED_KAFKA_SASL_SCRAM_PASSWORD": "Passwords under a KMS key cannot be opened: use KAFKA_SASL_SCRAM_SECRETS_ARN.",
    "ENCRYPTED_KAFKA_SASL_PLAIN_PASSWORD": "Passwords under a KMS key cannot be opened: use KAFKA_SASL_PLAIN_PASSWORD.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaConnection:
    """``login`` is mechanism, user name and password; ``trust`` Spark's options on certificates."""

    brokers: str
    protocol: str
    login: tuple[str, str, str] | None = field(default=None, repr=False)
    trust: Mapping[str, str] = field(default_factory=dict)


def kafka_connection(
    connection: GlueConnection, *, secret: Callable[[str], BrokerCredentials], read: Callable[[str], bytes]
) -> KafkaConnection:
    """Return the connection's brokers, protocol and login.

    ``secret`` gets the credentials in a secret, ``read`` a file's bytes by its location. Raises :class:`InvalidInput` for a
    connection of another type, and for properties that Spark's connector does not support.
    """
    properties = connection.properties
    what = f"Connection {connection.name}"
    if connection.type != "KAFKA":
        raise InvalidInput(f"{what} is of type {connection.type}.", remedy="The kafka source needs one of type KAFKA.")
    for name, remedy in _REFUSED.items():
        if properties.get(name):
            raise InvalidInput(f"{what} has {name}, which is not supported.", remedy=remedy)
    brokers = properties.get("KAFKA_BOOTSTRAP_SERVERS")
    if not brokers:
        raise InvalidInput(f"{what} does not name brokers.", remedy="Set KAFKA_BOOTSTRAP_SERVERS.")
    encrypted = _true(properties.get("KAFKA_SSL_ENABLED", "true"))
    login = _login(what, properties, secret)
    return KafkaConnection(
        brokers=brokers,
        protocol=("SASL_" if login else "") + ("SSL" if encrypted else "PLAINTEXT"),
        login=login,
        trust=_trust(what, properties, read) if encrypted else {},
    )


def _login(
    what: str, properties: Mapping[str, str], secret: Callable[[str], BrokerCredentials]
) -> tuple[str, str, str] | None:
    mechanism = properties.get("KAFKA_SASL_MECHANISM")
    if not mechanism:
        return None
    if mechanism in _SCRAM:
        arn = properties.get("KAFKA_SASL_SCRAM_SECRETS_ARN")
        if arn:
            credentials = secret(arn)
            return mechanism, credentials.username, credentials.password
        user, password = properties.get("KAFKA_SASL_SCRAM_USERNAME"), properties.get("KAFKA_SASL_SCRAM_PASSWORD")
    elif mechanism == "PLAIN":
        user, password = properties.get("KAFKA_SASL_PLAIN_USERNAME"), properties.get("KAFKA_SASL_PLAIN_PASSWORD")
    else:
        raise InvalidInput(
            f"{what} logs in with {mechanism}, which is not supported.",
            remedy="Use SCRAM-SHA-512, or give bootstrap.servers and the options kafka.sasl.* with a jar of your own.",
        )
    if not user or not password:
        raise InvalidInput(f"{what} logs in with {mechanism} and lacks the user name or the password.")
    return mechanism, user, password


def _trust(what: str, properties: Mapping[str, str], read: Callable[[str], bytes]) -> dict[str, str]:
    if _true(properties.get("KAFKA_SKIP_CUSTOM_CERT_VALIDATION", "false")):
        raise InvalidInput(
            f"{what} has KAFKA_SKIP_CUSTOM_CERT_VALIDATION, which is not supported.",
            remedy="Give the certificate's location in KAFKA_CUSTOM_CERT.",
        )
    location = properties.get("KAFKA_CUSTOM_CERT")
    if not location:
        return {}
    return {
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": read(location).decode("ascii", errors="replace"),
    }


def _true(text: str) -> bool:
    return text.strip().lower() == "true"
