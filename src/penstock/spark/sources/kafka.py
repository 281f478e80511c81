"""The Kafka source's options and its credentials."""

import socket
from collections.abc import Callable
from pathlib import Path

from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.pipelines.sources.kafka import KafkaSource

__all__ = ["Credentials", "check_brokers", "check_source", "kafka_options", "login_options"]

Credentials = tuple[str, str]

_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_CONNECT_SECONDS = 5.0


def kafka_options(
    source: KafkaSource, fetch_secret: Callable[[str], Credentials], *, starting: str | None = None
) -> dict[str, str]:
    """Return options for Spark's ``kafka`` format. ``fetch_secret`` gets user name and password for a secret's id.

    ``starting`` replaces the declared ``startingOffsets``. The options have the password: never log them.
    """
    options = {
        "kafka.bootstrap.servers": source.brokers,
        "subscribe": source.topic,
        "startingOffsets": starting or source.starting_offsets,
        "failOnDataLoss": str(source.fail_on_data_loss).lower(),
        # The default of 500 costs about a fifth of the read rate with small records.
        "kafka.max.poll.records": "5000",
        # A broker that does not answer is an error within a minute, not after Kafka's default of several.
        "kafka.default.api.timeout.ms": "30000",
        "kafka.request.timeout.ms": "15000",
        "kafka.security.protocol": source.security_protocol,
    }
    if source.max_offsets_per_trigger is not None:
        options["maxOffsetsPerTrigger"] = str(source.max_offsets_per_trigger)
    if source.min_partitions is not None:
        options["minPartitions"] = str(source.min_partitions)
    if source.security_protocol.startswith("SASL"):
        user, password = fetch_secret(source.secret) if source.secret else (source.username or "", source.password or "")
        options |= login_options(source.sasl_mechanism, user, password)
    if source.truststore is not None:
        options["kafka.ssl.truststore.location"] = source.truststore
        if _is_pem(Path(source.truststore)):
            options["kafka.ssl.truststore.type"] = "PEM"
        if source.truststore_password is not None:
            options["kafka.ssl.truststore.password"] = source.truststore_password
    return {**options, **source.options}


def _is_pem(path: Path) -> bool:
    """Return whether the file is text with certificates; judged by its name if it is not on this machine."""
    try:
        with path.open("rb") as file:
            return b"-----BEGIN" in file.read(65_536)
    except OSError:
        return path.suffix in {".pem", ".crt", ".cer"}


def login_options(mechanism: str, user: str, password: str) -> dict[str, str]:
    """Return options of Spark's ``kafka`` format for SASL; ``mechanism`` is PLAIN or one of SCRAM's."""
    login = f"{_MODULES[mechanism]} required username={_quoted(user)} password={_quoted(password)};"
    return {"kafka.sasl.mechanism": mechanism, "kafka.sasl.jaas.config": login}


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def check_source(source: KafkaSource, *, seconds: float = _CONNECT_SECONDS) -> None:
    """Connect to one of the brokers. Raises :class:`EnvironmentProblem` if that fails, long before Kafka's client would."""
    check_brokers(source.brokers, f"topic {source.topic}", "source.kafka.brokers", seconds=seconds)


def check_brokers(brokers: str, what: str, where: str = "bootstrap.servers", *, seconds: float = _CONNECT_SECONDS) -> None:
    """Check as :func:`check_source` does; ``what`` has the addresses, ``where`` is the setting that declares them."""
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
