"""The documented examples of functions with their constants in a table: the same calls over columns, groups and windows."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.sql.errors import StatementError
from penstock.sql.grammar import TrinoCalls
from tests.unit.sql.engine import Engine

__all__ = ["FILES", "PLACES", "Constants", "Example", "Placed", "examples"]

FILES = sorted(Path(__file__).parent.joinpath("examples").glob("*.txt"))

PLACES: Mapping[str, str] = {
    "a column": "{}",
    "an aggregate": "arbitrary({})",
    "a window": "first_value({}) OVER (ORDER BY id)",
    "a subquery": "(SELECT {} FROM constants WHERE id = 0)",
}
"""What stands in the place of a constant; ``{}`` is the column that has it."""

_CONSTANTS = {TokenType.STRING, TokenType.NUMBER, TokenType.HEX_STRING, TokenType.UNICODE_STRING}
_TYPED = {
    "IPADDRESS",
    "DATE",
    "TIME",
    "TIMESTAMP",
    "DECIMAL",
    "REAL",
    "DOUBLE",
    "BIGINT",
    "TINYINT",
    "SMALLINT",
    "JSON",
    "CHAR",
    "VARCHAR",
}
# The least bigint without its sign; units, since a choice among all of them takes the engine long to plan.
_AS_THEY_ARE = {str(1 << 63), *["millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year"]}
_SIZED = {"DECIMAL", "VARCHAR", "CHAR", "TIME", "TIMESTAMP"}


@dataclass(frozen=True)
class Example:
    """A documented result: ``value`` is what Athena prints, None for NULL; ``kind`` is its type, or ``error``."""

    expression: str
    kind: str
    value: str | None


@dataclass(frozen=True)
class Constant:
    """A constant of an example: its text, its column, and whether it is in the body of a lambda."""

    text: str
    column: str
    in_lambda: bool


@dataclass(frozen=True)
class Placed:
    """An example whose constants are columns of the table ``constants``."""

    example: Example
    parts: Sequence[str | Constant]
    """The text of the call in pieces, with the constants between them."""
    kept: Sequence[str]
    """The constants that stay, because the call is refused for a value that is no literal."""

    @property
    def columns(self) -> Sequence[str]:
        return [part.column for part in self.parts if isinstance(part, Constant)]

    def written(self, place: str) -> str:
        """Return the call with ``place`` for each constant. A lambda has no aggregates and subqueries in it, as in Trino."""
        return self._text(
            lambda constant: constant.text if constant.in_lambda and place != "{}" else place.format(constant.column)
        )

    def in_lambda(self) -> str:
        """Return the call in a lambda, whose parameter is the first constant; the others are columns."""
        first = self.columns[0]
        inside = self._text(lambda constant: "placed" if constant.column == first else constant.column)
        return f"transform(ARRAY[{first}], placed -> {inside})[1]"

    def with_null(self) -> Iterator[str]:
        """Yield the call with each of its constants in turn replaced by a NULL of its type, which data has."""
        for null in self.parts:
            if isinstance(null, Constant):
                yield self._text(partial(_or_null, null))

    def _text(self, write: Callable[[Constant], str]) -> str:
        return "".join(write(part) if isinstance(part, Constant) else part for part in self.parts)


def _or_null(null: Constant, item: Constant) -> str:
    return f"if(id = 1, {item.column})" if item is null else item.column


def examples(file: Path) -> Iterator[Example]:
    """Yield the examples of a file: ``expression | type | value``; NULL is the absent value, quotes are Python's."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            expression, type_, value = (part.strip() for part in line.rsplit(" | ", 2))
            text = None if value == "NULL" else ast.literal_eval(value) if value.startswith('"') else value
            yield Example(expression, type_, text)


class Constants:
    """The table ``constants`` of an engine, with a column for each constant of the examples.

    Rows 0 and 2 have the constants, row 1 has NULL in each column.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._names: dict[str, str] = {}

    def placed(self, candidates: Iterable[Example]) -> Sequence[Placed]:
        """Return each example without an error and without a FROM, and make the table that they need."""
        split = [
            (candidate, _spans(candidate.expression))
            for candidate in candidates
            if candidate.kind != "error" and not _reads(candidate.expression)
        ]
        for example, spans in split:
            for span in spans:
                self._names.setdefault(example.expression[span], f"c{len(self._names)}")
        texts = ", ".join(f"{text} AS {name}" for text, name in self._names.items())
        nulls = ", ".join(["NULL"] * len(self._names))
        self._engine.create("constants", f"SELECT 0 AS id, {texts} UNION ALL SELECT 1, {nulls} UNION ALL SELECT 2, {texts}")
        return [self._placed(example, spans) for example, spans in split if spans]

    def _placed(self, example: Example, spans: Sequence[slice]) -> Placed:
        kept: list[slice] = []
        whole = Placed(example, self._parts(example, spans), ())
        if self._is_refused(whole):
            kept = [span for span in spans if self._is_refused(Placed(example, self._parts(example, [span]), ()))]
            moved = [span for span in spans if span not in kept]
            whole = Placed(example, self._parts(example, moved), [example.expression[span] for span in kept])
        return whole

    def _is_refused(self, placed: Placed) -> bool:
        try:
            self._engine.translated(f"SELECT {placed.written('{}')} FROM constants")
        except StatementError:
            return True
        return False

    def _parts(self, example: Example, spans: Sequence[slice]) -> Sequence[str | Constant]:
        parts: list[str | Constant] = []
        at = 0
        lambdas = _lambdas(example.expression)
        for span in spans:
            text = example.expression[span]
            inside = any(lambda_.start <= span.start < lambda_.stop for lambda_ in lambdas)
            parts += [example.expression[at : span.start], Constant(text, self._names[text], inside)]
            at = span.stop
        return [*parts, example.expression[at:]]


def _lambdas(expression: str) -> Sequence[slice]:
    """Return where the bodies of lambdas are: from the arrow to the end of the argument."""
    lambdas = []
    tokens = TrinoCalls().tokenize(expression)
    for at, token in enumerate(tokens):
        if token.token_type is TokenType.ARROW:
            depth, last = 0, at
            while depth >= 0 and not (depth == 0 and tokens[last].text == ","):
                last += 1
                depth += (tokens[last].text in "([") - (tokens[last].text in ")]")
            lambdas.append(slice(token.start, tokens[last].start))
    return lambdas


def _reads(expression: str) -> bool:
    (tree,) = TrinoCalls().parse(f"SELECT {expression}")
    assert tree is not None
    return any(node is not tree for node in tree.find_all(exp.From, exp.Query, exp.Values))


def _spans(expression: str) -> Sequence[slice]:
    """Return where the constants of an expression begin and end, with the type before a literal of a type."""
    tokens = TrinoCalls().tokenize(expression)
    spans = [_span(tokens, at) for at, token in enumerate(tokens) if token.token_type in _CONSTANTS]
    return [span for span in spans if span is not None]


def _span(tokens: Sequence[Token], at: int) -> slice | None:
    token = tokens[at]
    words = ["", "", "", "", *(item.text.upper() for item in tokens[:at])][-4:]
    in_type = (words[-1] == "(" and words[-2] in _SIZED) or (words[-1], words[-3], words[-4] in _SIZED) == (",", "(", True)
    if "INTERVAL" in words[-2:] or in_type or token.text in _AS_THEY_ARE:
        return None  # a part of another literal, or of a type
    first = tokens[at - 1] if words[-1] in _TYPED and token.token_type is TokenType.STRING else token
    return slice(first.start, token.end + 1)
