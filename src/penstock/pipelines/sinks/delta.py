"""A Delta Lake table as a sink."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from penstock.pipelines.sections import CatalogTarget, catalog_target, location
from penstock.pipelines.sinks.settings import SinkSettings, WriteMode, sink_settings
from penstock.settings.document import Section

__all__ = ["DeltaSink", "delta_sink"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaSink(SinkSettings):
    """A Delta table in the folder ``location``. ``partition_by`` and ``properties`` are those of a new table."""

    kind: ClassVar[str] = "delta"
    modes: ClassVar[tuple[WriteMode, ...]] = ("append", "upsert", "cdc")

    location: str
    partition_by: tuple[str, ...] = ()
    catalog: CatalogTarget | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def locations(self) -> tuple[str, ...]:
        """Return the table's folder."""
        return (self.location,)

    @property
    def description(self) -> str:
        """Return the table's folder and partition columns."""
        return f"Delta table {self.location}, by {', '.join(self.partition_by) or 'no partitions'}"


def delta_sink(delta: Section, base: Path, name: str) -> DeltaSink:
    """Return the sink that a ``delta`` section declares."""
    return DeltaSink(
        **sink_settings(delta, name),
        location=location(delta, base, "location", "path"),
        partition_by=delta.texts("partition_by", "partitionKeys", "partitionBy"),
        catalog=catalog_target(delta.section("catalog")),
        properties=delta.mapping("properties"),
    )
