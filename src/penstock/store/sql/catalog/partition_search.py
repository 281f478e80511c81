"""Find the partitions that a filter matches, in the order of their keys, without reading all of a table's.

For each alternative of an expression, the conditions on single keys are tested on the distinct values of those keys.
That leaves either ranges of keys, from the values of the first keys, or the partitions that have one of few values of a
later key, or both; a walk over those tests each partition with the whole expression. What nothing narrows is a walk over
the table's keys. ADR 67 gives the figures.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, false, or_, select
from sqlalchemy import Table as SqlTable

from penstock.catalog.partitions.conditions import Branch, Condition, Span
from penstock.catalog.partitions.filters import PartitionFilter
from penstock.catalog.partitions.keys import partition_key, split_key
from penstock.catalog.partitions.values import KINDS
from penstock.errors import InvalidInput
from penstock.store.sql.catalog.tables import partition_postings, partition_values, partitions

__all__ = ["find_keys"]

_MOST_VALUES = 10_000  # distinct values of one key that are tested
_FEW = 20_000  # partitions that are read and sorted
_MOST_RANGES = 1_000  # of combinations of values of several keys
_MOST_SEEKS = 64  # streams that are merged
_GROUP = 50  # ranges in one statement
_SMALLEST, _FIRST, _LARGEST = 20, 250, 5_000  # keys in one statement
_CHUNK = 500  # values in one statement


class _Value(NamedTuple):
    id: int
    value: str
    count: int


class _Range(NamedTuple):
    """Keys from ``low`` to below ``high`` (None: to the end), at most about ``count`` of them."""

    low: str
    high: str | None
    count: int


_MANY = 1 << 60
_EVERYTHING = _Range("", None, _MANY)


def find_keys(connection: Connection, table_id: int, *, after: str | None, wanted: PartitionFilter | None) -> Iterator[str]:
    """Yield the keys of the table's partitions that ``wanted`` matches, behind ``after``, ascending."""
    found = _Search(connection, table_id, after or "")
    if wanted is None:
        yield from found.walk([_EVERYTHING])
        return
    alternatives = [found.of_branch(branch) for branch in wanted.branches] or [found.walk([_EVERYTHING])]
    # An alternative with a larger key waits; one key that several have comes once.
    merged = alternatives[0] if len(alternatives) == 1 else (key for key, _ in groupby(heapq.merge(*alternatives)))
    yield from (key for key in merged if wanted.matches(split_key(key)))


