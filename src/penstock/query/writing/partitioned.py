"""Rows to files by partition, in bounded memory: what is buffered is written when it is more than a limit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.lake.ledger import final_name
from penstock.lake.partitions import partition_path
from penstock.query.engine.context import ExecutionContext
from penstock.query.writing.bucketing import Buckets, file_name
from penstock.query.writing.files import Columns, FileWriter, open_file
from penstock.query.writing.options import WriteOptions
from penstock.query.writing.types import cast_column
from penstock.sql.errors import StatementError
from penstock.types import arrow
from penstock.types.model import LakeType

__all__ = ["PartitionedWriter", "WrittenFile"]

_BUFFER = 32 << 20  # bytes of rows in memory, of all partitions
_OPEN_ORC = 8  # files of ORC, each of which has a stripe in memory
_ROWS = 65_536  # rows that are divided at once
Values = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A complete file: its path in the statement's folder, its partition's values, its name, its size in bytes."""

    path: str
    values: Values
    name: str
    size: int


@dataclass(slots=True)
class _Open:
    """A partition's rows in memory, and the file that they go to."""

    values: Values
    bucket: int | None = None
    files: int = 0
    """How many files the target has had."""
    buffered: list[pa.Table] = field(default_factory=list)
    bytes: int = 0
    writer: FileWriter | None = None
    path: Path | None = None


