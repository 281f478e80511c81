"""A cursor over a statement's text: words, names, texts and signs, read one after the other, with positions for errors."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from penstock.sql.errors import InvalidRequest, Position
from penstock.sql.statements.names import TableName

__all__ = ["Cursor", "Token"]

T = TypeVar("T")

_BLANK = re.compile(r"(?:\s+|--[^\n]*|/\*.*?\*/)*", re.DOTALL)
_WORD = re.compile(r"\w[\w$]*")
_TEXTS = {
    # Trino's texts know one escape, the doubled quote. Hive's have backslashes.
    False: re.compile(r"'((?:[^']|'')*)'", re.DOTALL),
    True: re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL),
}
_DOUBLE = {
    False: re.compile(r'"((?:[^"]|"")*)"', re.DOTALL),
    True: re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL),
}
_BACKQUOTED = re.compile(r"`((?:[^`]|``)*)`", re.DOTALL)
_SIGNS = re.compile(r"<=|>=|<>|!=|==|[^\s\w]")
_ESCAPE = re.compile(r"\\(?:([0-7]{3})|u([0-9a-fA-F]{4})|(.))", re.DOTALL)
# Apache Hive's BaseSemanticAnalyzer.unescapeSQLString: other characters stand for themselves.
_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_MAX_ITEMS = 20_000

Kind = Literal["word", "text", "double", "backquoted", "sign", "end"]


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text from ``start`` to ``end``; ``value`` is without quotes and escapes."""

    kind: Kind
    value: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """The word in upper case, "" if it is not a word."""
        return self.value.upper() if self.kind == "word" else ""


