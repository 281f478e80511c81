"""PREPARE and DEALLOCATE PREPARE. EXECUTE is accepted as the statement that it names."""

from penstock.errors import AlreadyExists, LimitExceeded, NotFound
from penstock.query.engine.context import ExecutionContext
from penstock.query.task import Outcome
from penstock.sql.errors import InvalidRequest, StatementError
from penstock.sql.parse import parse_prepared
from penstock.sql.statements.model import (
    CreateTableAs,
    Deallocate,
    Delete,
    Insert,
    Merge,
    Prepare,
    Select,
    Unload,
    Update,
)

__all__ = ["deallocate", "prepare"]

_PREPARED = (Select, CreateTableAs, Insert, Unload, Merge, Update, Delete)


def prepare(context: ExecutionContext, statement: Prepare) -> Outcome:
    """Store a statement under a name of the work group. Raises :class:`StatementError` if the name is taken."""
    try:
        parsed = parse_prepared(statement.sql)
    except InvalidRequest as error:
        raise StatementError("SYNTAX_ERROR", error.message, remedy=error.remedy) from error
    if not isinstance(parsed, _PREPARED):
        raise StatementError("NOT_SUPPORTED", f"{parsed.substatement.replace('_', ' ')} cannot be prepared.")
    try:
        context.host.change("CreatePreparedStatement", {"StatementName": statement.name, "QueryStatement": statement.sql})
    except AlreadyExists as error:
        raise StatementError("ALREADY_EXISTS", error.message, remedy="DEALLOCATE PREPARE it first.") from error
    except LimitExceeded as error:
        raise StatementError("INVALID_ARGUMENTS", error.message, remedy=error.remedy) from error
    return context.text_result()


def deallocate(context: ExecutionContext, statement: Deallocate) -> Outcome:
    """Delete a prepared statement. Raises :class:`StatementError` if there is none of this name."""
    try:
        context.host.change("DeletePreparedStatement", {"StatementName": statement.name})
    except NotFound as error:
        raise StatementError("NOT_FOUND", error.message) from error
    return context.text_result()
