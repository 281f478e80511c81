"""The files of a read: those below its paths, chosen by patterns, by bounds and by a job's bookmark."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pyspark.errors import AnalysisException
from pyspark.sql import Row, SparkSession

from penstock.crawl.globs import exclusion
from penstock.errors import InvalidInput, NotFound
from penstock.lake.locations import SCHEMES, parse_uri
from penstock.spark.session import mount_bucket

__all__ = ["SourceFile", "bounded", "check_bucket", "list_files", "named_patterns", "without_excluded"]

_LOCAL = re.compile(r"^file:/+")  # Hadoop writes one slash, others three
_BUCKET = re.compile(r"[\w.-]+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """``root`` is the path of the read under which the file is; ``modified`` is in milliseconds since 1970.

    ``name`` is what Spark's column ``_metadata.file_path`` has for its rows.
    """

    path: str
    name: str
    root: str
    size: int
    modified: int


def list_files(spark: SparkSession, paths: Sequence[str], *, recurse: bool) -> list[SourceFile]:
    """Return the files at and directly in ``paths``, with ``recurse`` also those in folders below; no hidden ones.

    Files without a byte and names that begin with a dot or an underscore are left out, as by Spark's own readers. Raises
    :class:`NotFound` for a bucket that does not exist. A path in a bucket without a file is empty.
    """
    roots = list(dict.fromkeys(_LOCAL.sub("file:///", name.strip()) for name in paths))
    for path in {root.split("/", 3)[2] if "://" in root else root: root for root in roots}.values():
        check_bucket(spark, path)
    try:
        rows = _listing(spark, roots, recurse=recurse)
    except _Missing:
        rows = [row for root in roots for row in _there(spark, root, recurse=recurse)]
    by_path = {root.rstrip("/"): root for root in roots}
    files = {row["path"]: _file(row, by_path) for row in rows}
    return sorted(files.values(), key=lambda file: file.path)


class _Missing(Exception):
    """One of the paths does not exist."""


def _there(spark: SparkSession, root: str, *, recurse: bool) -> list[Row]:
    try:
        return _listing(spark, [root], recurse=recurse)
    except _Missing:
        return []


def _listing(spark: SparkSession, roots: list[str], *, recurse: bool) -> list[Row]:
    """List all roots at once, by Spark, which lists many of them in parallel and reads no file."""
    if not roots:
        return []
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", str(recurse).lower())
    try:
        listing = reader.load(roots).select("path", "length", "modificationTime", "_metadata.file_path")
        return listing.collect()
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            raise _Missing from None
        raise


def _file(row: Row, roots: Mapping[str, str]) -> SourceFile:
    path = _LOCAL.sub("file:///", row["path"])
    above = path
    while above and above not in roots:
        above = above.rpartition("/")[0]
    return SourceFile(
        path=path,
        name=row["file_path"],
        root=roots.get(above, path),
        size=row["length"],
        modified=int(row["modificationTime"].astimezone(UTC).timestamp() * 1000),
    )


def check_bucket(spark: SparkSession, path: str) -> None:
    """Raise :class:`NotFound` if the bucket of an ``s3://`` path does not exist. One that is new becomes known.

    Raises :class:`InvalidInput` for a name that Hadoop cannot address, like a placeholder in braces.
    """
    if not path.startswith(SCHEMES):
        return
    bucket = parse_uri(path).bucket
    if _BUCKET.fullmatch(bucket) is None:
        raise InvalidInput(
            f"{bucket[:100]!r} of {path[:200]} is not a bucket's name.",
            remedy="Write letters, digits, dots, hyphens and underscores, and put the bucket's name for a placeholder.",
        )
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
        # The root's own status does not tell whether the bucket exists.
        where.getFileSystem(configuration).listStatusIterator(where).hasNext()
    except Exception as error:
        raise _missing(bucket, path) from error


def _missing(bucket: str, path: str) -> NotFound:
    return NotFound(
        f"Bucket {bucket} of {path} does not exist, or cannot be reached.",
        remedy="Create it, or correct the path.",
    )


def named_patterns(value: Any) -> list[str]:
    """Return ``exclusions``: a list, or a list as JSON. Raises :class:`InvalidInput` for anything else."""
    patterns = value
    if isinstance(value, str):
        try:
            patterns = json.loads(value)
        except ValueError:
            patterns = None
    if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
        raise InvalidInput(f"Option exclusions is {str(value)[:100]!r}.", remedy='Write it like ["**.pdf", "**/old/**"].')
    return patterns


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
    for file in sorted(files, key=lambda source_file: (source_file.modified, source_file.path)):
        total += file.size
        if (count is not None and len(chosen) >= count) or (size is not None and chosen and total > size):
            break
        chosen.append(file)
    return chosen
