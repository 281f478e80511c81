"""DQDL's text as tokens with their places, and tokens as AWS writes them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.glue.quality.rulesets import RulesetError

__all__ = ["Token", "tokens", "written"]

_MAX_LENGTH = 65_536  # AWS's limit for a ruleset
_TOKEN = re.compile(
    r"""
    (?P<blank>[ \t\r\n]+|\#[^\n]*)
    | (?P<text>"(?:[^"\\]|\\.)*")
    | (?P<number>\d+(?:\.\d+)?(?![A-Za-z_0-9.]))
    | (?P<word>[A-Za-z0-9_.]+)
    | (?P<sign>!=|>=|<=|[\[\](){},:=<>+*/-])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([\"\\])")


@dataclass(frozen=True, slots=True)
class Token:
    """``type`` is text, number, word, sign or end; ``raw`` is the token as it stands. Lines and columns begin with 1."""

    type: str
    raw: str
    line: int
    column: int

    @property
    def value(self) -> str:
        """A text without its quotes and escapes; of other types the token itself."""
        return _ESCAPE.sub(r"\1", self.raw[1:-1]) if self.type == "text" else self.raw


def tokens(source: str) -> Sequence[Token]:
    """Return the tokens of ``source``, with one of the type ``end`` behind them. Raises :class:`RulesetError`."""
    if len(source) > _MAX_LENGTH:
        raise RulesetError(f"the ruleset has {len(source)} characters; the limit is {_MAX_LENGTH}", 1, 1)
    return list(_tokens(source))


def _tokens(source: str) -> Iterator[Token]:
    at, line, start = 0, 1, 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        column = at - start + 1
        if match is None:
            what = "a text without an end" if source[at] == '"' else f"the character {source[at]!r} is not expected"
            raise RulesetError(what, line, column)
        token_type, raw = str(match.lastgroup), match[0]
        if token_type != "blank":
            yield Token(token_type, raw, line, column)
        lines = raw.count("\n")
        if lines:
            line += lines
            start = at + raw.rindex("\n") + 1
        at = match.end()
    yield Token("end", "the end", line, len(source) - start + 1)


def written(parts: Sequence[Token]) -> str:
    """Return a rule's text: one blank between tokens, none within lists and calls, as AWS writes it."""
    result, before, unary = "", None, False
    for part in parts:
        glued = before is None or before.raw in {"(", "["} or part.raw in {",", "]", ")"}
        glued = glued or (before is not None and (before.raw == "," or unary))
        glued = glued or (part.raw == "(" and before is not None and before.type == "word" and before.raw not in _WORDS)
        result += part.raw if glued else f" {part.raw}"
        unary = part.raw == "-" and (before is None or (before.type == "sign" and before.raw != ")") or before.raw in _WORDS)
        before = part
    return result


_WORDS = frozenset({"between", "and", "in", "threshold", "of"})
"""Words before an opening parenthesis, or a sign, that are not a function's name or a value."""
