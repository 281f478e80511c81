"""Counts of rows and nulls from the footers of Parquet files: Parquet keeps them, so nobody has to count rows for them.

The layout is that of https://parquet.apache.org/docs/file-format/metadata/: a file ends with its metadata, their length in
four bytes, and the four bytes ``PAR1``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.lake.files import FileSystem

__all__ = ["FooterCounts", "read_counts"]

_END = 8  # bytes of length and magic
_GUESS = 64 * 1024
"""Bytes that are read first; few footers are longer."""
_FEW, _AT_ONCE = 4, 16


@dataclass(frozen=True, slots=True, kw_only=True)
class FooterCounts:
    """The counts of some files. ``nulls`` has the asked columns that all files say; ``unknown`` are the others.

    A file says nothing of a column whose least and greatest value are too long for its footer.
    """

    rows: int
    nulls: Mapping[str, int]
    unknown: tuple[str, ...]


def read_counts(files: FileSystem, paths: Iterable[str], columns: Iterable[str]) -> FooterCounts:
    """Return the counts of Parquet files; ``columns`` are names of columns that are neither records nor repeated.

    Files that are not Parquet's (Spark's ``_SUCCESS``, checksums) are passed over.
    """
    rows, nulls, unknown = 0, dict.fromkeys(columns, 0), set[str]()
    for footer in _all_metadata(files, [path for path in paths if path.endswith(".parquet")]):
        rows += footer.num_rows
        places = {footer.schema.column(place).path: place for place in range(footer.num_columns)}
        for name in nulls:
            count = _null_count(footer, places.get(name))
            if count is None:
                unknown.add(name)
            else:
                nulls[name] += count
    known = {name: count for name, count in nulls.items() if name not in unknown}
    return FooterCounts(rows=rows, nulls=known, unknown=tuple(sorted(unknown)))


def _all_metadata(files: FileSystem, paths: Sequence[str]) -> Iterator[pq.FileMetaData]:
    """Yield the metadata of each file; those of many are read at once, because an object store answers each late."""
    if len(paths) <= _FEW:
        yield from (_metadata(files, path) for path in paths)
        return
    with ThreadPoolExecutor(min(_AT_ONCE, len(paths))) as pool:
        yield from pool.map(partial(_metadata, files), paths)


def _metadata(files: FileSystem, path: str) -> pq.FileMetaData:
    tail = files.tail(path, _GUESS)
    length = int.from_bytes(tail[-_END : 4 - _END], "little") + _END
    if length > len(tail):
        tail = files.tail(path, length)
    return pq.read_metadata(pa.BufferReader(tail))


def _null_count(footer: pq.FileMetaData, place: int | None) -> int | None:
    """Return the nulls of the column at ``place``, None if a row group does not say it."""
    if place is None:
        return None
    count = 0
    for group in range(footer.num_row_groups):
        statistics = footer.row_group(group).column(place).statistics
        if statistics is None or not statistics.has_null_count:
            return None
        count += statistics.null_count
    return count
