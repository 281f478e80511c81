"""Parse Athena's SQL: one statement of bounded size, without functions that reach outside the lake.

An accepted text becomes a value of :mod:`penstock.sql.statements.model`. Every other one is refused with a message
that names the statement.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from penstock.sql.errors import InvalidRequest
from penstock.sql.queries import SERVED, bound, query
from penstock.sql.statements import hive, trino
from penstock.sql.statements.altering import alter_action
from penstock.sql.statements.cursor import Cursor
from penstock.sql.statements.model import AlterTable, CreateTable, CreateTableAs, Explain, Parsed, Select
from penstock.sql.statements.shows import describe, describe_prepared, show, show_stats

__all__ = ["parse", "parse_prepared"]

Reader = Callable[[Cursor], Parsed]

_EXPLAINED = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "(", "INSERT", "CREATE", "UNLOAD", "MERGE", "UPDATE", "DELETE"})


def parse(sql: str, parameters: Sequence[str] = ()) -> Parsed:
    """Parse one statement; ``parameters`` are SQL constants for its ``?`` in order.

    Raises :class:`InvalidRequest` if the text cannot be parsed, is too large, nests too deeply, or is not supported.
    """
    return _guarded(lambda: _parse(sql, parameters))


def parse_prepared(sql: str) -> Parsed:
    """Parse a statement that is to be prepared: its question marks stay without values."""
    return _guarded(lambda: _parse(sql, None))


def _guarded(read: Callable[[], Parsed]) -> Parsed:
    try:
        return read()
    except RecursionError:
        raise InvalidRequest(
            "The SQL nests too deeply.", remedy="Split it with WITH, or shorten chains of operators."
        ) from None


def _parse(sql: str, parameters: Sequence[str] | None) -> Parsed:
    cursor = Cursor(sql)
    first = cursor.peek()
    if first.kind == "end":
        raise InvalidRequest("The SQL is empty.", athena_code="MALFORMED_QUERY")
    if first.word in {"SELECT", "WITH", "VALUES", "TABLE"} or (first.kind == "sign" and first.value == "("):
        return Select(tree=query(_bound(cursor, parameters).text))
    if first.word == "EXPLAIN":
        return _explain(cursor, parameters)
    if first.word == "EXECUTE":
        return _execute(cursor, parameters or ())
    if cursor.at("CREATE", "TABLE") or cursor.at("CREATE", "EXTERNAL", "TABLE"):
        return _create_table(cursor, parameters)
    for words, read in _WITH_QUERY.items():
        if cursor.at(*words.split()):
            return read(_bound(cursor, parameters))
    for words, read in _OTHERS.items():
        if cursor.at(*words.split()):
            _without(parameters)
            statement = read(cursor)
            cursor.finish()
            return statement
    raise _unknown(cursor)


def _explain(cursor: Cursor, parameters: Sequence[str] | None) -> Parsed:
    options = trino.explain_options(cursor)
    first = cursor.peek()
    if (first.word or first.value) not in _EXPLAINED:
        raise cursor.unsupported(
            f"EXPLAIN of {first.value[:50]}".strip(), "Queries, INSERT, UNLOAD and CREATE TABLE AS have plans."
        )
    # Blanks replace the prefix, so that the positions in messages are those of the original text.
    blank = re.sub(r"[^\n]", " ", cursor.text[: first.start])
    statement = _parse(blank + cursor.text[first.start :], parameters)
    if isinstance(statement, CreateTable):
        raise InvalidRequest(f"{cursor.position(first)}: CREATE TABLE without a query has no plan.")
    return Explain(statement=statement, **options)


def _execute(cursor: Cursor, parameters: Sequence[str]) -> Parsed:
    cursor.expect("EXECUTE")
    statement = trino.execute(cursor, parameters)
    cursor.finish()
    return statement


def _create_table(cursor: Cursor, parameters: Sequence[str] | None) -> CreateTable | CreateTableAs:
    cursor.expect("CREATE")
    external = cursor.accept("EXTERNAL")
    cursor.expect("TABLE")
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    table = cursor.table()
    as_query = cursor.at("AS") or cursor.at("WITH") or (cursor.at("COMMENT") and cursor.peek(2).word in {"WITH", "AS"})
    if as_query:
        if external:
            raise cursor.refused("'('")
        return trino.create_table_as(_bound(cursor, parameters), table, if_not_exists=if_not_exists)
    _without(parameters)
    statement = hive.create_table(cursor.as_hive(), table, external=external, if_not_exists=if_not_exists)
    cursor.finish()
    return statement


def _bound(cursor: Cursor, parameters: Sequence[str] | None) -> Cursor:
    if parameters is None or not (parameters or "?" in cursor.text):
        return cursor
    return cursor.over(bound(cursor.text, parameters))


def _without(parameters: Sequence[str] | None) -> None:
    if parameters:
        raise InvalidRequest(
            f"Incorrect number of parameters: expected 0 but found {len(parameters)}.",
            remedy="Only queries and statements with a query in them have parameters.",
        )


def _unknown(cursor: Cursor) -> InvalidRequest:
    words = [name.upper() for name in (cursor.peek().word, cursor.peek(1).word) if name.isalpha()]
    first = words[0] if words else ""
    if first in _REFUSED:
        return InvalidRequest(f"{cursor.position()}: {' '.join(words)} statements are not supported.", remedy=SERVED)
    token = cursor.peek()
    word = cursor.text[token.start : token.end][:50]
    return InvalidRequest(f"{cursor.position()}: mismatched input '{word}'.", remedy=SERVED, athena_code="MALFORMED_QUERY")


def _past(cursor: Cursor, *words: str) -> Cursor:
    cursor.expect(*words)
    return cursor


def _after(*words: str, read: Callable[[Cursor], Parsed]) -> Reader:
    """Return the reader of ``words``, behind which ``read`` reads by Hive's rules."""
    return lambda cursor: read(_past(cursor, *words).as_hive())


