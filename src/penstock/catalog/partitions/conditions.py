"""Conditions over partition values: each has its exact test, and what a store can look up before it tests.

A condition over one key has *spans*: ranges outside of which no value of the key makes it true. They may be too wide,
never too narrow, so that what a store finds by them is tested again, and the answer is the test's alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

__all__ = ["Branch", "Condition", "Span", "Test", "all_of", "any_of", "branches", "negation"]

Row: TypeAlias = Sequence[str]
Test: TypeAlias = Callable[[Row], bool | None]

_MOST_SPANS = 1_000  # more are not intersected one by one


class Span(NamedTuple):
    """The values from ``low`` to ``high``, both included; None has no end on that side.

    ``kind`` is a family of :mod:`.values`. The ends of ``string`` are values; those of the other families are
    :func:`~penstock.catalog.partitions.values.order_text` of them.
    """

    kind: str
    low: str | None
    high: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A test of a partition's values, the positions of the keys that it reads, and its spans if it reads one key.

    ``spans`` None: any value may match. ``parts`` are those of an AND (``joined`` is ``"and"``) or OR.
    """

    test: Test
    keys: frozenset[int]
    spans: Sequence[Span] | None = None
    joined: str = ""
    parts: Sequence["Condition"] = ()


Branch: TypeAlias = Mapping[int, Condition]
"""By key position, a condition over that key alone that is true for every match of one alternative of an expression."""


def all_of(parts: Sequence[Condition]) -> Condition:
    """Return the AND of ``parts``, in SQL's three-valued logic."""
    if len(parts) == 1:
        return parts[0]
    tests = [part.test for part in parts]

    def test(row: Row) -> bool | None:
        result: bool | None = True
        for item in tests:
            match item(row):
                case False:
                    return False
                case None:
                    result = None
        return result

    keys = _keys(parts)
    spans = None
    if len(keys) == 1:
        for part in parts:
            spans = _both(spans, part.spans)
    return Condition(test=test, keys=keys, spans=spans, joined="and", parts=parts)


def any_of(parts: Sequence[Condition]) -> Condition:
    """Return the OR of ``parts``, in SQL's three-valued logic."""
    if len(parts) == 1:
        return parts[0]
    tests = [part.test for part in parts]

    def test(row: Row) -> bool | None:
        result: bool | None = False
        for item in tests:
            match item(row):
                case True:
                    return True
                case None:
                    result = None
        return result

    keys = _keys(parts)
    bounded = [part.spans for part in parts if part.spans is not None]
    spans = [span for item in bounded for span in item] if len(keys) == 1 and len(bounded) == len(parts) else None
    return Condition(test=test, keys=keys, spans=spans, joined="or", parts=parts)


def negation(part: Condition) -> Condition:
    """Return NOT ``part``; nothing is known of its values."""

    def negated(row: Row) -> bool | None:
        result = part.test(row)
        return None if result is None else not result

    return Condition(test=negated, keys=part.keys)


def branches(condition: Condition) -> Sequence[Branch]:
    """Return the alternatives of ``condition``: what matches it matches every condition of at least one of them."""
    if condition.joined == "or" and len(condition.keys) > 1:
        return [branch for part in condition.parts for branch in branches(part)]
    by_position: dict[int, list[Condition]] = {}
    for conjunct in _conjuncts(condition):
        if len(conjunct.keys) == 1:
            by_position.setdefault(next(iter(conjunct.keys)), []).append(conjunct)
    return [{position: all_of(parts) for position, parts in by_position.items()}]


def _conjuncts(condition: Condition) -> Sequence[Condition]:
    if condition.joined != "and" or len(condition.keys) == 1:
        return [condition]
    return [conjunct for part in condition.parts for conjunct in _conjuncts(part)]


def _keys(parts: Sequence[Condition]) -> frozenset[int]:
    return frozenset[int]().union(*(part.keys for part in parts))


def _both(first: Sequence[Span] | None, second: Sequence[Span] | None) -> Sequence[Span] | None:
    """Return spans of what is in both; the shorter of two lists that cannot be compared contains that as well."""
    if first is None or second is None:
        return second if first is None else first
    shorter = min(first, second, key=len)
    if len(first) * len(second) > _MOST_SPANS or len({span.kind for span in (*first, *second)}) > 1:
        return shorter
    met = [Span(a.kind, _end(max, a.low, b.low), _end(min, a.high, b.high)) for a in first for b in second]
    return [span for span in met if span.low is None or span.high is None or span.low <= span.high]


def _end(choose: Callable[[str, str], str], first: str | None, second: str | None) -> str | None:
    if first is None or second is None:
        return second if first is None else first
    return choose(first, second)
