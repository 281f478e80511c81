"""A function and its event source mappings as frozen values, under Lambda's names in snake case."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from penstock.client.broker import Security
from penstock.client.kinesis import StartingPosition
from penstock.functions.patterns import Matcher
from penstock.names import DEFAULT_ACCOUNT, DEFAULT_REGION
from penstock.retries import HANDLER, RetryPolicy

__all__ = [
    "EventSource",
    "EventSourceMapping",
    "FailurePolicy",
    "Function",
    "KafkaAccess",
    "KafkaSource",
    "KinesisSource",
    "SchemaRegistry",
]

_NAMESPACE = uuid.UUID("6f6d3f0c-6a55-4c4f-9d0e-4ac6b4d2a3f1")  # of the ids of mappings without one


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A handler and its limits. ``code`` is the folder of its module, ``memory`` is in MB, ``timeout`` in seconds."""

    name: str
    handler: str
    code: Path
    memory: int = 128
    timeout: int = 3
    role: str | None = None
    region: str = DEFAULT_REGION
    account: str = DEFAULT_ACCOUNT
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def arn(self) -> str:
        """The function's ARN."""
        return f"arn:aws:lambda:{self.region}:{self.account}:function:{self.name}"

    @property
    def identity(self) -> str:
        """The role of the function, as events name it."""
        return self.role or f"arn:aws:iam::{self.account}:role/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaAccess:
    """The login: ids of secrets in Secrets Manager, by their contents."""

    login: str | None = None
    mechanism: str = "SCRAM-SHA-512"
    ca: str | None = None
    certificate: str | None = None
    security: Security | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRegistry:
    """Which parts of a record are decoded before filters get them, and how the function gets them."""

    uri: str
    format: Literal["JSON", "SOURCE"]
    attributes: frozenset[Literal["KEY", "VALUE"]]
    login: str | None = None

    @property
    def is_glue(self) -> bool:
        """Whether the registry is AWS Glue's; else Confluent's."""
        return self.uri.startswith("arn:")


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSource:
    """A topic. ``arn`` is that of an Amazon MSK cluster, None for a self-managed one; ``brokers`` None: from MSK."""

    topic: str
    brokers: str | None
    arn: str | None = None
    group: str | None = None
    access: KafkaAccess = field(default_factory=KafkaAccess)
    schema_registry: SchemaRegistry | None = None
    pollers: tuple[int, int] = (1, 4)

    @property
    def title(self) -> str:
        """The source in messages."""
        return f"topic {self.topic}"

    @property
    def identity(self) -> str:
        """A unique key. The cluster stores the offsets, so its addresses may change."""
        return f"kafka:{self.arn or 'self-managed'}:{self.topic}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KinesisSource:
    """A stream; ``parallelization_factor`` batches of a shard are delivered at a time, those of a partition key in order."""

    arn: str
    parallelization_factor: int = 1

    @property
    def title(self) -> str:
        """The source in messages."""
        return f"stream {self.arn.rpartition('/')[2]}"

    @property
    def identity(self) -> str:
        """A unique key."""
        return f"kinesis:{self.arn}"


EventSource = KafkaSource | KinesisSource


@dataclass(frozen=True, slots=True, kw_only=True)
class FailurePolicy:
    """How failures are handled. -1 means no limit; ``age`` is in seconds, ``backoff`` the pauses between attempts."""

    retries: int = -1
    age: int = -1
    bisect: bool = False
    backoff: RetryPolicy = HANDLER


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSourceMapping:
    """One source of a function: what to read, how to batch it, what to do about failures.

    ``window`` is in seconds; ``start_at`` in milliseconds since 1970; ``destination`` is where discarded records go, as
    written in the document (None: nowhere, they are counted).
    """

    source: EventSource
    function_name: str
    id: str = ""
    batch_size: int = 100
    window: float = 0.5
    start: StartingPosition = "TRIM_HORIZON"
    start_at: int | None = None
    policy: FailurePolicy = field(default_factory=FailurePolicy)
    report_failures: bool = False
    destination: str | None = None
    patterns: tuple[Matcher, ...] = field(default=(), repr=False)
    enabled: bool = True

    @property
    def uuid(self) -> str:
        """The mapping's id: its own, or one derived from function and source, so that a restart continues its offsets."""
        return self.id or str(uuid.uuid5(_NAMESPACE, f"{self.function_name}:{self.source.identity}"))

    @property
    def group(self) -> str:
        """The Kafka consumer group; as in Lambda, by default the mapping's id."""
        return (self.source.group if isinstance(self.source, KafkaSource) else None) or self.uuid
