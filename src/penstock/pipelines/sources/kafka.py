"""Kafka topics as a source."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from penstock.errors import InvalidInput
from penstock.pipelines.kafka import KafkaConnection, connection_settings
from penstock.pipelines.sections import default
from penstock.settings.document import Section

__all__ = ["KafkaSource", "kafka_source"]

_DECODED = "Records are decoded by their registered schema, as 'decode' says: leave it out."
_REFUSED = {
    "connectionName": "Give brokers and secret of the connection, or run a Glue script with 'penstock glue run'.",
    "endingOffsets": "A stream has no end: 'penstock run --once' reads the records that are there.",
    "classification": _DECODED,
    "delimiter": _DECODED,
    "schema": _DECODED,
    "inferSchema": _DECODED,
    "avroSchema": _DECODED,
    "addRecordTimestamp": "The record's time is the column _timestamp of the view records.",
    "emitConsumerLagMetrics": "There is no CloudWatch: 'penstock run --metrics-port' serves the lag.",
}
"""Options of Glue's that mean something else here, with what to do.

https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-connect-kafka-home.html
"""
_OTHER_OPTIONS = {"groupIdPrefix", "minOffsetsPerTrigger", "maxTriggerDelay"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSource(KafkaConnection):
    """Topics, and the connection to their brokers.

    One of ``topics``, ``topic_pattern`` (a Java regular expression over whole names) and ``assign`` (topic to partitions).
    The stream starts at ``starting_offsets`` (``earliest``, ``latest``, or JSON: topic to partition to offset, where -2 is
    the earliest and -1 the latest), or at the first record of ``starting_timestamp`` (milliseconds since 1970) or of
    ``starting_offsets_by_timestamp`` (topic to partition to milliseconds). ``max_bytes_per_trigger`` is
    approximate, by the bytes of keys and values of earlier batches. ``options`` are passed to Spark's Kafka source as they
    are.
    """

    kind: ClassVar[str] = "kafka"

    topics: tuple[str, ...] = ()
    topic_pattern: str | None = None
    assign: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    starting_offsets: str = "earliest"
    starting_timestamp: int | None = None
    starting_offsets_by_timestamp: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    include_headers: bool = False
    max_offsets_per_trigger: int | None = None
    max_bytes_per_trigger: int | None = None
    min_partitions: int | None = None
    fail_on_data_loss: bool = True
    poll_timeout_ms: int | None = None
    num_retries: int | None = None
    retry_interval_ms: int | None = None
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        chosen = sum(map(bool, (self.topics, self.topic_pattern, self.assign)))
        if chosen != 1:
            raise InvalidInput(
                f"The kafka source names its topics in {chosen or 'no'} settings.",
                remedy="Give one of 'topic', 'subscribePattern' and 'assign'.",
            )
        starts = (self.starting_offsets != "earliest", self.starting_timestamp, self.starting_offsets_by_timestamp)
        if sum(start is not None and start is not False and start != {} for start in starts) > 1:
            raise InvalidInput(
                f"{self._what}: startingOffsets, startingTimestamp and startingOffsetsByTimestamp exclude each other.",
                remedy="Keep one of them.",
            )
        KafkaConnection.__post_init__(self)

    @property
    def _what(self) -> str:
        return self.description[0].upper() + self.description[1:]

    @property
    def topic(self) -> str:
        """Return the topics' names or their pattern, for messages."""
        return self.topic_pattern or ", ".join(self.topics or self.assign)

    @property
    def description(self) -> str:
        """Return the source in a few words, for messages."""
        if self.topic_pattern:
            return f"topics like {self.topic_pattern}"
        return f"topic{'s' if len(self.topics or self.assign) > 1 else ''} {self.topic}"


