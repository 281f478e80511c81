"""The files of a folder of the lake, and the footers of Parquet files."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import DataProblem
from penstock.lake.locations import LakePaths, parse_uri

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LakeFile", "ParquetFooter", "is_hidden", "read_parquet_footer", "walk"]

_MAGIC = b"PAR1"
_SMALLEST = 12  # magic, length of the footer, magic


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeFile:
    """A file: ``key`` below the walked folder, ``size`` in bytes, ``modified`` in nanoseconds since 1970."""

    key: str
    path: Path
    size: int
    modified: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetFooter:
    """The number of rows of a file, and its Arrow schema."""

    rows: int
    schema: "pa.Schema"


def is_hidden(name: str) -> bool:
    """Return whether readers of a table skip a file or folder of this name, as Spark does (``_SUCCESS``, ``.x.crc``)."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("_$folder$")


def walk(lake: LakePaths, uri: str) -> Iterator[LakeFile]:
    """Yield the files below ``uri`` that readers do not skip, by key.

    A folder that does not exist has no files, as in S3; a bucket that does not exist is a :class:`DataProblem`. Links are
    not followed. A file that is deleted meanwhile is left out.
    """
    where = parse_uri(uri)
    bucket = lake.path(f"s3://{where.bucket}/")
    if not bucket.is_dir():
        raise DataProblem(f"Bucket {where.bucket} does not exist.", remedy=f"Create it, or correct the location {uri}.")
    yield from _walk(lake.listable(uri), "")


def _walk(folder: Path, prefix: str) -> Iterator[LakeFile]:
    try:
        with os.scandir(folder) as entries:
            visible = sorted((entry for entry in entries if not is_hidden(entry.name)), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in visible:
        key = prefix + entry.name
        try:
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(Path(entry.path), f"{key}/")
            elif entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                yield LakeFile(key=key, path=Path(entry.path), size=status.st_size, modified=status.st_mtime_ns)
        except FileNotFoundError:
            continue


def read_parquet_footer(path: Path) -> ParquetFooter:
    """Return rows and schema of the file. Only its two ends are read.

    Raises :class:`DataProblem`, with the reason and not the path, for a file that is empty, truncated or not Parquet;
    :class:`FileNotFoundError` if it does not exist.
    """
    import pyarrow as pa  # noqa: PLC0415 - the rest of this package does not need it
    import pyarrow.parquet as pq  # noqa: PLC0415

    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size == 0:
            raise DataProblem("it is empty")
        file.seek(0)
        head = file.read(len(_MAGIC))
        file.seek(max(0, size - len(_MAGIC)))
        tail = file.read(len(_MAGIC))
    if head != _MAGIC:
        raise DataProblem("it is not Parquet")
    if size < _SMALLEST or tail != _MAGIC:
        raise DataProblem("its end is missing: the writer did not finish it, or it was truncated")
    try:
        metadata = pq.read_metadata(path)
        return ParquetFooter(rows=metadata.num_rows, schema=metadata.schema.to_arrow_schema())
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataProblem(f"its footer cannot be read ({str(error).splitlines()[0][:200]})") from error
