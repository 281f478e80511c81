"""Event filter patterns with Lambda's semantics: compiled once, matched against a record's decoded view.

Rules: https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html and, for operators, the page "Comparison
operators for use in event patterns" of Amazon EventBridge, whose matcher Lambda uses. An array matches if one of its
elements does.
"""

import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.functions.errors import InvalidPattern
from penstock.wildcards import expression

__all__ = ["MAX_PATTERN", "Matcher", "any_of", "compile_pattern"]

MAX_PATTERN = 4096  # characters; the service model's bound on Filter.Pattern

Matcher = Callable[[Any], bool]
"""Whether a value matches."""

_ABSENT = object()
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPERATORS = ("prefix", "suffix", "equals-ignore-case", "wildcard", "anything-but", "numeric", "exists")


def compile_pattern(pattern: str | Mapping[str, Any]) -> Matcher:
    """Return the matcher of a pattern, JSON text or object; :class:`InvalidPattern` names the path of an error."""
    if isinstance(pattern, str):
        if len(pattern) > MAX_PATTERN:
            raise InvalidPattern(f"A filter pattern has {len(pattern):,} characters; the limit is {MAX_PATTERN:,}.")
        try:
            pattern = json.loads(pattern)
        except (ValueError, RecursionError) as error:
            raise InvalidPattern(
                f"A filter pattern is not JSON: {error}.", remedy='It has the form {"value": {...}}.'
            ) from None
    if not isinstance(pattern, Mapping):
        raise InvalidPattern(f"A filter pattern must be a JSON object, not {json.dumps(pattern, default=str)[:80]}.")
    return _object(pattern, "")


def any_of(matchers: Sequence[Matcher]) -> Matcher:
    """Return a matcher of values that match one of ``matchers``, as a mapping's filters do; with none, of all values."""
    if not matchers:
        return lambda _value: True
    return lambda value: any(matcher(value) for matcher in matchers)


def _object(pattern: Mapping[str, Any], path: str) -> Matcher:
    fields: list[tuple[str, Matcher]] = []
    alternatives: list[Matcher] = []
    for name, rule in pattern.items():
        here = f"{path}.{name}" if path else str(name)
        if name == "$or":
            alternatives.append(_alternatives(rule, here))
        elif isinstance(rule, Mapping):
            if not rule:
                raise InvalidPattern(f"The filter pattern's '{here}' is an empty object.")
            fields.append((str(name), _nested(_object(rule, here))))
        elif isinstance(rule, list):
            fields.append((str(name), _leaf(rule, here)))
        else:
            raise InvalidPattern(
                f"The filter pattern's '{here}' is {json.dumps(rule, default=str)[:80]}.",
                remedy=f"Put the permitted values into an array: [{json.dumps(rule, default=str)[:80]}].",
            )

    def matches(value: Any) -> bool:
        # A missing object has no fields, so that {"exists": false} below it matches.
        members = value if isinstance(value, Mapping) else {}
        if value is not _ABSENT and not isinstance(value, Mapping):
            return False
        return all(matcher(members.get(name, _ABSENT)) for name, matcher in fields) and all(
            alternative(value) for alternative in alternatives
        )

    return matches


def _nested(inner: Matcher) -> Matcher:
    # All conditions must match in the same element.
    return lambda value: any(inner(element) for element in value) if isinstance(value, list) else inner(value)


def _alternatives(rule: Any, path: str) -> Matcher:
    if not isinstance(rule, list) or len(rule) < 2 or not all(isinstance(item, Mapping) and item for item in rule):
        raise InvalidPattern(f"The filter pattern's '{path}' must be an array of two or more objects.")
    inner = [_object(item, f"{path}[{index}]") for index, item in enumerate(rule)]
    return lambda value: any(matcher(value) for matcher in inner)


def _leaf(rules: list[Any], path: str) -> Matcher:
    if not rules:
        raise InvalidPattern(f"The filter pattern's '{path}' is an empty array, which nothing matches.")
    tests = [_rule(rule, path) for rule in rules]

    def matches(value: Any) -> bool:
        if isinstance(value, list):
            # An empty array exists as a field without a value.
            return any(test(element) for element in value for test in tests) if value else any(test([]) for test in tests)
        return any(test(value) for test in tests)

    return matches


def _rule(rule: Any, path: str) -> Matcher:
    if not isinstance(rule, Mapping):
        return _equals(rule, path)
    if len(rule) != 1 or next(iter(rule)) not in _OPERATORS:
        raise InvalidPattern(
            f"The filter pattern's '{path}' has the condition {json.dumps(rule, default=str)[:120]}, which is unknown.",
            remedy=f"A condition is an object with one of {', '.join(_OPERATORS)}.",
        )
    ((name, operand),) = rule.items()
    match name:
        case "exists":
            return _exists(operand, path)
        case "numeric":
            return _numeric(operand, path)
        case "anything-but":
            return _anything_but(operand, path)
    return _text(name, operand, path)


