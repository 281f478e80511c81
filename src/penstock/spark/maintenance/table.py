"""Compaction of a table of the catalog, whatever its format."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession

from penstock.client.catalog import CatalogClient, table_input
from penstock.errors import InvalidInput
from penstock.lake.compaction import COMPACTED
from penstock.spark import dead_letter_table
from penstock.spark.commit import accounts
from penstock.spark.hadoop import HadoopFiles
from penstock.spark.maintenance.lease import table_lease
from penstock.spark.maintenance.parquet import ParquetCompactor, PartitionPlace
from penstock.spark.maintenance.rewrite import SparkRewriter
from penstock.spark.maintenance.settings import CompactionSettings, PartitionReport

__all__ = ["CatalogPartitions", "check_compactable", "compact_table"]

_COMPACTED = re.compile(rf"^{COMPACTED}/\d+/")


class CatalogPartitions:
    """The partitions of a table in the catalog."""

    def __init__(self, client: CatalogClient, database: str, table: str, location: str) -> None:
        self._client = client
        self._database = database
        self._table = table
        self._location = location

    def all(self) -> list[PartitionPlace]:
        """Return the partitions in folders of the table; those elsewhere are not the stream's."""
        places = (self._place(partition) for partition in self._client.partitions(self._database, self._table))
        return [place for place in places if place is not None]

    def _place(self, partition: Any) -> PartitionPlace | None:
        location = partition.get("StorageDescriptor", {}).get("Location", "").rstrip("/")
        if not location.startswith(f"{self._location}/"):
            return None
        folder = _COMPACTED.sub("", location[len(self._location) + 1 :])
        created: datetime | None = partition.get("CreationTime")
        return PartitionPlace(values=tuple(partition["Values"]), folder=folder, location=location, created=created)

    def move(self, partition: PartitionPlace, *, source: str, target: str) -> None:
        """Change a partition's location, if it is at ``source``."""
        self._client.move_partition(self._database, self._table, partition.values, source=source, target=target)


def compact_table(
    spark: SparkSession,
    database: str,
    table: str,
    settings: CompactionSettings,
    *,
    client: CatalogClient | None = None,
    dry_run: bool = False,
) -> list[PartitionReport]:
    """Compact a table of Parquet files; return what was done to each partition.

    Raises :class:`InvalidInput` for a table that cannot be compacted so, :class:`ConcurrentModification` if another process
    compacts it, :class:`NotFound` if it does not exist.
    """
    client = client or CatalogClient()
    name, definition = f"{database}.{table}", client.table(database, table)
    location = definition.get("StorageDescriptor", {}).get("Location", "").rstrip("/")
    check_compactable(name, definition)

    def run(before: Callable[[], None]) -> list[PartitionReport]:
        compactor = ParquetCompactor(
            name,
            location,
            files=HadoopFiles(spark),
            partitions=CatalogPartitions(client, database, table, location),
            rewriter=SparkRewriter(spark),
            settings=settings,
            before=before,
        )
        return compactor.run(dry_run=dry_run)

    if dry_run:
        return run(lambda: None)
    with table_lease(client, database, table, table_input=table_input) as lease:
        return run(lease.check)


def check_compactable(name: str, table: Any) -> None:
    """Raise :class:`InvalidInput` for a table (Glue's shape) whose files cannot be exchanged while it is in use."""
    storage, parameters = table.get("StorageDescriptor", {}), table.get("Parameters", {})
    texts = [storage.get("InputFormat", ""), parameters.get("classification", "")]
    if parameters.get("table_type", "").upper() == "ICEBERG" or not any("parquet" in text.lower() for text in texts):
        raise InvalidInput(f"Table {name} is not a table of Parquet files.", remedy="Name one that is.")
    columns = {column["Name"].lower() for column in storage.get("Columns", ())}
    for what, theirs in (("dead letters", dead_letter_table.COLUMNS), ("accounts", accounts.COLUMNS)):
        if set(theirs) - {"date"} <= columns:
            raise InvalidInput(
                f"Table {name} has a pipeline's {what}, which Penstock itself reads and writes by its folder.",
                remedy="Compact the tables of rows; these have few rows.",
            )
    if not table.get("PartitionKeys") or not storage.get("Location"):
        raise InvalidInput(
            f"Table {name} has no partitions, so that its files cannot be exchanged at once.",
            remedy="Partition it, by ingestion day for instance, or write an Iceberg or Delta table.",
        )
