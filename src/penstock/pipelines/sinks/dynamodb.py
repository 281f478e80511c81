"""A table of DynamoDB as a sink."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from penstock.errors import InvalidInput
from penstock.pipelines.sections import default
from penstock.pipelines.sinks.settings import SinkSettings, WriteMode, sink_settings
from penstock.settings.document import Section

__all__ = ["MARKER", "DynamoDbSink", "dynamodb_sink"]

MARKER = "penstock_batch"
"""The attribute of each item that says which batch wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamoDbSink(SinkSettings):
    """A table, whose key attributes are the rows' keys. ``region`` None: the environment's, and so is the endpoint.

    ``conditional``: items carry the batch that wrote them, and one of an earlier batch never replaces one of a later
    batch, also if a killed run comes back to life; this needs a request for each row. False writes 25 rows a request.
    ``sets`` are array columns to write as sets. ``threads`` is the number of requests at once.
    """

    kind: ClassVar[str] = "dynamodb"
    modes: ClassVar[tuple[WriteMode, ...]] = ("append", "upsert", "cdc")

    table: str
    region: str | None = None
    conditional: bool = True
    sets: tuple[str, ...] = ()
    threads: int = 16

    def __post_init__(self) -> None:
        SinkSettings.__post_init__(self)
        if self.mode == "append" and not self.conditional:
            raise InvalidInput(
                f"Sink {self.name}: mode append puts new keys only, which needs a condition.",
                remedy="Remove 'conditional: false', or set mode to upsert.",
            )

    @property
    def description(self) -> str:
        """Return the table's name."""
        return f"DynamoDB table {self.table}"


def dynamodb_sink(dynamodb: Section, base: Path, name: str) -> DynamoDbSink:
    """Return the sink that a ``dynamodb`` section declares."""
    del base
    return DynamoDbSink(
        **sink_settings(dynamodb, name),
        table=dynamodb.required("table", "tableName", "dynamodb.output.tableName"),
        region=dynamodb.text("region", "dynamodb.region"),
        conditional=default(dynamodb.boolean("conditional"), True),
        sets=dynamodb.texts("sets"),
        threads=dynamodb.integer("threads", minimum=1, maximum=256) or 16,
    )
