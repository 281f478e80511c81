"""Files below ``s3://`` paths, or any that Spark reaches, by Glue's connection options.

Source: "Amazon S3 connection option reference",
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-connect-s3-home.html
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from penstock.errors import InvalidInput
from penstock.glue.options import Options
from penstock.glue.sources.file_marks import state_after, unread
from penstock.glue.sources.formats import FORMATS, Scan, check_format
from penstock.glue.sources.listing import SourceFile, bounded, list_files, named_patterns, without_excluded
from penstock.glue.sources.port import Read

__all__ = ["FileOptions", "attached_columns", "chosen_files", "file_options", "read"]

_OWNER = "the s3 source"
_WITH_PARTITIONS = ("parquet", "glueparquet", "orc")
_ENDINGS = {"gzip": (".gz",), "bzip2": (".bz2",), "bzip": (".bz2",), "snappy": (".snappy",), "none": (), "uncompressed": ()}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """Which files a read takes. ``band`` are the seconds for which a listing may be incomplete."""

    exclusions: Sequence[str] = ()
    recurse: bool = False
    compression: str | None = None
    most_files: int | None = None
    most_bytes: int | None = None
    band: int = 900
    predicate: str | None = None
    attached: Mapping[str, str] = field(default_factory=dict)


def file_options(options: Options, *, excluded: Any = None) -> FileOptions:
    """Return the options of which files to read; ``excluded`` is ``exclusions`` unless the script gives them.

    Raises :class:`InvalidInput` for wrong values and for what cannot be served.
    """
    compression = options.text("compressionType") or options.text("compression")
    if compression is not None and compression.lower() not in _ENDINGS:
        raise InvalidInput(f"compressionType is {compression!r}.", remedy=f"Use one of {', '.join(sorted(_ENDINGS))}.")
    excluded = options.raw("exclusions") or excluded
    return FileOptions(
        exclusions=named_patterns(excluded) if excluded else (),
        recurse=options.flag("recurse"),
        compression=compression.lower() if compression else None,
        most_files=options.number("boundedFiles", least=1),
        most_bytes=options.number("boundedSize", least=1),
        band=options.number("maxBand", 900) or 0,
        predicate=options.text("partitionPredicate"),
    )


def read(read: Read) -> DataFrame:
    """Return the rows of the files below ``paths``. Raises :class:`InvalidInput`, and NotFound for a bucket."""
    form = check_format(read.format or (read.connection_type if read.connection_type in FORMATS else None))
    options = Options(_OWNER, read.options)
    paths, selection = _paths(options.raw("paths") or options.raw("path")), file_options(options)
    details = Options(f"the format {form}", read.format_options)
    attached = attached_columns(details)
    reader = FORMATS[form](details)
    files = chosen_files(read, _listed(read, paths, selection, folders=form in _WITH_PARTITIONS), selection)
    if not files:
        return read.session.spark.createDataFrame([], StructType([]))
    base = files[0].root if form in _WITH_PARTITIONS and any(map(_folders, files)) else None
    if base is not None and len({file.root for file in files}) > 1:
        raise InvalidInput(
            "Folders key=value below several paths cannot be read at once.",
            remedy="Read each path by itself, and unite the frames.",
        )
    frame = reader(Scan(spark=read.session.spark, files=[file.path for file in files], base=base, attached=attached))
    condition = " AND ".join(f"({name})" for name in (read.push_down_predicate, selection.predicate) if name)
    return _pruned(frame, condition, form) if condition else frame


def _pruned(frame: DataFrame, condition: str, form: str) -> DataFrame:
    try:
        return frame.where(condition)
    except AnalysisException as error:
        # AWS: "use the from_catalog API calls to include the partition columns" (Managing partitions for ETL output).
        remedy = "Write Spark's SQL over these columns."
        if form not in _WITH_PARTITIONS:
            remedy = f"Folders key=value of {form} are columns of the catalog's tables alone: read one by from_catalog."
        names = ", ".join(frame.columns)
        raise InvalidInput(f"push_down_predicate {condition} cannot be resolved against {names}.", remedy=remedy) from error


def _listed(read: Read, paths: Sequence[str], selection: FileOptions, *, folders: bool) -> list[SourceFile]:
    """Return the files below ``paths``; with ``folders`` those in folders ``key=value``, too, as by Spark's own readers."""
    listed = list_files(read.session.spark, paths, recurse=selection.recurse or folders)
    if selection.recurse or not folders:
        return listed
    return [file for file in listed if all("=" in part for part in file.path[len(file.root.rstrip("/")) :].split("/")[1:-1])]


def _folders(file: SourceFile) -> bool:
    return "=" in file.path.removeprefix(file.root).rpartition("/")[0]


def chosen_files(read: Read, files: Sequence[SourceFile], selection: FileOptions) -> list[SourceFile]:
    """Return the files that this run reads: without excluded ones, those that the bookmark has, and those out of bounds."""
    candidates = without_excluded(files, selection.exclusions)
    endings = _ENDINGS.get(selection.compression or "", ())
    misnamed = next((file.path for file in candidates if endings and not file.path.endswith(endings)), None)
    if misnamed is not None:
        raise InvalidInput(
            f"compressionType is {selection.compression}, and the name of {misnamed} does not end in {endings[0]}.",
            remedy="Spark tells compressed files by their names: rename them, or leave compressionType out.",
        )
    marks = read.session.bookmarks.marks(read.transformation_ctx)
    if marks is None:
        return bounded(candidates, count=selection.most_files, size=selection.most_bytes)
    chosen = bounded(unread(candidates, marks), count=selection.most_files, size=selection.most_bytes)
    state = state_after(chosen, marks.after, listed=candidates, band=selection.band)
    read.session.bookmarks.propose(read.transformation_ctx, state)
    return chosen


def attached_columns(details: Options) -> dict[str, str]:
    """Return columns of a row's file, by the names that the script gives them: its path and its time."""
    names = {"file_path": details.text("attachFilename"), "file_modification_time": details.text("attachTimestamp")}
    return {name: source for source, name in names.items() if name}


def _paths(value: Any) -> list[str]:
    paths = [value] if isinstance(value, str) else list(value or [])
    if not paths or not all(isinstance(path, str) and path for path in paths):
        raise InvalidInput(
            "The s3 source does not name its paths.", remedy='Give connection_options={"paths": ["s3://BUCKET/folder/"]}.'
        )
    return paths
