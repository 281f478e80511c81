"""CREATE VIEW and DROP VIEW. A view is stored as Athena stores it, so that other Athenas read it."""

from collections.abc import Sequence
from typing import Any

from penstock.catalog.model import Table
from penstock.errors import AlreadyExists, NotFound
from penstock.query.ddl.errors import home_of, trino_errors
from penstock.query.engine.context import ExecutionContext
from penstock.query.ports import CATALOG_NAME
from penstock.query.tables.views import VIEW_TYPE, StoredView, view_text
from penstock.query.task import Outcome
from penstock.sql.engine_types import hive_text
from penstock.sql.errors import StatementError
from penstock.sql.statements.model import CreateView, DropView, Select
from penstock.sql.statements.names import TableName
from penstock.sql.trino_types import Type

__all__ = ["create_view", "drop_view"]


def create_view(context: ExecutionContext, statement: CreateView) -> Outcome:
    """Plan the view's query, and store it with the names and types of its columns. Raises :class:`StatementError`."""
    host = context.host
    home = home_of(host, statement.table, context.task.database)
    name = f"{CATALOG_NAME.lower()}.{home}.{statement.table.name}"
    old = _existing(context, home, statement.table)
    if old is not None and old.table_type != VIEW_TYPE:
        raise StatementError("ALREADY_EXISTS", f"Table already exists: '{name}'")
    if old is not None and not statement.replace:
        raise StatementError("ALREADY_EXISTS", f"View already exists: '{name}'", remedy="Write CREATE OR REPLACE VIEW.")
    with context.planned(Select(tree=statement.query), explain=True) as (session, plan, _):
        columns = _checked(session.described(plan))
    request = {"DatabaseName": home, "TableInput": _table(statement, columns, context.task.database or home)}
    with trino_errors():
        try:
            host.change("CreateTable" if old is None else "UpdateTable", request)
        except AlreadyExists:
            raise StatementError("ALREADY_EXISTS", f"View already exists: '{name}'") from None
    return context.text_result()


def drop_view(context: ExecutionContext, statement: DropView) -> Outcome:
    """Remove a view. Raises :class:`StatementError` if it does not exist, or is a table."""
    try:
        home = home_of(context.host, statement.table, context.task.database)
    except StatementError as error:
        if statement.if_exists and error.code == "FAILED":
            return context.text_result()
        raise
    old = _existing(context, home, statement.table)
    name = f"{CATALOG_NAME.lower()}.{home}.{statement.table.name}"
    if old is None:
        if statement.if_exists:
            return context.text_result()
        raise StatementError("TABLE_NOT_FOUND", f"View '{name}' does not exist")
    if old.table_type != VIEW_TYPE:
        raise StatementError(
            "TABLE_NOT_FOUND",
            f"View '{name}' does not exist, but a table with that name exists. Did you mean DROP TABLE {name}?",
        )
    with trino_errors():
        context.host.change("DeleteTable", {"DatabaseName": home, "Name": old.name})
    return context.text_result()


def _existing(context: ExecutionContext, home: str, name: TableName) -> Table | None:
    try:
        return context.host.table(home, name.name)
    except NotFound:
        return None


def _checked(columns: Sequence[tuple[str, Type]]) -> Sequence[tuple[str, Type]]:
    names: set[str] = set()
    for at, (name, type_) in enumerate(columns):
        if name == f"_col{at}":
            raise StatementError(
                "COLUMN_NAME_NOT_SPECIFIED", f"Column name not specified at position {at + 1}", remedy="Add AS name."
            )
        if not type_.is_whole:
            raise StatementError("COLUMN_TYPE_UNKNOWN", f"Column type is unknown: {name}", remedy="CAST it to a type.")
        if name.lower() in names:
            raise StatementError("DUPLICATE_COLUMN_NAME", f"Column name '{name}' specified more than once")
        names.add(name.lower())
    return [(name.lower(), type_) for name, type_ in columns]


def _table(statement: CreateView, columns: Sequence[tuple[str, Type]], database: str) -> dict[str, Any]:
    view = StoredView(statement.sql, database, [(name, str(type_)) for name, type_ in columns])
    return {
        "Name": statement.table.name,
        "TableType": VIEW_TYPE,
        "Parameters": {"presto_view": "true", "comment": statement.comment or "Presto View"},
        "PartitionKeys": [],
        "StorageDescriptor": {
            "Columns": [{"Name": name, "Type": hive_text(type_)} for name, type_ in columns],
            "Location": "",
            "SerdeInfo": {},
        },
        "ViewOriginalText": view_text(view),
        "ViewExpandedText": "/* Presto View */",
    }
