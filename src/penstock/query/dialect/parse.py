"""Parse Athena's SQL: one statement of bounded size and a supported kind, without functions that reach outside the lake.

An accepted statement becomes a :class:`Select` (with its syntax tree) or a :class:`Show`. Every other one is refused with
a message that names the statement.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp, tokenize
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from penstock.query.dialect.checks import check_functions
from penstock.query.errors import InvalidRequest, Position
from penstock.statements.model import StatementType

__all__ = ["Parsed", "Select", "Show", "TableName", "parse"]

_READ = "trino"  # Athena's queries are Trino's; its Hive side (SHOW, DESCRIBE) is read below
_MAX_TOKENS = 50_000
_MAX_NESTING = 100
_OPEN = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSE = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}

_NAME = r"""(?:`[^`]+`|"(?:[^"]|"")+"|[\w$-]+)"""
_TABLE = rf"(?P<table>{_NAME}(?:\s*\.\s*{_NAME}){{0,2}})"
_PATTERN = r"(?:\s+(?:LIKE\s+)?'(?P<pattern>[^']*)')?"
_SHOWS = {
    "DATABASES": rf"SHOW\s+(?:DATABASES|SCHEMAS){_PATTERN}",
    "TABLES": rf"SHOW\s+TABLES(?:\s+(?:IN|FROM)\s+(?P<database>{_NAME}))?{_PATTERN}",
    "VIEWS": rf"SHOW\s+VIEWS(?:\s+(?:IN|FROM)\s+(?P<database>{_NAME}))?{_PATTERN}",
    "COLUMNS": rf"SHOW\s+COLUMNS\s+(?:IN|FROM)\s+{_TABLE}(?:\s+(?:IN|FROM)\s+(?P<database>{_NAME}))?",
    "PARTITIONS": rf"SHOW\s+PARTITIONS\s+{_TABLE}",
    "CREATE_TABLE": rf"SHOW\s+CREATE\s+TABLE\s+{_TABLE}",
    "TBLPROPERTIES": rf"SHOW\s+TBLPROPERTIES\s+{_TABLE}(?:\s*\(\s*['\"](?P<pattern>[^'\"]*)['\"]\s*\))?",
    "DESCRIBE": rf"(?:DESCRIBE|DESC)\s+(?:(?:EXTENDED|FORMATTED|TABLE)\s+)?{_TABLE}",
}
_SHOWN = [(name, re.compile(text, re.IGNORECASE)) for name, text in _SHOWS.items()]
_EXPLAIN = re.compile(r"EXPLAIN\s+(?:\(\s*TYPE\s+(?:LOGICAL|DISTRIBUTED|IO)\s*\)\s+)?", re.IGNORECASE)
_SERVED = "Supported statements: SELECT, WITH, VALUES, SHOW, DESCRIBE, EXPLAIN."
# By default, awswrangler reads the result of a query through a table that it creates for it.
_WITHOUT = {"CREATE TABLE": "In awswrangler, pass ctas_approach=False. "}

# Words that begin statements and are not keywords of the tokenizer.
_VERBS = frozenset(
    {"ATTACH", "CALL", "DETACH", "EXPORT", "IMPORT", "INSTALL", "LOAD", "MSCK", "OPTIMIZE", "UNLOAD", "VACUUM"}
)
_GOT_TOKEN = re.compile(r"<Token token_type: (?:TokenType\.)?(\w+), text: (.*?), line: .*>", re.DOTALL)
_UNFINISHED = re.compile(r"Required keyword: '\w+' missing for <class '[\w.]*?(\w+)'>")

ShowKind = Literal["DATABASES", "TABLES", "VIEWS", "COLUMNS", "PARTITIONS", "CREATE_TABLE", "TBLPROPERTIES", "DESCRIBE"]


@dataclass(frozen=True, slots=True)
class TableName:
    """A table's name as written; missing parts come from the statement's context."""

    name: str
    database: str | None = None
    catalog: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """A SHOW or DESCRIBE statement: it reads the catalog."""

    what: ShowKind
    table: TableName | None = None
    database: str | None = None
    pattern: str | None = None
    type: StatementType = StatementType.UTILITY

    @property
    def substatement(self) -> str:
        """Athena's SubstatementType."""
        return "DESCRIBE_TABLE" if self.what == "DESCRIBE" else f"SHOW_{self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """A query, or its plan if ``explain`` is set. Planning changes ``tree``."""

    tree: exp.Query
    explain: bool = False

    @property
    def type(self) -> StatementType:
        """DML for a query, UTILITY for its plan."""
        return StatementType.UTILITY if self.explain else StatementType.DML

    @property
    def substatement(self) -> str:
        """Athena's SubstatementType."""
        return "EXPLAIN" if self.explain else "SELECT"


Parsed = Select | Show


def parse(sql: str, parameters: Sequence[str] = ()) -> Parsed:
    """Parse one statement; ``parameters`` are SQL literals for its ``?`` in order.

    Raises :class:`InvalidRequest` if the text cannot be parsed, is too large, nests too deeply, or is not supported.
    """
    try:
        return _parse(sql, parameters)
    except RecursionError:
        raise InvalidRequest(
            "The SQL nests too deeply.", remedy="Split it with WITH, or shorten chains of operators."
        ) from None


def _parse(sql: str, parameters: Sequence[str]) -> Parsed:
    show = _show(sql)
    if show is not None:
        return show
    text = _without_comments_before(sql)
    explain = _EXPLAIN.match(text)
    if explain is not None:
        # Blanks replace the prefix, so that the positions in messages are those of the original text.
        text = re.sub(r"[^\n]", " ", text[: explain.end()]) + text[explain.end() :]
    tokens = _tokens(text)
    _check_bounds(tokens)
    if not tokens:
        raise InvalidRequest("The SQL is empty.", athena_code="MALFORMED_QUERY")
    text, tokens = _with_parameters(text, tokens, parameters)
    tree = _query(text, tokens)
    check_functions(tree)
    return Select(tree=tree, explain=explain is not None)


def _show(sql: str) -> Show | None:
    text = _without_comments_before(sql).strip().rstrip(";").strip()
    if len(text) > 2_000 or not re.match(r"(SHOW|DESCRIBE|DESC)\b", text, re.IGNORECASE):
        return None
    for what, pattern in _SHOWN:
        match = pattern.fullmatch(text)
        if match is None:
            continue
        groups = match.groupdict()
        database = groups.get("database")
        return Show(
            what=what,  # type: ignore[arg-type]
            table=_table_name(groups["table"]) if groups.get("table") else None,
            database=_unquoted(database).lower() if database else None,
            pattern=groups.get("pattern"),
        )
    words = " ".join(text.split()[:2]).upper()
    raise InvalidRequest(
        f"line 1:1: '{words}' is not a supported statement, or is not written as Athena reads it.",
        remedy="SHOW DATABASES, TABLES, VIEWS, COLUMNS, PARTITIONS, CREATE TABLE, TBLPROPERTIES and DESCRIBE are supported.",
        athena_code="MALFORMED_QUERY",
    )


def _without_comments_before(sql: str) -> str:
    """Return ``sql`` with the comments at its start replaced by blanks."""
    at = 0
    while match := re.compile(r"\s*(?:--[^\n]*(?:\n|$)|/\*.*?\*/)", re.DOTALL).match(sql, at):
        at = match.end()
    return re.sub(r"[^\n]", " ", sql[:at]) + sql[at:]


def _table_name(text: str) -> TableName:
    name, *outer = (_unquoted(each).lower() for each in reversed(re.findall(_NAME, text)))
    return TableName(name, *outer)


def _unquoted(name: str) -> str:
    if name[0] == "`":
        return name[1:-1]
    return name[1:-1].replace('""', '"') if name[0] == '"' else name


