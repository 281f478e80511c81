"""The patterns of AWS's models, which are written for Java, as functions whose time is bounded for every text.

Python's expressions are by far the fastest for the short texts of requests, but backtrack over some: a repeat within a
repeat (``(a+)*``) takes time exponential in the text, two repeats in a row take quadratic time. Such patterns are matched
by RE2 in linear time. RE2 has no look-ahead; the few patterns with one are for short texts.
"""

import re
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from re import _parser  # type: ignore[attr-defined] # what re itself compiles from
from typing import Any, NamedTuple

from penstock.errors import InvalidInput
from penstock.wildcards import linear_matcher

__all__ = ["is_harmless", "matcher"]

_MAX_MATCHED = 65_536  # characters that a pattern is matched on
_MAX_SQUARED = 2_048  # characters of a text for which quadratic time is accepted
_MANY = 64  # repetitions from which on a repeat counts as unbounded
# Java's classes have surrogate pairs as one range, Python's have code points.
_JAVA_ASTRAL = r"\uD800\uDC00-\uDBFF\uDFFF"
_PYTHON_ASTRAL = r"\U00010000-\U0010FFFF"
# Java takes a dash after a class within a class for itself.
_DASH_AFTER_CLASS = re.compile(r"(\\[wds])-(?=[^\]])")
_CATEGORY = re.compile(r"\\p\{([LNPZ])\}")
_ONE_CHARACTER = re.compile(r"\[\^?[^\]]*\]")
_WITHIN: dict[str, Callable[[Any], Any]] = {
    "SUBPATTERN": lambda value: value[3],
    "ASSERT": lambda value: value[1],
    "ASSERT_NOT": lambda value: value[1],
    "ATOMIC_GROUP": lambda value: value,
}
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})


@cache
def matcher(text: str, most: int | None = None) -> Callable[[str], bool] | None:
    """Return a function that says whether a whole text matches; ``most`` is the shape's maximal number of characters.

    Returns None if the pattern cannot be intended (a single character class for longer texts), or if it may take too long
    and RE2 cannot parse it.
    """
    if _ONE_CHARACTER.fullmatch(text) and most != 1:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        try:
            # AWS accepts definitions and queries of many lines for the pattern ".*", so a dot matches any character.
            pattern = re.compile(_python(text), re.ASCII | re.DOTALL)
        except re.error:
            return None
    if is_harmless(pattern, most):
        return lambda value: pattern.fullmatch(value[:_MAX_MATCHED]) is not None
    try:
        linear = linear_matcher(pattern.pattern)
    except InvalidInput:
        return None
    return lambda value: linear([value[:_MAX_MATCHED]])[0]


def _python(text: str) -> str:
    """Return a pattern of Java's for Python. Unicode's categories stand within character classes in all of AWS's models."""
    text = _DASH_AFTER_CLASS.sub(r"\1\\-", text.replace(_JAVA_ASTRAL, _PYTHON_ASTRAL))
    return _CATEGORY.sub(lambda match: _category(match[1]), text)


@cache
def _category(letter: str) -> str:
    """Return the characters of one of Unicode's categories as ranges of a character class; takes a tenth of a second."""
    starts: list[str] = []
    inside = False
    for number in range(sys.maxunicode + 2):
        within = number <= sys.maxunicode and unicodedata.category(chr(number))[0] == letter
        if within != inside:
            starts.append(f"\\U{number - inside:08x}")
            inside = within
    return "".join(f"{first}-{last}" for first, last in zip(starts[::2], starts[1::2], strict=True))


def is_harmless(pattern: re.Pattern[str], most: int | None) -> bool:
    """Return whether Python matches texts of up to ``most`` characters in bounded time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        parsed = list(_parser.parse(pattern.pattern, pattern.flags))
    if parsed and _takes_the_rest(*parsed[-1]):
        # Nothing after it can fail and cause backtracking.
        parsed.pop()
    repeats = _repeats(parsed)
    return not repeats.nested and (repeats.endless < 2 or (most is not None and most <= _MAX_SQUARED))


def _takes_the_rest(operation: Any, value: Any) -> bool:
    """Return whether it is ``.*``, with a dot for any character."""
    return str(operation) == "MAX_REPEAT" and value[0] == 0 and [str(repeated[0]) for repeated in value[2]] == ["ANY"]


class _Repeats(NamedTuple):
    nested: bool = False
    """Whether a repeat contains something that can match in several ways."""
    choices: int = 0
    """Alternatives, and repeats of a variable number."""
    endless: int = 0

    def and_then(self, other: "_Repeats") -> "_Repeats":
        return _Repeats(self.nested or other.nested, self.choices + other.choices, self.endless + other.endless)


def _repeats(parsed: Iterable[tuple[Any, Any]]) -> _Repeats:
    total = _Repeats()
    for operation, value in parsed:
        name = str(operation)
        if name in _REPEATS:
            least, most, body = value
            inner = _repeats(body)
            nested = inner.nested or (most > 1 and inner.choices > 0)
            choices = inner.choices + (least != most)
            total = total.and_then(_Repeats(nested, choices, 1 if most >= _MANY else inner.endless))
        elif name == "BRANCH":
            for part in value[1]:
                total = total.and_then(_repeats(part))
            total = total.and_then(_Repeats(choices=1))
        elif name in _WITHIN:
            total = total.and_then(_repeats(_WITHIN[name](value)))
    return total
