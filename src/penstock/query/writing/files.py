"""Writers of one file each, by format: rows come as Arrow tables of the columns' types; close() completes it."""

import bz2
import gzip
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from penstock.query.writing.avro_schemas import avro_schema, avro_value
from penstock.query.writing.options import WriteOptions
from penstock.query.writing.texts import json_line, text_line
from penstock.types.model import LakeType

__all__ = ["Columns", "FileWriter", "open_file"]

Columns = Sequence[tuple[str, LakeType]]
"""Names and types of the columns in a file."""

_STRIPE = 16 << 20  # bytes
_GZIP_LEVEL = 6  # zlib's and Hadoop's default


class FileWriter(Protocol):
    """One file that is being written."""

    def write(self, rows: pa.Table) -> None:
        """Add rows."""
        ...

    def size(self) -> int:
        """Return about how many bytes the file has."""
        ...

    def close(self) -> None:
        """Complete the file."""
        ...


def open_file(path: Path, columns: Columns, schema: pa.Schema, options: WriteOptions) -> FileWriter:
    """Return the writer of a new file, whose rows have ``schema``."""
    if options.format == "PARQUET":
        return _ParquetFile(path, schema, options)
    if options.format == "ORC":
        return _OrcFile(path, options)
    if options.format == "AVRO":
        return _AvroFile(path, columns, options)
    return _TextFile(path, columns, options)


class _ParquetFile:
    def __init__(self, path: Path, schema: pa.Schema, options: WriteOptions) -> None:
        self._path = path
        # As Spark and Athena do, so that Hive's readers take the values for instants of UTC.
        self._schema = pa.schema([_instants(field) for field in schema])
        compression = {"NONE": "none", "UNCOMPRESSED": "none"}.get(options.compression, options.compression.lower())
        # Arrow's own level for GZIP is 9, which takes ten times as long for a hundredth of the size.
        level = _GZIP_LEVEL if compression == "gzip" else options.level
        self._writer = pq.ParquetWriter(
            path, self._schema, compression=compression, compression_level=level, coerce_timestamps="us"
        )

    def write(self, rows: pa.Table) -> None:
        self._writer.write_table(rows.cast(self._schema))

    def size(self) -> int:
        return self._path.stat().st_size

    def close(self) -> None:
        self._writer.close()


def _instants(field: pa.Field) -> pa.Field:
    type_ = field.type
    return field.with_type(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(type_) else field


class _OrcFile:
    def __init__(self, path: Path, options: WriteOptions) -> None:
        self._path = path
        compression = {"NONE": "uncompressed"}.get(options.compression, options.compression.lower())
        self._writer = orc.ORCWriter(str(path), compression=compression, stripe_size=_STRIPE)
        self._unwritten = 0

    def write(self, rows: pa.Table) -> None:
        self._writer.write(rows)
        self._unwritten += rows.nbytes

    def size(self) -> int:
        # What is not in a complete stripe is in memory.
        return max(self._path.stat().st_size, self._unwritten // 4)

    def close(self) -> None:
        self._writer.close()


class _AvroFile:
    def __init__(self, path: Path, columns: Columns, options: WriteOptions) -> None:
        codec = {"NONE": "null", "UNCOMPRESSED": "null", "GZIP": "deflate", "ZSTD": "zstandard"}.get(
            options.compression, options.compression.lower()
        )
        self._file = path.open("wb")
        self._values = [(name, avro_value(type_)) for name, type_ in columns]
        self._writer = fastavro.write.Writer(self._file, avro_schema(columns), codec)

    def write(self, rows: pa.Table) -> None:
        for row in rows.to_pylist():
            self._writer.write({name: value(row[name]) for name, value in self._values})

    def size(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._writer.flush()
        self._file.close()


class _TextFile:
    def __init__(self, path: Path, columns: Columns, options: WriteOptions) -> None:
        self._path = path
        self._line: Callable[[Sequence[Any]], str] = (
            json_line(columns) if options.format == "JSON" else text_line(columns, options)
        )
        self._file: Any = _opened(path, options)

    def write(self, rows: pa.Table) -> None:
        values = [column.to_pylist() for column in rows.columns]
        self._file.write("".join([self._line(row) for row in zip(*values, strict=True)]).encode())

    def size(self) -> int:
        return os.stat(self._path).st_size  # noqa: PTH116 - called often

    def close(self) -> None:
        self._file.close()


def _opened(path: Path, options: WriteOptions) -> Any:
    makers: Mapping[str, Callable[[], Any]] = {
        "GZIP": lambda: gzip.GzipFile(path, "wb", compresslevel=_GZIP_LEVEL),
        "BZIP2": lambda: bz2.BZ2File(path, "wb"),
        "ZSTD": lambda: pa.CompressedOutputStream(pa.OSFile(str(path), "wb"), "zstd"),
    }
    return makers.get(options.compression, lambda: path.open("wb"))()