def _tokens(text: str) -> list[Token]:
    try:
        return tokenize(text, read=_READ)
    except TokenError as error:
        raise InvalidRequest(
            f"The SQL cannot be read: {str(error)[:300]}.",
            remedy="Close every quote and comment.",
            athena_code="MALFORMED_QUERY",
        ) from error


def _check_bounds(tokens: Sequence[Token]) -> None:
    if len(tokens) > _MAX_TOKENS:
        raise InvalidRequest(
            f"The SQL has {len(tokens)} words and signs; the limit is {_MAX_TOKENS}.", remedy="Put long lists in a table."
        )
    depth = 0
    for token in tokens:
        depth += (token.token_type in _OPEN) - (token.token_type in _CLOSE)
        if depth > _MAX_NESTING:
            raise InvalidRequest(
                f"{_position(token)}: The SQL nests deeper than {_MAX_NESTING} brackets.", athena_code="MALFORMED_QUERY"
            )


def _with_parameters(text: str, tokens: list[Token], parameters: Sequence[str]) -> tuple[str, list[Token]]:
    places = [token for token in tokens if token.token_type is TokenType.PLACEHOLDER]
    if len(places) != len(parameters):
        raise InvalidRequest(
            f"Incorrect number of parameters: expected {len(places)} but found {len(parameters)}.",
            remedy="ExecutionParameters needs one value for each ?.",
        )
    if not places:
        return text, tokens
    for place, value in zip(reversed(places), reversed(parameters), strict=True):
        text = f"{text[: place.start]} {_literal(value)} {text[place.end + 1 :]}"
    return text, _tokens(text)