class Cursor:
    """Reads ``text`` from its start. With ``hive``, texts have Hive's backslash escapes, and may be in double quotes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._hive = False
        self._ahead: list[Token] = []
        self._at = 0

    def as_hive(self) -> "Cursor":
        """Read what follows by Hive's rules."""
        self._hive = True
        if self._ahead:
            self._at = self._ahead[0].start
            self._ahead.clear()
        return self

    def over(self, text: str) -> "Cursor":
        """Return a cursor at this place of ``text``, which is equal to this one's text up to here."""
        other = Cursor(text)
        other._at = self._ahead[0].start if self._ahead else self._at
        return other

    def peek(self, number: int = 0) -> Token:
        """Return the token ``number`` places after the next one."""
        while len(self._ahead) <= number:
            at = self._ahead[-1].end if self._ahead else self._at
            self._ahead.append(self._scan(at))
        return self._ahead[number]

    def take(self) -> Token:
        """Return the next token and move past it."""
        token = self.peek()
        self._ahead.pop(0)
        self._at = token.end
        return token

    def at(self, *words: str) -> bool:
        """Return whether the next tokens are ``words`` (upper case) or signs."""
        return all(self._is(self.peek(number), word) for number, word in enumerate(words))

    def accept(self, *words: str) -> bool:
        """Move past ``words`` if they are next; return whether they were."""
        if not self.at(*words):
            return False
        for _ in words:
            self.take()
        return True

    def expect(self, *words: str) -> None:
        """Move past ``words``. Raises :class:`InvalidRequest` if they are not next."""
        for word in words:
            if not self.accept(word):
                raise self.refused(f"'{word}'")

    def choose(self, *words: str) -> str:
        """Return which of ``words`` is next and move past it. Raises :class:`InvalidRequest` if none is."""
        for word in words:
            if self.accept(word):
                return word
        raise self.refused(" or ".join(words))

    def name(self) -> str:
        """Read an identifier, quoted or not, and return it in lower case."""
        token = self.peek()
        if token.kind not in {"word", "double", "backquoted"} or not token.value:
            raise self.refused("a name")
        return self.take().value.lower()

    def table(self) -> TableName:
        """Read a table's name: of one part, or ``database.table``, or ``catalog.database.table``.

        A name in one pair of backquotes may have both parts, as Hive reads it.
        """
        token = self.peek()
        parts = [self.name()]
        if token.kind == "backquoted" and parts[0].count(".") == 1:
            parts = parts[0].split(".")
        while len(parts) < 3 and self.accept("."):
            parts.append(self.name())
        return TableName(*reversed(parts))

    def string(self) -> str:
        """Read a text in quotes."""
        token = self.peek()
        if token.kind != "text" and not (token.kind == "double" and self._hive):
            raise self.refused("a text in quotes")
        return self.take().value

    def digits(self) -> str:
        """Read digits, as they are written."""
        token = self.peek()
        if token.kind != "word" or not (token.value.isascii() and token.value.isdigit()):
            raise self.refused("a number")
        return self.take().value

    def integer(self) -> int:
        """Read a whole number without a sign."""
        if len(self.peek().value) > 18:
            raise self.refused("a whole number of at most 18 digits")
        return int(self.digits())

    def listed(self, item: Callable[[], T]) -> list[T]:
        """Read ``(item, item, ...)``."""
        self.expect("(")
        items = [item()]
        while self.accept(","):
            items.append(item())
            if len(items) > _MAX_ITEMS:
                raise self.refused(f"at most {_MAX_ITEMS} items in a list")
        self.expect(")")
        return items

    def finish(self) -> None:
        """Check that nothing follows but semicolons."""
        ended = False
        while self.accept(";"):
            ended = True
        if ended and self.peek().kind != "end":
            raise InvalidRequest(
                f"{self.position()}: Only one sql statement is allowed.",
                remedy="Send each one in its own request.",
                athena_code="MALFORMED_QUERY",
            )
        if self.peek().kind != "end":
            raise self.refused("the end of the statement")

    def rest(self) -> int:
        """Return where the next token starts."""
        return self.peek().start

    def refused(self, expected: str) -> InvalidRequest:
        """Return the error that the next token is not what is expected there."""
        token = self.peek()
        word = self.text[token.start : token.end][:50]
        got = f"mismatched input '{word}', expecting {expected}" if word else f"the statement ends, expecting {expected}"
        return InvalidRequest(f"{self.position(token)}: {got}.", athena_code="MALFORMED_QUERY")

    def invalid(self, token: Token, what: str) -> InvalidRequest:
        """Return the error that ``token`` is understood and not valid."""
        return InvalidRequest(f"{self.position(token)}: {what}", athena_code="MALFORMED_QUERY")

    def unsupported(self, what: str, remedy: str | None = None) -> InvalidRequest:
        """Return the error that what stands at the next token is understood, and not supported."""
        return InvalidRequest(f"{self.position()}: {what} is not supported.", remedy=remedy)

    def position(self, token: Token | None = None) -> Position:
        """Return where ``token`` starts; by default the next one."""
        start = (token or self.peek()).start
        return Position(self.text.count("\n", 0, start) + 1, start - self.text.rfind("\n", 0, start))

    def _is(self, token: Token, word: str) -> bool:
        return token.word == word if word[0].isalpha() else token.kind == "sign" and token.value == word

    def _scan(self, at: int) -> Token:
        text = self.text
        blank = _BLANK.match(text, at)
        start = blank.end() if blank else at
        if start >= len(text):
            return Token("end", "", start, start)
        word = _WORD.match(text, start)
        if word:
            return Token("word", word[0], start, word.end())
        quote = text[start]
        if quote in "'\"`":
            return self._quoted(quote, start)
        sign = _SIGNS.match(text, start)
        if sign is None or text.startswith("/*", start):
            raise InvalidRequest(
                f"{self._place(start)}: a comment is not closed.", athena_code="MALFORMED_QUERY", remedy="Close it with */."
            )
        return Token("sign", sign[0], start, sign.end())

    def _quoted(self, quote: str, start: int) -> Token:
        pattern = {"'": _TEXTS[self._hive], '"': _DOUBLE[self._hive], "`": _BACKQUOTED}[quote]
        match = pattern.match(self.text, start)
        if match is None:
            raise InvalidRequest(
                f"{self._place(start)}: a quote is not closed.", athena_code="MALFORMED_QUERY", remedy="Close every quote."
            )
        doubled = quote == "`" or not self._hive
        value = match[1].replace(quote * 2, quote) if doubled else _ESCAPE.sub(_unescaped, match[1])
        kind: Kind = "text" if quote == "'" else "double" if quote == '"' else "backquoted"
        return Token(kind, value, start, match.end())

    def _place(self, start: int) -> Position:
        return self.position(Token("end", "", start, start))


def _unescaped(match: re.Match[str]) -> str:
    octal, code, other = match.groups()
    if octal is not None:
        return chr(int(octal, 8))
    return chr(int(code, 16)) if code is not None else _ESCAPES.get(other, other)
