"""Find the partitions that a filter matches, in the order of their keys, without reading all of a table's.

For each alternative of an expression, the conditions on single keys are tested on the distinct values of those keys.
That leaves either ranges of keys, from the values of the first keys, or the partitions that have one of few values of a
later key, or both; a walk over those tests each partition with the whole expression. What nothing narrows is a walk over
the table's keys. ADR 35 gives the reasons.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    Select,
    and_,
    bindparam,
    false,
    literal_column,
    or_,
    select,
    union_all,
)

from penstock.catalog.partitions.conditions import Branch, Condition, Span
from penstock.catalog.partitions.filters import PartitionFilter
from penstock.catalog.partitions.keys import partition_key, split_key
from penstock.catalog.partitions.values import KINDS
from penstock.errors import InvalidInput
from penstock.store.sql.catalog.tables import partition_postings, partition_values, partitions
from penstock.store.sql.database import among

__all__ = ["find_keys"]

_MOST_VALUES = 10_000  # distinct values of one key that are tested
_FEW = 20_000  # partitions that are read and sorted
_MOST_RANGES = 1_000  # of combinations of values of several keys
_MOST_SEEKS = 64  # streams that are merged
_GROUP = 50  # ranges in one statement
_SMALLEST, _FIRST, _LARGEST = 25, 250, 5_000  # keys in one statement
_CHUNK = 500  # values in one statement


class _Value(NamedTuple):
    id: int
    value: str
    partitions: int


class _Range(NamedTuple):
    """Keys from ``low`` to below ``high`` (None: to the end), at most about ``partitions`` of them."""

    low: str
    high: str | None
    partitions: int


_MANY = 1 << 60
_EVERYTHING = _Range("", None, _MANY)


def find_keys(
    connection: Connection, table_id: int, *, after: str | None, matching: PartitionFilter | None
) -> Iterator[str]:
    """Yield the keys of the table's partitions that ``matching`` matches, behind ``after``, ascending."""
    search = _Search(connection, table_id, after or "")
    if matching is None:
        yield from search.walk([_EVERYTHING])
        return
    alternatives = [search.of_branch(branch) for branch in matching.branches] or [search.walk([_EVERYTHING])]
    # An alternative with a larger key waits; one key that several have comes once.
    merged = alternatives[0] if len(alternatives) == 1 else (key for key, _ in groupby(heapq.merge(*alternatives)))
    yield from (key for key in merged if matching.matches(split_key(key)))


