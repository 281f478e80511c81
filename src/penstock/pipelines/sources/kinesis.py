"""A stream of Kinesis as a source."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from penstock.errors import InvalidInput
from penstock.pipelines.sections import default
from penstock.settings.document import Section

__all__ = ["KinesisSource", "kinesis_source"]

_STARTS = ("trim_horizon", "earliest", "latest")


@dataclass(frozen=True, slots=True, kw_only=True)
class KinesisSource:
    """A stream, by name or ARN, and how it is read.

    ``starting_position`` is ``trim_horizon``, ``earliest`` (the same), ``latest``, a time in ISO 8601, or positions as JSON.
    ``consumer`` is the name or the ARN of a consumer of enhanced fan-out; without one the shards are polled. ``role`` is
    assumed with ``role_session_name``, at ``sts_endpoint``. Times are in milliseconds, ``describe_shard_interval`` as Glue
    writes it (``1s``).
    """

    kind: ClassVar[str] = "kinesis"

    stream: str
    region: str | None = None
    endpoint: str | None = None
    starting_position: str = "trim_horizon"
    consumer: str | None = None
    role: str | None = None
    role_session_name: str | None = None
    sts_endpoint: str | None = None
    max_records_per_shard: int | None = None
    max_fetch_ms: int | None = None
    describe_shard_interval: str | None = None
    num_retries: int | None = None
    retry_interval_ms: int | None = None
    max_retry_interval_ms: int | None = None
    fail_on_data_loss: bool = True
    max_inline_bytes: int | None = None
    prefetch_location: str | None = None

    def __post_init__(self) -> None:
        if self.role is None and (self.role_session_name or self.sts_endpoint):
            raise InvalidInput(
                f"Stream {self.topic}: 'role_session_name' and 'sts_endpoint' go with 'role'.",
                remedy="Give the role to assume, or leave them out.",
            )

    @property
    def topic(self) -> str:
        """Return the stream's name."""
        return self.stream.rpartition("/")[2]

    @property
    def brokers(self) -> str:
        """Return where the stream is, for messages."""
        return f"Kinesis ({self.endpoint or self.region or 'the region of the environment'})"

    @property
    def description(self) -> str:
        """Return the source in a few words, for messages."""
        return f"stream {self.topic}"


def kinesis_source(kinesis: Section) -> KinesisSource:
    """Return the source that a ``kinesis`` section declares. Raises :class:`InvalidInput` with its line."""
    arguments: dict[str, Any] = {
        "stream": kinesis.required("stream", "streamName", "streamARN"),
        "region": kinesis.text("region"),
        "endpoint": kinesis.text("endpoint", "endpointUrl"),
        "starting_position": _start(kinesis),
        "consumer": kinesis.text("consumer", "fanoutConsumerARN", "fanoutConsumerName"),
        "role": kinesis.text("role", "awsSTSRoleARN"),
        "role_session_name": kinesis.text("role_session_name", "awsSTSSessionName"),
        "sts_endpoint": kinesis.text("sts_endpoint", "awsSTSEndpoint"),
        "max_records_per_shard": kinesis.integer("max_records_per_shard", "maxFetchRecordsPerShard", minimum=1),
        "max_fetch_ms": kinesis.integer("max_fetch_ms", "maxFetchTimeInMs", minimum=1),
        "describe_shard_interval": kinesis.text("describe_shard_interval", "describeShardInterval"),
        "num_retries": kinesis.integer("num_retries", "numRetries"),
        "retry_interval_ms": kinesis.integer("retry_interval_ms", "retryIntervalMs"),
        "max_retry_interval_ms": kinesis.integer("max_retry_interval_ms", "maxRetryIntervalMs"),
        "fail_on_data_loss": default(kinesis.boolean("failOnDataLoss", "fail_on_data_loss"), True),
        "max_inline_bytes": kinesis.integer("max_inline_bytes", "maxInlineBytes"),
        "prefetch_location": kinesis.text("prefetch_location", "prefetchLocation"),
    }
    try:
        return KinesisSource(**arguments)
    except InvalidInput as error:
        raise kinesis.fault(error.message.rstrip("."), remedy=error.remedy) from None


def _start(kinesis: Section) -> str:
    names = ("startingPosition", "starting_position")
    plain = kinesis.plain(*names)
    if plain is None:
        return "trim_horizon"
    if isinstance(plain, dict):
        return json.dumps(plain)
    if isinstance(plain, datetime):
        return plain.isoformat()
    text = str(kinesis.text(*names))
    if text.lower() in _STARTS or text.startswith("{"):
        return text.lower() if text.lower() in _STARTS else text
    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        raise kinesis.fault(
            f"'startingPosition' is '{text}'",
            key=next((name for name in names if name in kinesis.names()), names[0]),
            remedy="Use trim_horizon, latest, or a time such as 2024-05-01T08:00:00Z.",
        ) from None
    return text.strip()
