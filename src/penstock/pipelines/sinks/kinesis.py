"""A stream of Kinesis as a sink."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from penstock.pipelines.sections import default
from penstock.pipelines.sinks.encoding import Encoding, encoding
from penstock.pipelines.sinks.settings import Guarantee, SinkSettings, sink_settings
from penstock.settings.document import Section

__all__ = ["KinesisSink", "kinesis_sink"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KinesisSink(SinkSettings):
    """A stream, by name or ARN, to which each row is put as a record.

    ``partition_key`` and ``explicit_hash_key`` are SQL expressions over the rows; without a key it is the MD5 of the value.
    ``aggregate`` puts many rows into one record, as the KPL does. ``role`` is assumed.
    """

    kind: ClassVar[str] = "kinesis"
    guarantee: ClassVar[Guarantee] = "at least once"

    stream: str
    region: str | None = None
    endpoint: str | None = None
    role: str | None = None
    partition_key: str | None = None
    explicit_hash_key: str | None = None
    value: Encoding = field(default_factory=Encoding)
    aggregate: bool = False

    def __post_init__(self) -> None:
        SinkSettings.__post_init__(self)
        self.value.check(self.name)

    @property
    def topic(self) -> str:
        """Return the stream's name."""
        return self.stream.rpartition("/")[2]

    @property
    def description(self) -> str:
        """Return the stream and the form of its values."""
        return f"stream {self.topic}, {self.value.name if self.value.frame else 'JSON'}"


def kinesis_sink(kinesis: Section, base: Path, name: str) -> KinesisSink:
    """Return the sink that a ``kinesis`` section declares."""
    del base
    return KinesisSink(
        **sink_settings(kinesis, name),
        stream=kinesis.required("stream", "streamName", "streamARN"),
        region=kinesis.text("region"),
        endpoint=kinesis.text("endpoint", "endpointUrl"),
        role=kinesis.text("role", "awsSTSRoleARN"),
        partition_key=kinesis.text("partition_key", "partitionKey"),
        explicit_hash_key=kinesis.text("explicit_hash_key"),
        value=encoding(kinesis.section("value")),
        aggregate=default(kinesis.boolean("aggregate"), False),
    )
