"""A Kafka topic as a sink."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, get_args

from penstock.errors import InvalidInput
from penstock.pipelines.kafka import KafkaConnection, connection_settings
from penstock.pipelines.sinks.encoding import Encoding, encoding
from penstock.pipelines.sinks.settings import Guarantee, SinkSettings, WriteMode, sink_settings
from penstock.settings.document import Section

__all__ = ["KafkaSink", "kafka_sink"]

Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSink(SinkSettings):
    """A topic, the connection to its brokers, and what a row becomes.

    ``key`` are the columns of the record's key, by default ``keys``; one column is written as text (binary as it is),
    several as a JSON object. ``headers`` are columns that become headers, as text, and are not in the value. ``options``
    are passed to Spark's Kafka sink as they are.
    """

    kind: ClassVar[str] = "kafka"
    modes: ClassVar[tuple[WriteMode, ...]] = ("append", "upsert", "cdc")
    guarantee: ClassVar[Guarantee] = "at least once"

    brokers: KafkaConnection
    topic: str
    key: tuple[str, ...] = ()
    value: Encoding = field(default_factory=Encoding)
    headers: tuple[str, ...] = ()
    compression: Compression = "lz4"
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        SinkSettings.__post_init__(self)
        if self.keys and self.key and self.key != self.keys:
            raise InvalidInput(f"Sink {self.name}: 'key' and 'keys' differ.", remedy="Leave out 'key'.")
        self.value.check(self.name)

    @property
    def record_key(self) -> tuple[str, ...]:
        """Return the columns of the record's key."""
        return self.key or self.keys

    @property
    def description(self) -> str:
        """Return the topic and its brokers."""
        return f"topic {self.topic} on {self.brokers.brokers}"


def kafka_sink(kafka: Section, base: Path, name: str) -> KafkaSink:
    """Return the sink that a ``kafka`` section declares."""
    del base
    try:
        connection = KafkaConnection(**connection_settings(kafka))
    except InvalidInput as error:
        raise kafka.fault(error.message.rstrip("."), remedy=error.remedy) from None
    options = kafka.mapping("options")
    for option in options:
        if not option.startswith("kafka."):
            raise kafka.fault(
                f"option '{option}' is not one of Kafka's", key="options", remedy="Its name must begin with 'kafka.'."
            )
    return KafkaSink(
        **sink_settings(kafka, name),
        brokers=connection,
        topic=kafka.required("topic", "topicName"),
        key=kafka.texts("key"),
        value=encoding(kafka.section("value")),
        headers=kafka.texts("headers"),
        compression=kafka.choice(get_args(Compression), "compression") or "lz4",
        options=options,
    )
