"""A table's data files as one engine view: the catalog's columns by name and type, partition values from the catalog.

Files are named one by one, so that the engine opens no others. As in Hive, files whose names start with ``_`` or ``.``
are not data, and neither are files in folders with such names.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from penstock.catalog.model import Column, Partition, StorageDescriptor, Table
from penstock.errors import InvalidInput
from penstock.lake.locations import LakeFolder
from penstock.lake.partitions import HIVE_DEFAULT_PARTITION
from penstock.lake.visible import CommittedBatches
from penstock.query.dialect.types import duckdb_type, quote_name, quote_text
from penstock.query.errors import StatementError

__all__ = ["DataFile", "Scan", "check_readable", "committed_batches", "data_files", "file_list", "view_sql"]

_FILE_COLUMN = "__penstock_file"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of the lake, its size in bytes, and the index of its partition in the scan (-1 without partitions)."""

    path: str
    size: int
    partition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """One reference to a table in a query: the files that are read for it, under the view's name."""

    view: str
    table: Table
    partitions: Sequence[Partition] = ()
    partitions_total: int = 0
    files: Sequence[DataFile] = field(default_factory=tuple)
    with_keys: bool = True
    """Whether the query uses the partition keys."""

    @property
    def name(self) -> str:
        """database.table"""
        return f"{self.table.database}.{self.table.name}"


def check_readable(table: Table) -> None:
    """Raise :class:`StatementError` for a table whose rows are not Parquet files of the lake."""
    name = f"{table.database}.{table.name}"
    if table.table_type == "VIRTUAL_VIEW" or table.view_original_text:
        raise StatementError(
            "NOT_SUPPORTED", f"'{name}' is a view; views are not supported yet.", remedy="Query its tables."
        )
    kind = table.parameters.get("table_type", "").upper()
    provider = table.parameters.get("spark.sql.sources.provider", "").lower()
    if kind in {"ICEBERG", "DELTA", "HUDI"} or provider in {"delta", "hudi"}:
        raise StatementError(
            "NOT_SUPPORTED", f"'{name}' is a table of format {kind or provider}; only Parquet tables are supported."
        )
    if not table.storage.location:
        raise StatementError(
            "HIVE_INVALID_METADATA", f"Table '{name}' has no location.", remedy="Set StorageDescriptor.Location."
        )
    if not table.storage.location.startswith(("s3://", "s3a://", "s3n://")):
        raise StatementError(
            "HIVE_UNSUPPORTED_FORMAT",
            f"Table '{name}' lies at '{table.storage.location[:200]}', not in the lake: streams cannot be queried.",
            remedy="Query the table that the pipeline writes.",
        )
    if not _is_parquet(table.storage, table.parameters):
        what = table.storage.input_format or table.parameters.get("classification") or "no input format"
        raise StatementError(
            "HIVE_UNSUPPORTED_FORMAT", f"Table '{name}' is not Parquet ({what}).", remedy="Query a Parquet table."
        )


def _is_parquet(storage: StorageDescriptor, parameters: Mapping[str, str]) -> bool:
    library = storage.serde_info.serialization_library if storage.serde_info else None
    texts = [storage.input_format, library, parameters.get("classification"), storage.parameters.get("classification")]
    texts += [parameters.get("spark.sql.sources.provider")]
    lowered = [text.lower() for text in texts if text]
    return any("parquet" in text for text in lowered)


def committed_batches(lake: LakeFolder, location: str) -> CommittedBatches:
    """Return the committed batches of the table at ``location``, as of now. To be taken before its files are listed."""

    def names(folder: str) -> list[str]:
        try:
            return sorted(each.name for each in lake.path(folder).iterdir())
        except (OSError, InvalidInput):
            return []

    return CommittedBatches(location, names=names, read=lambda file: lake.path(file).read_text(encoding="utf-8"))


