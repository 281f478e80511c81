"""SHOW of names: databases, tables, views, columns, partitions, properties, functions."""

import re
from collections.abc import Callable, Mapping, Sequence

from penstock.catalog.model import Table
from penstock.errors import NotFound
from penstock.lake.iceberg.glue_tables import current_columns
from penstock.lake.partitions import partition_path
from penstock.query.ddl.databases import DEFAULT
from penstock.query.ddl.errors import home_of, semantic_error, table_of
from penstock.query.engine.context import ExecutionContext
from penstock.query.ports import CATALOG_NAME, CatalogReader
from penstock.query.shows.creation import create_table, create_view
from penstock.query.shows.result import ShowResult
from penstock.query.tables import information_schema
from penstock.query.tables.shown import shown_table
from penstock.query.tables.views import VIEW_TYPE
from penstock.sql.errors import StatementError
from penstock.sql.functions.table import AREAS
from penstock.sql.statements.model import Show
from penstock.sql.trino_types import Type
from penstock.wildcards import expression

__all__ = ["show"]


def show(context: ExecutionContext, statement: Show) -> ShowResult:
    """Run ``statement``. Raises :class:`StatementError` if the database or table does not exist."""
    catalog, database = context.host, context.task.database
    if statement.catalog is not None and not catalog.is_named(statement.catalog):
        raise StatementError("CATALOG_NOT_FOUND", f"Catalog '{statement.catalog}' does not exist")
    if statement.what in {"CATALOGS", "DATABASES"}:
        is_catalogs = statement.what == "CATALOGS"
        names = [CATALOG_NAME.lower()] if is_catalogs else [item.name for item in catalog.databases()]
        heading = "Catalog" if is_catalogs else "database_name"
        return ShowResult([heading], [[name] for name in _matching(names, statement)])
    if statement.what in {"TABLES", "VIEWS"}:
        return _tables(statement, catalog, statement.database or database)
    if statement.what == "FUNCTIONS":
        return _functions(statement)
    assert statement.table is not None
    home = home_of(catalog, statement.table, statement.database or database) if statement.database else database
    table = shown_table(catalog, table_of(catalog, statement.table, home))
    if statement.what == "PARTITIONS":
        return _partitions(table, catalog)
    if statement.what == "TBLPROPERTIES":
        return _properties(table, statement.pattern)
    return _ABOUT[statement.what](context, table)


def _tables(statement: Show, catalog: CatalogReader, database: str | None) -> ShowResult:
    if database is None:
        raise StatementError(
            "MISSING_SCHEMA_NAME", "No database is set.", remedy=f"Write SHOW {statement.what} IN database."
        )
    name = database.lower()
    try:
        tables = catalog.tables(name) if name != information_schema.NAME else information_schema.schema_tables()
    except NotFound:
        if name == DEFAULT:
            return ShowResult(["views" if statement.what == "VIEWS" else "tab_name"], [])
        raise semantic_error(f"Database does not exist: {name}", number=10072) from None
    views = statement.what == "VIEWS"
    names = sorted(table.name for table in tables if not views or table.table_type == VIEW_TYPE)
    return ShowResult(["views" if views else "tab_name"], [[name] for name in _matching(names, statement)])


def _matching(names: Sequence[str], statement: Show) -> Sequence[str]:
    """Return the names that match Hive's pattern, ``*`` or ``.*`` for any text and ``|`` between choices, or SQL's."""
    if statement.like is not None:
        parts = ["".join("." if sign == "_" else re.escape(sign) for sign in part) for part in statement.like.split("%")]
        choices = [expression(parts)]
    elif statement.pattern is not None:
        texts = statement.pattern.replace(".*", "*").split("|")
        choices = [expression([re.escape(part) for part in text.strip().split("*")]) for text in texts]
    else:
        return names
    matcher = re.compile("|".join(choices), re.IGNORECASE | re.DOTALL)
    return [name for name in names if matcher.fullmatch(name)]


def _partitions(table: Table, catalog: CatalogReader) -> ShowResult:
    if not table.partition_keys:
        raise StatementError(
            "FAILED",
            "Execution Error, return code 1 from org.apache.hadoop.hive.ql.exec.DDLTask. "
            f"Table {table.database}.{table.name} is not a partitioned table",
        )
    keys = [key.name for key in table.partition_keys]
    partitions = catalog.partitions(table.database, table.name)
    return ShowResult(["partition"], [[partition_path(keys, list(partition.values))] for partition in partitions])


def _properties(table: Table, name: str | None) -> ShowResult:
    is_external = table.table_type == "EXTERNAL_TABLE"
    properties = {**({"EXTERNAL": "TRUE"} if is_external else {}), **table.parameters}
    if name is not None:
        value = properties.get(name, f"Table {table.database}.{table.name} does not have property: {name}")
        return ShowResult(["prpt_name", "prpt_value"], [[name, value]])
    return ShowResult(["prpt_name", "prpt_value"], [[key, value] for key, value in sorted(properties.items())])


def _columns(_context: ExecutionContext, table: Table) -> ShowResult:
    return ShowResult(["field"], [[column.name.ljust(20)] for column in (*current_columns(table), *table.partition_keys)])


def _functions(statement: Show) -> ShowResult:
    """List the functions that are served. A result's type that depends on the arguments' types is left out."""
    rows: dict[str, list[str]] = {}
    for row in (row for modules in AREAS.values() for module in modules for row in module.ROWS):
        if row.refused is None and re.fullmatch(r"[a-z]\w*", row.name):
            returns = str(row.returns) if isinstance(row.returns, Type) else ""
            rows.setdefault(row.name, [row.name, returns, "", row.kind, str(row.repeatable).lower(), row.note])
    names = ["Function", "Return Type", "Argument Types", "Function Type", "Deterministic", "Description"]
    return ShowResult(names, [rows[name] for name in _matching(sorted(rows), statement)])


_ABOUT: Mapping[str, Callable[[ExecutionContext, Table], ShowResult]] = {
    "COLUMNS": _columns,
    "CREATE_TABLE": create_table,
    "CREATE_VIEW": create_view,
}
