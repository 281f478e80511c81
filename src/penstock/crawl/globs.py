"""Glue's exclusion patterns: ``*`` within a folder, ``**`` across folders, ``?``, ``[a-z]``, ``{csv,json}``."""

import re
from collections.abc import Callable, Sequence

from penstock.errors import InvalidInput
from penstock.wildcards import linear_matcher

__all__ = ["exclusion"]

_MAX_PATTERNS = 100
_MAX_LENGTH = 1_000
_TOKEN = re.compile(r"\*{1,2}|\?|\[!?\]?[^\]/]*\]|\\.|[{},]|[^*?\[\\{},]+|\[|\\", re.DOTALL)
_IN_CLASS = re.compile(r"[\[\]\\^&~|]")
_ESCAPE = r"\\\g<0>"


def exclusion(patterns: Sequence[str]) -> Callable[[Sequence[str]], Sequence[bool]]:
    """Return a function that says for each key below the target whether one of ``patterns`` matches the whole key.

    Raises :class:`InvalidInput` for an invalid or too long pattern, and for more than a hundred.
    """
    if len(patterns) > _MAX_PATTERNS:
        raise InvalidInput(f"{len(patterns)} exclusions are more than {_MAX_PATTERNS}.")
    if not patterns:
        return lambda keys: [False] * len(keys)
    for pattern in patterns:
        _checked(pattern)
    return linear_matcher("|".join(f"(?:{_expression(pattern)})" for pattern in patterns))


def _checked(pattern: str) -> None:
    try:
        if len(pattern) > _MAX_LENGTH:
            raise InvalidInput(f"it is longer than {_MAX_LENGTH} characters")
        linear_matcher(_expression(pattern))
    except InvalidInput as error:
        raise InvalidInput(f"The exclusion '{pattern[:100]}' cannot be read: {error.message}.") from None


def _expression(pattern: str) -> str:
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
    if depth:
        raise InvalidInput("a { is not closed")
    return "".join(parts)


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
