"""Settings of table optimizers (compaction, retention, orphan files), one of each type a table. They are kept, not run.

Source: Glue developer guide, "Optimizing Iceberg tables". ``penstock compact`` does the work, whenever it is called.
"""

from collections.abc import Mapping

from penstock.catalog.details import Body, Change, DetailKind, Home, removal
from penstock.catalog.model import Table
from penstock.catalog.store import CatalogStore
from penstock.errors import AlreadyExists, InvalidInput, NotFound

__all__ = ["TableOptimizers"]


class TableOptimizers:
    """Create, read, change and delete the settings of existing tables; a body is a TableOptimizerConfiguration."""

    def __init__(self, store: CatalogStore) -> None:
        self._store = store

    def create(self, table: Table, type_: str, settings: Body) -> None:
        """Add the settings of ``type_``. Raises :class:`AlreadyExists`, :class:`InvalidInput` for a table not of Iceberg."""
        if table.parameters.get("table_type", "").upper() != "ICEBERG":
            raise InvalidInput(
                f"Table {table.database}.{table.name} is not an Iceberg table, and optimizers are for those alone.",
                remedy="Call 'penstock compact' for a table of files.",
            )

        def add(bodies: Mapping[str, Body]) -> Mapping[str, Body]:
            if type_ in bodies:
                raise AlreadyExists(
                    f"Table {table.database}.{table.name} has an optimizer of type {type_}.", remedy="Update or delete it."
                )
            return {**bodies, type_: settings}

        self._change(table, add)

    def get(self, table: Table, type_: str) -> Body:
        """Return the settings of ``type_``. Raises :class:`NotFound`."""
        return _existing(table, type_, self._store.details(_home(table), DetailKind.OPTIMIZER))

    def update(self, table: Table, type_: str, settings: Body) -> None:
        """Replace the settings of ``type_``. Raises :class:`NotFound`."""
        self._change(table, lambda bodies: {**bodies, type_: {**_existing(table, type_, bodies), **settings}})

    def delete(self, table: Table, type_: str) -> None:
        """Remove the settings of ``type_``. Raises :class:`NotFound`."""
        self._change(table, removal(type_, _missing(table, type_)))

    def _change(self, table: Table, change: Change) -> None:
        self._store.change_details(_home(table), DetailKind.OPTIMIZER, change)


def _existing(table: Table, type_: str, bodies: Mapping[str, Body]) -> Body:
    if type_ not in bodies:
        raise _missing(table, type_)
    return bodies[type_]


def _missing(table: Table, type_: str) -> NotFound:
    message = f"Table {table.database}.{table.name} has no optimizer of type {type_}."
    return NotFound(message, remedy="Create it with CreateTableOptimizer.")


def _home(table: Table) -> Home:
    return Home(table.database, table.name)
