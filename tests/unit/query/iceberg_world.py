"""A lake with the server's own catalog, for statements that write Iceberg tables; pyiceberg reads what they wrote."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.table import StaticTable

from penstock.api.aws.catalog.changes import CatalogOperations
from penstock.catalog.service import CatalogService
from penstock.lake.locations import LakeFolder
from penstock.query.execution.children import ChildPool
from penstock.query.results.sinks import LakeSink
from penstock.query.service import QueryService, StatementRequest
from penstock.query.settings import QuerySettings
from penstock.statements.model import Statement
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.store.sql.resources import SqlResourceStore
from penstock.store.sql.statements import SqlStatementStore
from penstock.testing.sqlite import new_database
from tests.unit.query.iceberg_lake import FolderIO
from tests.unit.query.lake_of_flights import finished

DATABASE = "db"


class World:
    """One database, and a service of statements over it."""

    def __init__(self, root: Path, children: ChildPool, settings: QuerySettings) -> None:
        self.root = root
        self.catalog = CatalogService(SqlCatalogStore(new_database()))
        operations = CatalogOperations(self.catalog, account="000000000000", region="us-east-1")
        operations.change("CreateDatabase", {"DatabaseInput": {"Name": DATABASE}})
        lake = LakeFolder(root)
        self.operations = operations
        self.service = QueryService(
            store=SqlStatementStore(new_database()),
            catalog=self.catalog,
            changes=operations,
            lake=lake,
            settings=settings,
            sink=LakeSink(lake),
            children=children,
            resources=SqlResourceStore(new_database()),
        )

    def start(self, sql: str) -> str:
        """Start a statement and return its id."""
        return self.service.start(StatementRequest(sql=sql, database=DATABASE))

    def finish(self, statement_id: str) -> Statement:
        """Wait for a statement's end."""
        return finished(self.service, statement_id)

    def ask(self, sql: str) -> Statement:
        """Run a statement to its end."""
        return self.finish(self.start(sql))

    def run(self, sql: str) -> Statement:
        """Run a statement, which must succeed."""
        statement = self.ask(sql)
        assert statement.state == "SUCCEEDED", statement.reason
        return statement

    def rows(self, sql: str) -> list[list[str | None]]:
        """Return a query's rows without the header."""
        statement = self.run(sql)
        lines = [list(row) for row in self.service.results(statement.id)[1].rows]
        return lines[1:] if statement.result_uri.endswith(".csv") else lines

    def table(self, name: str) -> StaticTable:
        """Return the table as pyiceberg loads it by what the catalog says."""
        location = self.catalog.table(DATABASE, name).parameters["metadata_location"]
        properties: dict[str, Any] = {"py-io-impl": f"{FolderIO.__module__}.FolderIO", "root": str(self.root)}
        return StaticTable.from_metadata(location, properties)

    def read(self, name: str) -> list[dict[str, Any]]:
        """Return the table's rows as pyiceberg reads them, by the first column."""
        table: pa.Table = self.table(name).scan().to_arrow()
        return sorted(table.to_pylist(), key=lambda row: str(row[table.column_names[0]]))

    def summary(self, name: str) -> dict[str, str]:
        """Return the summary of the table's current snapshot."""
        snapshot = self.table(name).metadata.current_snapshot()
        assert snapshot is not None
        assert snapshot.summary is not None
        return snapshot.summary.additional_properties

    def files(self, name: str) -> set[str]:
        """Return the locations of all files below the table's location."""
        folder = self.root / self.table(name).location().removeprefix("s3://")
        return {f"s3://{path.relative_to(self.root)}" for path in folder.rglob("*") if path.is_file()}


@contextmanager
def world(root: Path, children: ChildPool) -> Iterator[World]:
    """Make a world below ``root``, with the bucket ``lake``."""
    (root / "lake").mkdir(parents=True)
    settings = QuerySettings(output_location="s3://lake/results/", poll_seconds=0.02, memory_bytes=512 << 20, threads=1)
    made = World(root, children, settings)
    try:
        yield made
    finally:
        made.service.close()
