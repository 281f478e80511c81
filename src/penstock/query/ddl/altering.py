"""ALTER TABLE of Hive's tables: columns, location, properties."""

from collections.abc import Callable, Mapping
from typing import Any

from penstock.catalog.model import Table
from penstock.query.ddl import partitions
from penstock.query.ddl.errors import check_location, execution_error, semantic_error, table_of
from penstock.query.ddl.requests import (
    change_table,
    column_request,
    partition_request,
    storage_request,
    table_request,
)
from penstock.query.engine.context import ExecutionContext
from penstock.query.tables.views import VIEW_TYPE
from penstock.query.task import Outcome
from penstock.sql.errors import StatementError
from penstock.sql.statements import alter
from penstock.sql.statements.model import AlterTable

__all__ = ["alter_table"]

Request = dict[str, Any]


def alter_table(context: ExecutionContext, statement: AlterTable) -> Outcome:
    """Carry out the statement's action. Raises :class:`StatementError`."""
    table = table_of(context.host, statement.table, context.task.database)
    action = statement.action
    if table.table_type == VIEW_TYPE:
        raise semantic_error(f"{table.database}.{table.name} is a view; ALTER TABLE is for tables.")
    if isinstance(action, alter.AddPartitions):
        partitions.add_partitions(context, table, action)
    elif isinstance(action, alter.DropPartitions):
        partitions.drop_partitions(context, table, action)
    elif isinstance(action, alter.RenamePartition):
        partitions.rename_partition(context, table, action)
    elif isinstance(action, alter.SetLocation) and action.partition:
        check_location(action.location)
        partition = partitions.one_partition(context, table, action.partition)
        storage = storage_request(partition.storage, location=action.location)
        partitions.update_partition(context, partition, partition_request(partition, StorageDescriptor=storage))
    else:
        change = _CHANGES.get(type(action))
        if change is None:
            raise StatementError(
                "NOT_SUPPORTED", f"{action.substatement.replace('_', ' ')} is only for Iceberg tables.", remedy=_REMEDY
            )
        change_table(context, statement.table, lambda current: change(current, action))
    return context.text_result()


_REMEDY = "Of an external table, columns can be added, changed and replaced; make a new table for all else."


def _add_columns(table: Table, action: alter.AddColumns) -> Request:
    existing = {column.name.lower() for column in (*table.storage.columns, *table.partition_keys)}
    for column in action.columns:
        if column.name in existing:
            raise execution_error("InvalidOperationException", f"Duplicate column name: {column.name}")
    return _with_columns(table, [*map(column_request, table.storage.columns), *map(column_request, action.columns)])


def _replace_columns(table: Table, action: alter.ReplaceColumns) -> Request:
    keys = {key.name.lower() for key in table.partition_keys}
    for column in action.columns:
        if column.name in keys:
            raise execution_error("InvalidOperationException", f"Duplicate column name: {column.name}")
    return _with_columns(table, [column_request(column) for column in action.columns])


def _change_column(table: Table, action: alter.ChangeColumn) -> Request:
    columns = list(table.storage.columns)
    names = [column.name.lower() for column in columns]
    other_names = {*names, *(key.name.lower() for key in table.partition_keys)} - {action.old}
    if action.old not in names:
        raise semantic_error(f"Invalid column reference {action.old}", number=10002)
    if action.new.name in other_names:
        raise execution_error("InvalidOperationException", f"Duplicate column name: {action.new.name}")
    at = names.index(action.old)
    shape = column_request(action.new)
    if action.new.comment is None and columns[at].comment is not None:
        shape["Comment"] = columns[at].comment
    rest = [column_request(column) for number, column in enumerate(columns) if number != at]
    others = [name for number, name in enumerate(names) if number != at]
    if action.place == "FIRST":
        at = 0
    elif action.after is not None:
        if action.after not in others:
            raise semantic_error(f"Invalid column reference {action.after}", number=10002)
        at = others.index(action.after) + 1
    return _with_columns(table, [*rest[:at], shape, *rest[at:]])


def _with_columns(table: Table, columns: list[Request]) -> Request:
    if table.storage.schema_reference is not None:
        raise semantic_error(
            f"The columns of {table.database}.{table.name} come from the schema registry", remedy="Register a new version."
        )
    request = table_request(table)
    return {**request, "StorageDescriptor": {**request["StorageDescriptor"], "Columns": columns}}


def _set_location(table: Table, action: alter.SetLocation) -> Request:
    check_location(action.location)
    return {**table_request(table), "StorageDescriptor": storage_request(table.storage, location=action.location)}


def _set_properties(table: Table, action: alter.SetProperties) -> Request:
    if any(key.lower() == "table_type" for key in action.properties):
        raise semantic_error("The property table_type of a table cannot be set.", remedy="Make a new table.")
    return {**table_request(table), "Parameters": {**table.parameters, **action.properties}}


def _unset_properties(table: Table, action: alter.UnsetProperties) -> Request:
    missing = [name for name in action.names if name not in table.parameters]
    if missing and not action.if_exists:
        raise semantic_error(f"Property {missing[0]} does not exist", remedy="Add IF EXISTS.")
    parameters = {key: value for key, value in table.parameters.items() if key not in action.names}
    return {**table_request(table), "Parameters": parameters}


_CHANGES: Mapping[type, Callable[[Table, Any], Request]] = {
    alter.AddColumns: _add_columns,
    alter.ReplaceColumns: _replace_columns,
    alter.ChangeColumn: _change_column,
    alter.SetLocation: _set_location,
    alter.SetProperties: _set_properties,
    alter.UnsetProperties: _unset_properties,
}
