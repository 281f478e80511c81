"""A declared pipeline as frozen values: source, decode, transform, sink, dead letters, trigger, checkpoint, drift.

Names in camel case in the file (``startingOffsets``, ``batchMaxRetries``, ...) are Spark's and Glue's own; here they are
in snake case. Locations are URIs (``s3://BUCKET/key``) or absolute paths.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from penstock.errors import InvalidInput

__all__ = [
    "MAX_BRANCHES",
    "CatalogTarget",
    "DeadLetters",
    "Decode",
    "Drift",
    "KafkaSource",
    "ParquetSink",
    "Pipeline",
    "Policy",
    "SecurityProtocol",
    "Sink",
    "Transform",
    "Trigger",
]

SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Policy = Literal["fail", "warn", "ignore"]

MAX_BRANCHES = 40
"""Writer schemas in one CASE; above this Spark's generated code is far slower (measured, design/architecture)."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Decode:
    """The registered schema of the records. ``reader`` is a version number, None for the latest."""

    registry: str
    schema: str
    reader: int | None = None
    max_branches: int = MAX_BRANCHES
    tombstones: Literal["skip", "dead-letter"] = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """``sql`` over the view ``records``; ``columns`` adds or replaces columns by SQL expressions, in order."""

    sql: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTarget:
    """The catalog table that gets the partitions. ``create``: create it, and add columns, when batches need them."""

    database: str
    table: str
    create: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetSink:
    """A table of Parquet files in Hive-style partitions.

    One task of the write handles at least ``rows_per_task`` records, so that a small batch makes one file a partition.
    """

    location: str
    partition_by: tuple[str, ...] = ()
    catalog: CatalogTarget | None = None
    max_records_per_file: int = 5_000_000
    rows_per_task: int = 50_000
    compression: Literal["snappy", "zstd", "gzip", "none"] = "snappy"


Sink = ParquetSink
"""Any kind of sink. All have ``location``, ``partition_by``, ``catalog``, ``rows_per_task`` and ``compression``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetters:
    """The location of records that cannot be read, partitioned by the date (UTC) of their Kafka timestamp."""

    location: str
    catalog: CatalogTarget | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """``processing``: a batch each ``interval`` until stopped; ``available_now``: all available records, in batches."""

    kind: Literal["processing", "available_now"] = "processing"
    interval: str = "10 seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What to do if the writer has a field that the table lacks, or if a column's null rate jumps.

    ``threshold`` is the rise of a column's null rate (0 to 1) over its rate in the last batches; batches of fewer than
    ``min_rows`` rows are not checked.
    """

    on_missing_field: Literal["fail", "warn"] = "fail"
    on_null_jump: Policy = "warn"
    threshold: float = 0.2
    min_rows: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """One stream into one table. ``origin`` is the file of the declaration, for messages."""

    name: str
    source: KafkaSource
    decode: Decode
    sink: Sink
    dead_letters: DeadLetters
    checkpoint: str
    transform: Transform = field(default_factory=Transform)
    trigger: Trigger = field(default_factory=Trigger)
    drift: Drift = field(default_factory=Drift)
    batch_max_retries: int = 3
    origin: str = "<python>"

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidInput(
                f"'{self.name[:120]}' is not a usable pipeline name.",
                remedy="Use letters, digits, '_', '.' and '-', 100 at most, and begin with a letter or digit.",
            )
        where = self.locations
        tidy = {name: location.rstrip("/") + "/" for name, location in where.items()}
        for name, location in tidy.items():
            for other, parent in tidy.items():
                if name != other and location.startswith(parent):
                    raise InvalidInput(
                        f"Pipeline {self.name}: the location of {name} ({where[name]}) is inside that of {other} "
                        f"({where[other]}).",
                        remedy="Use separate folders for the table, its dead letters and the checkpoint.",
                    )

    @property
    def locations(self) -> dict[str, str]:
        """Return the locations that the pipeline writes to: ``sink``, ``dead_letters`` and ``checkpoint``."""
        return {
            "sink": self.sink.location,
            "dead_letters": self.dead_letters.location,
            "checkpoint": self.checkpoint,
        }
