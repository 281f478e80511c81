"""A declared pipeline as frozen values: source, decode, transform, sinks, dead letters, trigger, checkpoint, drift.

Names in camel case in the file (``startingOffsets``, ``batchMaxRetries``, ...) are Spark's and Glue's own; here they are
in snake case. Locations are URIs (``s3://BUCKET/key``) or absolute paths.
"""

import re
from dataclasses import dataclass, field
from typing import Literal

from penstock.errors import InvalidInput
from penstock.pipelines.decode import Decode
from penstock.pipelines.sections import CatalogTarget
from penstock.pipelines.sinks.parquet import ParquetSink
from penstock.pipelines.sinks.settings import SinkSettings
from penstock.pipelines.sources.kinds import Source
from penstock.pipelines.transforms import Transform

__all__ = [
    "Accounts",
    "DeadLetters",
    "Drift",
    "Pipeline",
    "Policy",
    "Trigger",
]

Policy = Literal["fail", "warn", "ignore"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetters:
    """The location of records that cannot be read, partitioned by the date (UTC) of their Kafka timestamp."""

    location: str
    catalog: CatalogTarget | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """The table of accounts: a row for each batch and sink. ``location`` None: see :attr:`Pipeline.accounts_location`."""

    location: str | None = None
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
    """One stream into one or more sinks. ``origin`` is the file of the declaration, for messages."""

    name: str
    source: Source
    decode: Decode
    sinks: tuple[SinkSettings, ...]
    dead_letters: DeadLetters
    checkpoint: str
    transform: Transform = field(default_factory=Transform)
    trigger: Trigger = field(default_factory=Trigger)
    drift: Drift = field(default_factory=Drift)
    accounts: Accounts = field(default_factory=Accounts)
    batch_max_retries: int = 3
    origin: str = "<python>"

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidInput(
                f"'{self.name[:120]}' is not a usable pipeline name.",
                remedy="Use letters, digits, '_', '.' and '-', 100 at most, and begin with a letter or digit.",
            )
        names = [sink.name for sink in self.sinks]
        for name in names:
            if names.count(name) > 1:
                raise InvalidInput(f"Pipeline {self.name}: two sinks have the name '{name}'.")
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
        """Return the locations that the pipeline writes to: of its sinks, ``dead_letters`` and ``checkpoint``."""
        sinks = {
            sink.name + (f" {number}" if number else ""): location
            for sink in self.sinks
            for number, location in enumerate(sink.locations)
        }
        return {
            **sinks,
            "dead_letters": self.dead_letters.location,
            "accounts": self.accounts_location,
            "checkpoint": self.checkpoint,
        }

    @property
    def accounts_location(self) -> str:
        """Return the folder of the accounts: as declared, or ``NAME_accounts`` beside the dead letters."""
        return self.accounts.location or f"{self.dead_letters.location.rpartition('/')[0]}/{self.name}_accounts"

    @property
    def targets(self) -> str:
        """Return all sinks in a few words, for messages."""
        return "; ".join(sink.description for sink in self.sinks)

    @property
    def file_sinks(self) -> tuple[ParquetSink, ...]:
        """Return the sinks whose files the ledger publishes by renames."""
        return tuple(sink for sink in self.sinks if isinstance(sink, ParquetSink))

    @property
    def direct_sink(self) -> ParquetSink | None:
        """Return the sink whose files are staged at once, the only sink of the pipeline; None if rows are staged first."""
        files = self.file_sinks
        return files[0] if len(self.sinks) == 1 and files and files[0].sql is None else None

    @property
    def file_locations(self) -> tuple[str, ...]:
        """Return the tables that one manifest covers: that of the ledger first, then other sinks' files and dead letters."""
        first = self.ledger_location
        rest = [*(sink.location for sink in self.file_sinks), self.dead_letters.location]
        return (first, *(location for location in rest if location != first))

    @property
    def ledger_location(self) -> str:
        """Return the table below which the ledger is: that of the first file sink, or the dead letters."""
        files = self.file_sinks
        return files[0].location if files else self.dead_letters.location