def kafka_source(kafka: Section) -> KafkaSource:
    """Return the source that a ``kafka`` section declares. Raises :class:`InvalidInput` with its line."""
    for name in kafka.names():
        if name in _REFUSED:
            raise kafka.fault(f"Glue's option '{name}' is not used by pipelines", key=name, remedy=_REFUSED[name])
    arguments: dict[str, Any] = {
        **connection_settings(kafka),
        **_topics(kafka),
        **_starts(kafka),
        "include_headers": default(kafka.boolean("includeHeaders", "include_headers"), False),
        "max_offsets_per_trigger": kafka.integer(
            "maxOffsetsPerTrigger", "max_offsets_per_trigger", minimum=1, maximum=2**53
        ),
        "max_bytes_per_trigger": kafka.integer("maxBytesPerTrigger", "max_bytes_per_trigger", minimum=1, maximum=2**53),
        "min_partitions": kafka.integer("minPartitions", "min_partitions", minimum=1, maximum=10_000),
        "fail_on_data_loss": default(kafka.boolean("failOnDataLoss", "fail_on_data_loss"), True),
        "poll_timeout_ms": kafka.integer("pollTimeoutMs", "poll_timeout_ms", minimum=1),
        "num_retries": kafka.integer("numRetries", "num_retries"),
        "retry_interval_ms": kafka.integer("retryIntervalMs", "retry_interval_ms"),
        "options": kafka.mapping("options"),
    }
    for option in arguments["options"]:
        if not option.startswith("kafka.") and option not in _OTHER_OPTIONS:
            raise kafka.fault(
                f"option '{option}' is not one of Kafka's", key="options", remedy="Its name must begin with 'kafka.'."
            )
    try:
        return KafkaSource(**arguments)
    except InvalidInput as error:
        raise kafka.fault(error.message.rstrip("."), remedy=error.remedy) from None


def _topics(kafka: Section) -> dict[str, Any]:
    assign = _object(kafka, "assign")
    try:
        assigned = {topic: tuple(sorted(int(partition) for partition in partitions)) for topic, partitions in assign.items()}
    except (TypeError, ValueError):
        raise kafka.fault(
            "'assign' is not a mapping of topics to partitions", key="assign", remedy="Write it like {orders: [0, 1]}."
        ) from None
    names = kafka.texts("topic", "topics", "topicName", "subscribe")
    if not names and not assigned and not kafka.has("subscribePattern", "topic_pattern"):
        kafka.required("topic", "topics", "topicName", "subscribe")
    return {
        "topics": tuple(part.strip() for name in names for part in name.split(",") if part.strip()),
        "topic_pattern": kafka.text("subscribePattern", "topic_pattern"),
        "assign": assigned,
    }


def _starts(kafka: Section) -> dict[str, Any]:
    moment = kafka.text("startingTimestamp", "starting_timestamp")
    moments = _object(kafka, "startingOffsetsByTimestamp", "starting_offsets_by_timestamp")
    try:
        by_partition = {
            topic: {int(partition): _milliseconds(item) for partition, item in sorted(partitions.items(), key=str)}
            for topic, partitions in moments.items()
        }
        return {
            "starting_offsets": _offsets(kafka, "startingOffsets", "starting_offsets"),
            "starting_timestamp": None if moment is None else _milliseconds(moment),
            "starting_offsets_by_timestamp": by_partition,
        }
    except (TypeError, ValueError, AttributeError):
        key = "startingTimestamp" if moment is not None else "startingOffsetsByTimestamp"
        raise kafka.fault(
            f"'{key}' has no usable time", key=key, remedy="Write times like 2024-05-01T08:00:00Z, or in milliseconds."
        ) from None


def _offsets(kafka: Section, *names: str) -> str:
    """Return ``earliest``, ``latest``, or offsets by topic and partition as JSON, also from a YAML mapping."""
    plain = kafka.plain(*names)
    if plain is None:
        return "earliest"
    try:
        declared = plain if isinstance(plain, dict) else str(kafka.text(*names))
        if isinstance(declared, str) and declared in {"earliest", "latest"}:
            return str(declared)
        document = json.loads(declared) if isinstance(declared, str) else declared
        offsets = {
            str(topic): {str(int(part)): int(offset) for part, offset in parts.items()} for topic, parts in document.items()
        }
        return json.dumps(offsets)
    except (ValueError, TypeError, AttributeError):
        raise kafka.fault(
            f"'startingOffsets' is '{plain}'",
            key=next((name for name in names if name in kafka.names()), names[0]),
            remedy="Use earliest, latest or offsets such as {orders: {0: 23, 1: -2}}.",
        ) from None


def _object(kafka: Section, *names: str) -> dict[str, Any]:
    """Return a YAML mapping, or Spark's JSON text of one."""
    plain = kafka.plain(*names)
    if isinstance(plain, str):
        try:
            plain = json.loads(plain)
        except ValueError:
            plain = False
    if plain is None or isinstance(plain, dict):
        return {str(name): value for name, value in (plain or {}).items()}
    raise kafka.fault(f"'{names[0]}' must be a mapping", key=names[0])


def _milliseconds(value: Any) -> int:
    """Return a time in ISO 8601 (UTC without an offset), or in milliseconds since 1970, as the latter."""
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, int) or str(value).isdigit():
        return int(value)
    else:
        moment = datetime.fromisoformat(str(value).strip())
    if moment.tzinfo is None:
        moment = datetime.fromisoformat(f"{moment.isoformat()}+00:00")
    return int(moment.timestamp() * 1000)
