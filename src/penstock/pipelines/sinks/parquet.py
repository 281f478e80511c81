"""A table of Parquet files as a sink."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from penstock.errors import InvalidInput
from penstock.pipelines.sections import CatalogTarget, catalog_target, location
from penstock.pipelines.sinks.settings import SinkSettings, sink_settings
from penstock.settings.document import Section
from penstock.settings.units import parse_size

__all__ = ["ParquetSink", "parquet_sink"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetSink(SinkSettings):
    """A table of Parquet files in Hive-style partitions.

    ``target_file_size`` in bytes: larger files are not begun, as far as the sizes of earlier batches tell; small batches
    make smaller ones, and compaction joins them.

    One task of the write handles at least ``rows_per_task`` records, so that a small batch makes one file a partition.
    """

    kind: ClassVar[str] = "parquet"

    location: str
    partition_by: tuple[str, ...] = ()
    catalog: CatalogTarget | None = None
    target_file_size: int = 128 * 2**20
    max_records_per_file: int = 5_000_000
    rows_per_task: int = 50_000
    compression: Literal["snappy", "zstd", "gzip", "none"] = "snappy"

    @property
    def locations(self) -> tuple[str, ...]:
        """Return the table's folder."""
        return (self.location,)

    @property
    def description(self) -> str:
        """Return the table's folder and partition columns."""
        return f"{self.location}, by {', '.join(self.partition_by) or 'no partitions'}"


def parquet_sink(parquet: Section, base: Path, name: str) -> ParquetSink:
    """Return the sink that a ``parquet`` section declares."""
    return ParquetSink(
        **sink_settings(parquet, name),
        location=location(parquet, base, "location", "path"),
        partition_by=parquet.texts("partition_by", "partitionKeys", "partitionBy"),
        catalog=catalog_target(parquet.section("catalog")),
        target_file_size=_size(parquet),
        max_records_per_file=parquet.integer("max_records_per_file", "maxRecordsPerFile", minimum=1) or 5_000_000,
        rows_per_task=parquet.integer("rows_per_task", minimum=1) or 50_000,
        compression=parquet.choice(("snappy", "zstd", "gzip", "none"), "compression") or "snappy",
    )


def _size(parquet: Section) -> int:
    text = parquet.text("target_file_size")
    try:
        return 128 * 2**20 if text is None else parse_size(text)
    except InvalidInput as error:
        raise parquet.fault(error.message.rstrip("."), key="target_file_size", remedy=error.remedy) from None