def _literal(value: str) -> str:
    """Return ``value`` as SQL text, after a check that it is one constant."""
    refused = InvalidRequest(
        f"The execution parameter {value[:100]} is not a SQL constant.", remedy="Strings need single quotes: 'text'."
    )
    try:
        trees = Dialect.get_or_raise(_READ).parse(value)
    except (ParseError, TokenError):
        raise refused from None
    tree = trees[0] if len(trees) == 1 else None
    allowed = (exp.Literal, exp.Boolean, exp.Null, exp.Neg, exp.Cast, exp.DataType, exp.DataTypeParam, exp.Interval, exp.Var)
    # Athena accepts DATE '2024-01-01' and TIMESTAMP '...', which the parser holds as casts of literals.
    if tree is None or not all(isinstance(node, allowed) for node in tree.walk()):
        raise refused
    return tree.sql(_READ, comments=False)


def _query(text: str, tokens: list[Token]) -> exp.Query:
    first = " ".join(token.text.upper() for token in tokens[:2] if token.text.isalpha())
    if tokens[0].token_type not in {TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.L_PAREN}:
        if tokens[0].text.isalpha() and (tokens[0].token_type is not TokenType.VAR or tokens[0].text.upper() in _VERBS):
            raise InvalidRequest(
                f"{_position(tokens[0])}: {first} statements are not supported.",
                remedy=f"{_WITHOUT.get(first, '')}{_SERVED}",
            )
        raise InvalidRequest(
            f"{_position(tokens[0])}: mismatched input '{tokens[0].text[:50]}'.",
            remedy=_SERVED,
            athena_code="MALFORMED_QUERY",
        )
    try:
        trees = [tree for tree in Dialect.get_or_raise(_READ).parser().parse(tokens, text) if tree is not None]
    except ParseError as error:
        raise _malformed(error) from None
    if len(trees) != 1:
        raise InvalidRequest(
            f"Only one sql statement is allowed; the text has {len(trees)}.",
            remedy="Send each one in its own request.",
            athena_code="MALFORMED_QUERY",
        )
    tree = trees[0]
    if isinstance(tree, exp.Values):
        tree = exp.select("*").from_(exp.alias_(tree, "values", table=True))
    if not isinstance(tree, exp.Query):
        raise InvalidRequest(f"{tree.key.upper()} statements are not supported.", remedy=_SERVED)
    writes = next(tree.find_all(exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock), None)
    if writes is not None and not isinstance(writes, exp.Query):
        raise InvalidRequest(
            f"{writes.key.upper()} inside a query is not supported.", remedy="Queries read and do not write."
        )
    return tree


def _malformed(error: ParseError) -> InvalidRequest:
    details = error.errors[0] if error.errors else {}
    line, column = details.get("line"), details.get("col")
    near = str(details.get("highlight") or "").strip()[:50]
    where = f"{Position(line, max(1, column - len(near) + 1))}: " if line and column else ""
    what = str(details.get("description") or "the SQL cannot be parsed").rstrip(".")
    what = _UNFINISHED.sub(lambda match: f"the {match[1].upper()} is not complete", what)
    if token := _GOT_TOKEN.search(what):
        ended = token[1] == "SENTINEL"
        what = what[: token.start()].replace("but got ", "but the statement ends" if ended else f"but got '{token[2][:50]}'")
    return InvalidRequest(f"{where}mismatched input '{near}': {what}.", athena_code="MALFORMED_QUERY")


def _position(token: Token) -> Position:
    return Position(token.line, max(1, token.col - len(token.text) + 1))
