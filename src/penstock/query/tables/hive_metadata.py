"""What the catalog knows of a Hive table, as tables: ``"flights$partitions"`` and ``"flights$properties"``.

Source: Athena user guide, "Query partition metadata"; Trino documentation, "Hive connector", "Metadata tables".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Column, Table
from penstock.query.tables.hive import HiveTable, check_readable
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

    def scan(self, request: ScanRequest) -> "_MetadataScan":
        keys = {column.name.lower() for column in self._base.partition_keys}
        conditions = request.conditions(keys)
        partitions, total = HiveTable(self._base, self._reader).partitions(request, conditions)

        def make(engine: Any, view: str) -> None:
            rows = [(at, partition) for at, partition in enumerate(partitions)]
            named = f"{SCHEMA}.{quote_name(request.view + '_rows')}"
            make_partition_table(engine, named, self._base, rows, index="place", index_type="INTEGER")
            engine.execute(f"CREATE VIEW {view} AS SELECT * EXCLUDE (place) FROM {named}")  # noqa: S608 quoted names

        return _MetadataScan(request.view, f"the catalog, {len(partitions)} partitions", make, len(partitions), total)


class _Properties:
    """One row: a column for each of the table's parameters."""

    def __init__(self, table: Table, name: str, reader: LakeReader) -> None:
        _ = reader
        self._values: Mapping[str, str] = dict(sorted(table.parameters.items()))
        columns = [Column(name=item, type="string") for item in self._values]
        self.table = replace(table, name=name, storage=replace(table.storage, columns=columns), partition_keys=[])

    def scan(self, request: ScanRequest) -> "_MetadataScan":
        def make(engine: Any, view: str) -> None:
            if not self._values:
                raise StatementError("TABLE_NOT_FOUND", f"Table '{self.table.name}' does not exist: it has no properties.")
            engine.register("property_rows", pa.table({name: [value] for name, value in self._values.items()}))
            try:
                engine.execute(f"CREATE TABLE {view} AS SELECT * FROM property_rows")  # noqa: S608 a quoted name
            finally:
                engine.unregister("property_rows")

        return _MetadataScan(request.view, "the catalog, one table's properties", make)


@dataclass(frozen=True, slots=True)
class _MetadataScan:
    """Rows of the catalog, which ``make`` makes a relation of."""

    view: str
    route: str
    make: Callable[[Any, str], None]
    partitions_read: int = 0
    partitions_total: int = 0
    files: Sequence[DataFile] = ()

    def install(self, engine: Any) -> None:
        self.make(engine, f"{SCHEMA}.{quote_name(self.view)}")


HIVE_METADATA: Mapping[str, Callable[[Table, str, LakeReader], TableSource]] = {
    "partitions": _Partitions,
    "properties": _Properties,
}
