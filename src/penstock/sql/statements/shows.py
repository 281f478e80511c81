"""SHOW and DESCRIBE. Source: Athena user guide, "DDL statements"."""

import re
from collections.abc import Callable, Mapping
from typing import Literal

from penstock.sql.queries import query
from penstock.sql.statements.columns import partition_spec
from penstock.sql.statements.cursor import Cursor
from penstock.sql.statements.model import Describe, DescribePrepared, Show, ShowStats
from penstock.sql.statements.trino import statement_name
from penstock.statements.data_catalogs import CATALOG_NAME

__all__ = ["describe", "describe_prepared", "show", "show_stats"]

_SERVED = (
    "SHOW CATALOGS, DATABASES, TABLES, VIEWS, COLUMNS, PARTITIONS, CREATE TABLE, CREATE VIEW, TBLPROPERTIES, FUNCTIONS, "
    "STATS FOR are supported."
)


_READ = "TABLE "


def show(cursor: Cursor) -> Show:
    """Read what follows SHOW."""
    for words, read in _SHOWS.items():
        if cursor.accept(*words.split()):
            return read(cursor)
    words = " ".join(filter(None, (cursor.peek().word, cursor.peek(1).word)))[:50]
    raise cursor.unsupported(f"SHOW {words}".strip(), _SERVED)


def describe(cursor: Cursor) -> Describe:
    """Read what follows DESCRIBE."""
    style: Literal["", "EXTENDED", "FORMATTED"] = ""
    # Each of these words may be the name of a table, too.
    if cursor.peek(1).kind in {"word", "double", "backquoted"}:
        if cursor.accept("EXTENDED"):
            style = "EXTENDED"
        elif cursor.accept("FORMATTED"):
            style = "FORMATTED"
        elif cursor.at("TABLE") or cursor.at("VIEW"):
            cursor.take()
    table = cursor.table()
    partition = partition_spec(cursor) if cursor.at("PARTITION", "(") else ()
    column = []
    if cursor.peek().kind in {"word", "double", "backquoted"}:
        column.append(cursor.name())
        while cursor.accept("."):
            column.append(cursor.string().lower() if cursor.peek().kind == "text" else cursor.name())
    return Describe(table=table, style=style, partition=partition, column=tuple(column))


def describe_prepared(cursor: Cursor, what: Literal["INPUT", "OUTPUT"]) -> DescribePrepared:
    """Read what follows DESCRIBE INPUT or DESCRIBE OUTPUT."""
    return DescribePrepared(name=statement_name(cursor), what=what)


def show_stats(cursor: Cursor) -> ShowStats:
    """Read what follows SHOW STATS FOR: a table, or a query in brackets."""
    start = cursor.rest()
    if cursor.at("("):
        return ShowStats(query=query(cursor.text, start))
    cursor.table()
    end = cursor.rest()
    cursor.finish()
    # The query's words take the place of those before the name, so that positions are those of the text.
    before = re.sub(r"[^\n]", " ", cursor.text[: start - len(_READ)])
    return ShowStats(query=query(f"{before}{_READ}{cursor.text[start:end]}"))


def _catalogs(cursor: Cursor) -> Show:
    if not cursor.accept("LIKE"):
        return Show(what="CATALOGS")
    return Show(what="CATALOGS", like=cursor.string())


def _databases(cursor: Cursor) -> Show:
    catalog = _other(cursor.name()) if cursor.accept("IN") or cursor.accept("FROM") else None
    pattern, like = _pattern(cursor)
    return Show(what="DATABASES", catalog=catalog, pattern=pattern, like=like)


def _tables(cursor: Cursor) -> Show:
    catalog, database = _database(cursor)
    pattern, like = _pattern(cursor)
    return Show(what="TABLES", catalog=catalog, database=database, pattern=pattern, like=like)


def _views(cursor: Cursor) -> Show:
    catalog, database = _database(cursor)
    pattern, like = _pattern(cursor)
    return Show(what="VIEWS", catalog=catalog, database=database, pattern=pattern, like=like)


def _columns(cursor: Cursor) -> Show:
    cursor.choose("IN", "FROM")
    table = cursor.table()
    catalog, database = _database(cursor)
    return Show(what="COLUMNS", table=table, catalog=catalog, database=database)


def _partitions(cursor: Cursor) -> Show:
    table = cursor.table()
    if cursor.at("PARTITION"):
        raise cursor.unsupported("SHOW PARTITIONS of a partition", 'SELECT from "table$partitions" chooses partitions.')
    return Show(what="PARTITIONS", table=table)


def _properties(cursor: Cursor) -> Show:
    table, name = cursor.table(), None
    if cursor.accept("("):
        name = cursor.string()
        cursor.expect(")")
    return Show(what="TBLPROPERTIES", table=table, pattern=name)


def _functions(cursor: Cursor) -> Show:
    if not cursor.accept("LIKE"):
        return Show(what="FUNCTIONS")
    like = cursor.string()
    if cursor.at("ESCAPE"):
        raise cursor.unsupported("ESCAPE")
    return Show(what="FUNCTIONS", like=like)


def _database(cursor: Cursor) -> tuple[str | None, str | None]:
    """Return the catalog and the database of IN or FROM, None for what is not named."""
    if not (cursor.accept("IN") or cursor.accept("FROM")):
        return None, None
    name = cursor.name()
    return (_other(name), cursor.name()) if cursor.accept(".") else (None, name)


def _other(catalog: str) -> str | None:
    """Return the name of a catalog, None for that of the account's own."""
    return None if catalog == CATALOG_NAME.lower() else catalog


def _pattern(cursor: Cursor) -> tuple[str | None, str | None]:
    """Return Hive's pattern, or SQL's: a LIKE with a percent sign is of the latter kind, as Hive has no such sign."""
    like = cursor.accept("LIKE")
    if cursor.peek().kind not in {"text", "double"} and not like:
        return None, None
    text = cursor.string()
    return (None, text) if like and "%" in text else (text, None)


_SHOWS: Mapping[str, Callable[[Cursor], Show]] = {
    "CATALOGS": _catalogs,
    "DATABASES": _databases,
    "SCHEMAS": _databases,
    "TABLES": _tables,
    "VIEWS": _views,
    "COLUMNS": _columns,
    "PARTITIONS": _partitions,
    "CREATE TABLE": lambda cursor: Show(what="CREATE_TABLE", table=cursor.table()),
    "CREATE VIEW": lambda cursor: Show(what="CREATE_VIEW", table=cursor.table()),
    "TBLPROPERTIES": _properties,
    "FUNCTIONS": _functions,
}
