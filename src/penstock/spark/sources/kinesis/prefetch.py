"""Records that the planner has fetched, as Arrow batches on their way to a task.

Few bytes travel with the partition; more are written to a file, which tasks on the same machine (or all of them, in a
shared folder) read. So Kinesis is read once.
"""

import os
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from penstock.owners import is_running
from penstock.serdes.errors import DamagedAggregate
from penstock.serdes.kinesis.aggregate import UserRecord, is_aggregate, plain_record, read_aggregate

__all__ = ["ARROW_SCHEMA", "Piece", "PieceWriter", "PrefetchFolder", "record_batch"]

ARROW_SCHEMA = pa.schema(
    [
        ("data", pa.binary()),
        ("streamName", pa.string()),
        ("shardId", pa.string()),
        ("partitionKey", pa.string()),
        ("sequenceNumber", pa.string()),
        ("subSequenceNumber", pa.int32()),
        ("approximateArrivalTimestamp", pa.timestamp("us", tz="UTC")),
    ]
)

_PREFIX = "penstock-kinesis-"
_PIECE_BYTES = 64 * 1024 * 1024  # a task's share of a shard that is far behind


def record_batch(stream: str, shard: str, records: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    """Return records of ``get_records`` as :data:`ARROW_SCHEMA`, aggregated ones taken apart.

    ``subSequenceNumber`` counts from 0 within an aggregated record, and is null for others. A damaged aggregate is one
    record, as in the KCL, and does not end the stream.
    """
    columns: list[list[Any]] = [[], [], [], [], []]
    data, keys, numbers, indexes, arrivals = columns
    for record in records:
        parts = _parts(record)
        number, arrived = record["SequenceNumber"], record.get("ApproximateArrivalTimestamp")
        for index, part in enumerate(parts or [plain_record(record)]):
            data.append(part.data)
            keys.append(part.partition_key)
            numbers.append(number)
            indexes.append(index if parts else None)
            arrivals.append(arrived)
    count = len(data)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(data, pa.binary()),
            pa.array([stream] * count, pa.string()),
            pa.array([shard] * count, pa.string()),
            pa.array(keys, pa.string()),
            pa.array(numbers, pa.string()),
            pa.array(indexes, pa.int32()),
            pa.array(arrivals, pa.timestamp("us", tz="UTC")),
        ],
        schema=ARROW_SCHEMA,
    )


def _parts(record: Mapping[str, Any]) -> list[UserRecord] | None:
    """Return the records of an aggregated record; None for one that is not, or is damaged."""
    if not is_aggregate(record["Data"]):
        return None
    try:
        return read_aggregate(record["Data"])
    except DamagedAggregate:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Fetched records of one shard, after ``start`` up to and including ``end``, both positions.

    Either ``inline``, an Arrow stream, or ``file`` with one. ``rows`` counts the records after aggregated ones were taken
    apart.
    """

    start: Mapping[str, Any]
    end: Mapping[str, Any]
    rows: int
    inline: bytes | None = None
    file: str | None = None

    def remove(self) -> None:
        """Remove the file, if there is one."""
        if self.file is not None:
            Path(self.file).unlink(missing_ok=True)


class PrefetchFolder:
    """Where files of fetched records are: a folder of this process below ``location``, or below the machine's own.

    Folders that ended processes of this machine have left are removed.
    """

    def __init__(self, location: str | None) -> None:
        self._base = Path(location) if location else Path(tempfile.gettempdir())
        self._folder: Path | None = None
        self._lock = threading.Lock()

    def new_file(self) -> Path:
        """Return the path of a file that does not exist. Several shards may ask at the same time."""
        with self._lock:
            if self._folder is None:
                self._base.mkdir(parents=True, exist_ok=True)
                self._remove_orphans()
                folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", suffix=_machine(), dir=self._base)
                self._folder = Path(folder)
            return self._folder / f"{uuid4().hex}.arrow"

    def remove(self) -> None:
        """Remove the folder and its files."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _remove_orphans(self) -> None:
        for folder in self._base.glob(f"{_PREFIX}*{_machine()}"):
            process = folder.name.removeprefix(_PREFIX).partition("-")[0]
            if process.isdigit() and not is_running(int(process)):
                shutil.rmtree(folder, ignore_errors=True)


def _machine() -> str:
    return f"@{os.uname().nodename}"


class PieceWriter:
    """Collects the fetched records of one shard into pieces of at most ``inline_bytes`` in memory, else in files."""

    def __init__(
        self, stream: str, shard: str, start: Mapping[str, Any], folder: PrefetchFolder, *, inline_bytes: int
    ) -> None:
        self._stream = stream
        self._shard = shard
        self._start = start
        self._folder = folder
        self._inline_bytes = inline_bytes
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0
        self._rows = 0
        self._file: Path | None = None
        self._sink: Any = None
        self._writer: Any = None
        self.pieces: list[Piece] = []

    def add(self, records: Sequence[Mapping[str, Any]], position: Mapping[str, Any]) -> None:
        """Add a page of records; ``position`` is the one behind it."""
        if not records:
            return
        batch = record_batch(self._stream, self._shard, records)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._writer is None and self._bytes <= self._inline_bytes:
            self._batches.append(batch)
        else:
            self._spill(batch)
        if self._bytes >= _PIECE_BYTES:
            self.finish(position)

    def finish(self, position: Mapping[str, Any]) -> list[Piece]:
        """End the piece in hand at ``position``; return all pieces."""
        if self._rows:
            inline = None if self._writer is not None else _stream_bytes(self._batches)
            file = None if self._file is None else str(self._file)
            self._close()
            self.pieces.append(Piece(start=self._start, end=position, rows=self._rows, inline=inline, file=file))
        self._start, self._batches, self._bytes, self._rows, self._file = position, [], 0, 0, None
        return self.pieces

    def abandon(self) -> None:
        """Remove what was written, after an error."""
        self._close()
        if self._file is not None:
            self._file.unlink(missing_ok=True)
        for piece in self.pieces:
            piece.remove()

    def _spill(self, batch: pa.RecordBatch) -> None:
        if self._writer is None:
            self._file = self._folder.new_file()
            self._sink = pa.OSFile(str(self._file), "wb")
            self._writer = pa.ipc.new_stream(self._sink, ARROW_SCHEMA)
            for waiting in self._batches:
                self._writer.write_batch(waiting)
            self._batches = []
        self._writer.write_batch(batch)

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._sink.close()
            self._writer = self._sink = None


def _stream_bytes(batches: Sequence[pa.RecordBatch]) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, ARROW_SCHEMA, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        for batch in batches:
            writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data