class _Search:
    def __init__(self, connection: Connection, table_id: int, after: str) -> None:
        self._connection = connection
        self._table = table_id
        self._after = after
        self._here = select(partitions.c.key).where(partitions.c.table_id == table_id)

    def of_branch(self, branch: Branch) -> Iterator[str]:
        """Return the keys of all partitions that ``branch`` can match."""
        values_by_column = self._values(branch)
        if any(not values for values in values_by_column.values()):
            return iter(())
        ranges, used = _ranges(values_by_column)
        if not ranges:
            ranges = _text_ranges(branch.get(0))
        within = sum(range_.partitions for range_ in ranges)
        indexed = {position: values for position, values in values_by_column.items() if position}
        if within <= _LARGEST or not indexed:
            return self.walk(ranges)
        # The later key with the fewest partitions, and the same of those that the ranges do not have.
        few = min(indexed.values(), key=_total)
        free = min((values for position, values in indexed.items() if position >= used), key=_total, default=None)
        if free is not None and len(free) * len(ranges) <= _MOST_SEEKS:
            return chain.from_iterable(self._merged(free, range_) for range_ in ranges)
        return self._collected(few) if _total(few) <= min(_FEW, within) else self.walk(ranges)

    def _values(self, branch: Branch) -> Mapping[int, Sequence[_Value]]:
        """Return by key position the values that its condition allows, as far as they are few enough to be tested."""
        bounded = {position: condition for position, condition in branch.items() if condition.spans is not None}
        tested = self._tested(bounded)
        if not any(_total(values) <= _FEW for values in tested.values()):
            # Conditions such as LIKE '%x' need all values of their key.
            tested |= self._tested(
                {position: condition for position, condition in branch.items() if position not in bounded}
            )
        return tested

    def _tested(self, conditions: Mapping[int, Condition]) -> dict[int, Sequence[_Value]]:
        allowed: dict[int, Sequence[_Value]] = {}
        for position, condition in sorted(conditions.items()):
            columns = partition_values.c
            query = select(columns.id, columns.value, columns.count).where(
                columns.table_id == self._table, columns.position == position
            )
            if condition.spans is not None:
                query = query.where(or_(false(), *map(_within, condition.spans), *_unreadable(condition.spans)))
            rows = self._connection.execute(query.limit(_MOST_VALUES + 1)).all()
            if len(rows) <= _MOST_VALUES:
                allowed[position] = sorted(
                    (_Value(*row) for row in rows if _allows(condition, position, row.value)), key=lambda pair: pair.value
                )
        return allowed

    def walk(self, ranges: Sequence[_Range]) -> Iterator[str]:
        """Yield the table's keys in ``ranges``, which are disjoint and ascending; small ones are read together."""
        last = self._after
        remaining = [range_ for range_ in ranges if range_.high is None or range_.high > self._after]
        for start in range(0, len(remaining), _GROUP):
            for key in (
                self._together(remaining[start : start + _GROUP])
                if len(remaining) > 1
                else self._keys(self._here, remaining[0])
            ):
                if key > last:
                    yield (last := key)

    def _together(self, group: Sequence[_Range]) -> Iterator[str]:
        """Yield the keys in each range: the first of all of them are read at once, because most have few."""
        values = {f"low{number}": max(pair.low, self._after) for number, pair in enumerate(group)}
        values |= {f"high{number}": pair.high or "" for number, pair in enumerate(group)}
        statement = _first_of_each(len(group), group[-1].high is None)
        rows = self._connection.execute(statement, {"table_id": self._table, "size": _SMALLEST, **values}).all()
        keys_by_range = {number: [row.key for row in item] for number, item in groupby(rows, key=lambda row: row.number)}
        for number, pair in enumerate(group):
            keys = keys_by_range.get(number, [])
            yield from keys
            if len(keys) == _SMALLEST:
                yield from self._keys(self._here, pair, after=keys[-1])

    def _merged(self, values: Sequence[_Value], within: _Range) -> Iterator[str]:
        size = max(_FIRST // len(values), _SMALLEST)
        columns = partition_postings.c
        streams = [self._keys(select(columns.key).where(columns.value_id == pair.id), within, size=size) for pair in values]
        return streams[0] if len(streams) == 1 else heapq.merge(*streams)

    def _collected(self, values: Sequence[_Value]) -> Iterator[str]:
        columns = partition_postings.c
        keys: list[str] = []
        for start in range(0, len(values), _CHUNK):
            ids = [pair.id for pair in values[start : start + _CHUNK]]
            query = select(columns.key).where(among(self._connection, columns.value_id, ids), columns.key > self._after)
            keys += self._connection.execute(query).scalars()
        return iter(sorted(keys))

    def _keys(self, rows: Select[Any], within: _Range, *, after: str | None = None, size: int = _FIRST) -> Iterator[str]:
        """Yield the keys of ``rows`` in one range, in statements of more and more of them."""
        column: ColumnElement[str] = rows.selected_columns["key"]
        last = self._after if after is None else after
        rows = rows.order_by(column)
        rows = rows if within.high is None else rows.where(column < within.high)
        while True:
            start = column > last if last >= within.low else column >= within.low
            keys: Sequence[str] = self._connection.execute(rows.where(start).limit(size)).scalars().all()
            yield from keys
            if len(keys) < size:
                return
            last, size = keys[-1], min(size * 4, _LARGEST)


@lru_cache
def _first_of_each(count: int, endless: bool) -> CompoundSelect[Any]:
    """Return a statement for the first keys of each of ``count`` ranges; the last one has no end if ``endless``.

    One condition with OR would be a scan of the whole table on SQLite, which sorts by the index instead of seeking in it.
    """
    columns = partitions.c
    parts = []
    for number in range(count):
        query = select(columns.key).where(
            columns.table_id == bindparam("table_id"), columns.key >= bindparam(f"low{number}")
        )
        if not endless or number < count - 1:
            query = query.where(columns.key < bindparam(f"high{number}"))
        rows = query.order_by(columns.key).limit(bindparam("size")).subquery()
        parts.append(select(literal_column(str(number)).label("number"), rows.c.key))
    return union_all(*parts)


def _within(span: Span) -> ColumnElement[bool]:
    columns = partition_values.c
    plain = span.kind == "string"
    column = columns.value if plain else columns.sort
    where = [] if plain else [columns.kind.in_(KINDS[span.kind])]
    if span.low is not None and span.low == span.high:
        return and_(*where, column == span.low)
    ends = [column >= span.low] if span.low is not None else []
    return and_(*where, *ends, *([column <= span.high] if span.high is not None else []))


def _unreadable(spans: Sequence[Span]) -> Sequence[ColumnElement[bool]]:
    """Return the conditions for values that are not of the key's type, about which the test of their partition decides."""
    families = {span.kind for span in spans} - {"string"}
    others = {type_family for family in families for type_family in ("text", *KINDS) if type_family not in KINDS[family]}
    return [partition_values.c.kind.in_(sorted(others))] if others else []


def _allows(condition: Condition, position: int, value: str) -> bool:
    try:
        return condition.test(("",) * position + (value,)) is True
    except InvalidInput:
        # It is not of the key's type. Whether that matters is for the test of its partition.
        return True


def _total(values: Sequence[_Value]) -> int:
    return sum(pair.partitions for pair in values)


def _ranges(values_by_column: Mapping[int, Sequence[_Value]]) -> tuple[Sequence[_Range], int]:
    """Return the ranges of the combinations of the first keys' values, and how many keys that are."""
    combined: list[tuple[tuple[str, ...], int]] = [((), _MANY)]
    used = 0
    while used in values_by_column and (used == 0 or len(combined) * len(values_by_column[used]) <= _MOST_RANGES):
        combined = [
            ((*values, pair.value), min(count, pair.partitions))
            for values, count in combined
            for pair in values_by_column[used]
        ]
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
