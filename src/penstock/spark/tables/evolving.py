"""Which changes of a batch a table takes: by the declared policy, and by what its format can.

The runner calls :func:`plan` twice for each sink with a table. Before the manifest, where it refuses: then nothing of the
batch was committed. And behind the manifest, before the rows are published: the changes of that second plan go to
:meth:`EvolvingTable.evolve`. A kill between the two, or after ``evolve``, is repaired by the next attempt, whose plan has
only the changes that are still missing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pyspark.sql.types import StructType

from penstock.pipelines.evolution import Evolution
from penstock.spark.tables.changes import AddColumn, Change, Incompatible, RenameColumn, WidenType, changes, dotted

__all__ = ["EvolutionPlan", "EvolvingTable", "Refusal", "TableView", "plan"]


class TableView(Protocol):
    """A table's columns, and which changes it can take."""

    @property
    def name(self) -> str:
        """Return the table's name for messages: DATABASE.TABLE, or where it is."""
        ...

    def table(self) -> StructType | None:
        """Return the table's columns, partition columns included; None if it does not exist yet."""
        ...

    def unsupported(self, change: Change) -> str | None:
        """Return why this table cannot take an addition, a widening or a rename, as a clause; None if it can."""
        ...


@runtime_checkable
class EvolvingTable(TableView, Protocol):
    """A sink whose table has columns that can change. A sink that is not one takes its rows as they come."""

    def evolve(self, changes: Sequence[Change]) -> None:
        """Apply the changes to the table, in their order. Raises :class:`PenstockError` if the table refuses one."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A change that the table does not take: what it is and why, in a sentence without a full stop, and the remedy."""

    change: Change
    text: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvolutionPlan:
    """The changes for :meth:`EvolvingTable.evolve`, and those that the table does not take."""

    changes: tuple[Change, ...] = ()
    refusals: tuple[Refusal, ...] = ()


def plan(
    table: TableView,
    batch: StructType,
    *,
    evolution: Evolution,
    aliases: Mapping[str, Collection[str]],
    version: int | None = None,
) -> EvolutionPlan:
    """Return what ``batch`` (columns) does to ``table``. ``version``: the reader's, for messages; see :func:`changes`."""
    columns = table.table()
    if columns is None:
        return EvolutionPlan()
    accepted: list[Change] = []
    refused: list[Refusal] = []
    for change in changes(columns, batch, aliases):
        refusal = _refusal(change, table, evolution, version)
        if refusal is None:
            accepted.append(change)
        else:
            refused.append(refusal)
    return EvolutionPlan(changes=tuple(accepted), refusals=tuple(refused))


def _refusal(change: Change, table: TableView, evolution: Evolution, version: int | None) -> Refusal | None:
    what = _sentence(change, table.name, version)
    remedies = {
        "add": "add the column to the table, or leave it out in transform.sql",
        "widen": "widen the column of the table, or cast it in transform.columns",
        "rename": "rename the column of the table, or give it the table's name in transform.sql",
    }
    if isinstance(change, Incompatible):
        remedy = "Cast it in transform.columns, pin decode.reader to an earlier version, or write to a new table."
        return Refusal(change=change, text=f"{what}: {change.reason}", remedy=remedy)
    key = "add" if isinstance(change, AddColumn) else "widen" if isinstance(change, WidenType) else "rename"
    if getattr(evolution, key) == "freeze":
        remedy = f"Set evolution.{key} of the sink to evolve, {remedies[key]}."
        return Refusal(change=change, text=f"{what}, and evolution.{key} is freeze", remedy=remedy)
    reason = table.unsupported(change)
    if reason is None:
        return None
    remedy = remedies[key][0].upper() + remedies[key][1:] + "."
    return Refusal(change=change, text=f"{what}, and {reason}", remedy=remedy)


def _sentence(change: Change, table: str, version: int | None) -> str:
    by = "the batch" if version is None else f"schema version {version}"
    match change:
        case AddColumn():
            type_name = change.type.simpleString()
            return f"{by} has field '{dotted(change.path)}' ({type_name}), which table {table} lacks"
        case WidenType():
            types = f"{change.old.simpleString()} to {change.new.simpleString()}"
            return f"{by} widens field '{dotted(change.path)}' of table {table} from {types}"
        case RenameColumn():
            return f"{by} renames field '{dotted(change.old)}' of table {table} to '{dotted(change.new)}'"
        case Incompatible():
            if change.new is None:
                return f"{by} lacks field '{dotted(change.path)}' of table {table}"
            types = f"{change.new.simpleString()}, and {change.old.simpleString()} in table {table}"
            return f"field '{dotted(change.path)}' of {by} is {types}"
