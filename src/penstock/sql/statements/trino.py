"""Statements that have a query in them, and those about statements: Trino's grammar.

Sources: Athena user guide, "DML queries, functions, and operators"; Trino documentation, "SQL statement syntax".
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from sqlglot import exp

from penstock.sql.queries import constant, query, tree_of
from penstock.sql.statements.cursor import Cursor, Token
from penstock.sql.statements.model import (
    CreateTableAs,
    CreateView,
    Deallocate,
    Delete,
    DropView,
    Execute,
    ExecuteImmediate,
    ExplainFormat,
    ExplainPlan,
    Insert,
    Merge,
    Optimize,
    Prepare,
    PropertyValue,
    Unload,
    Update,
    Vacuum,
)
from penstock.sql.statements.names import TableName

__all__ = [
    "create_table_as",
    "create_view",
    "deallocate",
    "delete",
    "drop_view",
    "execute",
    "explain_options",
    "insert",
    "merge",
    "optimize",
    "prepare",
    "statement_name",
    "unload",
    "update",
    "vacuum",
]

_STATEMENT_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_@:]{0,255}")
"""Athena API reference, "CreatePreparedStatement"."""


def create_table_as(cursor: Cursor, table: TableName, *, if_not_exists: bool) -> CreateTableAs:
    """Read what follows the name in CREATE TABLE ... AS."""
    comment = cursor.string() if cursor.accept("COMMENT") else None
    table_properties = _properties(cursor) if cursor.accept("WITH") else {}
    cursor.expect("AS")
    start = cursor.rest()
    end, with_data = _without_data(cursor)
    return CreateTableAs(
        table=table,
        query=query(cursor.text, start, end),
        properties=table_properties,
        comment=comment,
        if_not_exists=if_not_exists,
        with_data=with_data,
    )


def create_view(cursor: Cursor, *, replace: bool) -> CreateView:
    """Read what follows CREATE VIEW."""
    table = cursor.table()
    comment = cursor.string() if cursor.accept("COMMENT") else None
    if cursor.at("SECURITY", "DEFINER"):
        raise cursor.unsupported("SECURITY DEFINER", "A view is read with the rights of the caller of the query.")
    cursor.accept("SECURITY", "INVOKER")
    if cursor.at("("):
        raise cursor.unsupported("A list of a view's columns", "Name them in the query: SELECT x AS name.")
    cursor.expect("AS")
    start = cursor.rest()
    tree = query(cursor.text, start)
    end = _end(cursor)
    return CreateView(table=table, sql=cursor.text[start:end], query=tree, comment=comment, replace=replace)


def drop_view(cursor: Cursor) -> DropView:
    """Read what follows DROP VIEW."""
    if_exists = cursor.accept("IF", "EXISTS")
    return DropView(table=cursor.table(), if_exists=if_exists)


def insert(cursor: Cursor) -> Insert:
    """Read what follows INSERT INTO."""
    table = cursor.table()
    columns: Sequence[str] = ()
    inner = cursor.peek(1)
    if cursor.at("(") and inner.word not in {"SELECT", "WITH", "VALUES", "TABLE"} and inner.value != "(":
        columns = cursor.listed(cursor.name)
        twice = sorted(name for name, count in Counter(columns).items() if count > 1)
        if twice:
            raise cursor.invalid(inner, f"Insert column name is specified more than once: {twice[0]}")
    return Insert(table=table, columns=columns, query=query(cursor.text, cursor.rest()))


def unload(cursor: Cursor) -> Unload:
    """Read what follows UNLOAD."""
    cursor.expect("(")
    start = cursor.rest()
    depth = 1
    while depth:
        token = cursor.peek()
        if token.kind == "end":
            raise cursor.refused("')'")
        if token.kind == "sign":
            depth += (token.value == "(") - (token.value == ")")
        end = token.start
        cursor.take()
    cursor.expect("TO")
    location = cursor.string()
    options = _properties(cursor) if cursor.accept("WITH") else {}
    cursor.finish()
    return Unload(query=query(cursor.text, start, end), location=location, properties=options)


def merge(cursor: Cursor) -> Merge:
    """Read MERGE INTO."""
    start = cursor.rest()
    cursor.expect("MERGE", "INTO")
    return Merge(table=cursor.table(), tree=tree_of(exp.Merge, cursor.text, start))


def update(cursor: Cursor) -> Update:
    """Read UPDATE."""
    start = cursor.rest()
    cursor.expect("UPDATE")
    return Update(table=cursor.table(), tree=tree_of(exp.Update, cursor.text, start))


def delete(cursor: Cursor) -> Delete:
    """Read DELETE FROM."""
    start = cursor.rest()
    cursor.expect("DELETE", "FROM")
    return Delete(table=cursor.table(), tree=tree_of(exp.Delete, cursor.text, start))


def optimize(cursor: Cursor) -> Optimize:
    """Read OPTIMIZE."""
    start = cursor.rest()
    cursor.expect("OPTIMIZE")
    table = cursor.table()
    cursor.expect("REWRITE", "DATA", "USING", "BIN_PACK")
    if not cursor.at("WHERE"):
        return Optimize(table=table)
    # The condition is read as that of a query which takes the place of the words before it.
    text, at = cursor.text, cursor.rest()
    head = f"{' ' * start}SELECT 1"
    blank = "".join("\n" if letter == "\n" else " " for letter in text[len(head) : at])
    tree = query(f"{head}{blank}{text[at:]}")
    if any(value for key, value in tree.args.items() if key not in {"where", "expressions"}):
        raise cursor.refused("one condition")
    return Optimize(table=table, where=tree.args["where"].this)


def vacuum(cursor: Cursor) -> Vacuum:
    """Read what follows VACUUM."""
    return Vacuum(table=cursor.table())


def explain_options(cursor: Cursor) -> Mapping[str, Any]:
    """Read EXPLAIN up to the statement that it explains; return the options by their names in :class:`Explain`."""
    cursor.expect("EXPLAIN")
    analyze = cursor.accept("ANALYZE")
    verbose = analyze and cursor.accept("VERBOSE")
    options: dict[str, str] = {}
    if cursor.at("(", "FORMAT") or cursor.at("(", "TYPE"):
        options = dict(cursor.listed(lambda: _explain_option(cursor)))
    if analyze and "plan" in options:
        raise cursor.unsupported("EXPLAIN ANALYZE with a TYPE")
    return {"analyze": analyze, "verbose": verbose, **options}


def prepare(cursor: Cursor) -> Prepare:
    """Read what follows PREPARE."""
    name = statement_name(cursor)
    cursor.expect("FROM")
    start = cursor.rest()
    end = _end(cursor)
    if end <= start:
        raise cursor.refused("a statement")
    return Prepare(name=name, sql=cursor.text[start:end])


def execute(cursor: Cursor, parameters: Sequence[str]) -> Execute | ExecuteImmediate:
    """Read what follows EXECUTE. ``parameters`` are the values that came with the statement, in place of USING."""
    if cursor.at("IMMEDIATE") and cursor.peek(1).kind == "text":
        cursor.take()
        return ExecuteImmediate(sql=cursor.string(), parameters=_using(cursor, parameters))
    return Execute(name=statement_name(cursor), parameters=_using(cursor, parameters))


def _using(cursor: Cursor, parameters: Sequence[str]) -> Sequence[str]:
    values = [constant(parameter) for parameter in parameters]
    if cursor.at("USING") and parameters:
        raise cursor.unsupported("USING with ExecutionParameters", "Give the values once.")
    if cursor.accept("USING"):
        values.append(_value(cursor))
        while cursor.accept(","):
            values.append(_value(cursor))
    return tuple(values)


def deallocate(cursor: Cursor) -> Deallocate:
    """Read what follows DEALLOCATE PREPARE."""
    return Deallocate(name=statement_name(cursor))


def _explain_option(cursor: Cursor) -> tuple[str, str]:
    if cursor.accept("FORMAT"):
        return "format", cursor.choose(*get_args(ExplainFormat))
    cursor.expect("TYPE")
    return "plan", cursor.choose(*get_args(ExplainPlan))


def statement_name(cursor: Cursor) -> str:
    """Read the name of a prepared statement, as it is written."""
    token = cursor.peek()
    if token.kind not in {"word", "double"} or not _STATEMENT_NAME.fullmatch(token.value):
        raise cursor.refused("a prepared statement's name: a letter or _, then letters, digits, _, @ and :")
    return cursor.take().value


def _value(cursor: Cursor) -> str:
    """Read one value of USING, up to the next comma outside brackets, and check that it is a constant."""
    start, end, depth = cursor.rest(), cursor.rest(), 0
    while (token := cursor.peek()).kind != "end":
        if depth == 0 and token.kind == "sign" and token.value in {",", ";"}:
            break
        depth += (token.kind == "sign") * ((token.value in "([") - (token.value in ")]"))
        end = cursor.take().end
    if end == start:
        raise cursor.refused("a constant")
    return constant(cursor.text[start:end])


def _properties(cursor: Cursor) -> Mapping[str, PropertyValue]:
    """Read ``(name = value, ...)``, as in WITH."""
    properties: dict[str, PropertyValue] = {}

    def pair() -> None:
        first = cursor.peek()
        name = cursor.name()
        if name in properties:
            raise cursor.invalid(first, f"Duplicate property: {name}")
        cursor.expect("=")
        properties[name] = _property(cursor)

    cursor.listed(pair)
    return properties


def _property(cursor: Cursor) -> PropertyValue:
    if cursor.accept("TRUE"):
        return True
    if cursor.accept("FALSE"):
        return False
    if cursor.accept("ARRAY"):
        return _array(cursor)
    negative = cursor.accept("-")
    if cursor.peek().kind == "word":
        whole = cursor.integer()
        number: int | float = float(f"{whole}.{cursor.digits()}") if cursor.accept(".") else whole
        return -number if negative else number
    return cursor.string()


def _array(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect("[")
    items: list[str] = []
    while not cursor.accept("]"):
        if items:
            cursor.expect(",")
        items.append(cursor.string())
    return tuple(items)


def _without_data(cursor: Cursor) -> tuple[int | None, bool]:
    """Return where the query ends if WITH [NO] DATA follows it, and whether the data are wanted."""
    last: list[Token] = []
    while (token := cursor.take()).kind != "end":
        if token.value != ";" or token.kind != "sign":
            last = [*last, token][-3:]
    words = [item.word for item in last]
    if words == ["WITH", "NO", "DATA"]:
        return last[0].start, False
    return (last[1].start, True) if words[1:] == ["WITH", "DATA"] else (None, True)


def _end(cursor: Cursor) -> int:
    """Go to the end of the text, and return where it ends without semicolons."""
    end = cursor.rest()
    while (token := cursor.take()).kind != "end":
        if not (token.kind == "sign" and token.value == ";"):
            end = token.end
    return end
