"""Settings of table optimizers (compaction, retention, orphan files), one of each type a table. They are kept, not run.

Source: Glue developer guide, "Optimizing Iceberg tables". ``penstock compact`` does the work, whenever it is called.
"""

from collections.abc import Mapping

from penstock.catalog.details import Body, Change, DetailKind, Home
from penstock.catalog.model import Table
from penstock.catalog.store import CatalogStore
from penstock.errors import AlreadyExists, InvalidInput, NotFound

__all__ = ["TableOptimizers"]


class TableOptimizers:
    """Create, read, change and delete the settings of existing tables; a body is a TableOptimizerConfiguration."""

    def __init__(self, store: CatalogStore) -> None:
        self._store = store

    def create(self, table: Table, kind: str, wanted: Body) -> None:
        """Add the settings of ``kind``. Raises :class:`AlreadyExists`, :class:`InvalidInput` for a table not of Iceberg."""
        if table.parameters.get("table_type", "").upper() != "ICEBERG":
            raise InvalidInput(
                f"Table {table.database}.{table.name} is not an Iceberg table, and optimizers are for those alone.",
                remedy="Call 'penstock compact' for a table of files.",
            )

        def add(known: Mapping[str, Body]) -> Mapping[str, Body]:
            if kind in known:
                raise AlreadyExists(
                    f"Table {table.database}.{table.name} has an optimizer of type {kind}.", remedy="Update or delete it."
                )
            return {**known, kind: wanted}

        self._change(table, add)

    def get(self, table: Table, kind: str) -> Body:
        """Return the settings of ``kind``. Raises :class:`NotFound`."""
        return self._known(table, kind, self._store.details(_home(table), DetailKind.OPTIMIZER))

    def update(self, table: Table, kind: str, wanted: Body) -> None:
        """Replace the settings of ``kind``. Raises :class:`NotFound`."""

        def put(known: Mapping[str, Body]) -> Mapping[str, Body]:
            return {**known, kind: {**self._known(table, kind, known), **wanted}}

        self._change(table, put)

    def delete(self, table: Table, kind: str) -> None:
        """Remove the settings of ``kind``. Raises :class:`NotFound`."""

        def remove(known: Mapping[str, Body]) -> Mapping[str, Body]:
            self._known(table, kind, known)
            return {name: body for name, body in known.items() if name != kind}

        self._change(table, remove)

    def _change(self, table: Table, change: Change) -> None:
        self._store.change_details(_home(table), DetailKind.OPTIMIZER, change)

    def _known(self, table: Table, kind: str, known: Mapping[str, Body]) -> Body:
        if kind not in known:
            raise NotFound(
                f"Table {table.database}.{table.name} has no optimizer of type {kind}.",
                remedy="Create it with CreateTableOptimizer.",
            )
        return known[kind]


def _home(table: Table) -> Home:
    return Home(table.database, table.name)
