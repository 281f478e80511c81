"""SHOW and DESCRIBE: they read the catalog and return the columns and lines that Athena returns."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.catalog.model import Column, Table
from penstock.errors import NotFound
from penstock.lake.partitions import partition_path
from penstock.query.dialect.statements.model import Describe, Show
from penstock.query.dialect.statements.names import TableName
from penstock.query.dialect.types import quote_text
from penstock.query.errors import StatementError
from penstock.query.ports import CatalogReader
from penstock.query.tables.kinds import find_table
from penstock.statements.model import ResultColumn
from penstock.wildcards import expression

__all__ = ["ShowResult", "describe", "show"]


@dataclass(frozen=True, slots=True)
class ShowResult:
    """Column names and rows; all values are text."""

    names: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def columns(self) -> Sequence[ResultColumn]:
        """The columns as Athena describes them."""
        return [ResultColumn(name=name, type="string") for name in self.names]


def show(statement: Show, catalog: CatalogReader, database: str | None) -> ShowResult:
    """Run ``statement``. Raises :class:`StatementError` if the database or table does not exist."""
    if statement.what == "DATABASES":
        names = [each.name for each in catalog.databases()]
        return ShowResult(["database_name"], [[name] for name in _matching(names, statement.pattern)])
    if statement.what in {"TABLES", "VIEWS"}:
        return _tables(statement, catalog, statement.database or database)
    assert statement.table is not None
    name = statement.table
    if statement.database is not None:
        name = TableName(name.name, statement.database, name.catalog)
    table = find_table(catalog, name, database=database)
    if statement.what == "PARTITIONS":
        return _partitions(table, catalog)
    if statement.what == "TBLPROPERTIES":
        return _properties(table, statement.pattern)
    return _columns(table) if statement.what == "COLUMNS" else _create_table(table)


def describe(statement: Describe, catalog: CatalogReader, database: str | None) -> ShowResult:
    """Run DESCRIBE. Raises :class:`StatementError` if the table does not exist."""
    return _describe(find_table(catalog, statement.table, database=database))


def _tables(statement: Show, catalog: CatalogReader, database: str | None) -> ShowResult:
    if database is None:
        raise StatementError(
            "MISSING_SCHEMA_NAME", "No database is set.", remedy=f"Write SHOW {statement.what} IN database."
        )
    try:
        tables = catalog.tables(database.lower())
    except NotFound:
        raise StatementError("SCHEMA_NOT_FOUND", f"Schema '{database.lower()}' does not exist") from None
    views = statement.what == "VIEWS"
    names = [each.name for each in tables if not views or each.table_type == "VIRTUAL_VIEW"]
    return ShowResult(["views" if views else "tab_name"], [[name] for name in _matching(sorted(names), statement.pattern)])


def _matching(names: Sequence[str], pattern: str | None) -> Sequence[str]:
    """Return the names that match Hive's pattern: ``*`` for any text, ``|`` between choices."""
    if pattern is None:
        return names
    choices = [expression([re.escape(part) for part in choice.strip().split("*")]) for choice in pattern.split("|")]
    wanted = re.compile("|".join(choices), re.IGNORECASE | re.DOTALL)
    return [name for name in names if wanted.fullmatch(name)]


def _partitions(table: Table, catalog: CatalogReader) -> ShowResult:
    if not table.partition_keys:
        raise StatementError("NOT_SUPPORTED", f"Table {table.database}.{table.name} is not a partitioned table")
    keys = [key.name for key in table.partition_keys]
    found = catalog.partitions(table.database, table.name)
    return ShowResult(["partition"], [[partition_path(keys, list(each.values))] for each in found])


def _properties(table: Table, wanted: str | None) -> ShowResult:
    properties = _parameters(table)
    if wanted is not None:
        value = properties.get(wanted, f"Table {table.database}.{table.name} does not have property: {wanted}")
        return ShowResult(["prpt_name", "prpt_value"], [[wanted, value]])
    return ShowResult(["prpt_name", "prpt_value"], [[key, value] for key, value in sorted(properties.items())])


def _parameters(table: Table) -> Mapping[str, str]:
    return {"EXTERNAL": "TRUE", **table.parameters} if table.table_type == "EXTERNAL_TABLE" else table.parameters


def _columns(table: Table) -> ShowResult:
    return ShowResult(["field"], [[column.name.ljust(20)] for column in (*table.storage.columns, *table.partition_keys)])


def _describe(table: Table) -> ShowResult:
    rows = [_described(column) for column in (*table.storage.columns, *table.partition_keys)]
    if table.partition_keys:
        rows += [
            ["", "", ""],
            ["# Partition Information", "", ""],
            [each.ljust(20) for each in ("# col_name", "data_type", "comment")],
        ]
        rows += [["", "", ""], *(_described(column) for column in table.partition_keys)]
    return ShowResult(["col_name", "data_type", "comment"], rows)


def _described(column: Column) -> list[str]:
    comment = (column.comment or "").replace("\t", " ").replace("\n", " ")
    return [column.name.ljust(20), (column.type or "string").ljust(20), comment.ljust(20)]


def _create_table(table: Table) -> ShowResult:
    lines = [f"CREATE EXTERNAL TABLE `{table.database}.{table.name}`(", *_definitions(table.storage.columns)]
    if table.partition_keys:
        lines += ["PARTITIONED BY ( ", *_definitions(table.partition_keys)]
    serde = table.storage.serde_info
    if serde is not None and serde.serialization_library:
        lines += ["ROW FORMAT SERDE ", f"  {quote_text(serde.serialization_library)} "]
        if serde.parameters:
            lines += ["WITH SERDEPROPERTIES ( ", *_pairs(serde.parameters)]
    if table.storage.input_format:
        lines += ["STORED AS INPUTFORMAT ", f"  {quote_text(table.storage.input_format)} "]
        lines += ["OUTPUTFORMAT ", f"  {quote_text(table.storage.output_format or '')}"]
    if table.storage.location:
        lines += ["LOCATION", f"  {quote_text(table.storage.location)}"]
    if table.parameters:
        lines += ["TBLPROPERTIES (", *_pairs(table.parameters)]
    return ShowResult(["createtab_stmt"], [[line] for line in lines])


def _definitions(columns: Sequence[Column]) -> list[str]:
    comments = [f" COMMENT {quote_text(column.comment)}" if column.comment else "" for column in columns]
    ends = [", "] * (len(columns) - 1) + [")"]
    return [
        f"  `{column.name}` {column.type or 'string'}{comment}{end}"
        for column, comment, end in zip(columns, comments, ends, strict=False)
    ]


def _pairs(values: Mapping[str, str]) -> list[str]:
    ends = [", "] * (len(values) - 1) + [")"]
    return [
        f"  {quote_text(key)}={quote_text(value)}{end}"
        for (key, value), end in zip(sorted(values.items()), ends, strict=True)
    ]
