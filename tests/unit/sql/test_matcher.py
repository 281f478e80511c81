"""The matcher against a naive search: of all ways to match, in the order of preference, the first one."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from penstock.sql.grammar import TrinoCalls
from penstock.sql.patterns.history import history_of
from penstock.sql.patterns.matcher import Match, Matcher
from penstock.sql.patterns.pattern import PatternReader, program

LABELS = ("A", "B", "C")
LAST_A, FIRST_ANY, SECOND_LAST, LABEL_BEFORE = 0, 1, 2, 3
PLACES = [
    [[0], False, 0, 0, False],
    [[0, 1, 2], True, 0, 0, False],
    [[0, 1, 2], False, 1, 0, False],
    [[0, 1, 2], False, 0, -1, False],
]
VALUE = ["value", 0, None]

Rows = Sequence[tuple[int, str]]


@dataclass(frozen=True)
class Condition:
    """A condition in the matcher's words, and as a function of the values, the row and what was matched so far with it."""

    written: list[Any] | None
    holds: Callable[[Sequence[int], int, Rows], bool]


def _last(values: Sequence[int], so_far: Rows, labels: str, back: int = 0) -> int | None:
    values_of_labels = [values[row] for row, label in so_far if label in labels]
    return values_of_labels[-1 - back] if len(values_of_labels) > back else None


def _less(left: int | None, right: int) -> bool:
    return left is not None and left < right


CONDITIONS: Sequence[Condition] = [
    Condition(None, lambda *_: True),
    Condition(["value", 1, None], lambda values, row, _: values[row] == 0),
    Condition(["value", 2, None], lambda values, row, _: values[row] > 0),
    Condition(["<", ["value", 0, LAST_A], VALUE], lambda values, row, seen: _less(_last(values, seen, "A"), values[row])),
    Condition(["<=", ["value", 0, FIRST_ANY], VALUE], lambda values, row, seen: values[seen[0][0]] <= values[row]),
    Condition(["is null", ["value", 0, SECOND_LAST]], lambda values, _, seen: _last(values, seen, "ABC", 1) is None),
    Condition(["<", ["aggregate", 0], ["value", 3, None]], lambda values, _, seen: sum(values[at] for at, _ in seen) < 3),
    Condition(
        ["<=", ["aggregate", 1], ["value", 3, None]], lambda _, __, seen: sum(label in "AB" for _, label in seen) <= 3
    ),
    Condition(["=", ["label", SECOND_LAST], ["value", 4, None]], lambda _, __, seen: len(seen) > 1 and seen[-2][1] == "B"),
]


def _columns(values: Sequence[int]) -> list[list[Any]]:
    count = len(values)
    return [list(values), [number == 0 for number in values], [number > 0 for number in values], [3] * count, ["B"] * count]


def _matcher(pattern: str, values: Sequence[int], conditions: Sequence[Condition]) -> Matcher:
    tokens = TrinoCalls().tokenize(f"({pattern})")
    read = PatternReader(tokens[1:-1], tokens[-1], lambda message, _: pytest.fail(message)).read()
    specification: Mapping[str, Any] = {
        "labels": LABELS,
        "conditions": [condition.written for condition in conditions],
        "places": PLACES,
        "aggregates": [["sum", [0, 1, 2], 0], ["count", [0, 1], None]],
    }
    kinds = [pa.int32(), pa.bool_(), pa.bool_(), pa.int32(), pa.string()]
    return Matcher(program(read, LABELS), len(values), history_of(specification, _columns(values), {}, kinds))


# A pattern as its text, and as the search for it: it yields all ways to go on, the preferred one first.
Search = Callable[[int, Rows], Iterator[tuple[int, Rows]]]


@dataclass(frozen=True)
class Naive:
    values: Sequence[int]
    conditions: Sequence[Condition]

    def label(self, name: str) -> Search:
        def search(row: int, seen: Rows) -> Iterator[tuple[int, Rows]]:
            if row < len(self.values):
                now = [*seen, (row, name)]
                if self.conditions[LABELS.index(name)].holds(self.values, row, now):
                    yield row + 1, now

        return search

    def anchor(self, sign: str) -> Search:
        place = 0 if sign == "^" else len(self.values)
        return lambda row, seen: iter([(row, seen)] if row == place else [])

    @staticmethod
    def sequence(parts: Sequence[Search]) -> Search:
        def search(row: int, seen: Rows) -> Iterator[tuple[int, Rows]]:
            if not parts:
                yield row, seen
                return
            for at, now in parts[0](row, seen):
                yield from Naive.sequence(parts[1:])(at, now)

        return search

    @staticmethod
    def choice(parts: Sequence[Search]) -> Search:
        return lambda row, seen: (match for part in parts for match in part(row, seen))

    @staticmethod
    def repeated(part: Search, least: int, most: int | None, *, greedy: bool) -> Search:
        def search(row: int, seen: Rows) -> Iterator[tuple[int, Rows]]:
            fewer = Naive.repeated(part, max(least - 1, 0), None if most is None else most - 1, greedy=greedy)
            if not greedy and not least:
                yield row, seen
            if most is None or most > 0:
                yield from Naive.sequence([part, fewer])(row, seen)
            if greedy and not least:
                yield row, seen

        return search


