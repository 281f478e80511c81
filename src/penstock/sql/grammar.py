"""The grammar that statements are read with: Trino's, in which every ordinary call keeps the name that was written.

Sqlglot's own table of functions is left out, because it gives a call another meaning (and other defaults) before our
table of functions sees it. Calls with a syntax of their own (CAST, EXTRACT, TRIM, JSON_VALUE) keep their parsers.
"""

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.trino import Trino
from sqlglot.parsers.trino import TrinoParser
from sqlglot.tokenizer_core import TokenType

from penstock.sql.functions.json.syntax import PARSERS
from penstock.sql.patterns.parsing import RecognitionParser

__all__ = ["TrinoCalls"]

# Calls that other dialects write with a syntax of their own. In Trino they are ordinary calls, or no functions.
_ORDINARY = frozenset(
    """
    ARGMAX ARGMIN ARG_MAX ARG_MIN CEIL CHAR CHR CONVERT DECODE FLOOR GAP_FILL INITCAP MATCH MAX_BY MIN_BY OPENJSON
    SAFE_CAST STRING_AGG TRY_CONVERT WEIGHT_STRING XMLELEMENT XMLTABLE
    """.split()  # noqa: SIM905
)
_CALLS = {name: read for name, read in TrinoParser.FUNCTION_PARSERS.items() if name not in _ORDINARY}
_CALLS.update(PARSERS)
_WORDS = {name: read for name, read in TrinoParser.NO_PAREN_FUNCTION_PARSERS.items() if name != "CONNECT_BY_ROOT"}


def _decimal(_: Any, text: exp.Expr, type_: exp.DataType) -> exp.Expr:
    """Return the literal ``DECIMAL '1.50'`` as a cast to the decimal of its digits."""
    digits = text.name.lstrip("+-")
    whole, fraction = [*digits.split("."), ""][:2]
    numbers = (max(1, len(whole.lstrip("0")) + len(fraction)), len(fraction))
    return _literal_cast(text, type_, numbers)


def _text(_: Any, text: exp.Expr, type_: exp.DataType) -> exp.Expr:
    return _literal_cast(text, type_, (max(1, len(text.name)),))


def _literal_cast(text: exp.Expr, type_: exp.DataType, numbers: tuple[int, ...]) -> exp.Expr:
    if not type_.expressions:
        type_.set("expressions", [exp.DataTypeParam(this=exp.Literal.number(number)) for number in numbers])
    return exp.Cast(this=text, to=type_)


_LITERALS = {
    **TrinoParser.TYPE_LITERAL_PARSERS,
    exp.DType.DECIMAL: _decimal,
    exp.DType.CHAR: _text,
    exp.DType.VARCHAR: _text,
}


class _Parser(RecognitionParser):
    TYPE_LITERAL_PARSERS: ClassVar[dict[Any, Any]] = _LITERALS
    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = _CALLS
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = _WORDS
    SUBQUERY_TOKENS: ClassVar[Any] = {*TrinoParser.SUBQUERY_TOKENS, TokenType.VALUES}  # ALL (VALUES 1, 2)

    def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:
        condition = super()._parse_in(this, alias=alias)
        if len(condition.expressions) == 1 and isinstance(condition.expressions[0], exp.Values):
            # Sqlglot takes the rows of VALUES for one item of a list.
            condition = exp.In(this=condition.this, query=exp.Subquery(this=condition.expressions[0]))
        return condition

    def _parse_types(
        self, check_func: bool = False, schema: bool = False, allow_identifiers: bool = True, with_collation: bool = False
    ) -> exp.Expr | None:
        """Read the types of sketches that sqlglot does not know."""
        word = self._curr.text.lower() if allow_identifiers and self._curr else ""
        if word == "p4hyperloglog":
            self._advance()
            return exp.DataType(this=exp.DType.USERDEFINED, kind="P4HyperLogLog")
        if word == "qdigest" and self._next and self._next.token_type is TokenType.L_PAREN:
            self._advance(2)
            inside = self._curr.text.lower() if self._curr else ""
            self._advance()
            self._match_r_paren()
            return exp.DataType(this=exp.DType.USERDEFINED, kind=f"qdigest({inside})")
        return super()._parse_types(check_func, schema, allow_identifiers, with_collation)

    def _parse_escape(self, this: exp.Expr | None) -> exp.Expr | None:
        """Read ESCAPE with any value behind it, as Trino does."""
        if not self._match(TokenType.ESCAPE):
            return this
        return self.expression(exp.Escape(this=this, expression=self._parse_bitwise()))


class TrinoCalls(Trino):
    """Sqlglot's Trino with calls as they were written (:class:`sqlglot.exp.Anonymous`)."""

    INDEX_OFFSET = 0  # what stands in brackets stays as it is: the row of [] counts from 1
    Parser = _Parser