def _alter_table(cursor: Cursor) -> Parsed:
    table = cursor.table()
    return AlterTable(table=table, action=alter_action(cursor))


_WITH_QUERY: Mapping[str, Reader] = {
    "CREATE VIEW": lambda cursor: trino.create_view(_past(cursor, "CREATE", "VIEW"), replace=False),
    "CREATE OR REPLACE VIEW": lambda cursor: trino.create_view(
        _past(cursor, "CREATE", "OR", "REPLACE", "VIEW"), replace=True
    ),
    "INSERT INTO": lambda cursor: trino.insert(_past(cursor, "INSERT", "INTO")),
    "UNLOAD": lambda cursor: trino.unload(_past(cursor, "UNLOAD")),
    "SHOW STATS FOR": lambda cursor: show_stats(_past(cursor, "SHOW", "STATS", "FOR")),
    "MERGE": trino.merge,
    "UPDATE": trino.update,
    "DELETE": trino.delete,
    "OPTIMIZE": trino.optimize,
}
"""Statements with a query or an expression to their end, which may have parameters."""

_OTHERS: Mapping[str, Reader] = {
    "SHOW": _after("SHOW", read=show),
    "DESCRIBE": lambda cursor: _describe(_past(cursor, "DESCRIBE")),
    "DESC": _after("DESC", read=describe),
    "CREATE DATABASE": _after("CREATE", "DATABASE", read=hive.create_database),
    "CREATE SCHEMA": _after("CREATE", "SCHEMA", read=hive.create_database),
    "ALTER DATABASE": _after("ALTER", "DATABASE", read=hive.alter_database),
    "ALTER SCHEMA": _after("ALTER", "SCHEMA", read=hive.alter_database),
    "DROP DATABASE": _after("DROP", "DATABASE", read=hive.drop_database),
    "DROP SCHEMA": _after("DROP", "SCHEMA", read=hive.drop_database),
    "DROP TABLE": _after("DROP", "TABLE", read=hive.drop_table),
    "DROP VIEW": _after("DROP", "VIEW", read=trino.drop_view),
    "ALTER TABLE": _after("ALTER", "TABLE", read=_alter_table),
    "MSCK REPAIR TABLE": _after("MSCK", "REPAIR", "TABLE", read=hive.repair_table),
    "MSCK REPAIR": _after("MSCK", "REPAIR", read=hive.repair_table),
    "VACUUM": _after("VACUUM", read=trino.vacuum),
    "PREPARE": lambda cursor: trino.prepare(_past(cursor, "PREPARE")),
    "DEALLOCATE PREPARE": lambda cursor: trino.deallocate(_past(cursor, "DEALLOCATE", "PREPARE")),
}


def _describe(cursor: Cursor) -> Parsed:
    """Read what follows DESCRIBE: a table by Hive's rules, or INPUT or OUTPUT of a prepared statement."""
    if cursor.peek(1).kind in {"word", "double"}:
        if cursor.accept("INPUT"):
            return describe_prepared(cursor, "INPUT")
        if cursor.accept("OUTPUT"):
            return describe_prepared(cursor, "OUTPUT")
    return describe(cursor.as_hive())


_REFUSED = frozenset(
    """
    ALTER ANALYZE ATTACH BEGIN CALL COMMENT COMMIT COPY CREATE DEALLOCATE DELETE DENY DETACH DROP EXPORT GRANT IMPORT INSERT
    INSTALL KILL LOAD LOCK MSCK PRAGMA REFRESH RESET REVOKE ROLLBACK SET START TRUNCATE UNLOCK USE
    """.split()  # noqa: SIM905
)
"""Words that begin statements of Trino, Hive or other engines."""