class PartitionedWriter:
    """Writes the rows of one statement. ``columns`` are the table's, ``keys`` the last columns of the rows."""

    def __init__(
        self,
        context: ExecutionContext,
        columns: Columns,
        keys: Columns,
        options: WriteOptions,
        buckets: Buckets | None = None,
    ) -> None:
        self._folder = context.task.folder / "data"
        self._folder.mkdir(parents=True, exist_ok=True)
        self.rows = 0
        self._query = context.task.id.replace("-", "")
        self._columns = columns
        self._keys = keys
        self._options = options
        self._settings = context.task.settings
        self._buckets = buckets
        self._open: dict[tuple[Values, int | None], _Open] = {}
        self._done: list[WrittenFile] = []
        self._number = 0
        self._written = 0

    def write_all(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Write a query's batches. Raises :class:`StatementError`."""
        buffered: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            buffered.append(batch)
            rows += batch.num_rows
            if rows >= _ROWS:
                self._write(pa.Table.from_batches(buffered))
                buffered, rows = [], 0
        if buffered:
            self._write(pa.Table.from_batches(buffered))

    def finish(self, *, empty: bool) -> Sequence[WrittenFile]:
        """Complete all files and return them; with ``empty``, one file without rows if there are none."""
        if empty and not self._done and not self._open and not self._keys:
            self._open[(), None] = _Open(())
            self._flush(self._open[(), None], self._schema().empty_table())
        for open_ in list(self._open.values()):
            self._flush(open_)
            self._close(open_)
        return self._done

    def _schema(self) -> pa.Schema:
        return pa.schema([(name, arrow.render(type_)) for name, type_ in self._columns])

    def _write(self, rows: pa.Table) -> None:
        if rows.num_rows == 0:
            return
        self.rows += rows.num_rows
        described = (*self._columns, *self._keys)
        cast = [cast_column(name, rows.column(at), type_) for at, (name, type_) in enumerate(described)]
        table = pa.table(cast[: len(self._columns)], schema=self._schema())
        for values, bucket, part in self._divided(table, cast[len(self._columns) :]):
            self._add(values, bucket, part)
        while sum(open_.bytes for open_ in self._open.values()) > _BUFFER:
            self._flush(max(self._open.values(), key=lambda open_: open_.bytes))
        # The rows of each partition come and go in pieces, between which the allocator keeps more than they take.
        pa.default_memory_pool().release_unused()

    def _divided(self, table: pa.Table, keys: Sequence[Any]) -> Iterator[tuple[Values, int | None, pa.Table]]:
        """Yield the rows of each partition, or of each bucket of a partition."""
        if not keys and self._buckets is None:
            yield (), None, table
            return
        buckets = [self._buckets.numbers(table, dict(self._columns))] if self._buckets is not None else []
        names = [f"k{number}" for number in range(len(keys))]
        by = [*names, "bucket"] if buckets else names
        numbered = pa.table([*keys, *buckets, pa.array(range(table.num_rows), pa.int64())], names=[*by, "row"])
        groups = numbered.group_by(by, use_threads=False).aggregate([("row", "list")])
        for group in groups.to_pylist():
            values = tuple(_key_text(group[name], type_) for name, (_, type_) in zip(names, self._keys, strict=True))
            yield values, group.get("bucket"), table.take(pa.array(group["row_list"], pa.int64()))

    def _add(self, values: Values, bucket: int | None, rows: pa.Table) -> None:
        target = self._open.get((values, bucket))
        if target is None:
            limit = self._settings.max_written_partitions
            if len(self._open) == limit:
                raise StatementError(
                    "HIVE_TOO_MANY_OPEN_PARTITIONS",
                    f"Exceeded limit of {limit} open writers for partitions/buckets",
                    remedy="Write fewer partitions in one statement.",
                )
            target = self._open[values, bucket] = _Open(values, bucket)
        target.buffered.append(rows)
        target.bytes += rows.nbytes

    def _flush(self, target: _Open, empty: pa.Table | None = None) -> None:
        rows = pa.concat_tables(target.buffered) if target.buffered else empty
        target.buffered, target.bytes = [], 0
        if rows is None:
            return
        if target.writer is None:
            self._make_room()
            target.path = self._new_path(target)
            target.writer = open_file(target.path, self._columns, rows.schema, self._options)
        target.writer.write(rows)
        size = target.writer.size()
        if self._written + size > self._settings.written_bytes:
            raise StatementError(
                "EXCEEDED_RESULT_LIMIT",
                f"The statement writes more than {self._settings.written_bytes} bytes.",
                remedy="Write it in parts, or raise the server's limit.",
            )
        if size >= self._settings.target_file_bytes:
            self._close(target)

    def _new_path(self, target: _Open) -> Path:
        self._number += 1
        if target.bucket is None:
            return self._folder / final_name(self._query, 0, self._number - 1, self._options.suffix)
        # Each partition has a file of each bucket, under the same name.
        folder = self._folder / f"p{self._number}"
        folder.mkdir()
        target.files += 1
        return folder / file_name(target.bucket, target.files - 1, self._query, self._options.suffix)

    def _make_room(self) -> None:
        """Complete a file if the format's writers keep rows in memory and many are open."""
        if self._options.format != "ORC":
            return
        writing = [open_ for open_ in self._open.values() if open_.writer is not None]
        if len(writing) >= _OPEN_ORC:
            self._close(max(writing, key=lambda open_: open_.writer.size() if open_.writer is not None else 0))

    def _close(self, target: _Open) -> None:
        if target.writer is None or target.path is None:
            return
        target.writer.close()
        size = target.path.stat().st_size
        self._written += size
        names = [name for name, _ in self._keys]
        folder = partition_path(names, target.values)
        name = f"{folder}/{target.path.name}" if folder else target.path.name
        self._done.append(WrittenFile(str(target.path), target.values, name, size))
        target.writer, target.path = None, None


def _key_text(value: Any, type_: LakeType) -> str | None:
    """Return a partition key's value as the catalog has it; an empty text is NULL there, as in Hive."""
    if value is None or value == "":
        return None
    if type_.name == "boolean":
        return "true" if value else "false"
    if isinstance(value, datetime):
        text = value.strftime("%Y-%m-%d %H:%M:%S.%f").zfill(26)
        return text.rstrip("0").removesuffix(".")
    if type_.name in {"float", "double", "binary", "array", "map", "struct"}:
        raise StatementError("NOT_SUPPORTED", f"A partition key cannot have type {type_.name}.")
    return str(value)
