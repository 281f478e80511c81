"""Results as Athena writes them: every value quoted, NULL empty and unquoted, values in Trino's text forms.

The CSV object is the result: any server process can read rows from it, by byte offset. Results of SHOW, DESCRIBE and
EXPLAIN are lines of text without a header. The ``.metadata`` object beside a CSV describes its columns in the Protobuf
form that Athena's JDBC drivers read.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from penstock.sql.errors import InvalidRequest, StatementError
from penstock.statements.model import ResultColumn

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.sql.trino_types import Type

__all__ = ["EngineResult", "ResultRows", "read_rows", "write_csv", "write_lines", "write_metadata"]

_MAX_ROW = 32 << 20
_CHUNK_ROWS = 16_384
_CHUNK_BYTES = 8 << 20
_FIELD = re.compile(r'"((?:[^"]++|"")*+)"|')


@dataclass(frozen=True, slots=True)
class EngineResult:
    """A result that is being computed: its columns, and its rows in batches."""

    columns: Sequence[ResultColumn]
    batches: "pa.RecordBatchReader"
    types: "Sequence[Type | None]"
    """Trino's types of the columns, where they are known."""


@dataclass(frozen=True, slots=True)
class ResultRows:
    """A page of rows (None is NULL), and the byte offset at which the next page begins (None at the end)."""

    rows: Sequence[Sequence[str | None]]
    next_offset: int | None


def write_csv(path: Path, result: EngineResult, *, limit: int, threads: int = 1) -> int:
    """Write the result and return its number of rows. Raises :class:`StatementError` if it is over ``limit`` bytes."""
    rows = 0
    with path.open("wb") as file:
        file.write(_line([column.name for column in result.columns]))
        for count, lines in _printed(result, threads):
            file.write(lines)
            rows += count
            if file.tell() > limit:
                raise StatementError(
                    "EXCEEDED_RESULT_LIMIT",
                    f"The result is larger than {limit} bytes.",
                    remedy="Aggregate it, add LIMIT, or select fewer columns.",
                )
    return rows


def _printed(result: EngineResult, threads: int) -> "Iterator[tuple[int, pa.Buffer]]":
    """Yield each batch's number of rows and their lines, in order; batches are printed on ``threads`` threads."""
    from penstock.query.results.values import csv_lines  # noqa: PLC0415 - it imports pyarrow, which reading results does not need

    chunks, types = _together(result.batches), result.types
    first = next(chunks, None)
    if first is None:
        return
    # Most results are one chunk, for which starting threads takes longer than printing.
    yield len(first[0]), csv_lines(first, types)
    with ThreadPoolExecutor(threads) as pool:
        pending: deque[tuple[int, Future[pa.Buffer]]] = deque()
        for columns in chunks:
            pending.append((len(columns[0]), pool.submit(csv_lines, columns, types)))
            if len(pending) > threads:
                count, printed = pending.popleft()
                yield count, printed.result()
        for count, printed in pending:
            yield count, printed.result()


def _together(batches: "pa.RecordBatchReader") -> "Iterator[Sequence[pa.Array]]":
    """Yield the columns of several batches at once, up to a size: each costs the same for few rows as for many."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    buffered: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        buffered.append(batch)
        rows, size = rows + batch.num_rows, size + batch.get_total_buffer_size()
        if rows >= _CHUNK_ROWS or size >= _CHUNK_BYTES:
            yield _columns(pa.Table.from_batches(buffered))
            buffered, rows, size = [], 0, 0
    if rows:
        yield _columns(pa.Table.from_batches(buffered))


def _columns(table: "pa.Table") -> "Sequence[pa.Array]":
    return table.combine_chunks().to_batches()[0].columns  # type: ignore[no-any-return]


def write_lines(path: Path, rows: Sequence[Sequence[str]]) -> int:
    """Write rows of SHOW or DESCRIBE as lines with tabs between the columns; return their number."""
    with path.open("wb") as file:
        file.writelines(("\t".join(row) + "\n").encode() for row in rows)
    return len(rows)


def _line(values: Sequence[str | None]) -> bytes:
    return (",".join(["" if value is None else '"' + value.replace('"', '""') + '"' for value in values]) + "\n").encode()


def read_rows(file: BinaryIO, *, offset: int, count: int, quoted: bool, size: int = 1 << 23) -> ResultRows:
    """Read up to ``count`` rows from ``file``, which is at ``offset``; fewer if they would exceed ``size`` bytes."""
    rows: list[Sequence[str | None]] = []
    lines = _records(file, quoted=quoted)
    length = 0
    for line in lines:
        if len(rows) == count or (rows and length + len(line) > size):
            return ResultRows(rows, offset + length)
        length += len(line)
        text = line.decode().removesuffix("\n")
        rows.append(_fields(text) if quoted else text.split("\t"))
    return ResultRows(rows, None)


def _records(file: BinaryIO, *, quoted: bool) -> Iterator[bytes]:
    """Yield rows as bytes with their line's end; a quoted value may have line breaks."""
    parts: list[bytes] = []
    size = quotes = 0
    # Readline gets a limit: without one, a long line would be read completely before its length is known.
    while line := file.readline(_MAX_ROW + 1):
        parts.append(line)
        size += len(line)
        quotes += line.count(b'"') if quoted else 0
        if size > _MAX_ROW:
            raise InvalidRequest(
                f"A row of the result is larger than {_MAX_ROW} bytes.", remedy="Read the CSV object itself."
            )
        if quotes % 2 == 0:
            yield b"".join(parts)
            parts, size, quotes = [], 0, 0
    if parts:
        yield b"".join(parts)


def _fields(text: str) -> Sequence[str | None]:
    fields: list[str | None] = []
    at = 0
    while True:
        match = _FIELD.match(text, at)
        value = match[1] if match is not None else None
        fields.append(None if value is None else value.replace('""', '"'))
        at = match.end() if match is not None else at
        if at >= len(text):
            return fields
        if text[at] != ",":
            raise InvalidRequest("The stored result was changed after it was written.", remedy="Run the statement again.")
        at += 1


def write_metadata(path: Path, statement_id: str, columns: Sequence[ResultColumn]) -> None:
    """Write the description of ``columns``: field 1 the id, field 4 each column."""
    path.write_bytes(_text_field(1, statement_id) + b"".join(_bytes_field(4, _described(column)) for column in columns))


def _described(column: ResultColumn) -> bytes:
    numbers = ((7, column.precision), (8, column.scale), (9, 3), (10, 1 if column.type == "varchar" else 0))
    names = ((1, "hive"), (4, column.name), (5, column.name), (6, column.type))
    return b"".join(_text_field(at, text) for at, text in names) + b"".join(
        _varint(at << 3) + _varint(value) for at, value in numbers
    )


def _text_field(at: int, text: str) -> bytes:
    return _bytes_field(at, text.encode())


def _bytes_field(at: int, data: bytes) -> bytes:
    return _varint(at << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
