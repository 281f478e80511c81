"""Statements that are about Iceberg tables. What they need is imported when there is one, as it takes half a second."""

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from penstock.catalog.model import Table
from penstock.errors import NotFound
from penstock.query.engine.context import ExecutionContext
from penstock.query.tables.lookup import find_database, find_table, is_iceberg
from penstock.query.task import Outcome
from penstock.sql.errors import StatementError
from penstock.sql.statements import model

__all__ = ["MAY_BE_ICEBERG", "changed_rows", "run_iceberg"]

_TABLE_ONLY = (model.Delete, model.Update, model.Merge, model.Optimize, model.Vacuum)
MAY_BE_ICEBERG = (*_TABLE_ONLY, model.Insert, model.AlterTable, model.DropTable, model.CreateTable, model.CreateTableAs)
"""Statements that are about Iceberg tables alone, or about Hive's and Iceberg's."""


def run_iceberg(context: ExecutionContext, statement: Any) -> Outcome | None:
    """Carry out ``statement`` if it is about an Iceberg table; None if it is about something else.

    Raises :class:`StatementError`, also for statements that only Iceberg tables have and that name another one.
    """
    if isinstance(statement, model.CreateTable | model.CreateTableAs):
        return _create(context, statement)
    table = _table(context, statement)
    if table is None or not is_iceberg(table):
        if isinstance(statement, _TABLE_ONLY):
            raise _not_iceberg(statement)
        return None
    from penstock.query.writing.iceberg.dispatch import change_table  # noqa: PLC0415 - see above

    return change_table(context, statement, table)


def changed_rows(context: ExecutionContext, statement: model.Delete | model.Update | model.Merge) -> exp.Select:
    """Return the query for the rows that ``statement`` changes, for its plan alone. Raises :class:`StatementError`."""
    table = find_table(context.host, statement.table, database=context.task.database)
    if not is_iceberg(table):
        raise _not_iceberg(statement)
    from penstock.query.writing.iceberg import row_changes  # noqa: PLC0415 - see above

    return row_changes.changed_rows(context, statement, table)


def _not_iceberg(statement: Any) -> StatementError:
    return StatementError(
        "NOT_SUPPORTED", f"{statement.substatement} is for Iceberg tables, and '{statement.table}' is not one."
    )


def _create(context: ExecutionContext, statement: model.CreateTable | model.CreateTableAs) -> Outcome | None:
    if not (statement.is_iceberg if isinstance(statement, model.CreateTable) else _says_iceberg(statement.properties)):
        return None
    from penstock.query.writing.iceberg.dispatch import create  # noqa: PLC0415 - see above

    return create(context, statement)


def _says_iceberg(properties: Mapping[str, model.PropertyValue]) -> bool:
    return str(properties.get("table_type", "")).upper() == "ICEBERG"


def _table(context: ExecutionContext, statement: Any) -> Table | None:
    host, database = context.host, context.task.database
    if isinstance(statement, (model.AlterTable, model.DropTable)):
        # What is wrong with the name is for DDL's own errors.
        try:
            return host.table(find_database(host, statement.table, database), statement.table.name)
        except (StatementError, NotFound):
            return None
    return find_table(host, statement.table, database=database)
