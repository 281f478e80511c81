"""Glue's exclusion patterns: ``*`` within a folder, ``**`` across folders, ``?``, ``[a-z]``, ``{csv,json}``."""

import re
from collections.abc import Callable, Sequence

from penstock.errors import InvalidInput

__all__ = ["exclusion"]

_MAX_PATTERNS = 100
_MAX_LENGTH = 1_000
_MAX_STARS = 8  # each one multiplies what a regular expression may try
_TOKEN = re.compile(r"\*{1,2}|\?|\[!?\]?[^\]/]*\]|\\.|[{},]|[^*?\[\\{},]+|\[|\\", re.DOTALL)
_IN_CLASS = re.compile(r"[\[\]\\^&~|]")
_ESCAPE = r"\\\g<0>"


def exclusion(patterns: Sequence[str]) -> Callable[[str], bool]:
    """A function that says of a key below the target whether one of ``patterns`` matches it whole.

    Raises :class:`InvalidInput` for a pattern that is malformed, too long or has more than eight stars.
    """
    if len(patterns) > _MAX_PATTERNS:
        raise InvalidInput(f"{len(patterns)} exclusions are more than {_MAX_PATTERNS}.")
    compiled = [_compile(pattern) for pattern in patterns]
    return lambda key: any(each.fullmatch(key) for each in compiled)


def _compile(pattern: str) -> re.Pattern[str]:
    stars = len(re.findall(r"\*+", pattern))
    if len(pattern) > _MAX_LENGTH or stars > _MAX_STARS:
        raise InvalidInput(f"The exclusion '{pattern[:100]}' is too long, or has more than {_MAX_STARS} stars.")
    depth = 0
    parts: list[str] = []
    for token in _TOKEN.findall(pattern):
        if token == "{":
            depth += 1
            parts.append("(?:")
        elif token == "}" and depth:
            depth -= 1
            parts.append(")")
        elif token == "," and depth:
            parts.append("|")
        else:
            parts.append(_fragment(token))
    try:
        if depth:
            raise re.error("a { is not closed")
        return re.compile("".join(parts), re.DOTALL)
    except re.error as error:
        raise InvalidInput(f"The exclusion '{pattern}' cannot be read: {error}.") from None


def _fragment(token: str) -> str:
    if token == "**":
        return ".*"
    if token == "*":
        return "[^/]*"
    if token == "?":
        return "[^/]"
    if token.startswith("[") and token.endswith("]") and len(token) > 2:
        negated = token[1] == "!"
        inside = token[2:-1] if negated else token[1:-1]
        return f"[{'^/' if negated else ''}{_IN_CLASS.sub(_ESCAPE, inside)}]"
    return re.escape(token[1:] if len(token) == 2 and token[0] == "\\" else token)
