"""A table's data files as one view of the engine: the catalog's columns by name and type, partition values from the catalog.

Files are named one by one, so that the engine opens no others. Beside the table's columns a view has those of Trino's hidden
columns that the query names: ``$path``, ``$file_size``, ``$file_modified_time``, ``$partition``, ``$bucket``.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Column, Partition, Table
from penstock.lake.locations import LakeFolder
from penstock.lake.partitions import HIVE_DEFAULT_PARTITION, partition_path
from penstock.query.sparksql.reads import spark_columns, unread
from penstock.query.tables.formats.casts import column_type, null_of
from penstock.query.tables.formats.layouts import file_format
from penstock.query.tables.formats.parquet import ParquetFormat
from penstock.query.tables.formats.port import FILE_COLUMN, FileFormat, NumberedFile, Relation
from penstock.query.tables.memory import registered
from penstock.query.tables.partition_values import make_partition_table
from penstock.query.tables.port import SCHEMA, DataFile
from penstock.sql.errors import StatementError
from penstock.sql.spark_query import FilesRead
from penstock.sql.types import quote_name, quote_text

__all__ = ["HIDDEN_COLUMNS", "HiveScan"]

HIDDEN_COLUMNS = {
    "$path": "VARCHAR",
    "$file_size": "BIGINT",
    "$file_modified_time": "TIMESTAMPTZ",
    "$partition": "VARCHAR",
    "$bucket": "INTEGER",
}
"""Columns that a query can name and that ``*`` does not stand for, with the engine's types.

