"""What the catalog knows of a Hive table, as tables: ``"flights$partitions"`` and ``"flights$properties"``.

Source: Athena user guide, "Query partition metadata"; Trino documentation, "Hive connector", "Metadata tables".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Column, Partition, Table
from penstock.query.tables.hive import HiveTable, check_readable
from penstock.query.tables.memory import MemoryScan
from penstock.query.tables.partition_values import make_partition_table
from penstock.query.tables.port import SCHEMA, DataFile, LakeReader, ScanRequest, TableReference, TableSource
from penstock.query.tables.restricted import check_whole
from penstock.sql.errors import StatementError
from penstock.sql.types import quote_name

__all__ = ["HIVE_METADATA", "hive_metadata"]


def hive_metadata(table: Table, what: str, reference: TableReference, reader: LakeReader) -> TableSource:
    """Return what the catalog knows of ``table``, one of :data:`HIVE_METADATA`. Raises :class:`StatementError`."""
    check_readable(table)
    if what == "partitions" and not table.partition_keys:
        raise StatementError(
            "TABLE_NOT_FOUND", f"'{table.database}.{table.name}' has no partitions.", position=reference.position
        )
    every = [column.name.lower() for column in (*table.storage.columns, *table.partition_keys)]
    check_whole(table, every, reference, reader)
    return HIVE_METADATA[what](table, reference.name.name, reader)


class _Partitions:
    """A row for each partition: the values of its keys."""

    def __init__(self, table: Table, name: str, reader: LakeReader) -> None:
        self._base = table
        self._reader = reader
        storage = replace(table.storage, columns=list(table.partition_keys))
        self.table = replace(table, name=name, storage=storage, partition_keys=[])

    def scan(self, request: ScanRequest) -> "_PartitionsScan":
        keys = {column.name.lower() for column in self._base.partition_keys}
        partitions, total = HiveTable(self._base, self._reader).partitions(request, request.conditions(keys))
        return _PartitionsScan(request.view, self._base, partitions, total)


class _Properties:
    """One row: a column for each of the table's parameters."""

    def __init__(self, table: Table, name: str, reader: LakeReader) -> None:
        _ = reader
        self._values: Mapping[str, str] = dict(sorted(table.parameters.items()))
        columns = [Column(name=item, type="string") for item in self._values]
        self.table = replace(table, name=name, storage=replace(table.storage, columns=columns), partition_keys=[])

    def scan(self, request: ScanRequest) -> MemoryScan:
        if not self._values:
            raise StatementError("TABLE_NOT_FOUND", f"Table '{self.table.name}' does not exist: it has no properties.")
        rows = pa.table({name: [value] for name, value in self._values.items()})
        return MemoryScan(view=request.view, rows=rows, route="the catalog, one table's properties")


@dataclass(frozen=True, slots=True)
class _PartitionsScan:
    """The values of partition keys, in the keys' types."""

    view: str
    table: Table
    partitions: Sequence[Partition]
    partitions_total: int
    files: Sequence[DataFile] = ()

    @property
    def partitions_read(self) -> int:
        return len(self.partitions)

    @property
    def route(self) -> str:
        return f"the catalog, {len(self.partitions)} partitions"

    def install(self, engine: Any) -> None:
        rows = f"{SCHEMA}.{quote_name(self.view + '_rows')}"
        make_partition_table(engine, rows, self.table, list(enumerate(self.partitions)), index="place", index_type="INTEGER")
        engine.execute(f"CREATE VIEW {SCHEMA}.{quote_name(self.view)} AS SELECT * EXCLUDE (place) FROM {rows}")  # noqa: S608 quoted names


HIVE_METADATA: Mapping[str, Callable[[Table, str, LakeReader], TableSource]] = {
    "partitions": _Partitions,
    "properties": _Properties,
}
