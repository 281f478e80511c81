"""The catalog: databases and tables, and the partitions of tables, by Glue's rules."""

import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from penstock.catalog.errors import DefinitionTooLarge, PartitionExists, PartitionNotFound
from penstock.catalog.functions import Functions
from penstock.catalog.indexes import PartitionIndexes
from penstock.catalog.model import Partition, PartitionInput, Table
from penstock.catalog.optimizers import TableOptimizers
from penstock.catalog.partitions.filters import PartitionFilter, Segment, partition_filter
from penstock.catalog.partitions.keys import PartitionValues, partition_key
from penstock.catalog.sizes import check_size, weigh
from penstock.catalog.statistics import ColumnStatistics
from penstock.catalog.tables import Tables
from penstock.errors import InvalidInput, PenstockError
from penstock.paging import Page, fitting, page

__all__ = ["CatalogService"]

_FIRST = 50  # partitions that are read first; more and more follow while they fit on the page
_BATCH = 100  # partitions in memory at once that a page may have no room for

Failures = Sequence[tuple[PartitionValues, PenstockError]]


class CatalogService(Tables):
    """The whole catalog. Readers use ``databases``, ``tables``, ``table`` and ``partitions``."""

    @property
    def functions(self) -> Functions:
        """The user-defined functions of databases."""
        return Functions(self._store, now=self._now)

    @property
    def indexes(self) -> PartitionIndexes:
        """The partition indexes of tables."""
        return PartitionIndexes(self._store)

    @property
    def optimizers(self) -> TableOptimizers:
        """The settings of tables' optimizers."""
        return TableOptimizers(self._store)

    @property
    def statistics(self) -> ColumnStatistics:
        """The column statistics of tables and partitions."""
        return ColumnStatistics(self._store)

    def partitions(self, database: str, table: str, expression: str | None = None) -> Sequence[Partition]:
        """Return all partitions that match ``expression`` (Glue's grammar), by values.

        Raises :class:`NotFound`, :class:`InvalidInput`.
        """
        home = self._existing(database, table)
        matching = partition_filter(home, expression)
        return self._store.list_partitions(home.database, home.name, after=None, limit=None, matching=matching)

    def partitions_page(
        self,
        database: str,
        table: str,
        *,
        limit: int,
        token: str | None = None,
        expression: str | None = None,
        segment: Segment | None = None,
    ) -> Page[Partition]:
        """Return up to ``limit`` partitions of ``segment`` that match ``expression``, by values."""
        home = self._existing(database, table)
        share = f"{segment.number}/{segment.total}" if segment else ""
        listing = f"partitions:{home.database}:{home.name}:{share}:{zlib.crc32((expression or '').encode()):x}"
        matching = partition_filter(home, expression, segment)

        def read_all(after: str | None, count: int) -> Sequence[Partition]:
            return self._store.list_partitions(home.database, home.name, after=after, limit=count)

        read = read_all if matching is None else self._reader(home, matching, limit)
        return page(listing, token, limit, read, lambda partition: partition_key(partition.values), kind=str, weigh=weigh)

    def _reader(
        self, home: Table, matching: PartitionFilter, limit: int
    ) -> Callable[[str | None, int], Sequence[Partition]]:
        """Return the reads of one page: matches are looked up once, their bodies when they are needed."""
        unread: deque[PartitionValues] | None = None
        ready: deque[Partition] = deque()
        size = _FIRST

        def read(after: str | None, count: int) -> Sequence[Partition]:
            nonlocal unread, size
            if unread is None:
                values = self._store.list_values(home.database, home.name, after=after, limit=limit + 1, matching=matching)
                unread = deque(values)
            # A partition may have been deleted since.
            while unread and len(ready) < count:
                batch = [unread.popleft() for _ in range(min(size, len(unread)))]
                rows = {
                    tuple(partition.values): partition
                    for partition in self._store.partitions_of(home.database, home.name, batch)
                }
                ready.extend(rows[values] for values in batch if values in rows)
                size *= 4
            return [ready.popleft() for _ in range(min(count, len(ready)))]

        return read

    def partition(self, database: str, table: str, values: Sequence[str]) -> Partition:
        """Return one partition. Raises :class:`NotFound`."""
        home = self._existing(database, table)
        partitions = self._store.partitions_of(home.database, home.name, [tuple(values)])
        if not partitions:
            raise PartitionNotFound(home.database, home.name, values)
        return partitions[0]

    def partitions_by_values(
        self, database: str, table: str, values_of: Sequence[Sequence[str]]
    ) -> tuple[Sequence[Partition], Sequence[PartitionValues]]:
        """Return the partitions of ``values_of`` that exist, in their order, and the values that are left for another call.

        Values without a partition are omitted. Values are left for another call if the result would exceed a page.
        """
        home = self._existing(database, table)
        keys = list(dict.fromkeys(tuple(values) for values in values_of))
        read: list[PartitionValues] = []

        def rows() -> Iterator[Partition]:
            for start in range(0, len(keys), _BATCH):
                batch = keys[start : start + _BATCH]
                by_values = {
                    tuple(partition.values): partition
                    for partition in self._store.partitions_of(home.database, home.name, batch)
                }
                for key in batch:
                    if key in by_values:
                        read.append(key)
                        yield by_values[key]

        shown = list(fitting(rows(), weigh))
        unread = keys[keys.index(read[len(shown)]) :] if len(read) > len(shown) else []
        return shown, unread

    def create_partition(self, database: str, table: str, definition: PartitionInput) -> None:
        """Add a partition. Raises :class:`NotFound`, :class:`AlreadyExists`, :class:`InvalidInput`."""
        _raise_first(self.create_partitions(database, table, [definition]))

    def create_partitions(self, database: str, table: str, definitions: Sequence[PartitionInput]) -> Failures:
        """Add several; return those that could not be added, with their errors. Raises :class:`NotFound` for the table."""
        home = self._existing(database, table)
        failed: list[tuple[PartitionValues, PenstockError]] = []
        new: dict[PartitionValues, Partition] = {}
        error: PenstockError | None
        now = self._now()
        for partition_input in definitions:
            values = tuple(partition_input.values)
            if error := _wrong_values(home, values):
                failed.append((values, error))
            elif values in new:
                failed.append((values, PartitionExists(home.database, home.name, values)))
            elif error := _too_large(partition := partition_input.resolve(home, now)):
                failed.append((values, error))
            else:
                new[values] = partition
        if new:
            existing = self._store.create_partitions(list(new.values()))
            failed.extend((values, PartitionExists(home.database, home.name, values)) for values in existing)
        return failed

    def update_partition(self, database: str, table: str, values: Sequence[str], definition: PartitionInput) -> None:
        """Replace the partition with ``values``, which cannot change. Raises :class:`NotFound`, :class:`InvalidInput`."""
        _raise_first(self.update_partitions(database, table, [(values, definition)]))

    def update_partitions(
        self, database: str, table: str, definitions: Sequence[tuple[Sequence[str], PartitionInput]]
    ) -> Failures:
        """Replace several; return those that could not be, with their errors. Raises :class:`NotFound` for the table."""
        home = self._existing(database, table)
        failed: list[tuple[PartitionValues, PenstockError]] = []
        error: PenstockError | None
        changed: dict[PartitionValues, Partition] = {}
        now = self._now()
        for old, partition_input in definitions:
            values = tuple(old)
            error = _wrong_values(home, values)
            if error is None and partition_input.values and tuple(partition_input.values) != values:
                error = self._moved(home, values)
            partition = replace(partition_input, values=values).resolve(home, now)
            error = error or _too_large(partition)
            if error:
                failed.append((values, error))
            else:
                changed[values] = partition
        if changed:
            missing = self._store.replace_partitions(list(changed.values()))
            failed.extend((values, PartitionNotFound(home.database, home.name, values)) for values in missing)
        return failed

    def _moved(self, home: Table, values: PartitionValues) -> PenstockError:
        """Return why the partition with ``values`` cannot get other values."""
        if not self._store.partitions_of(home.database, home.name, [values]):
            return PartitionNotFound(home.database, home.name, values)
        return InvalidInput(
            f"The values of partition {list(values)} of {home.database}.{home.name} cannot be changed.",
            remedy="Delete it and create one with the new values.",
        )

    def delete_partition(self, database: str, table: str, values: Sequence[str]) -> None:
        """Remove a partition. Raises :class:`NotFound`."""
        _raise_first(self.delete_partitions(database, table, [values]))

    def delete_partitions(self, database: str, table: str, values_of: Sequence[Sequence[str]]) -> Failures:
        """Remove several; return those that did not exist, with their errors. Raises :class:`NotFound` for the table."""
        home = self._existing(database, table)
        keys = list(dict.fromkeys(tuple(values) for values in values_of))
        missing = self._store.delete_partitions(home.database, home.name, keys)
        return [(values, PartitionNotFound(home.database, home.name, values)) for values in missing]


def _raise_first(failures: Failures) -> None:
    for _, error in failures:
        raise error


def _wrong_values(table: Table, values: PartitionValues) -> InvalidInput | None:
    if len(values) == len(table.partition_keys) > 0 and all(values):
        return None
    keys = ", ".join(key.name for key in table.partition_keys)
    if len(values) != len(table.partition_keys):
        return InvalidInput(
            f"The number of partition keys do not match the number of partition values: {table.database}.{table.name} has "
            f"the keys ({keys}), the partition the values {list(values)}.",
            remedy="Give one value for each key, in the keys' order.",
        )
    if not values:
        return InvalidInput(f"Table {table.database}.{table.name} is not partitioned.")
    return InvalidInput(f"The partition {list(values)} of {table.database}.{table.name} has an empty value.")


def _too_large(partition: Partition) -> DefinitionTooLarge | None:
    try:
        check_size(partition)
    except DefinitionTooLarge as error:
        return error
    return None
