"""Settings to reach a Kafka broker, and the translation of its client's errors."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from confluent_kafka import KafkaError

from penstock.client.secrets import BrokerCredentials
from penstock.errors import AccessDenied, EnvironmentProblem, InvalidInput, PenstockError

__all__ = ["FINAL", "NO_TOPIC", "BrokerSettings", "Security", "broker_problem"]

Security = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]

_LOOPBACK = ("127.", "localhost", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """Addresses and login. :meth:`protocol` chooses ``security`` if it is not given. ``extra`` goes to librdkafka."""

    brokers: str
    credentials: BrokerCredentials | None = None
    security: Security | None = None
    mechanism: str = "SCRAM-SHA-512"
    ca_file: Path | None = None
    timeout_seconds: float = 30.0
    extra: Mapping[str, Any] = field(default_factory=dict)

    def protocol(self) -> Security:
        """Return the security protocol: TLS with credentials, unless every broker is on this machine; else plain text."""
        if self.security is not None:
            return self.security
        if self.credentials is None:
            return "SSL" if self.ca_file else "PLAINTEXT"
        local = all(address.strip().startswith(_LOOPBACK) for address in self.brokers.split(","))
        return "SASL_PLAINTEXT" if local and self.ca_file is None else "SASL_SSL"

    def client_config(self) -> dict[str, Any]:
        """Return librdkafka's configuration; raise :class:`InvalidInput` if the settings contradict each other."""
        protocol = self.protocol()
        config: dict[str, Any] = {
            "bootstrap.servers": self.brokers,
            "security.protocol": protocol,
            "socket.connection.setup.timeout.ms": max(1000, int(self.timeout_seconds * 1000)),
            "reconnect.backoff.max.ms": 2000,
        }
        if protocol.startswith("SASL"):
            if self.credentials is None:
                raise InvalidInput(f"{protocol} needs credentials.", remedy="Name the secret that holds them: --secret-arn.")
            config["sasl.mechanism"] = self.mechanism
            config["sasl.username"] = self.credentials.username
            config["sasl.password"] = self.credentials.password
        if self.ca_file is not None:
            if not self.ca_file.is_file():
                raise InvalidInput(f"The CA file {self.ca_file} does not exist.")
            config["ssl.ca.location"] = str(self.ca_file)
        return config | dict(self.extra)


def broker_problem(error: KafkaError, brokers: str, topic: str, *, doing: str = "write to") -> PenstockError:
    """Return the error to show for an error of the Kafka client that was ``doing`` something with the topic."""
    code, text = error.code(), error.str()
    for codes, error_class, message, remedy in _MEANINGS:
        if code in codes:
            return error_class(message.format(brokers=brokers, topic=topic, text=text, doing=doing), remedy=remedy)
    return EnvironmentProblem(
        f"The broker at {brokers} does not answer: {text}",
        remedy="Check that it runs, its address, and the security protocol.",
    )


NO_TOPIC = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError.LEADER_NOT_AVAILABLE})
"""Codes of a topic that does not exist, or not yet."""

FINAL = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError._SSL,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_EXCEPTION,
    }
)
"""Codes of errors that a retry cannot resolve."""

_MEANINGS: list[tuple[Set[int], type[PenstockError], str, str | None]] = [
    (
        {KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED},
        AccessDenied,
        "The broker at {brokers} refused the login: {text}",
        "Check user, password and mechanism in the secret.",
    ),
    (
        {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED},
        AccessDenied,
        "The user may not {doing} topic {topic} at {brokers}: {text}",
        None,
    ),
    (
        NO_TOPIC,
        EnvironmentProblem,
        "Topic {topic} does not exist at {brokers}, and the broker does not create it.",
        "Create the topic first.",
    ),
    ({KafkaError.TOPIC_EXCEPTION}, InvalidInput, "'{topic}' is not a valid topic name: {text}", None),
    (
        {KafkaError._SSL},
        EnvironmentProblem,
        "TLS to {brokers} failed: {text}",
        "Check --ca-file and the security protocol.",
    ),
    (
        {KafkaError.MSG_SIZE_TOO_LARGE},
        InvalidInput,
        "A message is larger than topic {topic} accepts: {text}",
        "Raise the topic's max.message.bytes.",
    ),
]
