"""Deletion of old files below a path or of a table, as purge_s3_path and purge_table do.

Source: https://docs.aws.amazon.com/glue/latest/dg/aws-glue-api-crawler-pyspark-extensions-glue-context.html
"""

import csv
import io
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.glue.options import Options
from penstock.glue.session import GlueSession
from penstock.glue.sources.file_tables import partitions_of
from penstock.glue.sources.listing import SourceFile, list_files
from penstock.glue.sources.port import Read, Table

__all__ = ["purge_path", "purge_table"]

_WEEK = 168  # hours
_STANDARD = "STANDARD"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Purge:
    """``hours``: files that are younger stay. ``excluded`` are storage classes, ``manifest`` a folder or None."""

    hours: int
    excluded: Sequence[str]
    manifest: str | None
    predicate: str


def purge_path(session: GlueSession, path: str, options: Mapping[str, Any], transformation_ctx: str = "") -> None:
    """Delete the files below ``path`` that are older than ``retentionPeriod`` hours (168), but no hidden ones.

    Raises :class:`InvalidInput` for options that are unknown or wrong, and NotFound for a bucket that does not exist.
    """
    purge = _options(session, options, path)
    if purge.predicate:
        raise InvalidInput("Option partitionPredicate is for tables.", remedy="Use purge_table.")
    _delete(session, _old(session, [path], purge), purge, transformation_ctx)


def purge_table(session: GlueSession, table: Table, options: Mapping[str, Any], transformation_ctx: str = "") -> None:
    """Delete a table's old files, and from the catalog the partitions that have none left; see :func:`purge_path`.

    With ``partitionPredicate``, only those of the partitions for which it holds.
    """
    purge = _options(session, options, table["StorageDescriptor"]["Location"])
    places = partitions_of(
        Read(session=session, connection_type="catalog"), table, expression=None, predicate=purge.predicate
    )
    before = {file.root for file in list_files(session.spark, list(places), recurse=True)}
    _delete(session, _old(session, list(places), purge), purge, transformation_ctx)
    if not table.get("PartitionKeys"):
        return
    after = {file.root for file in list_files(session.spark, list(places), recurse=True)}
    empty = [values for location, values in places.items() if location in before - after]
    session.catalog(None).drop_partitions(table["DatabaseName"], table["Name"], empty)


def _options(session: GlueSession, script_options: Mapping[str, Any], path: str) -> _Purge:
    # A name that is passed over would delete other files than those that are meant.
    options = Options("the purge", script_options, strict=True)
    excluded = options.raw("excludeStorageClasses") or []
    if isinstance(excluded, str) or not all(isinstance(storage_class, str) for storage_class in excluded):
        raise InvalidInput(f"excludeStorageClasses is {excluded!r}.", remedy='Write it like ["GLACIER"].')
    purge = _Purge(
        hours=options.number("retentionPeriod", _WEEK) or 0,
        excluded=[storage_class.upper() for storage_class in excluded],
        manifest=options.text("manifestFilePath"),
        predicate=options.text("partitionPredicate") or "",
    )
    if purge.excluded and session.files.on_this_machine(path.rstrip("/")) is None and path.startswith("s3"):
        raise InvalidInput(
            "excludeStorageClasses is only known for the embedded lake, whose objects are all STANDARD.",
            remedy="Leave it out, or delete the objects with boto3's S3 client.",
        )
    return purge


def _old(session: GlueSession, paths: Sequence[str], purge: _Purge) -> list[SourceFile]:
    if _STANDARD in purge.excluded:
        return []
    latest = (time.time() - purge.hours * 3600) * 1000
    return [file for file in list_files(session.spark, paths, recurse=True) if file.modified <= latest]


def _delete(session: GlueSession, files: Sequence[SourceFile], purge: _Purge, transformation_ctx: str) -> None:
    deleted: list[SourceFile] = []
    failed: list[SourceFile] = []
    problem: EnvironmentProblem | None = None
    for file in files:
        try:
            session.files.delete(file.path)
            deleted.append(file)
        except EnvironmentProblem as error:
            problem = error
            failed.append(file)
    if purge.manifest is not None:
        folder = "/".join([purge.manifest.rstrip("/"), *filter(None, [transformation_ctx]), uuid4().hex])
        for name, listed in (("Success.csv", deleted), ("Failed.csv", failed)):
            session.files.write(f"{folder}/{name}", _manifest(listed))
    if problem is not None:
        raise EnvironmentProblem(
            f"{len(failed)} of {len(files)} files could not be deleted: {problem.message}", remedy="Run the purge again."
        ) from problem


def _manifest(files: Sequence[SourceFile]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([file.path, file.size, file.modified] for file in files)
    return text.getvalue().encode()
