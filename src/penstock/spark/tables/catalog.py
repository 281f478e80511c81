"""The catalog side of a sink: create and extend the table, and add its partitions."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.errors import AlreadyExists, ConcurrentModification, DataProblem, NotFound
from penstock.lake.partitions import HIVE_DEFAULT_PARTITION, parse_partition_path
from penstock.pipelines.sections import CatalogTarget
from penstock.spark.tables.shapes import merged
from penstock.spark.types import hive_type, spark_columns

__all__ = ["DELTA", "PARQUET", "CatalogCalls", "CatalogTable", "TableFormat"]

_TRIES = 5
_TRUST_SECONDS = 30.0  # then a table that someone else dropped is made again


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFormat:
    """What a table in the catalog says of its files: Glue's classification, Hive's classes for them, other parameters.

    ``serde_parameters`` are those of the SerDe.
    """

    classification: str
    input_format: str
    output_format: str
    serde: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    serde_parameters: Mapping[str, str] = field(default_factory=lambda: {"serialization.format": "1"})


PARQUET = TableFormat(
    classification="parquet",
    input_format="org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
    output_format="org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
    serde="org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
)


DELTA = TableFormat(
    classification="delta",
    input_format="org.apache.hadoop.mapred.SequenceFileInputFormat",
    output_format="org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat",
    serde="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
    # Athena knows a Delta table by the one, Spark by the other.
    parameters={"table_type": "DELTA", "spark.sql.sources.provider": "delta"},
)
"""As Glue's crawlers write it."""


class CatalogCalls(Protocol):
    """The required catalog operations; :class:`penstock.client.catalog.CatalogClient` has them. Shapes are Glue's."""

    def ensure_database(self, name: str, *, description: str | None = None, location: str | None = None) -> None:
        """Create a database unless it exists."""

    def table(self, database: str, name: str) -> Any:
        """Return the table's current version. Raises :class:`NotFound`."""

    def create_table(self, database: str, table: Any) -> None:
        """Create a table. Raises :class:`AlreadyExists`."""

    def update_table(self, database: str, table: Any, *, version_id: str | None = None, skip_archive: bool = False) -> None:
        """Replace a table's definition, if it is still at ``version_id``."""

    def partitions(self, database: str, table: str) -> Iterable[Any]:
        """Return all partitions."""
        ...

    def add_partitions(self, database: str, table: str, locations: Mapping[Sequence[str], str]) -> int:
        """Add the missing partitions; return how many were new."""
        ...


