"""Filters of a table's partitions: an expression, one of several disjoint shares, or both."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penstock.catalog.model import Table
from penstock.catalog.partitions.conditions import Branch
from penstock.catalog.partitions.expressions import PartitionExpression
from penstock.catalog.partitions.keys import partition_key
from penstock.errors import InvalidInput

__all__ = ["PartitionFilter", "Segment", "partition_filter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One of ``total`` disjoint shares of a table's partitions, for readers in parallel; ``number`` counts from 0."""

    number: int
    total: int

    def __post_init__(self) -> None:
        if not 0 <= self.number < self.total:
            raise InvalidInput(
                f"Segment {self.number} of {self.total} does not exist.", remedy="Segments are numbered from 0 to total - 1."
            )

    def holds(self, values: Sequence[str]) -> bool:
        """Return whether the partition with ``values`` is in this share."""
        return zlib.crc32(partition_key(values).encode()) % self.total == self.number


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFilter:
    """``matches`` tests one partition's values; ``branches`` are what a store can look up, empty for nothing."""

    matches: Callable[[Sequence[str]], bool]
    branches: Sequence[Branch] = ()


def partition_filter(table: Table, expression: str | None, segment: Segment | None = None) -> PartitionFilter | None:
    """Return the filter of the table's partitions, None for all. Raises :class:`InvalidInput` for the expression."""
    share = segment if segment is not None and segment.total > 1 else None
    if not expression or not expression.strip():
        return PartitionFilter(matches=share.holds) if share else None
    parsed = PartitionExpression.parse(expression, table.partition_keys)
    if share is None:
        return PartitionFilter(matches=parsed.matches, branches=parsed.branches)
    holds = share.holds
    return PartitionFilter(matches=lambda row: holds(row) and parsed.matches(row), branches=parsed.branches)
