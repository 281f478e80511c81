"""Statistics of columns, of tables and of partitions, as engines compute them (ANALYZE) and read them for their plans.

Source: Glue API reference, "Column statistics API". They are kept under AWS's names; nothing here computes them.
"""

from collections.abc import Mapping, Sequence

from penstock.catalog.details import Body, DetailKind, Home
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
    """Keep, read and delete the statistics of a table, or of one of its partitions where that is given."""

    def __init__(self, store: CatalogStore) -> None:
        self._store = store

    def put(self, table: Table, given: Sequence[Body], *, partition: Partition | None = None) -> Failures:
        """Add or replace statistics; those that cannot be, each with its error."""
        columns = _columns(table, partition)
        fit: dict[str, Body] = {}
        failed: list[tuple[Body, PenstockError]] = []
        for each in given:
            error = _problem(each, columns)
            if error is None:
                fit[_name(each)] = each
            else:
                failed.append((each, error))
        if fit:
            self._store.change_details(_home(table, partition), DetailKind.STATISTICS, lambda known: {**known, **fit})
        return failed

    def get(
        self, table: Table, names: Sequence[str], *, partition: Partition | None = None
    ) -> tuple[Sequence[Body], Sequence[tuple[str, PenstockError]]]:
        """Statistics of the columns, and the columns that have none, each with its error."""
        known = self._store.details(_home(table, partition), DetailKind.STATISTICS)
        columns = _columns(table, partition)
        wanted = list(dict.fromkeys(names))
        found = [name for name in wanted if name.lower() in known and name.lower() in columns]
        return (
            [known[name.lower()] for name in found],
            [(name, StatisticsNotFound(name)) for name in wanted if name not in found],
        )

    def delete(self, table: Table, name: str, *, partition: Partition | None = None) -> None:
        """Remove the statistics of a column; :class:`StatisticsNotFound`."""

        def remove(known: Mapping[str, Body]) -> Mapping[str, Body]:
            if name.lower() not in known:
                raise StatisticsNotFound(name)
            return {each: body for each, body in known.items() if each != name.lower()}

        self._store.change_details(_home(table, partition), DetailKind.STATISTICS, remove)


def _home(table: Table, partition: Partition | None) -> Home:
    return Home(table.database, table.name, None if partition is None else tuple(partition.values))


def _name(given: Body) -> str:
    return str(given["ColumnName"]).lower()


def _columns(table: Table, partition: Partition | None) -> frozenset[str]:
    of_partition = () if partition is None else partition.storage.columns
    return frozenset(column.name.lower() for column in (*table.storage.columns, *of_partition))


def _problem(given: Body, columns: frozenset[str]) -> PenstockError | None:
    """Why the statistics cannot be kept: no such column, or data of another type than they say."""
    if _name(given) not in columns:
        return NotFound(f"Column {given['ColumnName']} not found in the table.")
    data = given["StatisticsData"]
    kinds = [name for name in data if name != "Type"] if isinstance(data, Mapping) else []
    said = str(data["Type"]).capitalize() + _DATA if isinstance(data, Mapping) else ""
    if kinds != [said]:
        return InvalidInput(
            f"The statistics of column {given['ColumnName']} have {', '.join(kinds) or 'no data'} where {said} belongs.",
            remedy="Give the data of the Type, and no other.",
        )
    return None
