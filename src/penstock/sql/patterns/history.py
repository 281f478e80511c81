"""What conditions of DEFINE see: values of the current row, of rows that were matched before, and aggregates over them."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import pyarrow as pa

from penstock.sql.patterns.evaluation import add, compiled, mean, smaller
from penstock.sql.patterns.matcher import History, Path, Place

__all__ = ["SeenRows", "history_of"]

Columns = Sequence[Sequence[Any]]


class _OwnRows(History):
    """Conditions that each row tells by itself."""

    def __init__(self, tests: Sequence[Sequence[Any] | None]) -> None:
        self._tests = tests

    def holds(self, row: int, label: int, path: Path) -> bool:  # noqa: ARG002 the row tells it
        test = self._tests[label]
        return test is None or test[row] is True


class SeenRows(History):
    """Conditions over the rows that were matched before.

    A history has, for each set of variables, the rows that navigations may go to, then each aggregate's state, then what
    else makes histories differ.
    """

    def __init__(self, specification: Mapping[str, Any], columns: Columns, no_row: Mapping[int, Any], types: Sequence[Any]):
        self._columns, self._no_row, self._types = columns, no_row, types
        self._size = len(columns[0]) if columns else 0
        self._places = [Place(frozenset(place[0]), *place[1:]) for place in specification["places"]]
        self._labels: Sequence[str] = specification["labels"]
        self._aggregates = [(name, frozenset(members), column) for name, members, column in specification["aggregates"]]
        self.number = 1
        self._kept = self._rows_kept()
        # A label at a distance from a matched row may be any before it: then no two histories are equal.
        labelled = [item for test in specification["conditions"] for item in _labels_of(test)]
        self._distinct = count() if any(at is not None and self._places[at].physical for at in labelled) else None
        self.empty = ((),) * len(self._kept) + ((0, None),) * len(self._aggregates)
        self.conditions = [
            compiled(test, self._leaf, self._type) if test is not None else None for test in specification["conditions"]
        ]

    def _rows_kept(self) -> dict[tuple[frozenset[int], bool], int]:
        """Return how many rows of each set of variables navigations need, the first ones or the last ones."""
        counts: dict[tuple[frozenset[int], bool], int] = {}
        for place in self._places:
            key = (place.labels, place.first)
            counts[key] = max(counts.get(key, 0), place.logical + 1)
        self._order = {key: at for at, key in enumerate(counts)}
        return counts

    def extended(self, history: Any, row: int, label: int) -> Any:
        result: list[Any] = []
        for at, ((members, first), most) in enumerate(self._kept.items()):
            rows = history[at]
            if label in members and not (first and len(rows) == most):
                rows = (*rows, (row, label)) if len(rows) < most else (*rows[1:], (row, label))
            result.append(rows)
        for at, (name, members, column) in enumerate(self._aggregates, len(self._kept)):
            state = history[at]
            result.append(self._aggregated(state, name, column, row) if label in members else state)
        if self._distinct is not None:
            result.append(next(self._distinct))
        return tuple(result)

    def _aggregated(self, state: tuple[int, Any], name: str, column: int | None, row: int) -> tuple[int, Any]:
        number, total = state
        value = self._columns[column][row] if column is not None else 1
        if value is None:
            return state
        if name == "count" or number == 0:
            total = value
        elif name in {"sum", "avg"}:
            total = add(float(total), value) if name == "avg" and isinstance(value, int) else add(total, value)
        elif smaller(value, total) if name == "min" else smaller(total, value):
            total = value
        return number + 1, total

    def holds(self, row: int, label: int, path: Path) -> bool:
        test = self.conditions[label]
        return test is None or test((row, path)) is True

    def _type(self, leaf: list[Any]) -> pa.DataType | None:
        if leaf[0] == "value":
            type_: pa.DataType = self._types[leaf[1]]
            return type_
        if leaf[0] == "aggregate":
            name, _, column = self._aggregates[leaf[1]]
            return self._types[column] if column is not None and name in {"min", "max"} else None
        return None

    def _leaf(self, leaf: list[Any]) -> Callable[[Any], Any]:
        operator = leaf[0]
        if operator == "value":
            return self._value(leaf[1], leaf[2])
        if operator == "label":
            return self._label(leaf[1])
        if operator == "number":
            return lambda _: self.number
        name = self._aggregates[leaf[1]][0]
        at = len(self._kept) + leaf[1]

        def aggregate(state: Any) -> Any:
            number, total = state[1].history[at]
            if name == "count":
                return number
            return mean(total, number) if name == "avg" and number else total if number else None

        return aggregate

    def _value(self, column: int, place: int | None) -> Callable[[Any], Any]:
        values, no_row = self._columns[column], self._no_row.get(column)
        if place is None:
            return lambda state: values[state[0]]
        find = self._finder(place)

        def value(state: Any) -> Any:
            row = find(state[1].history)
            return no_row if row is None else values[row]

        return value

    def _finder(self, number: int) -> Callable[[Any], int | None]:
        """Return the function that finds a place's row in a history, None if there is none."""
        place = self._places[number]
        at = self._order[place.labels, place.first]

        def find(history: Any) -> int | None:
            rows = history[at]
            if len(rows) <= place.logical:
                return None
            row: int = rows[place.logical if place.first else -1 - place.logical][0] + place.physical
            return row if 0 <= row < self._size else None

        return find

    def _label(self, number: int) -> Callable[[Any], str | None]:
        find = self._finder(number)

        def label(state: Any) -> str | None:
            path: Path | None = state[1]
            row = find(state[1].history)
            while row is not None and path is not None and path.row > row:
                path = path.before
            return self._labels[path.label] if path is not None and path.row == row else None

        return label


def _labels_of(test: Any) -> list[Any]:
    """Return the places whose variables an expression reads."""
    if not isinstance(test, list):
        return []
    own = [test[1]] if test[:1] == ["label"] else []
    return [*own, *(label for part in test for label in _labels_of(part))]


def history_of(
    specification: Mapping[str, Any], columns: Columns, no_row: Mapping[int, Any], types: Sequence[Any]
) -> History:
    """Return what the conditions of a partition see; ``types`` are the columns' types."""
    tests = specification["conditions"]
    if all(test is None or (test[0] == "value" and test[2] is None) for test in tests):
        return _OwnRows([None if test is None else columns[test[1]] for test in tests])
    return SeenRows(specification, columns, no_row, types)
