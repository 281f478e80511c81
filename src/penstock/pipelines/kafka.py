"""How a pipeline reaches Kafka brokers: addresses, security protocol, login and certificates; for sources and sinks."""

from dataclasses import dataclass, field
from typing import Any, Literal

from penstock.errors import InvalidInput
from penstock.settings.document import Section

__all__ = ["KafkaConnection", "SaslMechanism", "SecurityProtocol", "connection_settings"]

SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
SaslMechanism = Literal["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN", "OAUTHBEARER", "AWS_MSK_IAM"]

_PROTOCOLS: tuple[SecurityProtocol, ...] = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS: tuple[SaslMechanism, ...] = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN", "OAUTHBEARER", "AWS_MSK_IAM")


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaConnection:
    """Brokers and how to log in to them.

    ``username`` and ``password``, or ``secret`` (name or ARN in Secrets Manager, JSON with both keys, as MSK keeps
    them). With OAUTHBEARER they are the client's id and secret, for which ``token_endpoint`` gives tokens of ``scope``
    (https://kafka.apache.org/39/documentation.html#security_sasl_oauthbearer_clientconfig). AWS_MSK_IAM takes AWS's
    credentials from the machine, and ``role`` is one to assume. ``keystore`` is this client's certificate and key, PEM
    (both in one file) or JKS; ``truststore`` certificates to trust, PEM or JKS.
    """

    brokers: str
    security_protocol: SecurityProtocol = "SASL_SSL"
    sasl_mechanism: SaslMechanism = "SCRAM-SHA-512"
    secret: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    token_endpoint: str | None = None
    scope: str | None = None
    role: str | None = None
    truststore: str | None = None
    truststore_password: str | None = field(default=None, repr=False)
    keystore: str | None = None
    keystore_password: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)

    @property
    def _what(self) -> str:
        """Return what the connection is for, for messages."""
        return f"Brokers {self.brokers}"

    def __post_init__(self) -> None:
        self._check_login()
        if not self.security_protocol.endswith("SSL") and (self.truststore or self.keystore):
            raise InvalidInput(
                f"{self._what}: {self.security_protocol} does not use certificates.",
                remedy="Remove truststore and keystore, or use SSL or SASL_SSL.",
            )

    def _check_login(self) -> None:
        sasl = self.security_protocol.startswith("SASL")
        login = bool(self.secret or self.username or self.password)
        if not sasl and (login or self.token_endpoint or self.role):
            raise InvalidInput(
                f"{self._what}: {self.security_protocol} does not use credentials.",
                remedy="Remove them, or use SASL_SSL or SASL_PLAINTEXT.",
            )
        if not sasl:
            return
        if self.sasl_mechanism == "AWS_MSK_IAM":
            if login or self.security_protocol != "SASL_SSL":
                raise InvalidInput(
                    f"{self._what}: AWS_MSK_IAM logs in with AWS's own credentials, over SASL_SSL.",
                    remedy="Remove secret, username and password, and use SASL_SSL; 'role' names a role to assume.",
                )
            return
        if not self.secret and not (self.username and self.password):
            raise InvalidInput(
                f"{self._what}: {self.security_protocol} needs credentials.",
                remedy="Give 'secret' (an id in Secrets Manager), or 'username' and 'password'.",
            )
        if (self.sasl_mechanism == "OAUTHBEARER") != (self.token_endpoint is not None):
            raise InvalidInput(
                f"{self._what}: OAUTHBEARER goes with 'token_endpoint', the URL that gives tokens, and only it does.",
                remedy="The client's id and secret are 'username' and 'password', or in 'secret'.",
            )


def connection_settings(kafka: Section) -> dict[str, Any]:
    """Return the arguments of :class:`KafkaConnection` from a section of a source or sink."""
    return {
        "brokers": kafka.required("brokers", "bootstrap.servers", "kafka.bootstrap.servers"),
        "security_protocol": kafka.choice(_PROTOCOLS, "security_protocol", "security.protocol", "kafka.security.protocol")
        or "SASL_SSL",
        "sasl_mechanism": kafka.choice(_MECHANISMS, "sasl_mechanism", "sasl.mechanism", "kafka.sasl.mechanism")
        or "SCRAM-SHA-512",
        "secret": kafka.text("secret", "secretArn", "secretId", "secret_id"),
        "username": kafka.text("username"),
        "password": kafka.text("password"),
        "token_endpoint": kafka.text("token_endpoint", "sasl.oauthbearer.token.endpoint.url"),
        "scope": kafka.text("scope"),
        "role": kafka.text("role", "awsRoleArn"),
        "truststore": kafka.text("truststore"),
        "truststore_password": kafka.text("truststore_password"),
        "keystore": kafka.text("keystore"),
        "keystore_password": kafka.text("keystore_password"),
        "key_password": kafka.text("key_password"),
    }
