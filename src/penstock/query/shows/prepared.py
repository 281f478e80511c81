"""DESCRIBE INPUT and DESCRIBE OUTPUT: the parameters and the columns of a prepared statement.

Source: Trino's documentation, "DESCRIBE INPUT" and "DESCRIBE OUTPUT".
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, build_scope

from penstock.errors import NotFound
from penstock.query.engine.context import ExecutionContext
from penstock.query.ports import CATALOG_NAME
from penstock.query.shows.result import ShowResult
from penstock.query.writing.iceberg.statements import changed_rows
from penstock.sql.errors import InvalidRequest, StatementError
from penstock.sql.parameters import numbered, parameter_types
from penstock.sql.parse import parse_prepared
from penstock.sql.statements.model import (
    CreateTableAs,
    Delete,
    DescribePrepared,
    Insert,
    Merge,
    Parsed,
    Select,
    Unload,
    Update,
)
from penstock.sql.trino_types import BIGINT, Type

__all__ = ["describe_prepared"]

_INPUT = ["Position", "Type"]
_OUTPUT = ["Column Name", "Catalog", "Schema", "Table", "Type", "Type Size", "Aliased"]
_WITH_QUERY = (Insert, CreateTableAs, Unload)
_BYTES = {1: "boolean tinyint unknown", 2: "smallint", 4: "integer date real", 8: "bigint double timestamp time", 16: "uuid"}
_SIZES: Mapping[str, int] = {
    "timestamp with time zone": 8,
    **{name: size for size, names in _BYTES.items() for name in names.split()},
}
"""The bytes of a value of the types that have a size, 0 for all others."""
_Origin = tuple[str, str, str]  # database, table, column


def describe_prepared(context: ExecutionContext, statement: DescribePrepared) -> ShowResult:
    """Run DESCRIBE INPUT or OUTPUT. Raises :class:`StatementError`, also if there is no statement of this name."""
    try:
        text = context.host.change("GetPreparedStatement", {"StatementName": statement.name})["QueryStatement"]
    except NotFound as error:
        raise StatementError("NOT_FOUND", error.message, remedy="PREPARE makes one.") from error
    parsed, query, types = _parsed(context, str(text))
    origins = _origins(context, query) if isinstance(parsed, Select) else []
    with context.planned(Select(tree=query), explain=True) as (session, plan, _):
        columns = session.described(plan)
    if statement.what == "INPUT":
        return ShowResult(_INPUT, [[str(at), str(type_ or "unknown")] for at, type_ in enumerate(types)])
    if not isinstance(parsed, Select):
        return ShowResult(_OUTPUT, [_column("rows", BIGINT, None)])
    origins = origins if len(origins) == len(columns) else [None] * len(columns)
    return ShowResult(_OUTPUT, [_column(*column, origin) for column, origin in zip(columns, origins, strict=True)])


def _parsed(context: ExecutionContext, text: str) -> tuple[Parsed, exp.Query, Sequence[Type | None]]:
    """Return a prepared statement, the query for its rows, and its parameters' types, which planning the query fills in."""
    sql, count = numbered(text)
    try:
        parsed = parse_prepared(sql)
    except InvalidRequest as error:
        raise StatementError("SYNTAX_ERROR", error.message, remedy=error.remedy) from error
    if isinstance(parsed, Delete | Update | Merge):
        types = parameter_types(parsed.tree, count)
        return parsed, changed_rows(context, parsed), types
    query = parsed.tree if isinstance(parsed, Select) else parsed.query if isinstance(parsed, _WITH_QUERY) else None
    if query is None:
        raise StatementError("NOT_SUPPORTED", f"DESCRIBE of {parsed.substatement.replace('_', ' ')} is not supported.")
    return parsed, query, parameter_types(query, count)


def _column(name: str, type_: Type, origin: _Origin | None) -> Sequence[str]:
    database, table, own = origin or ("", "", "")
    aliased = (bool(own) and own != name.lower()) or (not origin and not name.startswith("_col") and name != "rows")
    catalog = CATALOG_NAME.lower() if origin else ""
    return [name, catalog, database, table, str(type_), str(_SIZES.get(type_.name, 0)), str(aliased).lower()]


def _origins(context: ExecutionContext, query: exp.Query) -> Sequence[_Origin | None]:
    """Return the table's column that each column of a result is; None for one that is computed."""
    scope = build_scope(query)
    return [origin for _, origin in _fields(context, scope)] if scope is not None else []


def _fields(context: ExecutionContext, scope: Scope) -> Sequence[tuple[str, _Origin | None]]:
    query = scope.expression
    if isinstance(query, exp.SetOperation):
        return [(name, None) for name in query.named_selects]
    fields: list[tuple[str, _Origin | None]] = []
    for expression in query.expressions if isinstance(query, exp.Select) else ():
        inside = expression.unalias()
        if expression.is_star:
            only = inside.table.lower() if isinstance(inside, exp.Column) else ""
            for alias, (_, source) in scope.selected_sources.items():
                if only in {"", alias.lower()}:
                    fields += _of_source(context, source)
        elif isinstance(inside, exp.Column):
            fields.append((expression.alias_or_name, _named(context, scope, inside)))
        else:
            fields.append((expression.alias_or_name, None))
    return fields


def _named(context: ExecutionContext, scope: Scope, column: exp.Column) -> _Origin | None:
    for alias, (_, source) in scope.selected_sources.items():
        if column.table.lower() in {"", alias.lower()}:
            for name, origin in _of_source(context, source):
                if name.lower() == column.name.lower():
                    return origin
    return None


def _of_source(context: ExecutionContext, source: exp.Expr | Scope) -> Sequence[tuple[str, _Origin | None]]:
    if isinstance(source, Scope):
        return _fields(context, source)
    if not isinstance(source, exp.Table):
        return []
    database = (source.db or context.task.database or "").lower()
    try:
        table = context.host.table(database, source.name.lower())
    except NotFound:
        return []
    columns = [column.name.lower() for column in (*table.storage.columns, *table.partition_keys)]
    return [(name, (database, table.name, name)) for name in columns]
