"""Partition expressions: the SQL-like filter of GetPartitions, parsed once and compiled to a predicate over values.

The grammar is that of GetPartitions in the Glue API reference::

    expression := and (OR and)*
    and        := not (AND not)*
    not        := NOT not | '(' expression ')' | comparison
    comparison := operand (= | == | <> | != | < | <= | > | >=) operand
                | operand [NOT] BETWEEN operand AND operand
                | operand [NOT] IN '(' operand (',' operand)* ')'
                | operand [NOT] LIKE operand
                | operand IS [NOT] NULL
    operand    := key | `key` | 'text' | "text" | number | DATE 'text' | TIMESTAMP 'text'

A literal has the type of the key that it is compared with. ``"text"`` is a literal, unless it is on the left and names a
key. Null (``__HIVE_DEFAULT_PARTITION__``) follows SQL's three-valued logic: a comparison with it is neither true nor
false. The conditions also say which values a store can look up (:mod:`.conditions`). ADR 28 explains why sqlglot does
not parse this.
"""

import operator
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from penstock.catalog.model import Column
from penstock.catalog.partitions.conditions import Branch, Condition, Span, Test, all_of, any_of, branches, negation
from penstock.catalog.partitions.values import NULL_VALUE, Scalar, article, family, literal_reader, order_text, reader
from penstock.errors import InvalidInput

__all__ = ["PartitionExpression"]

_MAX_LENGTH = 2_048  # AWS's limit (PredicateString); it also bounds the work for each partition
_MAX_DEPTH = 100
_VALUE_CACHE = 65_536

_Row: TypeAlias = Sequence[str]
_Read: TypeAlias = Callable[[_Row], Scalar | None]

