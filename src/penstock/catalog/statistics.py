"""Column statistics of tables and partitions, which engines compute (ANALYZE) and read for their plans.

Source: Glue API reference, "Column statistics API". They are stored under AWS's names; Penstock does not compute them.
"""

from collections.abc import Mapping, Sequence

from penstock.catalog.details import Body, DetailKind, Home, removal
from penstock.catalog.model import Partition, Table
from penstock.catalog.store import CatalogStore
from penstock.errors import InvalidInput, NotFound, PenstockError

__all__ = ["ColumnStatistics", "StatisticsNotFound"]

_DATA = "ColumnStatisticsData"

Failures = Sequence[tuple[Body, PenstockError]]


class StatisticsNotFound(NotFound):
    """The table or partition has no statistics of the column."""

    def __init__(self, column: str) -> None:
        super().__init__(f"Statistics of column {column} not found.")


class ColumnStatistics:
    """Store, read and delete the statistics of a table, or of one of its partitions if one is given."""

    def __init__(self, store: CatalogStore) -> None:
        self._store = store

    def put(self, table: Table, entries: Sequence[Body], *, partition: Partition | None = None) -> Failures:
        """Add or replace statistics; return those that could not be stored, with their errors."""
        columns = _columns(table, partition)
        fit: dict[str, Body] = {}
        failed: list[tuple[Body, PenstockError]] = []
        for entry in entries:
            error = _problem(entry, columns)
            if error is None:
                fit[_name(entry)] = entry
            else:
                failed.append((entry, error))
        if fit:
            self._store.change_details(_home(table, partition), DetailKind.STATISTICS, lambda bodies: {**bodies, **fit})
        return failed

    def get(
        self, table: Table, names: Sequence[str], *, partition: Partition | None = None
    ) -> tuple[Sequence[Body], Sequence[tuple[str, PenstockError]]]:
        """Return statistics of the columns, and the columns that have none, with their errors."""
        bodies = self._store.details(_home(table, partition), DetailKind.STATISTICS)
        columns = _columns(table, partition)
        columns_of = list(dict.fromkeys(names))
        present = [name for name in columns_of if name.lower() in bodies and name.lower() in columns]
        return (
            [bodies[name.lower()] for name in present],
            [(name, StatisticsNotFound(name)) for name in columns_of if name not in present],
        )

    def delete(self, table: Table, name: str, *, partition: Partition | None = None) -> None:
        """Remove the statistics of a column. Raises :class:`StatisticsNotFound`."""
        remove = removal(name.lower(), StatisticsNotFound(name))
        self._store.change_details(_home(table, partition), DetailKind.STATISTICS, remove)


def _home(table: Table, partition: Partition | None) -> Home:
    return Home(table.database, table.name, None if partition is None else tuple(partition.values))


def _name(entry: Body) -> str:
    return str(entry["ColumnName"]).lower()


def _columns(table: Table, partition: Partition | None) -> frozenset[str]:
    of_partition = () if partition is None else partition.storage.columns
    return frozenset(column.name.lower() for column in (*table.storage.columns, *of_partition))


def _problem(entry: Body, columns: frozenset[str]) -> PenstockError | None:
    """Return why the statistics cannot be stored: no such column, or data of another type than declared."""
    if _name(entry) not in columns:
        return NotFound(f"Column {entry['ColumnName']} not found in the table.")
    data = entry["StatisticsData"]
    members = [name for name in data if name != "Type"] if isinstance(data, Mapping) else []
    expected = str(data["Type"]).capitalize() + _DATA if isinstance(data, Mapping) else ""
    if members != [expected]:
        return InvalidInput(
            f"The statistics of column {entry['ColumnName']} have {', '.join(members) or 'no data'}, not {expected}.",
            remedy="Give only the data of the Type.",
        )
    return None
