"""A Kafka topic as a source."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from penstock.errors import InvalidInput
from penstock.pipelines.sections import default
from penstock.settings.document import Section

__all__ = ["KafkaSource", "SecurityProtocol", "kafka_source"]

SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]

_PROTOCOLS: tuple[SecurityProtocol, ...] = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_OTHER_OPTIONS = {"includeHeaders", "groupIdPrefix", "minOffsetsPerTrigger", "maxTriggerDelay"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSource:
    """A topic and the connection to its brokers.

    ``username`` and ``password``, or ``secret`` (name or ARN in Secrets Manager, JSON with both keys, as MSK keeps
    them). ``options`` are passed to Spark's Kafka source as they are.
    """

    brokers: str
    topic: str
    security_protocol: SecurityProtocol = "SASL_SSL"
    sasl_mechanism: str = "SCRAM-SHA-512"
    secret: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    truststore: str | None = None
    truststore_password: str | None = field(default=None, repr=False)
    starting_offsets: str = "earliest"
    max_offsets_per_trigger: int | None = None
    min_partitions: int | None = None
    fail_on_data_loss: bool = True
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        sasl = self.security_protocol.startswith("SASL")
        if sasl and not self.secret and not (self.username and self.password):
            raise InvalidInput(
                f"Topic {self.topic}: {self.security_protocol} needs credentials.",
                remedy="Give 'secret' (an id in Secrets Manager), or 'username' and 'password'.",
            )
        if not sasl and (self.secret or self.username or self.password):
            raise InvalidInput(
                f"Topic {self.topic}: {self.security_protocol} does not use credentials.",
                remedy="Remove them, or use SASL_SSL or SASL_PLAINTEXT.",
            )

    @property
    def description(self) -> str:
        """Return the source in a few words, for messages."""
        return f"topic {self.topic}"


def kafka_source(kafka: Section) -> KafkaSource:
    """Return the source that a ``kafka`` section declares. Raises :class:`InvalidInput` with its line."""
    starting = kafka.text("startingOffsets", "starting_offsets") or "earliest"
    if starting not in {"earliest", "latest"} and not starting.startswith("{"):
        raise kafka.fault(
            f"'startingOffsets' is '{starting}'",
            key="startingOffsets",
            remedy="Use earliest, latest or a JSON object of offsets.",
        )
    options = kafka.mapping("options")
    for option in options:
        if not option.startswith("kafka.") and option not in _OTHER_OPTIONS:
            raise kafka.fault(
                f"option '{option}' is not one of Kafka's", key="options", remedy="Its name must begin with 'kafka.'."
            )
    arguments = {
        "brokers": kafka.required("brokers", "bootstrap.servers", "kafka.bootstrap.servers"),
        "topic": kafka.required("topic", "topicName", "subscribe"),
    }
    result = {
        "security_protocol": kafka.choice(_PROTOCOLS, "security_protocol", "security.protocol", "kafka.security.protocol")
        or "SASL_SSL",
        "sasl_mechanism": kafka.choice(("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"), "sasl_mechanism", "sasl.mechanism")
        or "SCRAM-SHA-512",
        "secret": kafka.text("secret", "secretArn", "secretId", "secret_id"),
        "username": kafka.text("username"),
        "password": kafka.text("password"),
        "truststore": kafka.text("truststore"),
        "truststore_password": kafka.text("truststore_password"),
        "max_offsets_per_trigger": kafka.integer(
            "maxOffsetsPerTrigger", "max_offsets_per_trigger", minimum=1, maximum=2**53
        ),
        "min_partitions": kafka.integer("minPartitions", "min_partitions", minimum=1, maximum=10_000),
        "fail_on_data_loss": default(kafka.boolean("failOnDataLoss", "fail_on_data_loss"), True),
    }
    try:
        return KafkaSource(**arguments, **result, starting_offsets=starting, options=options)  # type: ignore[arg-type]
    except InvalidInput as error:
        raise kafka.fault(error.message.rstrip("."), remedy=error.remedy) from None
