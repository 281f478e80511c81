"""Row patterns: from the tokens of PATTERN to the program that the matcher runs.

Sources: Trino's documentation, "MATCH_RECOGNIZE"; the errors of its analyzer (PatternRecognitionAnalyzer).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal, NoReturn

from sqlglot.tokenizer_core import Token, TokenType

from penstock.sql.errors import Position, StatementError

__all__ = ["Instruction", "Pattern", "PatternReader", "check_quantifiers", "label_of", "program"]

_MAX_PROGRAM = 20_000
_MAX_REPETITIONS = 2**31 - 1

Instruction = list[str | int | bool]
"""``label`` (its number, and whether its row is left out of the output), ``split`` (the preferred branch, the other one),
``jump``, ``start``, ``end`` or ``done``."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A part of a row pattern."""

    kind: Literal["label", "sequence", "choice", "permute", "repeat", "exclude", "start", "end"]
    parts: Sequence["Pattern"] = ()
    label: str = ""
    least: int = 0
    most: int | None = None
    greedy: bool = True
    position: Position | None = None

    def labels(self) -> Sequence[str]:
        """Return the primary variables, each once, in the order of their first use."""
        labels = [self.label] if self.kind == "label" else [name for part in self.parts for name in part.labels()]
        return list(dict.fromkeys(labels))

    def first(self, kind: str) -> "Pattern | None":
        """Return the first part of ``kind``, None if there is none."""
        if self.kind == kind:
            return self
        return next((part_of_kind for part in self.parts if (part_of_kind := part.first(kind)) is not None), None)


@dataclass(frozen=True, slots=True)
class _Sign:
    text: str
    token: Token
    name: bool = False


def label_of(text: str, *, quoted: bool) -> str:
    """Return the variable that an identifier means: without quotes it is in upper case."""
    return text if quoted else text.upper()


