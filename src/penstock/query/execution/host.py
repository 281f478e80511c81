"""The owner's side of a running statement: what its process may ask for, each as the statement's caller may do it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from penstock.catalog.model import Database, Partition, Table
from penstock.errors import InvalidInput
from penstock.lake.permitted import DELETE_OBJECT, PUT_OBJECT, TableKey
from penstock.lakeformation.decisions import TableAccess
from penstock.query.permitted_catalog import PermittedCatalog, PermittedStatements
from penstock.query.ports import Publication, ResultSink
from penstock.query.writing.publishing import file_in
from penstock.sql.spark_query import SparkQuery, SparkRows

__all__ = ["CHANGES", "Host"]

CHANGES = frozenset(
    {
        *("CreateDatabase", "UpdateDatabase", "DeleteDatabase", "CreateTable", "UpdateTable", "DeleteTable"),
        *("BatchCreatePartition", "BatchDeletePartition", "UpdatePartition"),
    }
)
"""The operations of Glue that statements use."""

_COMMITS = frozenset({"CreateTable", "UpdateTable"})


class Host:
    """A :class:`penstock.query.ports.StatementHost` over a caller's catalog and the lake's objects.

    Requests come from the process that runs the statement, so each is checked here.
    """

    def __init__(
        self,
        catalog: PermittedCatalog,
        sink: ResultSink,
        folder: Path,
        prepared: PermittedStatements,
        *,
        committing: Callable[[Mapping[str, Any]], AbstractContextManager[None]] = lambda _: nullcontext(),
        compute: Callable[[SparkQuery], SparkRows] | None = None,
    ) -> None:
        """``committing`` is around each change of a table, whose request it gets: what Iceberg's commits are.

        ``compute`` is Spark SQL, None for statements that it does not run.
        """
        self._compute = compute
        self._committing = committing
        self._catalog = catalog
        self._sink = sink
        self._folder = folder
        self._prepared = prepared

    def is_named(self, name: str) -> bool:
        return self._catalog.is_named(name)

    def databases(self) -> Sequence[Database]:
        return self._catalog.databases()

    def database(self, name: str) -> Database:
        return self._catalog.database(name)

    def tables(self, database: str) -> Sequence[Table]:
        return self._catalog.tables(database)

    def visible_tables(self, database: str) -> Sequence[Table]:
        return self._catalog.visible_tables(database)

    def table(self, database: str, name: str) -> Table:
        return self._catalog.table(database, name)

    def partitions(self, database: str, table: str, expression: str | None = None) -> Sequence[Partition]:
        return self._catalog.partitions(database, table, expression)

    def reading(self, database: str, table: str, columns: Sequence[str]) -> TableAccess | None:
        return self._catalog.reading(database, table, columns)

    def hides_columns(self) -> bool:
        return self._catalog.hides_columns()

    def visible_columns(self, database: str, table: str, columns: Sequence[str]) -> Collection[str] | None:
        return self._catalog.visible_columns(database, table, columns)

    def check_writing(self, database: str, table: str, permissions: Sequence[str]) -> None:
        self._catalog.check_writing(database, table, permissions)

    def check_files(self, action: str, uris: Sequence[str], table: TableKey | None = None, /) -> Sequence[str]:
        return self._catalog.check_files(action, uris, None if table is None else (table[0], table[1]))

    def change(self, operation: str, request: Mapping[str, Any], /) -> Mapping[str, Any]:
        if operation == "GetPreparedStatement":
            return {"QueryStatement": self._prepared.shown(str(request["StatementName"]))}
        if operation == "CreatePreparedStatement":
            self._prepared.create(str(request["StatementName"]), str(request["QueryStatement"]))
            return {}
        if operation == "DeletePreparedStatement":
            self._prepared.delete(str(request["StatementName"]))
            return {}
        if operation not in CHANGES:
            raise InvalidInput(f"{operation} is not an operation of statements.")
        with self._committing(request) if operation in _COMMITS else nullcontext():
            return self._catalog.change(operation, request)

    def compute(self, query: SparkQuery, /) -> SparkRows:
        if self._compute is None:
            raise InvalidInput("The statement is not one of Spark SQL's.")
        return self._compute(query)

    def publish(self, files: Sequence[Publication], table: TableKey | None = None) -> None:
        self.check_files(PUT_OBJECT, [uri for _, uri in files], table)
        stored: list[str] = []
        try:
            for name, uri in files:
                self._sink.put(uri, file_in(self._folder, name))
                stored.append(uri)
        except BaseException:
            for uri in stored:
                self._sink.remove(uri)
            raise

    def remove(self, uris: Sequence[str], table: TableKey | None = None) -> None:
        self.check_files(DELETE_OBJECT, uris, table)
        for uri in uris:
            self._sink.remove(uri)
