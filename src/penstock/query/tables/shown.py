"""Tables as the catalog shows them to a statement's caller: without the columns that Glue's GetTable hides from it."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from penstock.catalog.model import Column, StorageDescriptor, Table
from penstock.query.ports import StatementCatalog

__all__ = ["shown_storage", "shown_table", "visible_columns"]

# Spark keeps a second list of the columns, with all of them, in these parameters.
_LISTS_OF_COLUMNS = "spark.sql.sources.schema"


def shown_table(catalog: StatementCatalog, table: Table) -> Table:
    """Return ``table`` with the columns that its caller sees; keys of partitions stay, as in Glue's answers."""
    storage = shown_storage(catalog, table, table.storage)
    if storage is table.storage:
        return table
    parameters = {name: value for name, value in table.parameters.items() if not name.startswith(_LISTS_OF_COLUMNS)}
    return replace(table, storage=storage, parameters=parameters)


def shown_storage(catalog: StatementCatalog, table: Table, storage: StorageDescriptor) -> StorageDescriptor:
    """Return the storage of ``table`` or of a partition with the columns that its caller sees."""
    keys = [key.name for key in table.partition_keys]
    visible = visible_columns(catalog, table, [*(column.name for column in storage.columns), *keys])
    if visible is None:
        return storage

    def shown(columns: Sequence[Column]) -> list[Column]:
        return [column for column in columns if column.name.lower() in visible]

    return replace(storage, columns=shown(storage.columns))


def visible_columns(catalog: StatementCatalog, table: Table, names: Sequence[str]) -> Collection[str] | None:
    """Return which of the columns ``names`` the caller sees, in lower case; None for all."""
    if not catalog.hides_columns():
        return None
    return catalog.visible_columns(table.database, table.name, [name.lower() for name in names])
