"""Regular expressions of statements and tables, matched in time linear in the text, or stopped.

Python's own engine tries all ways to match: ``(a+)+$`` takes two to the length of the text. RE2 matches what is regular in
one pass. What it does not have (look-around, backreferences, more than 1,000 repetitions), or reads otherwise (a ``$``
before a last line feed, word boundaries beside letters beyond ASCII), is matched by backtracking for a bounded time.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import re2
import regex

__all__ = ["Pattern", "TooSlow"]

_SECONDS = 2.0
"""Seconds that the backtracking of one text may take."""
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_TOKENS = re.compile(
    r"\\(?P<escape>[wWdDbBsSZ])|\\u(?P<short>[0-9a-fA-F]{4})|\\U(?P<long>[0-9a-fA-F]{8})|\\(?P<other>.)"
    r"|(?P<set>\[\^?\]?)|(?P<end>\])|(?P<dollar>\$)",
    re.DOTALL,
)
# As Python's \w and \d of texts: letters, all kinds of numbers, the underscore.
_WIDE = {"w": r"[\p{L}\p{N}_]", "W": r"[^\p{L}\p{N}_]", "d": r"\p{Nd}", "D": r"\P{Nd}", "Z": r"\z"}
_WIDE_IN_SETS = {"w": r"\p{L}\p{N}_", "d": r"\p{Nd}", "D": r"\P{Nd}"}
_FOLDS = re.compile(r"\(\?[aLmsux]*i")
# As a letter, or by its code.
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]|\\[uUxN0-7]")
_SAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") - frozenset("AfnrtvaxX")


class TooSlow(ValueError):
    """The pattern needs too many steps for a text."""

    def __init__(self) -> None:
        super().__init__(
            f"The pattern took more than {_SECONDS:g} s for one text. Look-around, backreferences and a $ before a line "
            "feed are matched by trying all ways: write it without them, or without repetitions within repetitions"
        )


class _Unlike(ValueError):
    """RE2 has no such construct, or reads it otherwise."""


class Pattern:
    """A pattern in Python's syntax. ``narrow`` limits ``\\w``, ``\\d``, ``\\s`` and ``\\b`` to ASCII; ``fold`` ignores case.

    Raises the errors of ``re.compile``. Matches are objects with Python's indexes, ``groups()``, ``start()`` and ``end()``.
    """

    __slots__ = ("_linear", "_places", "_stepping", "groupindex", "groups")

    def __init__(self, text: str, *, narrow: bool = False, fold: bool = False) -> None:
        flags = (re.ASCII if narrow else 0) | (re.IGNORECASE if fold else 0)
        compiled = re.compile(text, flags)
        self.groups: int = compiled.groups
        self.groupindex: Mapping[str, int] = compiled.groupindex
        self._places = _Places()
        # Python's ASCII keeps letters beyond ASCII apart by case, RE2 does not.
        folds_ascii = narrow and (fold or _FOLDS.search(text) is not None)
        self._places.words = folds_ascii
        self._linear: Any = None
        with contextlib.suppress(_Unlike, re2.error):
            if folds_ascii and _BEYOND_ASCII.search(text):
                _refuse()
            self._linear = re2.compile(("(?i)" if fold else "") + _as_re2(text, self._places, narrow=narrow), _OPTIONS)
        if self._linear is not None and self._linear.groups != self.groups:
            self._linear = None
        self._stepping: Any = None
        if self._linear is None or self._places.any:
            self._stepping = _stepping(text, narrow=narrow, fold=fold)

    def search(self, value: str) -> Any:
        """Return the first match, None without one. Raises :class:`TooSlow`, as all do."""
        return self._matched(value, "search")

    def fullmatch(self, value: str) -> Any:
        """Return the match of the whole text, None without one."""
        return self._matched(value, "fullmatch")

    def finditer(self, value: str, start: int = 0) -> Iterator[Any]:
        """Yield the matches from ``start`` on."""
        if self._is_linear(value):
            last = None
            for match in self._linear.finditer(value, min(start, len(value))):
                # The library finds an empty match at the end twice if it starts there.
                if match.span() != last:
                    yield match
                last = match.span()
            return
        try:
            yield from self._stepping.finditer(value, start, timeout=_SECONDS)
        except TimeoutError:
            raise TooSlow from None

    def sub(self, expand: Callable[[Any], str], value: str) -> str:
        """Return ``value`` with each match replaced by what ``expand`` returns for it."""
        parts, at = [], 0
        for match in self.finditer(value):
            parts += [value[at : match.start()], expand(match)]
            at = match.end()
        return "".join([*parts, value[at:]])

    def _matched(self, value: str, how: str) -> Any:
        if self._is_linear(value):
            return getattr(self._linear, how)(value)
        try:
            return getattr(self._stepping, how)(value, timeout=_SECONDS)
        except TimeoutError:
            raise TooSlow from None

    def _is_linear(self, value: str) -> bool:
        if self._linear is None:
            return False
        return not (self._places.ends and value.endswith("\n")) and not (self._places.words and not value.isascii())


class _Places:
    """Whether a pattern has ends of lines, or what depends on letters beyond ASCII, which RE2 sees at other places."""

    __slots__ = ("ends", "words")

    def __init__(self) -> None:
        self.ends = self.words = False

    @property
    def any(self) -> bool:
        return self.ends or self.words


def _stepping(text: str, *, narrow: bool, fold: bool) -> Any:
    flags = regex.VERSION0 | (regex.ASCII if narrow else 0) | (regex.IGNORECASE if fold else 0)
    try:
        return regex.compile(text, flags)
    except regex.error as error:
        raise re.error(str(error)) from None


def _as_re2(text: str, places: _Places, *, narrow: bool) -> str:
    """Return a pattern of Python's in RE2's syntax. Raises :class:`_Unlike`."""
    in_set = False

    def rewrite(match: re.Match[str]) -> str:
        nonlocal in_set
        kind = match.lastgroup
        part = match[0]
        if kind == "set":
            if in_set and text.startswith("[:", match.start()):
                raise _Unlike
            result = r"\[" + part[1:] if in_set else part
            if in_set and len(part) > 1:
                raise _Unlike
            in_set = True
            return result
        if kind == "end":
            in_set = False
        elif kind == "dollar":
            places.ends = places.ends or not in_set
        elif kind in {"short", "long"}:
            return rf"\x{{{match[kind]}}}"
        elif kind == "escape":
            return _escaped(match["escape"], places, in_set=in_set, narrow=narrow)
        elif kind == "other" and match["other"] in _SAME:
            raise _Unlike
        return part

    return _TOKENS.sub(rewrite, text)


def _escaped(letter: str, places: _Places, *, in_set: bool, narrow: bool) -> str:
    if letter in "bB":
        if in_set:
            raise _Unlike
        # Narrow boundaries are RE2's own.
        places.words = places.words or not narrow
    elif letter in "sS":
        # RE2's \s has no vertical tab.
        if letter == "S":
            return r"[^\t-\r ]" if narrow and not in_set else _refuse()
        return (r"\t-\r " if in_set else r"[\t-\r ]") if narrow else _refuse()
    elif letter == "Z" or not narrow:
        known = _WIDE_IN_SETS if in_set else _WIDE
        return known.get(letter) or _refuse()
    return f"\\{letter}"


def _refuse() -> str:
    raise _Unlike
