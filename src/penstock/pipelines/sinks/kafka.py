"""A Kafka topic as a sink."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, get_args

from penstock.errors import InvalidInput
from penstock.pipelines.decode import ConfluentRegistry, confluent_registry
from penstock.pipelines.kafka import KafkaConnection, connection_settings
from penstock.pipelines.sections import default
from penstock.pipelines.sinks.settings import Guarantee, SinkSettings, WriteMode, sink_settings
from penstock.settings.document import Section

__all__ = ["Encoding", "KafkaSink", "kafka_sink"]

Frame = Literal["glue", "confluent"]
Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """How values are written. Without a schema they are plain JSON, without a frame.

    ``registry`` and ``schema`` name a schema of Glue's registry, ``confluent`` a subject of a registry with Confluent's
    API, whose frame the values get. ``version`` None: the latest one. ``register``: the schema is derived from the rows'
    columns (AVRO), and a version of it is registered where there is none.
    """

    format: Literal["json", "avro"] = "json"
    registry: str = ""
    schema: str = ""
    version: int | None = None
    register: bool = False
    confluent: ConfluentRegistry | None = None

    @property
    def frame(self) -> Frame | None:
        """Return whose frame values get; None without a schema."""
        if self.confluent is not None:
            return "confluent"
        return "glue" if self.schema else None

    @property
    def name(self) -> str:
        """Return the schema or subject, for messages."""
        subject = self.confluent.subject if self.confluent is not None else None
        return f"subject {subject or self.schema}" if self.confluent is not None else f"schema {self.registry}/{self.schema}"


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
        value = self.value
        if value.format == "avro" and value.frame is None:
            raise InvalidInput(
                f"Sink {self.name}: values in AVRO need a registered schema.",
                remedy="Give value.registry and value.schema, or value.confluent.",
            )
        if value.confluent is not None and not (value.confluent.url and (value.confluent.subject or value.schema)):
            raise InvalidInput(f"Sink {self.name}: value.confluent needs 'url' and 'subject'.")
        if value.register and (value.format != "avro" or value.version is not None):
            raise InvalidInput(
                f"Sink {self.name}: 'register' is for AVRO, and excludes 'version'.",
                remedy="Register the schema with 'penstock schema', or remove 'register'.",
            )

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
        value=_encoding(kafka.section("value")),
        headers=kafka.texts("headers"),
        compression=kafka.choice(get_args(Compression), "compression") or "lz4",
        options=options,
    )


def _encoding(section: Section | None) -> Encoding:
    if section is None:
        return Encoding()
    registry, schema = section.text("registry", "registryName"), section.text("schema", "schemaName")
    if bool(registry) != bool(schema):
        raise section.fault("'registry' and 'schema' go together")
    confluent = section.section("confluent")
    version = section.text("version") or "latest"
    found = Encoding(
        format=section.choice(("json", "avro"), "format") or ("avro" if schema or confluent else "json"),
        registry=registry or "",
        schema=schema or "",
        version=None if version == "latest" else section.integer("version", minimum=1, maximum=100_000),
        register=default(section.boolean("register"), False),
        confluent=None if confluent is None else confluent_registry(confluent),
    )
    section.done()
    return found
