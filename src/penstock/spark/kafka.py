"""Options of Spark's ``kafka`` format for a connection to brokers, and a check that one of them can be reached."""

import re
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.pipelines.kafka import KafkaConnection

__all__ = ["TIMEOUTS", "Credentials", "check_brokers", "connection_options", "login_options"]

Credentials = tuple[str, str]

_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_OAUTH = "org.apache.kafka.common.security.oauthbearer"
_IAM = "software.amazon.msk.auth.iam"
_CONNECT_SECONDS = 5.0

TIMEOUTS: Mapping[str, str] = {"kafka.default.api.timeout.ms": "30000", "kafka.request.timeout.ms": "15000"}
"""A broker that does not answer is an error within a minute, not after Kafka's default of several."""


def connection_options(connection: KafkaConnection, fetch_secret: Callable[[str], Credentials]) -> dict[str, str]:
    """Return the options ``kafka.*`` for brokers, login and certificates, for reading and for writing.

    ``fetch_secret`` gets user name and password for a secret's id. The options have the password: never log them.
    Raises :class:`InvalidInput` for a file of certificates that is not what it should be.
    """
    options = {
        "kafka.bootstrap.servers": connection.brokers,
        **TIMEOUTS,
        "kafka.security.protocol": connection.security_protocol,
    }
    if connection.security_protocol.startswith("SASL"):
        options |= _login(connection, fetch_secret)
    options |= _store("truststore", connection.truststore, connection.truststore_password)
    options |= _store("keystore", connection.keystore, connection.keystore_password)
    if connection.key_password is not None:
        options["kafka.ssl.key.password"] = connection.key_password
    return options


def _login(connection: KafkaConnection, fetch_secret: Callable[[str], Credentials]) -> dict[str, str]:
    if connection.sasl_mechanism == "AWS_MSK_IAM":
        return _iam(connection.role)
    secret = connection.secret
    user, password = fetch_secret(secret) if secret else (connection.username or "", connection.password or "")
    if connection.sasl_mechanism == "OAUTHBEARER":
        return _oauth(connection, user, password)
    return login_options(connection.sasl_mechanism, user, password)


def login_options(mechanism: str, user: str, password: str) -> dict[str, str]:
    """Return options of Spark's ``kafka`` format for SASL; ``mechanism`` is PLAIN or one of SCRAM's."""
    login = _jaas(_MODULES[mechanism], {"username": user, "password": password})
    return {"kafka.sasl.mechanism": mechanism, "kafka.sasl.jaas.config": login}


def _oauth(connection: KafkaConnection, client: str, secret: str) -> dict[str, str]:
    """Kafka's own client of OAuth 2's client credentials grant (KIP-768)."""
    settings = {"clientId": client, "clientSecret": secret}
    if connection.scope:
        settings["scope"] = connection.scope
    return {
        "kafka.sasl.mechanism": "OAUTHBEARER",
        "kafka.sasl.jaas.config": _jaas(f"{_OAUTH}.OAuthBearerLoginModule", settings),
        "kafka.sasl.login.callback.handler.class": f"{_OAUTH}.OAuthBearerLoginCallbackHandler",
        "kafka.sasl.oauthbearer.token.endpoint.url": connection.token_endpoint or "",
    }


def _iam(role: str | None) -> dict[str, str]:
    """AWS's library for MSK: https://github.com/aws/aws-msk-iam-auth."""
    return {
        "kafka.sasl.mechanism": "AWS_MSK_IAM",
        "kafka.sasl.jaas.config": _jaas(f"{_IAM}.IAMLoginModule", {"awsRoleArn": role} if role else {}),
        "kafka.sasl.client.callback.handler.class": f"{_IAM}.IAMClientCallbackHandler",
    }


def _jaas(module: str, settings: Mapping[str, str]) -> str:
    return " ".join([module, "required", *(f"{name}={_quoted(value)}" for name, value in settings.items())]) + ";"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _store(store: str, location: str | None, password: str | None) -> dict[str, str]:
    """Return the options of a truststore or keystore. PEM text is passed as it is, so that executors need no file."""
    if location is None:
        return {}
    prefix = f"kafka.ssl.{store}"
    text = _pem(Path(location))
    if text is None:
        jks = {f"{prefix}.location": location, f"{prefix}.password": password}
        if Path(location).suffix.lower() in {".p12", ".pfx"}:
            jks[f"{prefix}.type"] = "PKCS12"
        elif Path(location).suffix.lower() in {".pem", ".crt", ".cer"}:
            jks[f"{prefix}.type"] = "PEM"
        return {name: value for name, value in jks.items() if value is not None}
    certificates = "\n".join(re.findall(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", text, re.DOTALL))
    if store == "truststore":
        return {f"{prefix}.type": "PEM", f"{prefix}.certificates": certificates}
    key = re.search(
        r"-----BEGIN (?:ENCRYPTED )?PRIVATE KEY-----.*?-----END (?:ENCRYPTED )?PRIVATE KEY-----", text, re.DOTALL
    )
    if key is None or not certificates:
        raise InvalidInput(
            f"The keystore {location} lacks a {'certificate' if key else 'private key in PKCS #8'}.",
            remedy="It needs both in one file: the key (BEGIN PRIVATE KEY, as 'openssl pkcs8 -topk8' writes it), then the "
            "certificate with its chain.",
        )
    return {f"{prefix}.type": "PEM", f"{prefix}.key": key.group(0), f"{prefix}.certificate.chain": certificates}


def _pem(path: Path) -> str | None:
    """Return the text of a PEM file; None if it is of another kind, or is not on this machine."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    return content.decode("ascii", errors="replace") if b"-----BEGIN" in content[:65_536] else None


def check_brokers(brokers: str, what: str, where: str = "bootstrap.servers", *, seconds: float = _CONNECT_SECONDS) -> None:
    """Connect to one of ``brokers``. Raises :class:`EnvironmentProblem` if that fails, long before Kafka's client would.

    ``what`` has the addresses, ``where`` is the setting that declares them.
    """
    problems = []
    for broker in brokers.split(","):
        host, _, port = broker.strip().rpartition(":")
        if not host or not port.isdigit():
            raise InvalidInput(f"'{broker}' is not a broker's address.", remedy="Write it as HOST:PORT.")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=seconds):
                return
        except OSError as error:
            problems.append(f"{broker.strip()}: {error.strerror or error}")
    raise EnvironmentProblem(
        f"No broker of {what} can be reached ({'; '.join(problems)}).",
        remedy=f"Start it, or correct {where}.",
    )