class CatalogTable:
    """One table of files at ``location``, in the format ``files``, partitioned by ``keys``."""

    def __init__(
        self,
        client: CatalogCalls,
        target: CatalogTarget,
        *,
        location: str,
        keys: Sequence[str],
        files: TableFormat,
        table_input: Callable[[Any], Any],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._target = target
        self._location = location.rstrip("/")
        self._keys = tuple(keys)
        self._files = files
        self._table_input = table_input
        self._clock = clock
        self._added: set[str] = set()
        self._ensured: tuple[Mapping[str, str], float] | None = None

    @property
    def name(self) -> str:
        """DATABASE.TABLE."""
        return f"{self._target.database}.{self._target.table}"

    @property
    def creates(self) -> bool:
        """Whether the sink creates and extends the table."""
        return self._target.create

    def columns(self) -> dict[str, str] | None:
        """Return column names, partition keys included, to Hive types; None if the table will be created.

        Raises :class:`DataProblem` if the catalog has a table of this name that the sink cannot write: one of another
        format, or with other partition keys.
        """
        try:
            table = self._client.table(self._target.database, self._target.table)
        except NotFound:
            if self._target.create:
                return None
            raise
        self._check_same_kind(table)
        every = [*table.get("StorageDescriptor", {}).get("Columns", ()), *table.get("PartitionKeys", ())]
        return {column["Name"]: column.get("Type", "string") for column in every}

    def extend(self, columns: Mapping[str, str]) -> None:
        """Create the table, or add and widen its columns, if declared so. ``columns`` are those of :meth:`sync`.

        A table that had these columns a short while ago is not asked for again.
        """
        if not self._target.create:
            return
        now = self._clock()
        if self._ensured is not None:
            had, at = self._ensured
            if had == columns and now - at < _TRUST_SECONDS:
                return
        self._ensure(columns)
        self._ensured = (dict(columns), now)

    def sync(self, columns: Mapping[str, str], folders: Iterable[str]) -> int:
        """Create or extend the table if declared so, then add the partitions ``folders``; return how many were new.

        ``columns`` maps all columns, partition keys included, to Hive types. A second call changes nothing.
        """
        self.extend(columns)
        return self.add_partitions(folders)

    def add_partitions(self, folders: Iterable[str]) -> int:
        """Add the partitions ``folders`` (``date=2013-01-01``) that are missing; return how many were new."""
        new = [folder for folder in folders if folder and folder not in self._added]
        if not new:
            return 0
        locations: dict[Sequence[str], str] = {_values(folder): f"{self._location}/{folder}/" for folder in new}
        count = self._client.add_partitions(self._target.database, self._target.table, locations)
        self._added.update(new)
        return count

    def _ensure(self, columns: Mapping[str, str]) -> None:
        for _ in range(_TRIES):
            try:
                self._ensure_once(columns)
            except (AlreadyExists, ConcurrentModification):
                continue
            return
        raise DataProblem(f"Table {self.name} is changed by others too often; its columns could not be extended.")

    def _ensure_once(self, columns: Mapping[str, str]) -> None:
        data = {name.lower(): type_name for name, type_name in columns.items() if name not in self._keys}
        try:
            table = self._client.table(self._target.database, self._target.table)
        except NotFound:
            self._client.ensure_database(self._target.database)
            self._client.create_table(self._target.database, self._definition(data, columns))
            return
        self._check_same_kind(table)
        present = table["StorageDescriptor"].get("Columns", ())
        extended = _extended(present, data)
        if extended != list(present):
            changed = self._table_input(table)
            changed["StorageDescriptor"] = {**table["StorageDescriptor"], "Columns": extended}
            self._client.update_table(self._target.database, changed, version_id=table.get("VersionId"))

    def _check_same_kind(self, table: Mapping[str, Any]) -> None:
        theirs = str(table.get("Parameters", {}).get("table_type", "")).upper()
        ours = self._files.parameters.get("table_type", "")
        keys = [key["Name"] for key in table.get("PartitionKeys", ())]
        if theirs in {"ICEBERG", "DELTA", "HUDI"} and theirs != ours:
            what = f"is a table of format {theirs}, and this sink writes {self._files.classification}"
        elif ours == "DELTA":
            return  # its log has the keys
        elif [key.lower() for key in keys] != [key.lower() for key in self._keys]:
            what = f"is partitioned by {keys}, and this sink partitions by {list(self._keys)}"
        else:
            return
        raise DataProblem(
            f"Table {self.name} of the catalog {what}.",
            remedy="Name another table, declare a sink as the table is, or drop the table.",
        )

    def _definition(self, data: Mapping[str, str], columns: Mapping[str, str]) -> dict[str, Any]:
        return {
            "Name": self._target.table,
            "TableType": "EXTERNAL_TABLE",
            "Parameters": {"classification": self._files.classification, "EXTERNAL": "TRUE", **self._files.parameters},
            "PartitionKeys": [{"Name": key, "Type": columns.get(key, "string")} for key in self._keys],
            "StorageDescriptor": {
                "Columns": [{"Name": name, "Type": type_name} for name, type_name in data.items()],
                "Location": f"{self._location}/",
                "InputFormat": self._files.input_format,
                "OutputFormat": self._files.output_format,
                "SerdeInfo": {
                    "SerializationLibrary": self._files.serde,
                    "Parameters": dict(self._files.serde_parameters),
                },
            },
        }


def _extended(present: Sequence[Mapping[str, Any]], data: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the table's columns with types that hold ``data``'s, and then the columns that it lacks.

    A type that Spark does not have stays, as does one whose meaning is the same.
    """
    columns = []
    for column in present:
        theirs, ours = column.get("Type", "string"), data.get(column["Name"].lower())
        type_name = theirs if ours is None or ours.lower() == theirs.lower() else _wider(theirs, ours)
        columns.append({**column, "Type": type_name} if type_name != theirs else dict(column))
    names = {column["Name"].lower() for column in present}
    return [*columns, *({"Name": name, "Type": type_name} for name, type_name in data.items() if name not in names)]


def _wider(theirs: str, ours: str) -> str:
    try:
        table, batch = spark_columns({"c": theirs}), spark_columns({"c": ours})
    except DataProblem:
        return theirs
    both = merged(table, batch)
    return theirs if both == table else hive_type(both.fields[0].dataType)


def _values(folder: str) -> tuple[str, ...]:
    return tuple(HIVE_DEFAULT_PARTITION if value is None else value for _, value in parse_partition_path(folder))
