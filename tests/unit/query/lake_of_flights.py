"""A small lake and its catalog: Parquet written by pyarrow, tables as the crawler describes them."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.catalog.model import Column, Database, Partition, SerDeInfo, StorageDescriptor, Table
from penstock.catalog.partitions.expressions import PartitionExpression
from penstock.errors import InvalidInput, NotFound
from penstock.lake.locations import LakeFolder
from penstock.lake.permitted import TableKey
from penstock.lakeformation.decisions import TableAccess
from penstock.query.execution.children import ChildPool
from penstock.query.ports import Publication
from penstock.query.results.sinks import LakeSink
from penstock.query.service import QueryService
from penstock.query.settings import QuerySettings
from penstock.sql.spark_query import SparkQuery, SparkRows
from penstock.statements.model import FINAL_STATES, Statement
from penstock.store.sql.resources import SqlResourceStore
from penstock.store.sql.statements import SqlStatementStore
from penstock.testing.sqlite import new_database

Ask = Callable[..., Statement]
Rows = Callable[..., list[list[str | None]]]

NOW = datetime(2026, 11, 21, tzinfo=UTC)
PARQUET = SerDeInfo(serialization_library="org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe")


@dataclass
class FakeCatalog:
    """A catalog reader over dictionaries of tables and partitions."""

    names: list[str] = field(default_factory=lambda: ["flights_db", "empty_db"])
    stored: dict[tuple[str, str], Table] = field(default_factory=dict)
    parts: dict[tuple[str, str], list[Partition]] = field(default_factory=dict)

    def is_named(self, name: str) -> bool:
        return name.lower() == "awsdatacatalog"

    def databases(self) -> Sequence[Database]:
        return [Database(name=name, create_time=NOW) for name in self.names]

    def database(self, name: str) -> Database:
        if name not in self.names:
            raise NotFound(f"Database {name} not found.")
        return Database(name=name, create_time=NOW)

    def tables(self, database: str) -> Sequence[Table]:
        if database not in self.names:
            raise NotFound(f"Database {database} not found.")
        return [table for (home, _), table in self.stored.items() if home == database]

    def visible_tables(self, database: str) -> Sequence[Table]:
        return self.tables(database)

    def table(self, database: str, name: str) -> Table:
        if (database, name) not in self.stored:
            raise NotFound(f"Table {name} not found.")
        return self.stored[database, name]

    def partitions(self, database: str, table: str, expression: str | None = None) -> Sequence[Partition]:
        partitions = self.parts.get((database, table), [])
        if expression is None:
            return partitions
        test = PartitionExpression.parse(expression, self.stored[database, table].partition_keys)
        return [partition for partition in partitions if test.matches(partition.values)]

    def reading(self, _database: str, _table: str, _columns: Sequence[str]) -> TableAccess | None:
        return None

    def check_writing(self, _database: str, _table: str, _permissions: Sequence[str]) -> None: ...

    def change(self, operation: str, _request: Mapping[str, Any], /) -> Mapping[str, Any]:
        raise InvalidInput(f"This catalog has no {operation}.")

    def compute(self, query: SparkQuery, /) -> SparkRows:
        raise InvalidInput("This catalog has no Spark.")

    def hides_columns(self) -> bool:
        return False

    def visible_columns(self, _database: str, _table: str, _columns: Sequence[str], /) -> None: ...

    def check_files(self, _action: str, _uris: Sequence[str], _table: TableKey | None = None, /) -> Sequence[str]:
        return ["s3://"]

    def publish(self, files: Sequence[Publication], table: TableKey | None = None) -> None:
        raise InvalidInput(f"This catalog has no place for {len(files)} files of {table}.")

    def remove(self, uris: Sequence[str], table: TableKey | None = None) -> None:
        _ = table
        raise InvalidInput(f"This catalog has no place for {len(uris)} files.")


@dataclass
class Lake:
    """The lake's folder and catalog, with methods that fill both."""

    folder: LakeFolder
    catalog: FakeCatalog = field(default_factory=FakeCatalog)

    def write(self, key: str, table: pa.Table) -> Path:
        """Write one Parquet file to bucket ``lake``."""
        path = self.folder.root / "lake" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)
        return path

    def table(
        self,
        name: str,
        columns: dict[str, str],
        keys: dict[str, str] | None = None,
        *,
        database: str = "flights_db",
        **others: object,
    ) -> Table:
        """Register a Parquet table at ``s3://lake/NAME/``."""
        storage = StorageDescriptor(
            columns=[Column(name=column, type=type_) for column, type_ in columns.items()],
            location=f"s3://lake/{name}/",
            input_format="org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
            output_format="org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
            serde_info=PARQUET,
        )
        values: dict[str, object] = {
            "database": database,
            "name": name,
            "version_id": "0",
            "storage": storage,
            "partition_keys": [Column(name=key, type=type_) for key, type_ in (keys or {}).items()],
            "table_type": "EXTERNAL_TABLE",
            "parameters": {"classification": "parquet"},
            "create_time": NOW,
            "update_time": NOW,
        }
        table = Table(**(values | others))  # type: ignore[arg-type]
        self.catalog.stored[database, name] = table
        return table

    def partition(self, table: str, *values: str, location: str | None = None, database: str = "flights_db") -> None:
        """Register a partition; its default location follows from its values."""
        home = self.catalog.stored[database, table]
        folder = "/".join(f"{key.name}={value}" for key, value in zip(home.partition_keys, values, strict=True))
        storage = StorageDescriptor(
            columns=home.storage.columns,
            location=location or f"s3://lake/{table}/{folder}/",
            input_format=home.storage.input_format,
            serde_info=PARQUET,
        )
        part = Partition(database=database, table=table, values=list(values), storage=storage, create_time=NOW)
        self.catalog.parts.setdefault((database, table), []).append(part)


