"""The grammar of MATCH_RECOGNIZE, behind any relation of FROM.

Source: Trino's documentation, "MATCH_RECOGNIZE". The clause becomes a subquery: see
:mod:`penstock.sql.patterns.writing`.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parsers.trino import TrinoParser
from sqlglot.tokenizer_core import Token, TokenType

from penstock.sql.patterns.pattern import Pattern, PatternReader
from penstock.sql.patterns.recognition import MODE, Recognition, RowsPerMatch, Skip

__all__ = ["RecognitionParser", "skip_patterns"]

_MODES = {"RUNNING", "FINAL"}


def skip_patterns(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return ``tokens`` without those of row patterns, in which a question mark is a quantifier."""
    result: list[Token] = []
    depth = 0
    recognizes = False
    for token in tokens:
        recognizes = recognizes or token.token_type is TokenType.MATCH_RECOGNIZE
        if depth:
            depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        elif recognizes and token.token_type is TokenType.L_PAREN and result and result[-1].text.upper() == "PATTERN":
            depth = 1
        else:
            result.append(token)
    return result


class RecognitionParser(TrinoParser):
    """Sqlglot's parser of Trino with MATCH_RECOGNIZE behind a relation, which it belongs to, and not behind a query."""

    QUERY_MODIFIER_PARSERS: ClassVar[Any] = {
        token: read for token, read in TrinoParser.QUERY_MODIFIER_PARSERS.items() if token is not TokenType.MATCH_RECOGNIZE
    }
    inside = False
    """Whether an expression of MEASURES or DEFINE is being read."""

    def _parse_table(self, *arguments: Any, **options: Any) -> exp.Expr | None:
        relation = super()._parse_table(*arguments, **options)
        if relation is not None and self._curr.token_type is TokenType.MATCH_RECOGNIZE:
            return self._recognized(relation, joins=bool(options.get("joins")))
        return relation

    def _recognized(self, relation: exp.Expr, *, joins: bool) -> exp.Expr:
        # The table of functions imports Arrow, which starts threads: a statement's process is confined before that.
        from penstock.sql.patterns.writing import recognized  # noqa: PLC0415

        while self._match(TokenType.MATCH_RECOGNIZE):
            outside, self.inside = self.inside, False
            recognition = _read(self, relation)
            self.inside = outside
            relation = recognized(recognition, self._parse_table_alias())
            for join in self._parse_joins() if joins else ():
                relation.append("joins", join)
        return relation

    def _parse_unary(self) -> exp.Expr | None:
        """Read an operand; one with RUNNING or FINAL before it is a call."""
        word, after = self._curr.text.upper(), self._tokens[self._index + 2 : self._index + 3]
        if not (self.inside and word in _MODES and after and after[0].token_type is TokenType.L_PAREN):
            return super()._parse_unary()
        if self._next.token_type not in self.FUNC_TOKENS:
            return super()._parse_unary()
        mode = self._curr
        self._advance()
        call = super()._parse_unary()
        if not isinstance(call, exp.Anonymous):
            self.raise_error(f"Expecting a function behind {word}", mode)
        else:
            call.meta[MODE] = word
        return call


def _read(parser: Any, source: exp.Expr) -> Recognition:
    """Read from the bracket behind MATCH_RECOGNIZE to the one that closes it."""
    parser._match_l_paren()
    partition = parser._parse_partition_by()
    order = parser._parse_order()
    measures = parser._parse_csv(lambda: _measure(parser)) if parser._match_text_seq("MEASURES") else []
    rows = _rows_per_match(parser)
    skip = _skip(parser)
    for word in ("INITIAL", "SEEK"):
        if parser._match_text_seq(word):
            parser.raise_error(f"Pattern search modifier: {word} is not allowed in MATCH_RECOGNIZE clause", parser._prev)
    pattern = _pattern(parser)
    subsets = parser._parse_csv(lambda: _subset(parser)) if parser._match_text_seq("SUBSET") else []
    if not parser._match_text_seq("DEFINE"):
        parser.raise_error("Expecting DEFINE")
    definitions = parser._parse_csv(lambda: _definition(parser))
    parser._match_r_paren()
    keys = order.expressions if order is not None else []
    return Recognition(source, partition, keys, measures, rows, skip, pattern, subsets, definitions)


def _name(parser: Any) -> exp.Identifier:
    name = parser._parse_id_var(any_token=False)
    if not isinstance(name, exp.Identifier):
        parser.raise_error("Expecting a name")
    assert isinstance(name, exp.Identifier)
    return name


def _expression(parser: Any) -> exp.Expr:
    outside, parser.inside = parser.inside, True
    result = parser._parse_assignment()
    parser.inside = outside
    if result is None:
        parser.raise_error("Expecting an expression")
    assert isinstance(result, exp.Expr)
    return result


def _measure(parser: Any) -> tuple[exp.Identifier, exp.Expr]:
    expression = _expression(parser)
    if not parser._match(TokenType.ALIAS):
        parser.raise_error("Expecting AS and the name of the measure")
    return _name(parser), expression


def _definition(parser: Any) -> tuple[exp.Identifier, exp.Expr]:
    name = _name(parser)
    if not parser._match(TokenType.ALIAS):
        parser.raise_error("Expecting AS and the condition of the variable")
    return name, _expression(parser)


def _subset(parser: Any) -> tuple[exp.Identifier, Sequence[exp.Identifier]]:
    name = _name(parser)
    if not parser._match(TokenType.EQ):
        parser.raise_error("Expecting =")
    parser._match_l_paren()
    names = parser._parse_csv(lambda: _name(parser))
    parser._match_r_paren()
    return name, names


def _rows_per_match(parser: Any) -> RowsPerMatch:
    if parser._match_text_seq("ALL", "ROWS", "PER", "MATCH"):
        if parser._match_text_seq("OMIT", "EMPTY", "MATCHES"):
            return "OMIT"
        if parser._match_text_seq("WITH", "UNMATCHED", "ROWS"):
            return "UNMATCHED"
        parser._match_text_seq("SHOW", "EMPTY", "MATCHES")
        return "SHOW"
    parser._match_text_seq("ONE", "ROW", "PER", "MATCH")
    return "ONE"


def _skip(parser: Any) -> tuple[Skip, exp.Identifier | None]:
    if not parser._match_text_seq("AFTER", "MATCH"):
        return "PAST", None
    if parser._match_text_seq("SKIP", "PAST", "LAST", "ROW"):
        return "PAST", None
    if parser._match_text_seq("SKIP", "TO", "NEXT", "ROW"):
        return "NEXT", None
    if not parser._match_text_seq("SKIP", "TO"):
        parser.raise_error("Expecting SKIP")
    where: Skip = "LAST"
    # A variable may be called FIRST or LAST, too.
    if parser._next.token_type not in {TokenType.VAR, TokenType.IDENTIFIER} or parser._next.text.upper() == "PATTERN":
        return where, _name(parser)
    if parser._match_text_seq("FIRST"):
        where = "FIRST"
    else:
        parser._match_text_seq("LAST")
    return where, _name(parser)


def _pattern(parser: Any) -> Pattern:
    if not parser._match_text_seq("PATTERN"):
        parser.raise_error("Expecting PATTERN")
    parser._match_l_paren()
    tokens: list[Token] = []
    depth = 1
    while parser._curr:
        depth += (parser._curr.token_type is TokenType.L_PAREN) - (parser._curr.token_type is TokenType.R_PAREN)
        if not depth:
            break
        tokens.append(parser._curr)
        parser._advance()
    closing = parser._curr
    parser._match_r_paren()
    return PatternReader(tokens, closing, parser.raise_error).read()
