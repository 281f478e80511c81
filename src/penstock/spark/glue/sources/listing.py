"""The files of a read: those below its paths, chosen by patterns, by bounds and by a job's bookmark."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from penstock.crawl.globs import exclusion
from penstock.errors import InvalidInput, NotFound
from penstock.lake.locations import parse_uri
from penstock.spark.session import mount_bucket

__all__ = ["SourceFile", "bounded", "check_bucket", "list_files", "named_patterns", "without_excluded"]

_LOCAL = re.compile(r"^file:/+")  # Hadoop writes one slash, others three
_OBJECTS = ("s3://", "s3a://", "s3n://")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """``root`` is the path of the read under which the file is; ``modified`` is in milliseconds since 1970."""

    path: str
    root: str
    size: int
    modified: int


def list_files(spark: SparkSession, paths: Sequence[str], *, recurse: bool) -> list[SourceFile]:
    """Return the files at and directly in ``paths``, with ``recurse`` also those in folders below; no hidden ones.

    Files without a byte and names that begin with a dot or an underscore are left out, as by Spark's own readers. Raises
    :class:`NotFound` for a bucket that does not exist. A path in a bucket without a file is empty.
    """
    found: dict[str, SourceFile] = {}
    for path in dict.fromkeys(each.strip() for each in paths):
        for file in _below(spark, path, recurse=recurse):
            found.setdefault(file.path, file)
    return sorted(found.values(), key=lambda file: file.path)


def _below(spark: SparkSession, path: str, *, recurse: bool) -> Iterable[SourceFile]:
    check_bucket(spark, path)
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", str(recurse).lower())
    try:
        rows = reader.load(path).select("path", "length", "modificationTime").collect()
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return []
        raise
    return [
        SourceFile(
            path=_LOCAL.sub("file:///", row["path"]),
            root=_LOCAL.sub("file:///", path),
            size=row["length"],
            modified=int(row["modificationTime"].astimezone(UTC).timestamp() * 1000),
        )
        for row in rows
    ]


def check_bucket(spark: SparkSession, path: str) -> None:
    """Raise :class:`NotFound` if the bucket of an ``s3://`` path does not exist. One that is new becomes known."""
    if not path.startswith(_OBJECTS):
        return
    bucket = parse_uri(path).bucket
    jvm: Any = spark._jvm
    configuration: Any = spark._jsc.hadoopConfiguration()
    mount_bucket(spark, path)
    folder = configuration.get(f"fs.viewfs.mounttable.{bucket}.linkFallback")
    if folder is not None:
        if not Path(unquote(urlsplit(folder).path)).is_dir():
            raise _missing(bucket, path)
        return
    try:
        where = jvm.org.apache.hadoop.fs.Path(f"{path.split('://', 1)[0]}://{bucket}/")
        where.getFileSystem(configuration).getFileStatus(where)
    except Exception as error:
        raise _missing(bucket, path) from error


def _missing(bucket: str, path: str) -> NotFound:
    return NotFound(
        f"Bucket {bucket} of {path} does not exist, or cannot be reached.",
        remedy="Create it, or correct the path.",
    )


def named_patterns(given: Any) -> list[str]:
    """Return ``exclusions``: a list, or a list as JSON. Raises :class:`InvalidInput` for anything else."""
    found = given
    if isinstance(given, str):
        try:
            found = json.loads(given)
        except ValueError:
            found = None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise InvalidInput(f"Option exclusions is {str(given)[:100]!r}.", remedy='Write it like ["**.pdf", "**/old/**"].')
    return found


def without_excluded(files: Sequence[SourceFile], patterns: Sequence[str]) -> list[SourceFile]:
    """Return the files whose address, or place below its root, no pattern of Glue's matches."""
    if not patterns:
        return list(files)
    matches: Callable[[Sequence[str]], Sequence[bool]] = exclusion(patterns)
    whole = matches([file.path for file in files])
    below = matches([file.path.removeprefix(file.root.rstrip("/")).lstrip("/") for file in files])
    return [file for file, one, other in zip(files, whole, below, strict=True) if not (one or other)]


def bounded(files: Sequence[SourceFile], *, count: int | None, size: int | None) -> list[SourceFile]:
    """Return the oldest files: at most ``count``, together of at most ``size`` bytes, but the first whatever its size."""
    if count is None and size is None:
        return list(files)
    chosen: list[SourceFile] = []
    total = 0
    for file in sorted(files, key=lambda each: (each.modified, each.path)):
        total += file.size
        if (count is not None and len(chosen) >= count) or (size is not None and chosen and total > size):
            break
        chosen.append(file)
    return chosen
