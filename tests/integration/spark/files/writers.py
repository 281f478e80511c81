"""Who writes files of one table: Glue's sink, Spark, SQL's UNLOAD, and other people's libraries."""

import bz2
import csv
import gzip
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

__all__ = ["CELLS", "LIBRARY", "READ", "ROWS", "SPARK_SCHEMA", "TEXTS"]

ROWS: list[dict[str, Any]] = [{"id": 1, "name": "é", "x": 0.5}, {"id": 2, "name": "a b", "x": -1.0}]
TEXTS = [["1", "é", "0.5"], ["2", "a b", "-1.0"]]
SPARK_SCHEMA = "id BIGINT, name STRING, x DOUBLE"

# Format: compression as each writer calls it, None where it does not have it: Glue and Spark, SQL, a library.
CELLS: Mapping[str, Mapping[str, tuple[str | None, str | None, str | None]]] = {
    "parquet": {
        "none": ("none", "NONE", "none"),
        "snappy": ("snappy", "SNAPPY", "snappy"),
        "gzip": ("gzip", "GZIP", "gzip"),
        "zstd": ("zstd", "ZSTD", "zstd"),
        "lz4": (None, "LZ4", "lz4"),
        "lz4_raw": ("lz4_raw", None, None),
    },
    "orc": {
        "none": ("none", "NONE", "uncompressed"),
        "snappy": ("snappy", "SNAPPY", "snappy"),
        "zlib": ("zlib", "ZLIB", "zlib"),
        "zstd": ("zstd", "ZSTD", "zstd"),
        "lz4": ("lz4", "LZ4", "lz4"),
    },
    "avro": {
        "none": ("uncompressed", "NONE", "null"),
        "snappy": ("snappy", "SNAPPY", "snappy"),
        "deflate": ("deflate", "DEFLATE", "deflate"),
        "bzip2": ("bzip2", "BZIP2", "bzip2"),
        "zstd": ("zstandard", "ZSTD", "zstandard"),
        "xz": ("xz", None, "xz"),
    },
    "json": {
        "none": ("none", "NONE", "none"),
        "gzip": ("gzip", "GZIP", "gzip"),
        "bzip2": ("bzip2", "BZIP2", "bzip2"),
        "zstd": (None, "ZSTD", "zstd"),
        "snappy": ("snappy", None, None),
        "lz4": ("lz4", None, None),
        "deflate": ("deflate", None, None),
    },
    "csv": {
        "none": ("none", "NONE", "none"),
        "gzip": ("gzip", "GZIP", "gzip"),
        "bzip2": ("bzip2", "BZIP2", "bzip2"),
        "zstd": (None, "ZSTD", "zstd"),
        "snappy": ("snappy", None, None),
        "lz4": ("lz4", None, None),
        "deflate": ("deflate", None, None),
    },
}


def _parquet(path: Path, codec: str) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS), path / f"a.{codec}.parquet", compression=codec)


def _orc(path: Path, codec: str) -> None:
    orc.write_table(pa.Table.from_pylist(ROWS), path / f"a.{codec}.orc", compression=codec)


def _avro(path: Path, codec: str) -> None:
    fields = [("id", "long"), ("name", "string"), ("x", "double")]
    schema = {"type": "record", "name": "r", "fields": [{"name": name, "type": ["null", kind]} for name, kind in fields]}
    with (path / "a.avro").open("wb") as file:
        fastavro.writer(file, schema, ROWS, codec=codec)


def _packed(path: Path, name: str, text: str, codec: str) -> None:
    data = text.encode()
    packed: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
        "none": ("", bytes),
        "gzip": (".gz", gzip.compress),
        "bzip2": (".bz2", bz2.compress),
        "zstd": (".zst", lambda plain: pa.compress(plain, "zstd", asbytes=True)),
    }
    ending, pack = packed[codec]
    (path / f"{name}{ending}").write_bytes(pack(data))


def _json(path: Path, codec: str) -> None:
    _packed(path, "a.json", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS), codec)


def _csv(path: Path, codec: str) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(ROWS[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(ROWS)
    _packed(path, "a.csv", text.getvalue(), codec)


LIBRARY: Mapping[str, Callable[[Path, str], None]] = {
    "parquet": _parquet, "orc": _orc, "avro": _avro, "json": _json, "csv": _csv,
}  # fmt: skip


def _of_avro(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as file:
        return [row for row in fastavro.reader(file) if isinstance(row, dict)]


READ: Mapping[str, Callable[[Path], list[dict[str, Any]]]] = {
    "parquet": lambda path: pq.ParquetFile(path).read().to_pylist(),
    "orc": lambda path: orc.ORCFile(str(path)).read().to_pylist(),
    "avro": _of_avro,
}
"""Other people's readers of a file of each format."""
