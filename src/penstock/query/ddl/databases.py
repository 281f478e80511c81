"""CREATE, ALTER and DROP of databases."""

from contextlib import suppress

from penstock.errors import AlreadyExists, NotFound
from penstock.query.ddl.errors import execution_error, hive_errors, semantic_error
from penstock.query.engine.context import ExecutionContext
from penstock.query.task import Outcome
from penstock.sql.statements.model import AlterDatabase, CreateDatabase, DropDatabase
from penstock.sql.statements.names import TableName

__all__ = ["DEFAULT", "add_default", "alter_database", "create_database", "drop_database"]


DEFAULT = "default"
"""The database that every catalog of Hive has: empty until something is made in it, which adds it to the catalog."""


def add_default(context: ExecutionContext, table: TableName) -> None:
    """Add the database ``default`` if ``table`` is to be made in it, as Glue's client for Hive does.

    Raises :class:`StatementError` if the caller may not.
    """
    if (table.database or (context.task.database or "")).lower() != DEFAULT:
        return
    try:
        context.host.database(DEFAULT)
    except NotFound:
        with hive_errors(), suppress(AlreadyExists):
            request = {"Name": DEFAULT, "Description": "Default Hive database"}
            context.host.change("CreateDatabase", {"DatabaseInput": request})


def create_database(context: ExecutionContext, statement: CreateDatabase) -> Outcome:
    """Add a database. Raises :class:`StatementError` if its name is taken, without IF NOT EXISTS."""
    request: dict[str, object] = {"Name": statement.name, "Parameters": dict(statement.properties)}
    if statement.comment is not None:
        request["Description"] = statement.comment
    if statement.location is not None:
        request["LocationUri"] = statement.location
    with hive_errors():
        try:
            context.host.change("CreateDatabase", {"DatabaseInput": request})
        except AlreadyExists:
            if not statement.if_not_exists:
                raise execution_error("AlreadyExistsException", f"Database {statement.name} already exists") from None
    return context.text_result()


def drop_database(context: ExecutionContext, statement: DropDatabase) -> Outcome:
    """Remove a database, with CASCADE also its tables, which the host checks as their own removal.

    Raises :class:`StatementError` if it does not exist or is not empty.
    """
    host, name = context.host, statement.name
    try:
        host.database(name)
        tables = host.tables(name)
    except NotFound:
        if statement.if_exists:
            return context.text_result()
        raise semantic_error(f"Database does not exist: {name}", number=10072) from None
    if tables and not statement.cascade:
        raise execution_error(
            "InvalidOperationException",
            f"Database {name} is not empty. One or more tables exist.",
            remedy="Drop its tables, or add CASCADE.",
        )
    with hive_errors():
        try:
            host.change("DeleteDatabase", {"Name": name})
        except NotFound:
            if not statement.if_exists:
                raise
    return context.text_result()


def alter_database(context: ExecutionContext, statement: AlterDatabase) -> Outcome:
    """Set properties of a database; the others stay."""
    try:
        database = context.host.database(statement.name)
    except NotFound:
        raise semantic_error(f"Database does not exist: {statement.name}", number=10072) from None
    request = {
        **database.extra,
        "Name": database.name,
        "Parameters": {**database.parameters, **statement.properties},
        **({"Description": database.description} if database.description is not None else {}),
        **({"LocationUri": database.location_uri} if database.location_uri is not None else {}),
    }
    with hive_errors():
        context.host.change("UpdateDatabase", {"Name": database.name, "DatabaseInput": request})
    return context.text_result()
