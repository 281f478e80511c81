"""Preparation of definition texts for the compiler: limits on size and nesting, and Java's deviating syntax.

The compiler refuses ``option map_entry = true``, which texts that Java renders from descriptors carry in place of
``map<K, V>``. The statement is exchanged for a reserved name of the same message, by which the compiled message is known.
Nor does Java escape backslashes, as in ``option php_namespace = "Acme\\Billing"``.
"""

import re

from penstock.schema.errors import InvalidSchema
from penstock.schema.format import MAX_DEFINITION_CHARS

__all__ = ["MAX_DEPTH", "check_text", "escape_backslashes", "mark_map_entries"]

MAX_DEPTH = 50
"""Brackets of all kinds. Messages nest 31 levels at most by the compiler's own rule; the rest is for option values."""

_MAX_RANGES = 5_000  # the compiler holds each range against all others, and against all fields
_MAX_PARTS = 32  # names joined by dots: each part of an option's name is one more level of its value

_SKIPPED = r"//[^\n]*|/\*.*?(?:\*/|\Z)|" r'"(?:[^"\\\n]|\\.)*"?|' r"'(?:[^'\\\n]|\\.)*'?"
_HIDDEN = re.compile(_SKIPPED, re.DOTALL)
_TOKENS = re.compile(rf"{_SKIPPED}|[\[\]{{}}()<>.;=,]", re.DOTALL)
_MAP_ENTRY = re.compile(r"\boption\s+map_entry\s*=\s*true\s*;")
_RANGES = re.compile(r"\b(?:reserved|extensions)\s+(-?\d[^;]*)")
_ESCAPED = re.compile(r"(?:[^\\]|\\(?:[abfnrtv\\?'\"0-7]|[xX][0-9a-fA-F]|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}))*")
_EDITION = re.compile(r"\s*edition\b")


def check_text(text: str, what: str) -> None:
    """Refuse text that is too long, not valid Unicode, or nested too deeply; ``what`` names it in the error."""
    if len(text) > MAX_DEFINITION_CHARS:
        raise InvalidSchema(
            f"{what} has {len(text)} characters; the limit is {MAX_DEFINITION_CHARS}.",
            remedy="Split it into files that import each other, and register each.",
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidSchema(f"{what} has a lone surrogate at character {error.start}, which is not text.") from None
    _check_ranges(text, what)
    depth = dots = round_depth = 0
    for match in _TOKENS.finditer(text):
        token = match.group()
        if token == ".":
            dots += not round_depth
        elif token in "[{(<":
            depth += 1
            round_depth += token == "("
        elif token in "]})>":
            depth = max(0, depth - 1)
            round_depth = max(0, round_depth - (token == ")"))
        if token in "{};=,[]<>":
            dots = 0
        if depth > MAX_DEPTH or dots > _MAX_PARTS:
            line = text.count("\n", 0, match.start()) + 1
            problem = (
                f"brackets nest more than {MAX_DEPTH} levels" if depth > MAX_DEPTH else f"a name has over {_MAX_PARTS} parts"
            )
            raise InvalidSchema(
                f"{what}, line {line}: {problem}.", remedy="Flatten it: give inner messages names of their own."
            )


def _check_ranges(text: str, what: str) -> None:
    if text.count(",") + text.count(";") <= _MAX_RANGES:
        return
    ranges = sum(match[1].count(",") + 1 for match in _RANGES.finditer(_visible(text)))
    if ranges > _MAX_RANGES:
        raise InvalidSchema(
            f"{what} has {ranges} ranges in its reserved and extensions statements; the limit is {_MAX_RANGES}.",
            remedy="Join numbers that follow each other, as in: reserved 2 to 40;",
        )


def _visible(text: str) -> str:
    """Return ``text`` with spaces for comments and strings."""
    return _HIDDEN.sub(lambda match: " " * len(match.group()), text)


def mark_map_entries(text: str, marker: str) -> str:
    """Return ``text`` in which each ``option map_entry = true;`` is the reserved name ``marker``."""
    if "map_entry" not in text:
        return text
    visible = _visible(text)
    reserved = f"reserved {marker};" if _EDITION.match(visible) else f'reserved "{marker}";'
    parts: list[str] = []
    end = 0
    for match in _MAP_ENTRY.finditer(visible):
        parts += text[end : match.start()], reserved
        end = match.end()
    return "".join([*parts, text[end:]])


def escape_backslashes(text: str) -> str:
    """Return ``text`` in which backslashes stand for themselves in every string that the compiler could not read."""
    if "\\" not in text:
        return text

    def escaped(match: re.Match[str]) -> str:
        escape = match.group()
        if escape[0] == "/" or escape[0] in escape[1:-1] or _ESCAPED.fullmatch(escape):
            return escape
        return escape.replace("\\", "\\\\")

    return _HIDDEN.sub(escaped, text)