_COMPARISONS: dict[str, Callable[[Scalar, Scalar], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<symbol><=|>=|<>|!=|==|[=<>(),])
      | (?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![A-Za-z_]))
      | (?P<text>'(?:[^']|'')*')
      | (?P<double>"(?:[^"]|"")*")
      | (?P<quoted>`(?:[^`]|``)+`)
      | (?P<word>[^\W\d][\w.$-]*)
      | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_KEYWORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN", "LIKE", "IS", "NULL"})


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


class _Operand(NamedTuple):
    """A key (``column`` is its index in the values, ``kind`` its family) or a literal (``column`` is -1)."""

    column: int
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class PartitionExpression:
    """A compiled filter; ``test`` gives True, False or None for one list of values.

    ``branches`` are its alternatives, for a store that can look values up; none for an expression that matches all.
    """

    text: str
    test: Test
    branches: Sequence[Branch] = ()

    @classmethod
    def parse(cls, text: str, keys: Sequence[Column]) -> "PartitionExpression":
        """Compile ``text`` over the table's partition ``keys``; an empty text matches every partition.

        Raises :class:`InvalidInput` with the position for a syntax error, an unknown key, a literal of the wrong type, or
        nesting beyond 100 levels.
        """
        if len(text) > _MAX_LENGTH:
            raise InvalidInput(f"The partition expression is {len(text):,} characters long, more than {_MAX_LENGTH:,}.")
        if not text.strip():
            return cls(text, lambda _row: True)
        parsed = _Parser(text, keys).parse()
        return cls(text, parsed.test, branches(parsed))

    def matches(self, values: Sequence[str]) -> bool:
        """Return whether the partition with ``values`` matches."""
        return self.test(values) is True


class _Parser:
    def __init__(self, text: str, keys: Sequence[Column]) -> None:
        self._text = text
        self._keys = {key.name.lower(): (index, key) for index, key in enumerate(keys)}
        self._columns: dict[int, _Read] = {}
        self._tokens = list(self._scan())
        self._at = 0
        self._depth = 0

    def parse(self) -> Condition:
        test = self._or()
        if self._peek().kind != "end":
            raise self._error("an operator or the end")
        return test

    def _scan(self) -> "list[_Token]":
        tokens: list[_Token] = []
        position = 0
        while True:
            match = _TOKEN.match(self._text, position)
            if match is None or match.lastgroup is None:
                start = position + len(self._text[position:]) - len(self._text[position:].lstrip())
                raise self._refuse(f"'{self._text[start : start + 20]}' cannot be read at character {start + 1}")
            kind, text = match.lastgroup, match[match.lastgroup]
            start = match.start(kind)
            if kind == "word" and text.upper() in _KEYWORDS:
                kind, text = "keyword", text.upper()
            tokens.append(_Token(kind, text, start))
            if kind == "end":
                return tokens
            position = match.end()

    def _or(self) -> Condition:
        tests = [self._and()]
        while self._take("keyword", "OR"):
            tests.append(self._and())
        return any_of(tests)

    def _and(self) -> Condition:
        tests = [self._not()]
        while self._take("keyword", "AND"):
            tests.append(self._not())
        return all_of(tests)

    def _not(self) -> Condition:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._refuse(f"it is nested more than {_MAX_DEPTH} levels deep")
        try:
            if self._take("keyword", "NOT"):
                return negation(self._not())
            if self._take("symbol", "("):
                test = self._or()
                self._expect("symbol", ")")
                return test
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> Condition:
        left = self._operand(leading=True)
        token = self._peek()
        if token.kind == "symbol" and token.text in _COMPARISONS:
            self._at += 1
            return self._compared(token.text, left, self._operand())
        if self._take("keyword", "IS"):
            negated = self._take("keyword", "NOT")
            self._expect("keyword", "NULL")
            return self._is_null(left, negated)
        negated = self._take("keyword", "NOT")
        if self._take("keyword", "BETWEEN"):
            test = self._between(left)
        elif self._take("keyword", "IN"):
            test = self._in(left)
        elif self._take("keyword", "LIKE"):
            test = self._like(left)
        else:
            raise self._error("a comparison, BETWEEN, IN, LIKE or IS NULL")
        return negation(test) if negated else test

    def _between(self, left: _Operand) -> Condition:
        low = self._operand()
        self._expect("keyword", "AND")
        high = self._operand()
        return all_of([self._compared(">=", left, low), self._compared("<=", left, high)])

    def _in(self, left: _Operand) -> Condition:
        self._expect("symbol", "(")
        items = [self._operand()]
        while self._take("symbol", ","):
            items.append(self._operand())
        self._expect("symbol", ")")
        if left.column < 0 or any(item.column >= 0 for item in items):
            return any_of([self._compared("=", left, item) for item in items])
        read, convert = self._column(left), literal_reader(left.name, left.kind)
        literals = {convert(item.name) for item in items}

        def test(row: _Row) -> bool | None:
            value = read(row)
            return None if value is None else value in literals

        ends = [order_text(value) for value in literals]
        return Condition(test=test, keys=frozenset({left.column}), spans=[Span(left.kind, end, end) for end in ends])

    def _like(self, left: _Operand) -> Condition:
        pattern = self._operand()
        if left.column < 0 or left.kind != "string" or pattern.column >= 0:
            raise self._refuse("LIKE takes a key of type string and a literal")
        regex = _like_pattern(pattern.name)
        position = left.column

        def test(row: _Row) -> bool | None:
            value = row[position]
            return None if value == NULL_VALUE else regex(value)

        return Condition(test=test, keys=frozenset({position}), spans=_like_spans(pattern.name))

    def _is_null(self, operand: _Operand, negated: bool) -> Condition:
        position = operand.column
        if position < 0:
            return Condition(test=lambda _row: negated, keys=frozenset())
        return Condition(
            test=lambda row: (row[position] == NULL_VALUE) is not negated,
            keys=frozenset({position}),
            spans=None if negated else [Span("string", NULL_VALUE, NULL_VALUE)],
        )

    def _compared(self, symbol: str, left: _Operand, right: _Operand) -> Condition:
        first, second, literal = self._comparable(left, right)
        return Condition(
            test=_compare(_COMPARISONS[symbol], first, second),
            keys=frozenset({left.column, right.column} - {-1}),
            spans=None if literal is None else _spans(symbol, left, right, literal),
        )

    def _comparable(self, left: _Operand, right: _Operand) -> tuple[_Read, _Read, Scalar | None]:
        """Return readers of both sides in one family: that of the key, or of the left key if both are keys.

        The third value is the literal, None if both are keys.
        """
        if left.column < 0 and right.column < 0:
            raise self._refuse(f"it compares two literals, '{left.name}' and '{right.name}'")
        if left.column >= 0 and right.column >= 0:
            if left.kind != right.kind:
                raise self._refuse(f"{left.name} is {article(left.kind)} and {right.name} {article(right.kind)}")
            return self._column(left), self._column(right), None
        column = left if left.column >= 0 else right
        literal = literal_reader(column.name, column.kind)((right if left.column >= 0 else left).name)
        read, constant = self._column(column), _constant(literal)
        return (read, constant, literal) if left.column >= 0 else (constant, read, literal)

    def _column(self, operand: _Operand) -> _Read:
        # One reader for all comparisons of a key, because it caches the values that it has read.
        if operand.column not in self._columns:
            self._columns[operand.column] = self._new_column(operand)
        return self._columns[operand.column]

    def _new_column(self, operand: _Operand) -> _Read:
        position = operand.column
        if operand.kind == "string":
            return lambda row: None if row[position] == NULL_VALUE else row[position]
        convert = lru_cache(maxsize=_VALUE_CACHE)(reader(operand.name, operand.kind))

        def read(row: _Row) -> Scalar | None:
            if row[position] == NULL_VALUE:
                return None
            try:
                return convert(row[position])
            except InvalidInput:
                raise InvalidInput(
                    f"Partition {[value[:100] for value in row]} has '{row[position][:100]}' for {operand.name}, which is "
                    f"{article(operand.kind)}, so the expression cannot be evaluated.",
                    remedy="Delete that partition, or create it again with a valid value.",
                ) from None

        return read

    def _operand(self, *, leading: bool = False) -> _Operand:
        token = self._peek()
        self._at += 1
        if token.kind == "number":
            return _Operand(-1, token.text, "literal")
        if token.kind == "text":
            return _Operand(-1, token.text[1:-1].replace("''", "'"), "literal")
        if token.kind == "double":
            name = token.text[1:-1].replace('""', '"')
            return self._key(name) if leading and name.lower() in self._keys else _Operand(-1, name, "literal")
        if token.kind == "quoted":
            return self._key(token.text[1:-1].replace("``", "`"))
        if token.kind == "word":
            if token.text.upper() in {"DATE", "TIMESTAMP"} and self._peek().kind in {"text", "double"}:
                return self._operand()
            return self._key(token.text)
        self._at -= 1
        raise self._error("a partition key or a literal")

    def _key(self, name: str) -> _Operand:
        if name.lower() not in self._keys:
            known = ", ".join(key.name for _, key in self._keys.values()) or "none"
            raise self._refuse(f"'{name}' is not a partition key; the table's are: {known}")
        index, key = self._keys[name.lower()]
        return _Operand(index, key.name, family(key.name, key.type))

    def _peek(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, kind: str, text: str) -> bool:
        token = self._peek()
        if (token.kind, token.text) != (kind, text):
            return False
        self._at += 1
        return True

    def _expect(self, kind: str, text: str) -> None:
        if not self._take(kind, text):
            raise self._error(f"'{text}'")

    def _error(self, expected: str) -> InvalidInput:
        token = self._peek()
        place = "it ends" if token.kind == "end" else f"'{token.text[:50]}' stands"
        return self._refuse(f"{expected} is expected where {place} at character {token.position + 1}")

    def _refuse(self, reason: str) -> InvalidInput:
        return InvalidInput(
            f"The partition expression {self._text[:500]!r} cannot be used: {reason}.",
            remedy="Use =, <>, <, >, AND, OR, NOT, BETWEEN, IN, LIKE and IS NULL over partition keys.",
        )