Source: Trino's documentation, "Hive connector".
"""

_MAX_SCATTERED = 100  # partitions that Spark reads one by one
# Names of a bucket's files: Presto's, Hive's and Trino's, Spark's.
_BUCKET = re.compile(r".*_bucket-(\d{1,9})(?:[-_.].*)?|(\d{1,9})_\d+.*|.*_(\d{5})(?:\.\w+)*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveScan:
    """One reference to a table in a query: the files that are read for it, under the view's name."""

    view: str
    table: Table
    lake: LakeFolder
    partitions: Sequence[Partition] = ()
    partitions_total: int = 0
    files: Sequence[DataFile] = field(default_factory=tuple)
    columns: frozenset[str] | None = None
    """The names (lower case) that the query mentions, None for all."""
    hidden: Sequence[str] = ()
    """The hidden columns that the view has."""

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
        formats = sorted({format_.name for format_, _ in self._groups()}) or ["data"]
        return f"DuckDB reads {len(self.files)} {' and '.join(formats)} files of {self.name}"

    def remote(self) -> FilesRead:
        """Return what Spark SQL is to read instead of the view. Raises :class:`StatementError` for what it does not read."""
        formats = [format_ for format_, _ in self._groups()]
        others = sorted({format_.name for format_ in formats} - {"Parquet"})
        if others:
            raise unread(self.name, f"files in {' and '.join(others)}")
        if any(format_ != ParquetFormat() for format_ in formats):
            raise unread(self.name, "columns by their places")
        if self.hidden:
            raise unread(self.name, f"the hidden column {self.hidden[0]}")
        base = self._base()
        places = {file.partition for file in self.files}
        if base is None and len(places) > _MAX_SCATTERED:
            raise unread(self.name, f"more than {_MAX_SCATTERED} partitions whose folders are not named after them")
        values = [[None if name == HIVE_DEFAULT_PARTITION else name for name in part.values] for part in self.partitions]
        return FilesRead(
            view=self.view,
            columns=spark_columns(self.name, self._own, self._used),
            keys=spark_columns(self.name, self.table.partition_keys, self._used),
            files=[file.path for file in self.files],
            partition=[file.partition for file in self.files],
            values=values,
            base=base,
        )

    def _base(self) -> str | None:
        """Return the table's folder if each partition's files are in the folder in it that its values name."""
        if not self.table.partition_keys:
            return None
        names = [key.name for key in self.table.partition_keys]
        base = self.lake.path(self.table.storage.location or "")
        folders = [base / partition_path(names, partition.values) for partition in self.partitions]
        in_folders = all(Path(file.path).parent == folders[file.partition] for file in self.files)
        return str(base) if in_folders else None

    def install(self, engine: Any) -> None:
        """Make the view; the files' own columns are read for it."""
        if not self._own and not self.table.partition_keys:
            raise StatementError("HIVE_INVALID_METADATA", f"Table '{self.name}' has no columns.")
        used = [column for column in self._own if self._used(column)]
        relations = [
            relation
            for number, (format_, files) in enumerate(self._groups())
            for relation in format_.relations(engine, f"{self.view}_{number}", files, used, with_file=self._with_files)
        ]
        if relations and self._with_files:
            self._make_file_table(engine)
        selects = [self._select(relation) for relation in relations] or [self._no_rows()]
        engine.execute(f"CREATE VIEW {SCHEMA}.{quote_name(self.view)} AS {' UNION ALL '.join(selects)}")

    @property
    def _own(self) -> Sequence[Column]:
        keys = {column.name.lower() for column in self.table.partition_keys}
        return [column for column in self.table.storage.columns if column.name.lower() not in keys]

    def _used(self, column: Column) -> bool:
        return self.columns is None or column.name.lower() in self.columns

    @property
    def _keys(self) -> Sequence[Column]:
        return [column for column in self.table.partition_keys if self._used(column)]

    @property
    def _with_files(self) -> bool:
        """Whether rows need what belongs to their file."""
        return bool(self.hidden) or (bool(self._keys) and len({file.partition for file in self.files}) > 1)

    @property
    def _file_table(self) -> str:
        return f"{SCHEMA}.{quote_name(f'{self.view}_files')}"

    def _groups(self) -> Sequence[tuple[FileFormat, Sequence[NumberedFile]]]:
        """Return the files by the format of their partition."""
        own = file_format(self.name, self.table.storage, self.table.parameters) if self.files else None
        formats: dict[int, FileFormat] = {}
        groups: dict[FileFormat, list[NumberedFile]] = {}
        for number, file in enumerate(self.files):
            format_ = own if file.partition < 0 else formats.get(file.partition)
            if format_ is None:
                storage = self.partitions[file.partition].storage
                described = storage.serde_info is not None or storage.input_format
                format_ = file_format(self.name, storage, self.table.parameters) if described else own
                assert format_ is not None
                formats[file.partition] = format_
            groups.setdefault(format_, []).append((number, file))
        return list(groups.items())

    def _make_file_table(self, engine: Any) -> None:
        """Make the table of files: path, number, partition keys and the hidden columns."""
        keys = f"{SCHEMA}.{quote_name(f'{self.view}_keys')}"
        if self._keys:
            places = [(at, partition) for at, partition in enumerate(self.partitions)]
            make_partition_table(engine, keys, self.table, places, index="place", index_type="INTEGER")
        columns: dict[str, pa.Array] = {
            "path": pa.array([file.path for file in self.files]),
            "number": pa.array(range(len(self.files)), pa.int32()),
            "part": pa.array([file.partition for file in self.files], pa.int32()),
        }
        columns |= {name: self._hidden_values(name) for name in self.hidden}
        with registered(engine, "file_rows", pa.table(columns)):
            chosen = ", ".join(f"k.{quote_name(column.name)}" for column in self._keys)
            joined = f"SELECT r.*, {chosen} FROM file_rows AS r JOIN {keys} AS k ON r.part = k.place"  # noqa: S608 quoted names
            query = joined if self._keys else "SELECT * FROM file_rows"
            engine.execute(f"CREATE TABLE {self._file_table} AS {query}")

    def _hidden_values(self, name: str) -> pa.Array:
        if name == "$path":
            return pa.array([self.lake.uri(Path(file.path)) for file in self.files], pa.string())
        if name == "$file_size":
            return pa.array([file.size for file in self.files], pa.int64())
        if name == "$file_modified_time":
            times = [Path(file.path).stat().st_mtime_ns // 1_000_000 for file in self.files]
            return pa.array(times, pa.int64()).cast(pa.timestamp("ms", "UTC"))
        if name == "$partition":
            names = [key.name for key in self.table.partition_keys]
            paths = [partition_path(names, partition.values) for partition in self.partitions]
            return pa.array([paths[file.partition] if paths else "" for file in self.files], pa.string())
        return pa.array([self._bucket(file) for file in self.files], pa.int32())

    def _bucket(self, file: DataFile) -> int:
        match = _BUCKET.fullmatch(Path(file.path).name)
        number = int(match[match.lastindex or 0]) if match else -1
        if not 0 <= number < int(str(self.table.storage.extra.get("NumberOfBuckets", 0))):
            raise StatementError(
                "HIVE_INVALID_BUCKET_FILES",
                f"{file.path} is not named after a bucket of '{self.name}'.",
                remedy="Leave $bucket out; the table can be read without it.",
            )
        return number

    def _select(self, relation: Relation) -> str:
        """Return the SELECT of one relation, with all columns of the view in their order."""
        chosen = []
        for column in self._own:
            text = relation.columns[column.name.lower()] if self._used(column) else null_of(column)
            chosen.append(f"{text} AS {quote_name(column.name)}")
        for column in self.table.partition_keys:
            text = self._key(column) if self._used(column) else null_of(column)
            chosen.append(f"{text} AS {quote_name(column.name)}")
        chosen += [f"p.{quote_name(name)}" for name in self.hidden]
        query = f"SELECT {', '.join(chosen)} FROM {relation.source} AS f"  # noqa: S608 every name is quoted
        if not self._with_files:
            return query
        place = "path" if relation.by_path else "number"
        return f"{query} JOIN {self._file_table} AS p ON f.{quote_name(FILE_COLUMN)} = p.{place}"

    def _key(self, column: Column) -> str:
        """Return the SQL of a partition key: a constant where all files are in one partition."""
        if self._with_files:
            return f"p.{quote_name(column.name)}"
        values = self.partitions[self.files[0].partition].values
        value = dict(zip((key.name for key in self.table.partition_keys), values, strict=True))[column.name]
        literal = "NULL" if value == HIVE_DEFAULT_PARTITION else quote_text(value)
        return f"CAST({literal} AS {column_type(column)})"

    def _no_rows(self) -> str:
        columns = [f"{null_of(column)} AS {quote_name(column.name)}" for column in (*self._own, *self.table.partition_keys)]
        columns += [f"CAST(NULL AS {HIDDEN_COLUMNS[name]}) AS {quote_name(name)}" for name in self.hidden]
        return f"SELECT {', '.join(columns)} WHERE false"
