"""Queries and other statements whose text sqlglot parses, of bounded size, and the values of their parameters."""

import re
from collections.abc import Sequence
from typing import TypeVar

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from penstock.sql.errors import InvalidRequest, Position
from penstock.sql.grammar import TrinoCalls
from penstock.sql.names.suggestions import did_you_mean
from penstock.sql.patterns.parsing import skip_patterns
from penstock.sql.positions import position_of

__all__ = ["SERVED", "bound", "constant", "parameter_places", "query", "tree_of"]

SERVED = "Athena's statements are supported, among them SELECT, WITH, INSERT, CREATE, ALTER, DROP, SHOW, DESCRIBE, EXPLAIN."

_DIALECT = TrinoCalls()
_MAX_TOKENS = 50_000
_MAX_NESTING = 100
_OPEN = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSE = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
_BEGINNINGS = {TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.L_PAREN, TokenType.FROM}
_GOT_TOKEN = re.compile(r"<Token token_type: (?:TokenType\.)?(\w+), text: (.*?), line: .*>", re.DOTALL)
_KEYWORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "UNION", "INTERSECT", "EXCEPT", "VALUES"),
    *("INSERT", "CREATE", "DELETE", "UPDATE", "MERGE", "DESCRIBE", "EXPLAIN", "DISTINCT", "BETWEEN", "PARTITION"),
)
_UNFINISHED = re.compile(r"Required keyword: '\w+' missing for <class '[\w.]*?(\w+)'>")
_CONSTANTS = (
    *(exp.Literal, exp.Boolean, exp.Null, exp.Neg, exp.Cast, exp.DataType, exp.DataTypeParam, exp.Interval, exp.Var),
)

T = TypeVar("T", bound=exp.Expr)


def query(text: str, start: int = 0, end: int | None = None) -> exp.Query:
    """Parse the query in ``text[start:end]``; positions in errors and in the tree are those of ``text``.

    Raises :class:`InvalidRequest` for what is not one query, writes, or reads from something else than tables.
    """
    masked = _masked(text, start, end)
    tokens = _bounded(masked)
    if not tokens:
        raise InvalidRequest("The SQL is empty.", athena_code="MALFORMED_QUERY")
    first = tokens[0]
    if first.token_type is TokenType.TABLE:
        # Sqlglot reads FROM name as SELECT * FROM name, and not yet TABLE name.
        masked = f"{masked[: first.start]}FROM {masked[first.end + 1 :]}"
        tokens = _bounded(masked)
    elif first.token_type is TokenType.FROM or first.token_type not in _BEGINNINGS:
        raise InvalidRequest(
            f"{_position(first)}: mismatched input '{first.text[:50]}'.", remedy=SERVED, athena_code="MALFORMED_QUERY"
        )
    tree = _parsed(masked, tokens)
    if isinstance(tree, exp.Values):
        tree = exp.select("*").from_(exp.alias_(tree, "values", table=True))
    if not isinstance(tree, exp.Query):
        raise InvalidRequest(f"{tree.key.upper()} statements are not supported.", remedy=SERVED)
    writes = next(tree.find_all(exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock), None)
    if writes is not None and not isinstance(writes, exp.Query):
        raise InvalidRequest(
            f"{writes.key.upper()} inside a query is not supported.", remedy="Queries read and do not write."
        )
    _check_tables(tree)
    return tree


def tree_of(node_class: type[T], text: str, start: int = 0, end: int | None = None) -> T:
    """Parse ``text[start:end]`` as a statement of sqlglot's class ``node_class``. Raises :class:`InvalidRequest`."""
    masked = _masked(text, start, end)
    tree = _parsed(masked, _bounded(masked))
    if not isinstance(tree, node_class):
        raise InvalidRequest(f"The {node_class.__name__.upper()} statement cannot be read.", athena_code="MALFORMED_QUERY")
    _check_tables(tree)
    return tree


def bound(text: str, parameters: Sequence[str]) -> str:
    """Return ``text`` with ``parameters``, which are SQL constants, in the places of its question marks in order."""
    places = parameter_places(text)
    if len(places) != len(parameters):
        raise InvalidRequest(
            f"Incorrect number of parameters: expected {len(places)} but found {len(parameters)}.",
            remedy="ExecutionParameters needs one value for each ?.",
        )
    for place, value in zip(reversed(places), reversed(parameters), strict=True):
        text = f"{text[: place.start]} {constant(value)} {text[place.end + 1 :]}"
    return text


def parameter_places(text: str) -> Sequence[Token]:
    """Return the question marks of ``text`` that stand for values, in order. Raises :class:`InvalidRequest`."""
    return [token for token in skip_patterns(_bounded(text)) if token.token_type is TokenType.PLACEHOLDER]


