"""The changes that one batch makes to the tables of a pipeline's sinks: planned before the manifest, applied behind it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from penstock.pipelines.sinks.settings import SinkSettings
from penstock.schema.version import SchemaVersion
from penstock.spark.commit.drift import DriftStop, Finding
from penstock.spark.decode.readers import field_paths
from penstock.spark.tables.changes import AddColumn, RenameColumn
from penstock.spark.tables.evolving import EvolutionPlan, EvolvingTable, Refusal, TableView, plan
from penstock.spark.tables.parquet import ParquetTable
from penstock.spark.tables.shapes import under_table_names, with_table_names, without_fields
from penstock.spark.types import hive_type

__all__ = ["ReaderFields", "SinkRows", "TableChanges"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkRows:
    """What one sink gets of a batch: a count of rows, and columns to Hive types.

    ``table``: the columns of its table of files, with the batch. ``evolves``: the catalog's table lacks some of them.
    """

    rows: int
    columns: Mapping[str, str]
    table: Mapping[str, str] = field(default_factory=dict)
    evolves: bool = False

    @property
    def facts(self) -> dict[str, Any]:
        """Return the values for the batch's manifest."""
        return {"rows": self.rows, "columns": dict(self.columns), "table": dict(self.table), "evolves": self.evolves}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderFields:
    """The reader schema's version, and the paths of its fields to those of their aliases, as far as it has any."""

    version: int | None = None
    aliases: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, reader: SchemaVersion) -> "ReaderFields":
        """Return the fields of a registered schema; only Avro has aliases."""
        return cls(version=reader.number, aliases=_aliases(reader.definition) if reader.data_format == "AVRO" else {})

    @property
    def facts(self) -> dict[str, Any]:
        """Return the values for the batch's manifest."""
        return {"version": self.version, "aliases": {path: list(names) for path, names in self.aliases.items()}}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any] | None) -> "ReaderFields":
        """Return what :attr:`facts` gave; no aliases for manifests that have none."""
        values = facts or {}
        return cls(
            version=values.get("version"), aliases={path: tuple(names) for path, names in values.get("aliases", {}).items()}
        )


@lru_cache(maxsize=16)
def _aliases(definition: str) -> Mapping[str, tuple[str, ...]]:
    return {path: tuple(sorted(names)) for path, names in field_paths(definition).items() if names}


class TableChanges:
    """The plans of one attempt at a batch. ``tables``: those of the pipeline's sinks that have columns, by sink."""

    def __init__(self, tables: Mapping[str, TableView]) -> None:
        self._tables = tables
        self._plans: dict[str, EvolutionPlan] = {}
        self._accepted: dict[str, StructType] = {}

    def plan(self, sink: SinkSettings, columns: StructType, reader: ReaderFields) -> EvolutionPlan:
        """Return what the batch's ``columns`` change in the sink's table, and keep it; nothing if it has no columns."""
        table = self._tables.get(sink.name)
        if table is None:
            return EvolutionPlan()
        planned = plan(table, columns, evolution=sink.evolution, aliases=reader.aliases, version=reader.version)
        if isinstance(table, ParquetTable):
            planned = table.of_data(planned)
            added = {refusal.change.path for refusal in planned.refusals if isinstance(refusal.change, AddColumn)}
            self._accepted[sink.name] = with_table_names(without_fields(columns, added), planned.changes)
        self._plans[sink.name] = planned
        return planned

    def fit(self, sink: SinkSettings, rows: DataFrame, reader: ReaderFields) -> DataFrame:
        """Return the rows for files of the sink's table: renamed fields under the table's names."""
        return under_table_names(rows, self.plan(sink, rows.schema, reader).changes)

    def sink_rows(self, sink: SinkSettings, rows: int, schema: StructType) -> SinkRows:
        """Return what the sink of files gets: ``rows`` with the columns ``schema``, which :meth:`fit` returned."""
        table = self._tables[sink.name]
        assert isinstance(table, ParquetTable)
        if not rows:
            if sink.name not in self._plans:
                table.table()
            return SinkRows(rows=0, columns={}, table=table.after(StructType()))
        columns = {struct_field.name: hive_type(struct_field.dataType) for struct_field in schema.fields}
        changed = any(not isinstance(change, RenameColumn) for change in self._plans[sink.name].changes)
        accepted = self._accepted[sink.name]
        return SinkRows(rows=rows, columns=columns, table=table.after(accepted), evolves=changed or table.is_new)

    def findings(self, reader: ReaderFields) -> list[Finding]:
        """Return what the tables do not take."""
        return [
            Finding(
                type="table" if self._left_out(name, refusal) is None else "missing-field",
                text=refusal.text,
                remedy=refusal.remedy,
                keys=(f"table:{name}:{reader.version}",),
            )
            for name, planned in self._plans.items()
            for refusal in planned.refusals
        ]

    def _left_out(self, name: str, refusal: Refusal) -> str | None:
        """Return the new column without which the rows can be written; files may even have it, as readers skip it."""
        change = refusal.change
        if isinstance(change, AddColumn) and (isinstance(self._tables[name], ParquetTable) or len(change.path) == 1):
            return change.path[0]
        return None

    def evolve(self, sink: SinkSettings, columns: StructType, reader: ReaderFields) -> tuple[str, ...]:
        """Apply the changes to a table that is not of files; return the columns that are left out of the rows.

        The changes are those of this attempt's plan, or of a new one. Raises :class:`DriftStop` if the table was changed
        after the manifest so that it does not take the rows.
        """
        table = self._tables.get(sink.name)
        if not isinstance(table, EvolvingTable):
            return ()
        planned = self._plans.get(sink.name) or self.plan(sink, columns, reader)
        left_out = []
        for refusal in planned.refusals:
            column = self._left_out(sink.name, refusal)
            if column is None:
                raise DriftStop(f"{refusal.text}; the rows are staged, and not in the table yet.", remedy=refusal.remedy)
            left_out.append(column)
        if planned.changes:
            table.evolve(planned.changes)
        return tuple(left_out)
