"""The engine's function that matches: each partition's values as lists go in, the rows of its matches come out.

Source: Trino's documentation, "MATCH_RECOGNIZE" (rows per match, after match skip), and its PatternRecognitionPartition.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.sql.functions.python import invalid
from penstock.sql.functions.rows import ArrowFunction, Definition
from penstock.sql.patterns.evaluation import plain_values
from penstock.sql.patterns.history import SeenRows, history_of
from penstock.sql.patterns.matcher import Match, Matcher, Place

__all__ = ["DEFINITIONS", "Partition"]

_FIELDS = {
    "trino_number": (pa.int64(), "BIGINT"),
    "trino_place": (pa.int64(), "BIGINT"),
    "trino_sequence": (pa.int64(), "BIGINT"),
    "trino_label": (pa.string(), "VARCHAR"),
    "trino_shown": (pa.bool_(), "BOOLEAN"),
    "trino_places": (pa.list_(pa.int64()), "BIGINT[]"),
    "trino_labels": (pa.list_(pa.string()), "VARCHAR[]"),
}
_ROW = pa.struct([(name, type_) for name, (type_, _) in _FIELDS.items()])

Row = tuple[int | None, int, int, str | None, bool, Sequence[int | None], Sequence[str | None]]
"""A row of the answer: the match's number, the row's own, its place in the answer, and so on as in :data:`_FIELDS`."""


class Partition:
    """The rows of one partition, and the search for matches in them."""

    def __init__(self, specification: Mapping[str, Any], count: int, matcher: Matcher, seen: SeenRows | None) -> None:
        self._matcher, self._seen, self._count = matcher, seen, count
        self._labels: Sequence[str] = specification["labels"]
        self._navigations = [Place(frozenset(navigation[0]), *navigation[1:]) for navigation in specification["navigations"]]
        self._no_places: Sequence[None] = [None] * len(self._navigations)
        self._rows: str = specification["rows"]
        self._all: bool = specification["all"]
        self._skip: str = specification["skip"][0]
        self._target = frozenset(specification["skip"][1])
        self._sequence = 0

    def answer(self) -> Iterator[Row]:
        """Yield the rows of all matches. Raises ValueError where the statement fails."""
        number, start, matched_to = 1, 0, -1
        while start < self._count:
            if self._seen is not None:
                self._seen.number = number
            match = self._matcher.match(start)
            if match is None:
                if self._rows == "UNMATCHED" and start > matched_to:
                    yield self._row(None, start)
                start += 1
                continue
            if match.labels:
                yield from self._matched(number, match)
                last = start + len(match.labels) - 1
                matched_to = max(matched_to, last)
                start = self._next(match, last)
            else:
                if self._rows != "OMIT":
                    yield self._row(number, start)
                start += 1
            number += 1

    def _row(self, number: int | None, row: int) -> Row:
        """Return the row of an empty match, or an unmatched one."""
        self._sequence += 1
        return number, row + 1, self._sequence, None, True, self._no_places, self._no_places

    def _matched(self, number: int, match: Match) -> Iterator[Row]:
        last = len(match.labels) - 1
        rows = [
            [at for at, label in enumerate(match.labels) if label in navigation.labels] for navigation in self._navigations
        ]
        passed = [0] * len(rows)
        for at, label in enumerate(match.labels):
            for index, navigation in enumerate(self._navigations):
                passed[index] += label in navigation.labels
            shown = at == last if self._rows == "ONE" else not match.hidden[at]
            if not shown and not self._all:
                continue
            matched_rows = [
                # Trino looks for FIRST in the whole match, whatever the mode.
                self._place(
                    match,
                    rows[index],
                    len(rows[index]) if navigation.final or navigation.first else passed[index],
                    navigation,
                )
                for index, navigation in enumerate(self._navigations)
            ]
            labels = [self._label(match, place) for place in matched_rows]
            self._sequence += 1
            places = [place + 1 if place is not None else None for place in matched_rows]
            yield number, match.start + at + 1, self._sequence, self._labels[label], shown, places, labels

    def _place(self, match: Match, rows: Sequence[int], visible: int, navigation: Place) -> int | None:
        """Return the row of the partition that a navigation goes to, if the first ``visible`` of ``rows`` are seen."""
        if visible <= navigation.logical:
            return None
        at = rows[navigation.logical if navigation.first else visible - 1 - navigation.logical]
        row = match.start + at + navigation.physical
        return row if 0 <= row < self._count else None

    def _label(self, match: Match, row: int | None) -> str | None:
        at = -1 if row is None else row - match.start
        return self._labels[match.labels[at]] if 0 <= at < len(match.labels) else None

    def _next(self, match: Match, last: int) -> int:
        if self._skip == "PAST":
            return last + 1
        if self._skip == "NEXT":
            return match.start + 1
        places = [at for at, label in enumerate(match.labels) if label in self._target]
        if not places:
            raise invalid("AFTER MATCH SKIP failed: pattern variable is not present in match", "GENERIC_USER_ERROR")
        at = places[0] if self._skip == "FIRST" else places[-1]
        if at == 0:
            raise invalid("AFTER MATCH SKIP failed: cannot skip to first row of match", "GENERIC_USER_ERROR")
        return match.start + at


def _match_rows(specifications: Any, places: Any, *values: Any) -> pa.Array:
    """Return the matches of each partition; see :meth:`penstock.sql.patterns.writing._Writer._specification`."""
    specification = json.loads(specifications[0].as_py()) if len(specifications) else {}
    columns = values[: specification.get("columns", 0)]
    no_row = dict(zip(specification.get("no_row", ()), values[len(columns) :], strict=True))
    types = [column.type.value_type for column in columns]
    answers = []
    absent = {at: plain_values(item)[0] for at, item in no_row.items() if len(places)}  # the same in all partitions
    for number in range(len(places)):
        lists = [plain_values(column[number].values) for column in columns]
        count = len(places[number])
        history = history_of(specification, lists, absent, types)
        matcher = Matcher(specification["program"], count, history)
        seen = history if isinstance(history, SeenRows) else None
        rows = Partition(specification, count, matcher, seen).answer()
        answers.append([dict(zip(_FIELDS, row, strict=True)) for row in rows])
    return pa.array(answers, pa.list_(_ROW))


_RETURNS = f"STRUCT({', '.join(f'{name} {type_}' for name, (_, type_) in _FIELDS.items())})[]"

DEFINITIONS: Sequence[Definition] = [ArrowFunction("trino_match_rows", None, _RETURNS, _match_rows)]
