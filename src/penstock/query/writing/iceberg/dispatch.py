"""Which function carries out a statement about an Iceberg table."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.catalog.model import Table
from penstock.query.engine.context import ExecutionContext
from penstock.query.task import Outcome
from penstock.query.writing.iceberg.alters import alter_table
from penstock.query.writing.iceberg.definitions import create_table, create_table_as
from penstock.query.writing.iceberg.inserts import insert
from penstock.query.writing.iceberg.optimize import optimize
from penstock.query.writing.iceberg.removal import drop_table, vacuum
from penstock.query.writing.iceberg.row_changes import delete, merge, update
from penstock.sql.statements import model

__all__ = ["change_table", "create"]


def create(context: ExecutionContext, statement: model.CreateTable | model.CreateTableAs) -> Outcome:
    """Create an Iceberg table."""
    if isinstance(statement, model.CreateTable):
        return create_table(context, statement)
    return create_table_as(context, statement)


def change_table(context: ExecutionContext, statement: Any, table: Table) -> Outcome:
    """Carry out a statement that changes the Iceberg table ``table``."""
    needed = _WRITES.get(type(statement))
    if needed:
        context.host.check_writing(table.database, table.name, needed)
    return CHANGES[type(statement)](context, statement, table)


_WRITES: Mapping[type, Sequence[str]] = {
    model.Insert: ("INSERT",),
    model.Delete: ("DELETE",),
    model.Update: ("INSERT", "DELETE"),
    model.Merge: ("INSERT", "DELETE"),
}
"""Lake Formation's permissions for statements that change rows."""

CHANGES: Mapping[type, Callable[[ExecutionContext, Any, Table], Outcome]] = {
    model.Insert: insert,
    model.Delete: delete,
    model.Update: update,
    model.Merge: merge,
    model.AlterTable: alter_table,
    model.DropTable: drop_table,
    model.Optimize: optimize,
    model.Vacuum: vacuum,
}
"""By the class of the statement."""