class PatternReader:
    """Reads the tokens between the brackets of PATTERN; ``fail`` raises the parser's error at a token."""

    def __init__(self, tokens: Sequence[Token], closing: Token, fail: Callable[[str, Token], None]) -> None:
        self._signs = [sign for token in tokens for sign in _signs(token)]
        self._closing = closing
        self._fail = fail
        self._at = 0

    def read(self) -> Pattern:
        """Return the pattern. Raises the parser's error."""
        result = self._choice()
        if self._at < len(self._signs):
            self._unexpected("a row pattern")
        return result

    def _unexpected(self, expected: str) -> NoReturn:
        token = self._signs[self._at].token if self._at < len(self._signs) else self._closing
        self._fail(f"Expecting {expected}", token)
        raise AssertionError  # the parser raises

    def _peek(self, after: int = 0) -> str:
        at = self._at + after
        return self._signs[at].text if at < len(self._signs) and not self._signs[at].name else ""

    def _accept(self, text: str) -> bool:
        is_next = self._peek() == text
        self._at += is_next
        return is_next

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            self._unexpected(text)

    def _choice(self) -> Pattern:
        parts = [self._sequence()]
        while self._accept("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Pattern("choice", parts)

    def _sequence(self) -> Pattern:
        parts = [self._quantified()]
        while self._at < len(self._signs) and self._peek() not in {"|", ")", ","} and not self._closes():
            parts.append(self._quantified())
        return parts[0] if len(parts) == 1 else Pattern("sequence", parts)

    def _closes(self) -> bool:
        return self._peek() == "-" and self._peek(1) == "}"

    def _quantified(self) -> Pattern:
        part = self._primary()
        sign = self._peek()
        if sign not in {"*", "+", "?", "{"} or (sign == "{" and self._peek(1) == "-"):
            return part
        position = _position(self._signs[self._at].token)
        self._at += 1
        least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(sign, (0, None))
        if sign == "{":
            least, most = self._bounds()
        return Pattern("repeat", [part], least=least, most=most, greedy=not self._accept("?"), position=position)

    def _bounds(self) -> tuple[int, int | None]:
        least = self._number()
        if self._accept(","):
            most = self._number()
        elif least is None:
            self._unexpected("a number")
        else:
            most = least
        self._expect("}")
        return least or 0, most

    def _number(self) -> int | None:
        number = self._peek()
        self._at += number.isdigit()
        return int(number[:20]) if number.isdigit() else None

    def _primary(self) -> Pattern:
        if self._at < len(self._signs) and self._signs[self._at].name:
            return self._named()
        if self._accept("^"):
            return Pattern("start")
        if self._accept("$"):
            return Pattern("end")
        if self._peek() == "{" and self._peek(1) == "-":
            position = _position(self._signs[self._at].token)
            self._at += 2
            inside = self._choice()
            self._expect("-")
            self._expect("}")
            return Pattern("exclude", [inside], position=position)
        if not self._accept("("):
            self._unexpected("a row pattern")
        if self._accept(")"):
            return Pattern("sequence")
        inside = self._choice()
        self._expect(")")
        return inside

    def _named(self) -> Pattern:
        sign = self._signs[self._at]
        self._at += 1
        quoted = sign.token.token_type is TokenType.IDENTIFIER
        if not quoted and sign.text.upper() == "PERMUTE" and self._accept("("):
            parts = [self._choice()]
            while self._accept(","):
                parts.append(self._choice())
            self._expect(")")
            return Pattern("permute", parts)
        return Pattern("label", label=label_of(sign.text, quoted=quoted))


def _signs(token: Token) -> list[_Sign]:
    """Return what a token of the SQL is in a pattern: the tokenizer takes ``$`` for a letter, and ``??`` for one sign."""
    if token.token_type is TokenType.IDENTIFIER:
        return [_Sign(token.text, token, name=True)]
    if not token.text[:1].isalpha() and not token.text.startswith(("_", "$")):
        return [_Sign(token.text, token)] if token.text.isdigit() else [_Sign(sign, token) for sign in token.text]
    result = []
    for number, word in enumerate(token.text.split("$")):
        if number:
            result.append(_Sign("$", token))
        if word:
            result.append(_Sign(word, token, name=True))
    return result


def _position(token: Token) -> Position:
    return Position(token.line, max(1, token.col - len(token.text) + 1))


def check_quantifiers(pattern: Pattern) -> None:
    """Raise :class:`StatementError` for the bounds of a quantifier that Trino refuses."""
    if pattern.kind == "repeat":
        _check_bounds(pattern.least, pattern.most, pattern.position)
    for part in pattern.parts:
        check_quantifiers(part)


def _check_bounds(least: int, most: int | None, position: Position | None) -> None:
    what = ""
    if least > _MAX_REPETITIONS:
        what = f"Pattern quantifier lower bound must not exceed {_MAX_REPETITIONS}"
    elif most is not None and most < 1:
        what = "Pattern quantifier upper bound must be greater than or equal to 1"
    elif most is not None and most > _MAX_REPETITIONS:
        what = f"Pattern quantifier upper bound must not exceed {_MAX_REPETITIONS}"
    if what:
        raise StatementError("NUMERIC_VALUE_OUT_OF_RANGE", what, position=position)
    if most is not None and least > most:
        message = "Pattern quantifier lower bound must not exceed upper bound"
        raise StatementError("INVALID_RANGE", message, position=position)


def program(pattern: Pattern, labels: Sequence[str]) -> list[Instruction]:
    """Return the program of ``pattern``, in which variables are their places in ``labels``.

    Raises :class:`StatementError` for a pattern that is too large.
    """
    compiler = _Compiler({name: at for at, name in enumerate(labels)})
    compiler.add(pattern, hidden=False)
    compiler.emit(["done"])
    return compiler.code


class _Compiler:
    def __init__(self, numbers: dict[str, int]) -> None:
        self.code: list[Instruction] = []
        self._numbers = numbers

    def emit(self, instruction: Instruction) -> int:
        if len(self.code) >= _MAX_PROGRAM:
            raise StatementError(
                "NOT_SUPPORTED",
                f"The row pattern has more than {_MAX_PROGRAM} steps once its repetitions and permutations are written out.",
                remedy="Use *, + or smaller bounds, and fewer elements in PERMUTE.",
            )
        self.code.append(instruction)
        return len(self.code) - 1

    def add(self, pattern: Pattern, *, hidden: bool) -> None:
        kind = pattern.kind
        if kind == "label":
            self.emit(["label", self._numbers[pattern.label], hidden])
        elif kind in {"start", "end"}:
            self.emit([kind])
        elif kind in {"sequence", "exclude"}:
            for part in pattern.parts:
                self.add(part, hidden=hidden or kind == "exclude")
        elif kind == "repeat":
            self._repeat(pattern, hidden=hidden)
        elif kind == "choice":
            self._choice([[part] for part in pattern.parts], hidden=hidden)
        else:
            self._choice(permutations(pattern.parts), hidden=hidden)

    def _choice(self, branches: Iterable[Sequence[Pattern]], *, hidden: bool) -> None:
        """Add sequences of which the first that matches is taken."""
        ends = []
        before: int | None = None
        for branch in branches:
            if before is not None:
                ends.append(self.emit(["jump", 0]))
                self.code[before][2] = len(self.code)
            before = self.emit(["split", len(self.code) + 1, 0])
            for part in branch:
                self.add(part, hidden=hidden)
        if before is not None:
            self.code[before] = ["jump", before + 1]  # the last one has no other
        for end in ends:
            self.code[end][1] = len(self.code)

    def _repeat(self, pattern: Pattern, *, hidden: bool) -> None:
        (part,) = pattern.parts
        copies = pattern.least if pattern.most is not None else max(pattern.least - 1, 0)
        for _ in range(copies):
            self._copy(part, hidden=hidden)
        if pattern.most is None and pattern.least:
            begin = len(self.code)
            self.add(part, hidden=hidden)
            self._split(pattern, begin, len(self.code) + 1)
        elif pattern.most is None:
            begin = self._split(pattern, len(self.code) + 1, 0)
            self.add(part, hidden=hidden)
            self.emit(["jump", begin])
            self._past(pattern, [begin])
        else:
            splits = []
            for _ in range(pattern.most - pattern.least):
                splits.append(self._split(pattern, len(self.code) + 1, 0))
                self._copy(part, hidden=hidden)
            self._past(pattern, splits)

    def _copy(self, part: Pattern, *, hidden: bool) -> None:
        """Add one of several copies; each counts, so that copies of an empty pattern end, too."""
        before = len(self.code)
        self.add(part, hidden=hidden)
        if len(self.code) == before:
            self.emit(["jump", before + 1])

    def _split(self, pattern: Pattern, again: int, past: int) -> int:
        return self.emit(["split", again, past] if pattern.greedy else ["split", past, again])

    def _past(self, pattern: Pattern, splits: Sequence[int]) -> None:
        for at in splits:
            self.code[at][2 if pattern.greedy else 1] = len(self.code)
