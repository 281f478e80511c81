"""The columns of a table of Parquet files: what the catalog says, or what the ledger remembers without one.

Parquet has no ids of fields: readers find a column by its name. So a renamed field is written under the name that the
table has, and old and new rows are in one column. Wider types need no rewriting: Spark, DuckDB and pyarrow read the
narrower values of old files as the table's type; dates as timestamps are the exception.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from pyspark.sql.types import DateType, StructType

from penstock.pipelines.sinks.parquet import ParquetSink
from penstock.spark.tables.changes import AddColumn, Change, RenameColumn, WidenType
from penstock.spark.tables.evolving import EvolutionPlan
from penstock.spark.tables.shapes import merged
from penstock.spark.types import hive_type, spark_columns

__all__ = ["ParquetTable", "TableColumns"]


class TableColumns(Protocol):
    """A table of the catalog, as :class:`penstock.spark.tables.catalog.CatalogTable` is one."""

    @property
    def name(self) -> str:
        """DATABASE.TABLE."""
        ...

    @property
    def creates(self) -> bool:
        """Whether the sink creates and extends the table."""
        ...

    def columns(self) -> dict[str, str] | None:
        """Return column names, partition keys included, to Hive types; None if the table will be created."""
        ...


class ParquetTable:
    """The table of a Parquet sink, for :func:`penstock.spark.tables.evolving.plan`.

    ``remembered`` returns the columns (to Hive types) after the last batch; it is asked without a catalog.
    """

    def __init__(
        self, sink: ParquetSink, catalog: TableColumns | None, remembered: Callable[[], Mapping[str, str] | None]
    ) -> None:
        self._sink = sink
        self._catalog = catalog
        self._remembered = remembered
        self._columns: StructType | None = None

    @property
    def name(self) -> str:
        """DATABASE.TABLE, or the folder."""
        return self._sink.location if self._catalog is None else self._catalog.name

    def table(self) -> StructType | None:
        """Return the table's columns, partition columns included; None if it does not exist yet."""
        columns = self._remembered() if self._catalog is None else self._catalog.columns()
        self._columns = spark_columns(columns) if columns else None
        return self._columns

    def unsupported(self, change: Change) -> str | None:
        """Return why the table cannot take the change."""
        if isinstance(change, WidenType) and isinstance(change.old, DateType):
            return "files with dates cannot be read as timestamps"
        declared_elsewhere = self._catalog is not None and not self._catalog.creates
        if declared_elsewhere and isinstance(change, (AddColumn, WidenType)):
            return "the sink may not change it, as catalog.create is not set"
        return None

    @property
    def is_new(self) -> bool:
        """Return whether :meth:`table` found no table."""
        return self._columns is None

    def of_data(self, plan: EvolutionPlan) -> EvolutionPlan:
        """Return the plan without types of partition columns: their values are in paths, and can be read as any type."""
        keys = set(self._sink.partition_by)
        renames = [change for change in plan.changes if isinstance(change, RenameColumn)]
        keys.update(change.new[0] for change in renames if change.old[0] in keys)
        return EvolutionPlan(
            changes=tuple(change for change in plan.changes if not _is_type_of(change, keys)),
            refusals=tuple(refusal for refusal in plan.refusals if not _is_type_of(refusal.change, keys)),
        )

    def after(self, batch: StructType) -> dict[str, str]:
        """Return the columns, to Hive types, of the table as :meth:`table` gave it last, once the batch is in it."""
        both = batch if self._columns is None else merged(self._columns, batch)
        return {field.name: hive_type(field.dataType) for field in both.fields}


def _is_type_of(change: Change, columns: Collection[str]) -> bool:
    return not isinstance(change, RenameColumn) and change.path[0] in columns