def flights(lake: Lake) -> None:
    """Create ``flights``, partitioned by year and month (12 months of 10 rows), and ``airlines``, not partitioned."""
    lake.table(
        "flights",
        {"carrier": "string", "flight": "int", "distance": "double", "dep_time": "timestamp"},
        {"year": "int", "month": "int"},
    )
    for month in range(1, 13):
        rows = pa.table(
            {
                "carrier": ["UA" if at % 2 else "AA" for at in range(10)],
                "flight": pa.array([month * 100 + at for at in range(10)], pa.int32()),
                "distance": [float(at) for at in range(10)],
                "dep_time": pa.array([datetime(2013, month, at + 1, 5, 17) for at in range(10)], pa.timestamp("us")),
            }
        )
        lake.write(f"flights/year=2013/month={month}/part-0.parquet", rows)
        lake.partition("flights", "2013", str(month))
    lake.table("airlines", {"carrier": "string", "name": "string"})
    lake.write(
        "airlines/part-0.parquet", pa.table({"carrier": ["UA", "AA", "DL"], "name": ["United", 'American "A"', None]})
    )


def finished(service: QueryService, statement_id: str, seconds: float = 240.0) -> Statement:
    """Wait until the statement is in a final state and return it."""
    deadline = time.monotonic() + seconds
    while (statement := service.get(statement_id)).state not in FINAL_STATES:
        assert time.monotonic() < deadline, f"still {statement.state}"
        time.sleep(0.01)
    return statement


def service_over(lake: Lake, settings: QuerySettings, children: ChildPool, **others: Any) -> QueryService:
    """Return a service over a lake and its catalog, with stores in memory; ``others`` are what it has instead or besides."""
    parts: dict[str, Any] = {
        "store": SqlStatementStore(new_database()),
        "catalog": lake.catalog,
        "changes": lake.catalog,
        "lake": lake.folder,
        "settings": settings,
        "sink": LakeSink(lake.folder),
        "children": children,
        "resources": SqlResourceStore(new_database()),
    }
    return QueryService(**(parts | others))