def constant(value: str) -> str:
    """Return ``value`` as SQL text, after a check that it is one constant."""
    refused = InvalidRequest(
        f"The execution parameter {value[:100]} is not a SQL constant.", remedy="Strings need single quotes: 'text'."
    )
    try:
        trees = _DIALECT.parse(value)
    except (ParseError, TokenError):
        raise refused from None
    tree = trees[0] if len(trees) == 1 else None
    # Athena accepts DATE '2024-01-01' and TIMESTAMP '...', which the parser holds as casts of literals.
    if tree is None or not all(isinstance(node, _CONSTANTS) for node in tree.walk()):
        raise refused
    return tree.sql("trino", comments=False)


def _masked(text: str, start: int, end: int | None) -> str:
    """Return ``text[:end]`` with blanks in place of what is before ``start``."""
    return re.sub(r"[^\n]", " ", text[:start]) + text[start:end]


def _bounded(text: str) -> list[Token]:
    try:
        tokens = _DIALECT.tokenize(text)
    except TokenError as error:
        raise InvalidRequest(
            f"The SQL cannot be read: {str(error)[:300]}.",
            remedy="Close every quote and comment.",
            athena_code="MALFORMED_QUERY",
        ) from error
    if len(tokens) > _MAX_TOKENS:
        raise InvalidRequest(
            f"The SQL has {len(tokens)} words and signs; the limit is {_MAX_TOKENS}.", remedy="Put long lists in a table."
        )
    depth = 0
    for token in tokens:
        # A comment with "sqlglot.meta" would set what we note at the nodes of the tree.
        token.comments = []
        depth += (token.token_type in _OPEN) - (token.token_type in _CLOSE)
        if depth > _MAX_NESTING:
            raise InvalidRequest(
                f"{_position(token)}: The SQL nests deeper than {_MAX_NESTING} brackets.", athena_code="MALFORMED_QUERY"
            )
    return tokens


def _parsed(text: str, tokens: list[Token]) -> exp.Expr:
    try:
        trees = [tree for tree in _DIALECT.parser().parse(tokens, text) if tree is not None]
    except ParseError as error:
        raise _malformed(error, tokens) from None
    if len(trees) != 1:
        raise InvalidRequest(
            f"Only one sql statement is allowed; the text has {len(trees)}.",
            remedy="Send each one in its own request.",
            athena_code="MALFORMED_QUERY",
        )
    return trees[0]


def _malformed(error: ParseError, tokens: Sequence[Token]) -> InvalidRequest:
    details = error.errors[0] if error.errors else {}
    line, column = details.get("line"), details.get("col")
    near = str(details.get("highlight") or "").strip()[:50]
    where = f"{Position(line, max(1, column - len(near) + 1))}: " if line and column else ""
    alias = _alias_of_star(tokens, line, column)
    if alias is not None:
        near, where = alias.text[:50], f"{_position(alias)}: "
    what = str(details.get("description") or "the SQL cannot be parsed").rstrip(".")
    what = _UNFINISHED.sub(lambda match: f"the {match[1].upper()} is not complete", what)
    if token := _GOT_TOKEN.search(what):
        ended = token[1] == "SENTINEL"
        what = what[: token.start()].replace("but got ", "but the statement ends" if ended else f"but got '{token[2][:50]}'")
    remedy = did_you_mean(near, _KEYWORDS) if near.upper() not in _KEYWORDS else None
    return InvalidRequest(f"{where}mismatched input '{near}': {what}.", remedy=remedy, athena_code="MALFORMED_QUERY")


def _alias_of_star(tokens: Sequence[Token], line: int | None, column: int | None) -> Token | None:
    """Return the name between ``*`` and the place of an error: the parser takes it for an alias, which a star has not."""
    for star, name, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if (after.line, after.col) == (line, column):
            return name if star.token_type is TokenType.STAR and name.token_type is TokenType.VAR else None
    return None


def _position(token: Token) -> Position:
    return Position(token.line, max(1, token.col - len(token.text) + 1))


def _check_tables(tree: exp.Expr) -> None:
    """Raise :class:`InvalidRequest` for a table that is not a name (a table function, a file), and for a variable.

    The engine can open only the lake's files, and every call needs a row in the table of functions: this check is for the
    message alone, which names what is not supported.
    """
    for table in tree.find_all(exp.Table):
        parts = [table.args.get(part) for part in ("this", "db", "catalog")]
        if parts[0] is None or not all(isinstance(part, exp.Identifier | None) for part in parts):
            raise _refused_source(table, f"The table function {table.this.sql('trino')[:100]} is not supported.")
    variable = tree.find(exp.Parameter, exp.SessionParameter)
    if variable is not None:
        raise _refused_source(variable, f"The variable {variable.sql('trino')[:100]} is not supported.")


def _refused_source(node: exp.Expr, message: str) -> InvalidRequest:
    position = position_of(node)
    where = f"{position}: " if position is not None else ""
    return InvalidRequest(
        f"{where}{message}", remedy="Queries compute only on the catalog's tables.", athena_code="MALFORMED_QUERY"
    )
