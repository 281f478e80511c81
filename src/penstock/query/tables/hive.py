"""Tables of files under their location, or under those of their partitions: registered ones, or projected ones."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from penstock.catalog.model import Partition, StorageDescriptor, Table
from penstock.errors import InvalidInput
from penstock.lake.locations import SCHEMES
from penstock.lake.visible import CommittedBatches
from penstock.query.tables.catalog_conditions import catalog_expression
from penstock.query.tables.formats.layouts import SYMLINKS, file_format
from penstock.query.tables.hive_scan import HIDDEN_COLUMNS, HiveScan
from penstock.query.tables.listing import committed_batches, data_files, linked_files
from penstock.query.tables.port import DataFile, LakeReader, ScanRequest, TableReference, too_many_files
from penstock.query.tables.projection import is_projected, project
from penstock.sql.errors import StatementError

__all__ = ["HiveTable", "check_readable", "hive_table"]


def hive_table(table: Table, reference: TableReference, reader: LakeReader) -> "HiveTable":
    """Return the table of files. Raises :class:`StatementError` for one whose rows are not files that can be read."""
    check_readable(table)
    if reference.version is not None:
        raise StatementError(
            "NOT_SUPPORTED",
            f"'{table.database}.{table.name}' is not an Iceberg table, so it has no earlier versions.",
            position=reference.position,
        )
    return HiveTable(table, reader)


class HiveTable:
    """A table of files under its location, or under those of its partitions: registered ones, or projected ones."""

    def __init__(self, table: Table, reader: LakeReader) -> None:
        self.table = table
        self._reader = reader
        self._opened = reader.lake.of(table)

    def scan(self, request: ScanRequest) -> HiveScan:
        keys = {column.name.lower() for column in self.table.partition_keys}
        names = [name for name in HIDDEN_COLUMNS if name != "$bucket" or self.table.storage.extra.get("BucketColumns")]
        scan = HiveScan(
            view=request.view,
            table=self.table,
            lake=self._opened.lake,
            columns=request.columns,
            hidden=[name for name in names if name in request.hidden and (keys or name != "$partition")],
        )
        # Before partitions and files are listed: those of batches in it are complete.
        committed = committed_batches(self._opened.lake, self.table.storage.location or "")
        if self.table.partition_keys:
            return self._pruned(scan, request, request.conditions(keys), committed)
        files = self._files(self.table.storage, -1, committed)
        return replace(scan, files=self._listed(scan, files, request.max_files))

    def partitions(self, request: ScanRequest, conditions: Sequence[exp.Expr]) -> tuple[Sequence[Partition], int]:
        """Return the partitions that meet ``conditions`` on the keys, and how many were found for them by the catalog.

        Raises :class:`StatementError`.
        """
        texts = [condition.sql("duckdb") for condition in conditions]

        def needed(table: Table, partitions: Sequence[Partition]) -> Sequence[int]:
            if not partitions or not texts:
                return range(len(partitions))
            return self._reader.engine.prune(table, partitions, texts, request.outer)

        if is_projected(self.table):
            projected = project(self.table, conditions, needed)
            everything, total = projected.partitions, projected.total
        else:
            everything = self._registered(catalog_expression(self.table.partition_keys, conditions))
            total = len(everything)
        return [everything[index] for index in needed(self.table, everything)], total

    def _pruned(
        self, scan: HiveScan, request: ScanRequest, conditions: Sequence[exp.Expr], committed: CommittedBatches
    ) -> HiveScan:
        partitions, total = self.partitions(request, conditions)
        self._opened.check_listing(
            [self.table.storage.location or "", *(partition.storage.location or "" for partition in partitions)]
        )
        files = (
            file
            for index, partition in enumerate(partitions)
            if partition.storage.location
            for file in self._files(partition.storage, index, committed)
        )
        listed = self._listed(scan, files, request.max_files)
        return replace(scan, partitions=partitions, partitions_total=total, files=listed)

    def _files(self, storage: StorageDescriptor, partition: int, committed: CommittedBatches) -> Iterator[DataFile]:
        files = data_files(self._opened, storage.location or "", partition, committed=committed)
        input_format = storage.input_format or self.table.storage.input_format or ""
        return linked_files(self._opened, files) if input_format.endswith(SYMLINKS) else files

    def _listed(self, scan: HiveScan, files: Iterator[DataFile], budget: int) -> Sequence[DataFile]:
        """Return the files, each of which the caller may open."""
        listed: list[DataFile] = []
        for file in files:
            listed.append(file)
            if len(listed) > budget:
                raise too_many_files(scan.name, "compact the table")
        self._opened.check([file.path for file in listed])
        return listed

    def _registered(self, expression: str | None) -> Sequence[Partition]:
        """Return the partitions that the catalog finds for ``expression``, all without one."""
        table = self.table
        try:
            everything = self._reader.catalog.partitions(table.database, table.name, expression)
        except InvalidInput:
            # For example a value that is not of its key's type, which the engine reports.
            everything = self._reader.catalog.partitions(table.database, table.name)
        for partition in everything:
            if len(partition.values) != len(table.partition_keys):
                raise StatementError(
                    "HIVE_INVALID_METADATA",
                    f"Partition {list(partition.values)} of '{table.database}.{table.name}' has {len(partition.values)} "
                    f"values for {len(table.partition_keys)} partition keys.",
                    remedy="Delete the partition, or run the crawler.",
                )
        return everything


def check_readable(table: Table) -> None:
    """Raise :class:`StatementError` for a table whose rows are not files of the lake in a format that is read."""
    name = f"{table.database}.{table.name}"
    if table.table_type == "VIRTUAL_VIEW" or table.view_original_text:
        raise StatementError(
            "NOT_SUPPORTED", f"'{name}' is a view; views are not supported yet.", remedy="Query its tables."
        )
    table_type = table.parameters.get("table_type", "").upper()
    provider = table.parameters.get("spark.sql.sources.provider", "").lower()
    if table_type in {"ICEBERG", "DELTA", "HUDI"} or provider in {"delta", "hudi"}:
        raise StatementError("NOT_SUPPORTED", f"'{name}' is a table of format {table_type or provider}, which is not read.")
    if not table.storage.location:
        raise StatementError(
            "HIVE_INVALID_METADATA", f"Table '{name}' has no location.", remedy="Set StorageDescriptor.Location."
        )
    if not table.storage.location.startswith(SCHEMES):
        raise StatementError(
            "HIVE_UNSUPPORTED_FORMAT",
            f"Table '{name}' lies at '{table.storage.location[:200]}', not in the lake: streams cannot be queried.",
            remedy="Query the table that the pipeline writes.",
        )
    file_format(name, table.storage, table.parameters)