def _constant(value: Scalar) -> _Read:
    return lambda _row: value


def _compare(compare: Callable[[Scalar, Scalar], bool], left: _Read, right: _Read) -> Test:
    def test(row: _Row) -> bool | None:
        first, second = left(row), right(row)
        return None if first is None or second is None else compare(first, second)

    return test


def _spans(symbol: str, left: _Operand, right: _Operand, literal: Scalar) -> Sequence[Span] | None:
    """Return the spans of a comparison of a key with a literal; a strict one has the end that it leaves out, too."""
    column = left if left.column >= 0 else right
    end = order_text(literal)
    if symbol in {"=", "=="}:
        return [Span(column.kind, end, end)]
    if symbol in {"<>", "!="}:
        return None
    upwards = symbol.startswith(">") is (left.column >= 0)
    return [Span(column.kind, end, None) if upwards else Span(column.kind, None, end)]


def _like_spans(pattern: str) -> Sequence[Span] | None:
    """Return the span of the text before the first wildcard; None if there is none."""
    start = re.split("[%_]", pattern, maxsplit=1)[0]
    if start == pattern:
        return [Span("string", pattern, pattern)]
    return [Span("string", start, _behind(start))] if start else None


def _behind(start: str) -> str | None:
    """Return a text behind all that begin with ``start``; None if the last character has no successor."""
    code = ord(start[-1]) + 1
    if code > sys.maxunicode:
        return None
    return start[:-1] + chr(0xE000 if 0xD800 <= code < 0xE000 else code)  # no text has a surrogate


def _like_pattern(pattern: str) -> Callable[[str], bool]:
    """Return a matcher for LIKE, linear in the value for each ``%``; a regular expression could backtrack."""
    parts = [re.compile(re.escape(part).replace("_", "."), re.DOTALL) for part in pattern.split("%")]
    lengths = [len(part) for part in pattern.split("%")]

    def matches(value: str) -> bool:
        if len(parts) == 1:
            return parts[0].fullmatch(value) is not None
        if len(value) < sum(lengths) or not parts[0].match(value) or not parts[-1].match(value, len(value) - lengths[-1]):
            return False
        position, end = lengths[0], len(value) - lengths[-1]
        for part in parts[1:-1]:
            match = part.search(value, position, end)
            if match is None:
                return False
            position = match.end()
        return True

    return matches