class _Search:
    def __init__(self, connection: Connection, table_id: int, after: str) -> None:
        self._connection = connection
        self._table = table_id
        self._after = after

    def of_branch(self, branch: Branch) -> Iterator[str]:
        """Yield the keys of all partitions that ``branch`` can match."""
        known = self._values(branch)
        if any(not values for values in known.values()):
            return
        ranges, used = _ranges(known)
        if not ranges:
            ranges = _text_ranges(branch.get(0))
        later = {position: values for position, values in known.items() if position >= max(used, 1)}
        if not later:
            yield from self.walk(ranges)
            return
        driver = min(later.values(), key=_total)
        total, within = _total(driver), sum(each.count for each in ranges)
        if within <= _LARGEST:
            yield from self.walk(ranges)
        elif len(driver) * len(ranges) <= _MOST_SEEKS:
            for each in ranges:
                yield from self._merged(driver, each)
        elif total <= min(_FEW, within):
            yield from self._collected(driver)
        else:
            yield from self.walk(ranges)

    def _values(self, branch: Branch) -> Mapping[int, Sequence[_Value]]:
        """Return by key position the values that its condition allows, as far as they are few enough to be tested."""
        bounded = {position: each for position, each in branch.items() if each.spans is not None}
        known = self._tested(bounded)
        if not any(_total(values) <= _FEW for values in known.values()):
            # Conditions such as LIKE '%x' need all values of their key.
            known |= self._tested({position: each for position, each in branch.items() if position not in bounded})
        return known

    def _tested(self, conditions: Mapping[int, Condition]) -> dict[int, Sequence[_Value]]:
        found: dict[int, Sequence[_Value]] = {}
        for position, condition in sorted(conditions.items()):
            columns = partition_values.c
            query = select(columns.id, columns.value, columns.count).where(
                columns.table_id == self._table, columns.position == position
            )
            if condition.spans is not None:
                query = query.where(or_(false(), *map(_within, condition.spans), *_unreadable(condition.spans)))
            rows = self._connection.execute(query.limit(_MOST_VALUES + 1)).all()
            if len(rows) <= _MOST_VALUES:
                found[position] = sorted(
                    (_Value(*row) for row in rows if _allows(condition, position, row.value)), key=lambda each: each.value
                )
        return found

    def walk(self, ranges: Sequence[_Range]) -> Iterator[str]:
        """Yield the table's keys in ``ranges``, which are disjoint and ascending; small ones are read together."""
        last = self._after
        for group in _grouped([each for each in ranges if each.high is None or each.high > self._after]):
            for key in self._keys(partitions, partitions.c.table_id == self._table, group):
                if key > last:
                    yield (last := key)

    def _merged(self, values: Sequence[_Value], within: _Range) -> Iterator[str]:
        size = max(_FIRST // len(values), _SMALLEST)
        streams = [
            self._keys(partition_postings, partition_postings.c.value_id == each.id, [within], size) for each in values
        ]
        return streams[0] if len(streams) == 1 else heapq.merge(*streams)

    def _collected(self, values: Sequence[_Value]) -> Iterator[str]:
        columns = partition_postings.c
        found: list[str] = []
        for start in range(0, len(values), _CHUNK):
            ids = [each.id for each in values[start : start + _CHUNK]]
            query = select(columns.key).where(columns.value_id.in_(ids), columns.key > self._after)
            found += self._connection.execute(query).scalars()
        return iter(sorted(found))

    def _keys(
        self, rows: SqlTable, where: ColumnElement[bool], group: Sequence[_Range], size: int = _FIRST
    ) -> Iterator[str]:
        after = self._after
        while True:
            spans = [
                and_(rows.c.key > after, *(_in_range(rows, each)))
                for each in group
                if each.high is None or each.high > after
            ]
            if not spans:
                return
            query = select(rows.c.key).where(where, or_(*spans)).order_by(rows.c.key).limit(size)
            found = self._connection.execute(query).scalars().all()
            yield from found
            if len(found) < size:
                return
            after, size = found[-1], min(size * 4, _LARGEST)


def _in_range(rows: SqlTable, wanted: _Range) -> Iterator[ColumnElement[bool]]:
    if wanted.low:
        yield rows.c.key >= wanted.low
    if wanted.high is not None:
        yield rows.c.key < wanted.high


def _within(span: Span) -> ColumnElement[bool]:
    columns = partition_values.c
    text = span.kind == "string"
    column = columns.value if text else columns.sort
    where = [] if text else [columns.kind.in_(KINDS[span.kind])]
    if span.low is not None and span.low == span.high:
        return and_(*where, column == span.low)
    ends = [column >= span.low] if span.low is not None else []
    return and_(*where, *ends, *([column <= span.high] if span.high is not None else []))


def _unreadable(spans: Sequence[Span]) -> Sequence[ColumnElement[bool]]:
    """Return what selects the values that are none of the key's type: the test of their partition says so."""
    families = {span.kind for span in spans} - {"string"}
    others = {kind for family in families for kind in ("text", *KINDS) if kind not in KINDS[family]}
    return [partition_values.c.kind.in_(sorted(others))] if others else []


def _allows(condition: Condition, position: int, value: str) -> bool:
    try:
        return condition.test(("",) * position + (value,)) is True
    except InvalidInput:
        # It is not of the key's type. Whether that matters is for the test of its partition.
        return True


def _total(values: Sequence[_Value]) -> int:
    return sum(each.count for each in values)


def _ranges(known: Mapping[int, Sequence[_Value]]) -> tuple[Sequence[_Range], int]:
    """Return the ranges of the combinations of the first keys' values, and how many keys that are."""
    combined: list[tuple[tuple[str, ...], int]] = [((), _MANY)]
    used = 0
    while used in known and (used == 0 or len(combined) * len(known[used]) <= _MOST_RANGES):
        combined = [((*values, each.value), min(count, each.count)) for values, count in combined for each in known[used]]
        used += 1
    if not used:
        return (), 0
    starts = [(partition_key(values), count) for values, count in combined]
    # The key that is the combination itself, if these are all keys of the table, or begins with it.
    return sorted(_Range(start, f"{start}\x02", count) for start, count in starts), used


def _text_ranges(first: Condition | None) -> Sequence[_Range]:
    """Return the ranges of the condition on the first key where too many of its values match; else everything."""
    spans = first.spans if first is not None else None
    if spans is None or any(span.kind != "string" or _separates(span.low) or _separates(span.high) for span in spans):
        return [_EVERYTHING]
    # A missing end sorts last: no value reaches it.
    ends = sorted((span.low or "", span.high is None, span.high or "") for span in spans)
    merged: list[_Range] = []
    for low, endless, end in ends:
        high = None if endless else f"{end}\x02"
        last = merged[-1] if merged else None
        if last is None or (last.high is not None and last.high <= low):
            merged.append(_Range(low, high, _MANY))
        elif last.high is not None and (high is None or high > last.high):
            merged[-1] = last._replace(high=high)
    return merged


def _separates(text: str | None) -> bool:
    # What partition_key writes otherwise does not sort as the values do.
    return text is not None and ("\x01" in text or "\x02" in text)


def _grouped(ranges: Sequence[_Range]) -> Iterator[Sequence[_Range]]:
    group: list[_Range] = []
    for each in ranges:
        if group and (len(group) >= _GROUP or sum(one.count for one in group) + each.count > _LARGEST):
            yield group
            group = []
        group.append(each)
    if group:
        yield group
