"""IAM's wildcards: ``*`` for any characters, ``?`` for any one, and policy variables, whose values are never wildcards.

A pattern becomes a regular expression that never backtracks (:mod:`penstock.wildcards`).
Source: IAM user guide, "IAM JSON policy elements: Resource" and "Variables and tags".
"""

import re
from collections.abc import Callable
from functools import lru_cache

from penstock.wildcards import expression

__all__ = ["Glob", "arn_glob", "text_glob"]

Lookup = Callable[[str], str | None]

_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_LITERALS = {"*": "*", "?": "?", "$": "$"}
_DEFAULT = re.compile(r"\s*([^,]+?)\s*,\s*'([^']*)'\s*")
_FOLDED = re.compile(r"arn:[^:]*:glue:[^:]*:[^:]*:(?:database|table|userdefinedfunction)/", re.IGNORECASE)
_SEGMENTS = 6  # arn:partition:service:region:account:resource


class Glob:
    """One pattern of a policy. ``variables``: ``${...}`` in it is a variable (since version 2012-10-17)."""

    __slots__ = ("_compile", "_folds", "_pieces", "_ready", "text")

    def __init__(
        self,
        text: str,
        *,
        variables: bool,
        compile_with: "Callable[[str], re.Pattern[str]]",
        folds: "Callable[[str], bool] | None" = None,
    ) -> None:
        self.text = text
        self._compile = compile_with
        # Which values are compared without regard to case.
        self._folds = folds
        self._pieces = _split(text) if variables and "${" in text else None
        self._ready = compile_with(text) if self._pieces is None else None

    @property
    def constant(self) -> bool:
        """Whether it is the same for every request."""
        return self._pieces is None

    def splits(self, prefix: str, lookup: Lookup) -> bool:
        """Return whether it may match some of the values that begin with ``prefix``, and not others.

        ``prefix`` is an ARN with all of its six parts, or the beginning of another text; True if that is not known.
        """
        text = self.text if self._pieces is None else _resolve(self._pieces, lookup)
        if text is None:
            return False  # it matches nothing
        head = _literal_head(text)
        shared = min(len(head), len(prefix))
        if head[:shared] != prefix[:shared]:
            return False
        if head == text.replace(_MARK, "") and head.count(":") >= _SEGMENTS - 1 and len(head) < len(prefix):
            return False  # one value, shorter than the prefix
        ends = text.endswith("*") and not text.endswith(f"{_MARK}*")
        return not (ends and self.matches(prefix, lookup))

    def matches(self, value: str, lookup: Lookup) -> bool:
        """Return whether the whole of ``value`` matches; a pattern with an unknown variable matches nothing."""
        folded = self._folds is not None and self._folds(value)
        pattern = self._ready
        if pattern is None or folded:
            resolved = self.text if self._pieces is None else _resolve(self._pieces, lookup)
            if resolved is None:
                return False
            pattern = _compiled(self._compile, resolved.lower() if folded else resolved)
        return pattern.fullmatch(value.lower() if folded else value) is not None


def text_glob(text: str, *, variables: bool, ignore_case: bool = False) -> Glob:
    """Return a pattern for a string: an action, or a condition's value."""
    return Glob(text, variables=variables, compile_with=_ignoring_case if ignore_case else _exactly)


def arn_glob(text: str, *, variables: bool) -> Glob:
    """Return a pattern for an ARN, whose wildcards match within one of its six parts; missing last parts are ``*``.

    Names of databases, tables and functions are case-insensitive: Glue converts them to lower case, so a policy matches them
    in any case.
    """
    return Glob(text, variables=variables, compile_with=_arn, folds=_is_folded)


def _is_folded(value: str) -> bool:
    return _FOLDED.match(value) is not None


# A colon that is not a marked literal.
_COLON = re.compile(r"(?<!\x00):")
# This mark stands before a literal character from ${*}, ${?}, ${$} or from a variable's value.
_MARK = "\x00"


def _split(text: str) -> tuple[tuple[bool, str], ...]:
    """Return pairs of (is it a variable, text), in order."""
    pieces: list[tuple[bool, str]] = []
    end = 0
    for variable in _VARIABLE.finditer(text):
        pieces.append((False, text[end : variable.start()]))
        pieces.append((True, variable[1]))
        end = variable.end()
    pieces.append((False, text[end:]))
    return tuple(piece for piece in pieces if piece[1])


def _resolve(pieces: tuple[tuple[bool, str], ...], lookup: Lookup) -> str | None:
    resolved: list[str] = []
    for variable, text in pieces:
        if not variable:
            resolved.append(text)
            continue
        value = _LITERALS.get(text)
        if value is None:
            with_default = _DEFAULT.fullmatch(text)
            value = lookup((with_default[1] if with_default else text.strip()).lower())
            if value is None and with_default:
                value = with_default[2]
        if value is None:
            return None
        resolved.append("".join(f"{_MARK}{character}" for character in value))
    return "".join(resolved)


@lru_cache(maxsize=4096)
def _compiled(compile_with: "Callable[[str], re.Pattern[str]]", text: str) -> re.Pattern[str]:
    return compile_with(text)


def _exactly(text: str) -> re.Pattern[str]:
    return re.compile(_expression(text, "."), re.DOTALL)


def _ignoring_case(text: str) -> re.Pattern[str]:
    return re.compile(_expression(text, "."), re.DOTALL | re.IGNORECASE)


def _arn(text: str) -> re.Pattern[str]:
    if text == "*":
        return re.compile(".*", re.DOTALL)
    parts = _COLON.split(text, _SEGMENTS - 1)
    parts += ["*"] * (_SEGMENTS - len(parts))
    expressions = [_expression(part, "[^:]") for part in parts[:-1]]
    return re.compile(":".join([*expressions, _expression(parts[-1], ".")]), re.DOTALL)


def _literal_head(pattern: str) -> str:
    """Return the text before a pattern's first wildcard; of a pattern without one, all of it."""
    head: list[str] = []
    position = 0
    while position < len(pattern) and pattern[position] not in "*?":
        position += pattern[position] == _MARK
        head.append(pattern[position : position + 1])
        position += 1
    return "".join(head)


def _expression(pattern: str, any_one: str) -> str:
    """Return the regular expression of one part; ``any_one`` is the expression of a wildcard's character."""
    chunks: list[str] = [""]  # the texts between stars
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == _MARK:
            chunks[-1] += re.escape(pattern[position + 1 : position + 2])
            position += 2
            continue
        if character == "*":
            if chunks[-1] or len(chunks) == 1:
                chunks.append("")
        else:
            chunks[-1] += any_one if character == "?" else re.escape(character)
        position += 1
    return expression(chunks, any_one)