def _equals(expected: Any, path: str) -> Matcher:
    if isinstance(expected, list):
        raise InvalidPattern(f"The filter pattern's '{path}' has an array inside its array.")
    # For AWS's matcher, 300 and 300.0 differ, and true is not 1.
    return lambda value: type(value) is type(expected) and value == expected


def _exists(operand: Any, path: str) -> Matcher:
    if not isinstance(operand, bool):
        raise InvalidPattern(f"The filter pattern's '{path}' has an 'exists' that is not true or false.")
    if operand:
        # For the matcher, only leaves exist: an object does not.
        return lambda value: value is not _ABSENT and not isinstance(value, Mapping)
    return lambda value: value is _ABSENT


def _numeric(operand: Any, path: str) -> Matcher:
    problem = InvalidPattern(
        f"The filter pattern's '{path}' has the 'numeric' {json.dumps(operand, default=str)[:80]}.",
        remedy='It has the form ["=", 5], [">", 10] or [">", 10, "<=", 20].',
    )
    if not isinstance(operand, list) or len(operand) not in {2, 4}:
        raise problem
    bounds = [(operand[index], operand[index + 1]) for index in range(0, len(operand), 2)]
    for sign, number in bounds:
        if sign not in _COMPARE or isinstance(number, bool) or not isinstance(number, int | float):
            raise problem
    if len(bounds) == 2 and "=" in (bounds[0][0], bounds[1][0]):
        raise problem
    return lambda value: (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and all(_COMPARE[sign](value, number) for sign, number in bounds)
    )


def _anything_but(operand: Any, path: str) -> Matcher:
    if isinstance(operand, Mapping):
        if len(operand) != 1 or next(iter(operand)) not in {"prefix", "suffix", "equals-ignore-case", "wildcard"}:
            raise InvalidPattern(
                f"The filter pattern's '{path}' has an 'anything-but' of {json.dumps(operand, default=str)[:80]}.",
                remedy="Give values, or one of prefix, suffix, equals-ignore-case and wildcard.",
            )
        ((name, texts),) = operand.items()
        tests = [_text(name, text, path) for text in (texts if isinstance(texts, list) else [texts])]
        return lambda value: isinstance(value, str) and not any(test(value) for test in tests)
    values = operand if isinstance(operand, list) else [operand]
    if not values or any(isinstance(operand_item, Mapping | list | bool) or operand_item is None for operand_item in values):
        raise InvalidPattern(f"The filter pattern's '{path}' has an 'anything-but' that is not of texts or numbers.")
    tests = [_equals(operand_item, path) for operand_item in values]
    # A missing field is not "anything".
    return lambda value: value is not _ABSENT and not isinstance(value, Mapping) and not any(test(value) for test in tests)


def _text(name: str, operand: Any, path: str) -> Matcher:
    fold = False
    if name in {"prefix", "suffix"} and isinstance(operand, Mapping) and list(operand) == ["equals-ignore-case"]:
        operand, fold = operand["equals-ignore-case"], True
    if not isinstance(operand, str):
        raise InvalidPattern(
            f"The filter pattern's '{path}' has the '{name}' {json.dumps(operand, default=str)[:80]}, which is not text."
        )
    if name == "wildcard":
        expression = _wildcard(operand, path)
        return lambda value: isinstance(value, str) and expression.fullmatch(value) is not None
    fold = fold or name == "equals-ignore-case"
    expected = operand.casefold() if fold else operand

    def matches(value: Any) -> bool:
        if not isinstance(value, str):
            return False
        folded = value.casefold() if fold else value
        if name == "prefix":
            return folded.startswith(expected)
        return folded.endswith(expected) if name == "suffix" else folded == expected

    return matches


def _wildcard(text: str, path: str) -> re.Pattern[str]:
    if "**" in re.sub(r"\\.", "", text):
        raise InvalidPattern(f"The filter pattern's '{path}' has two wildcards '*' in a row.")
    chunks = [""]  # the texts between stars
    for token in re.findall(r"\\.|\*|[^\\*]+|\\$", text, re.DOTALL):
        if token == "*":
            chunks.append("")
        elif token in {"\\*", "\\\\"}:
            chunks[-1] += re.escape(token[1])
        elif token.startswith("\\"):
            raise InvalidPattern(
                f"The filter pattern's '{path}' has a backslash before '{token[1:]}' in its wildcard.",
                remedy="Only \\* and \\\\ are escapes.",
            )
        else:
            chunks[-1] += re.escape(token)
    return re.compile(expression(chunks), re.DOTALL)