QUANTIFIERS: Mapping[str, tuple[int, int | None]] = {
    "*": (0, None),
    "+": (1, None),
    "?": (0, 1),
    "{2}": (2, 2),
    "{1,2}": (1, 2),
    "{1,}": (1, None),
}


@dataclass(frozen=True)
class Part:
    """A part of a pattern: its text, the search for it, and whether it matches without a row."""

    text: str
    search: Search
    empty: bool


def _pattern(chance: random.Random, naive: Naive, depth: int) -> Part:
    kinds = ["label", "label", "sequence", "choice", "repeat", "repeat", "exclude", "permute"]
    kind = chance.choice(kinds) if depth else "label"
    if kind == "label":
        name = chance.choice([*LABELS, *LABELS, "^", "$"])
        return Part(name, naive.label(name) if name in LABELS else naive.anchor(name), name not in LABELS)
    parts = [_pattern(chance, naive, depth - 1) for _ in range(chance.randint(2, 3))]
    texts, searches = [part.text for part in parts], [part.search for part in parts]
    if kind == "sequence":
        return Part(f"({' '.join(texts)})", naive.sequence(searches), all(part.empty for part in parts))
    if kind == "choice":
        return Part(f"({' | '.join(texts)})", naive.choice(searches), any(part.empty for part in parts))
    if kind == "permute":
        orders = [naive.sequence(searches[:2]), naive.sequence(searches[1::-1])]
        return Part(f"PERMUTE({texts[0]}, {texts[1]})", naive.choice(orders), all(part.empty for part in parts[:2]))
    if kind == "exclude" or parts[0].empty:  # Trino's tests have the cycles without rows
        return Part(f"{{- {texts[0]} -}}", searches[0], parts[0].empty)
    sign = chance.choice(list(QUANTIFIERS))
    greedy = chance.random() < 0.6
    search = naive.repeated(searches[0], *QUANTIFIERS[sign], greedy=greedy)
    return Part(f"({texts[0]}){sign}{'' if greedy else '?'}", search, QUANTIFIERS[sign][0] == 0)


def test_the_first_match_is_that_of_a_naive_search() -> None:
    chance = random.Random(19)
    lengths = set()
    for _ in range(1_200):
        values = [chance.randint(0, 2) for _ in range(chance.randint(0, 6))]
        conditions = [chance.choice(CONDITIONS) for _ in LABELS]
        part = _pattern(chance, Naive(values, conditions), 2)
        matcher = _matcher(part.text, values, conditions)
        for start in range(len(values)):
            first = next(part.search(start, []), None)
            expected = None if first is None else [label for _, label in first[1]]
            match = matcher.match(start)
            assert _labels(match) == expected, (part.text, values)
            lengths.add(len(match.labels) if match is not None else None)
    assert lengths >= {None, 0, 1, 2, 3, 4}


def _labels(match: Match | None) -> list[str] | None:
    return None if match is None else [LABELS[label] for label in match.labels]


def test_conditions_of_rows_alone_are_tried_once_at_each_step() -> None:
    values = [0] * 3_000
    matcher = _matcher("(A+)+ B", values, [CONDITIONS[1], CONDITIONS[2], CONDITIONS[0]])
    assert [matcher.match(start) for start in range(len(values))] == [None] * len(values)


def test_a_search_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each row may be A or B, and a condition may ask which one any of them is: no two histories are equal.
    monkeypatch.setattr("penstock.sql.patterns.matcher._MAX_STEPS", 10_000)
    before = Condition(["=", ["label", LABEL_BEFORE], ["value", 4, None]], lambda *_: False)
    matcher = _matcher("(A | B)+ C ^", [1] * 60, [CONDITIONS[0], CONDITIONS[0], before])
    with pytest.raises(ValueError, match="needs more steps than the limit"):
        matcher.match(0)