def data_files(
    lake: LakeFolder, location: str, partition: int = -1, *, committed: CommittedBatches | None = None
) -> Iterator[DataFile]:
    """Yield the data files below ``location``, in the order of their names; none if the folder does not exist.

    Files of batches that are not among the ``committed`` ones are left out.
    """
    try:
        root = lake.path(location)
    except InvalidInput as error:
        raise StatementError("HIVE_INVALID_METADATA", error.message, remedy=error.remedy) from error
    if root.is_file():
        yield DataFile(str(root), root.stat().st_size, partition)
        return
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders if each[0] not in "_.")
        for name in sorted(names):
            path = Path(folder, name)
            if name[0] in "_." or path.is_symlink() or not (committed is None or committed.counts(name)):
                continue
            try:
                size = path.stat().st_size
            except FileNotFoundError:
                continue  # a compaction or a replayed batch deleted it after the listing
            if size > 0:
                yield DataFile(str(path), size, partition)


def file_list(files: Sequence[DataFile], *, options: str = "") -> str:
    """Return the engine's source over exactly these files: a name is a pattern only if no file has it."""
    paths = ", ".join(quote_text(each.path) for each in files)
    return f"read_parquet([{paths}], union_by_name=true, hive_partitioning=false{options})"


def view_sql(scan: Scan, found: Mapping[str, str]) -> str:
    """Return the SELECT of the scan's view. ``found`` maps the files' columns (lower case) to the engine's types.

    Columns that no file has are NULL; a table without files has no rows. The SELECT reads ``<view>_files(file, <keys>)``
    if rows of several partitions need their values.
    """
    keys = {column.name.lower() for column in scan.table.partition_keys}
    columns = [column for column in scan.table.storage.columns if column.name.lower() not in keys]
    if not columns and not keys:
        raise StatementError("HIVE_INVALID_METADATA", f"Table '{scan.name}' has no columns.")
    if not scan.files:
        nothing = [
            f"CAST(NULL AS {_type(column)}) AS {quote_name(column.name)}"
            for column in (*columns, *scan.table.partition_keys)
        ]
        return f"SELECT {', '.join(nothing)} WHERE false"
    chosen = [_column(column, found.get(column.name.lower())) for column in columns]
    partitions = {each.partition for each in scan.files}
    if not keys or len(partitions) == 1:
        chosen += _constants(scan, partitions)
        return f"SELECT {', '.join(chosen)} FROM {file_list(scan.files)} AS f"  # noqa: S608 every name is quoted
    if not scan.with_keys:
        chosen += [f"CAST(NULL AS {_type(column)}) AS {quote_name(column.name)}" for column in scan.table.partition_keys]
        return f"SELECT {', '.join(chosen)} FROM {file_list(scan.files)} AS f"  # noqa: S608 every name is quoted
    chosen += [f"p.{quote_name(column.name)}" for column in scan.table.partition_keys]
    source = file_list(scan.files, options=f", filename={quote_text(_FILE_COLUMN)}")
    return (
        f"SELECT {', '.join(chosen)} FROM {source} AS f "  # noqa: S608 every name is quoted
        f"JOIN {quote_name(scan.view + '_files')} AS p ON f.{quote_name(_FILE_COLUMN)} = p.file"
    )


def _constants(scan: Scan, partitions: set[int]) -> list[str]:
    """Return the partition keys of files that are all in one partition."""
    if not scan.table.partition_keys:
        return []
    values = scan.partitions[next(iter(partitions))].values
    literals = ["NULL" if value == HIVE_DEFAULT_PARTITION else quote_text(value) for value in values]
    return [
        f"CAST({literal} AS {_type(column)}) AS {quote_name(column.name)}"
        for column, literal in zip(scan.table.partition_keys, literals, strict=True)
    ]


def _column(column: Column, found: str | None) -> str:
    name, wanted = quote_name(column.name), _type(column)
    if found is None:
        return f"CAST(NULL AS {wanted}) AS {name}"
    if found == wanted:
        return f"f.{name} AS {name}"
    if found == "BLOB" and wanted == "VARCHAR":  # strings written without their UTF8 annotation
        return f"decode(f.{name}) AS {name}"
    if found == "VARCHAR" and wanted == "BLOB":
        return f"encode(f.{name}) AS {name}"
    return f"CAST(f.{name} AS {wanted}) AS {name}"


def _type(column: Column) -> str:
    return duckdb_type(column.type or "string")
