"""A table's data files as one engine view: the catalog's columns by name and type, partition values from the catalog.

Files are named one by one, so that the engine opens no others. As in Hive, files whose names start with ``_`` or ``.``
are not data, and neither are files in folders with such names.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlglot import exp

from penstock.catalog.model import Column, Partition, StorageDescriptor, Table
from penstock.errors import InvalidInput
from penstock.lake.locations import LakeFolder
from penstock.lake.partitions import HIVE_DEFAULT_PARTITION
from penstock.lake.visible import CommittedBatches
from penstock.query.dialect.types import duckdb_type, quote_name, quote_text
from penstock.query.errors import StatementError
from penstock.query.tables.partition_values import make_partition_table
from penstock.query.tables.port import SCHEMA, DataFile, LakeReader, ScanRequest, TableReference
from penstock.query.tables.projection import is_projected, project

__all__ = [
    "HiveScan",
    "HiveTable",
    "check_readable",
    "committed_batches",
    "data_files",
    "file_list",
    "hive_table",
    "view_sql",
]

_FILE_COLUMN = "__penstock_file"


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveScan:
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

    @property
    def partitions_read(self) -> int:
        """How many partitions are read."""
        return len(self.partitions)

    @property
    def route(self) -> str:
        """How EXPLAIN describes the scan."""
        return f"DuckDB reads {len(self.files)} Parquet files of {self.name}"

    def install(self, engine: Any) -> None:
        """Make the view; the files' own columns are read for it."""
        found: Mapping[str, str] = {}
        if self.files:
            described = engine.execute(f"DESCRIBE SELECT * FROM {file_list(self.files)}").fetchall()  # noqa: S608
            found = {str(name).lower(): str(kind) for name, kind, *_ in described}
        if self.table.partition_keys and self.with_keys and len({file.partition for file in self.files}) > 1:
            places = [(file.path, self.partitions[file.partition]) for file in self.files]
            make_partition_table(engine, _files_of(self), self.table, places, index="file", kind="VARCHAR")
        engine.execute(f"CREATE VIEW {SCHEMA}.{quote_name(self.view)} AS {view_sql(self, found)}")


def hive_table(table: Table, reference: TableReference, reader: LakeReader) -> "HiveTable":
    """Return the table of files. Raises :class:`StatementError` for one whose rows are not files that can be read."""
    check_readable(table)
    if reference.version is not None:
        raise StatementError(
            "NOT_SUPPORTED",
            f"'{table.database}.{table.name}' is not an Iceberg table, so it has no earlier versions.",
            position=reference.position,
        )
    return HiveTable(table, reader)


class HiveTable:
    """A table of files under its location, or under those of its partitions: registered ones, or projected ones."""

    def __init__(self, table: Table, reader: LakeReader) -> None:
        self.table = table
        self._reader = reader

    def scan(self, request: ScanRequest) -> HiveScan:
        keys = {column.name.lower() for column in self.table.partition_keys}
        used = request.columns is None or not keys.isdisjoint(request.columns)
        scan = HiveScan(view=request.view, table=self.table, with_keys=used)
        if self.table.partition_keys:
            return self._pruned(scan, request, request.conditions(keys))
        location = self.table.storage.location or ""
        lake = self._reader.lake
        found = data_files(lake, location, committed=committed_batches(lake, location))
        return replace(scan, files=_listed(scan, found, request.max_files))

    def _pruned(self, scan: HiveScan, request: ScanRequest, conditions: Sequence[exp.Expr]) -> HiveScan:
        texts = [each.sql("duckdb") for each in conditions]
        lake = self._reader.lake
        # Before partitions and files are listed: those of batches in it are complete.
        committed = committed_batches(lake, scan.table.storage.location or "")

        def needed(table: Table, partitions: Sequence[Partition]) -> Sequence[int]:
            if not partitions or not texts:
                return range(len(partitions))
            return request.prune(table, partitions, texts, request.outer)

        if is_projected(scan.table):
            projected = project(scan.table, conditions, needed)
            everything, total = projected.partitions, projected.total
        else:
            everything = self._registered(scan)
            total = len(everything)
        chosen = needed(scan.table, everything)
        partitions = [everything[index] for index in chosen]
        files = (
            file
            for index, each in enumerate(partitions)
            if each.storage.location
            for file in data_files(lake, each.storage.location, index, committed=committed)
        )
        listed = _listed(scan, files, request.max_files)
        return replace(scan, partitions=partitions, partitions_total=total, files=listed)

    def _registered(self, scan: HiveScan) -> Sequence[Partition]:
        everything = self._reader.catalog.partitions(scan.table.database, scan.table.name)
        for each in everything:
            if len(each.values) != len(scan.table.partition_keys):
                raise StatementError(
                    "HIVE_INVALID_METADATA",
                    f"Partition {list(each.values)} of '{scan.name}' has {len(each.values)} values for "
                    f"{len(scan.table.partition_keys)} partition keys.",
                    remedy="Delete the partition, or run the crawler.",
                )
        return everything


def _listed(scan: HiveScan, files: Iterator[DataFile], budget: int) -> Sequence[DataFile]:
    listed: list[DataFile] = []
    for file in files:
        listed.append(file)
        if len(listed) > budget:
            raise StatementError(
                "EXCEEDED_RESULT_LIMIT",
                f"The query reads more files than a query may, at '{scan.name}'.",
                remedy="Restrict it to fewer partitions, or compact the table.",
            )
    return listed


def _files_of(scan: HiveScan) -> str:
    """Return the quoted name of the table that has the partition values of the scan's files."""
    return f"{SCHEMA}.{quote_name(scan.view + '_files')}"


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


def view_sql(scan: HiveScan, found: Mapping[str, str]) -> str:
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
        f"JOIN {_files_of(scan)} AS p ON f.{quote_name(_FILE_COLUMN)} = p.file"
    )


def _constants(scan: HiveScan, partitions: set[int]) -> list[str]:
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
