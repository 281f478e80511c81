"""The catalog as a statement's caller may read it: each read and change is authorized as Glue's own operation.

As at AWS, where Athena reads Glue's catalog on behalf of the caller (Athena user guide, "Configure access to
databases and tables in the AWS Glue Data Catalog"). Every read of a plan goes through here, however its SQL is written.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from penstock.catalog.model import Database, Partition, Table
from penstock.errors import AccessDenied
from penstock.lake.permitted import TableKey
from penstock.lakeformation.decisions import TableAccess
from penstock.query.ports import CATALOG_NAME, CatalogAccess, CatalogChanges, CatalogReader
from penstock.sql.errors import StatementError
from penstock.statements.prepared import PreparedStatements

__all__ = ["PermittedCatalog", "PermittedStatements", "permitted_name"]


class PermittedCatalog:
    """The catalog for one caller, who may do all without ``catalog_access``. Raises :class:`StatementError` if denied.

    Targets of resource links in the catalog of ``account`` itself lose their ``CatalogId``: others are another account's.
    """

    def __init__(
        self,
        catalog: CatalogReader,
        changes: CatalogChanges,
        catalog_access: CatalogAccess | None,
        *,
        account: str = "",
        find_name: Callable[[str], str | None] = lambda _: None,
    ) -> None:
        """``find_name`` returns the data catalog that a name stands for in SQL; None if there is none."""
        self._find_name = find_name
        self._catalog = catalog
        self._account = account
        self._changes = changes
        self._access = catalog_access

    def is_named(self, name: str) -> bool:
        with _as_statement_error():
            return permitted_name(self._find_name, name, self._access) is not None

    def databases(self) -> Sequence[Database]:
        self._check("GetDatabases", {})
        databases = self._catalog.databases()
        if self._access is None:
            return databases
        return [database for database in databases if self._access.is_visible("GetDatabases", {"Name": database.name})]

    def database(self, name: str) -> Database:
        self._check("GetDatabase", {"Name": name})
        database = self._catalog.database(name)
        return replace(database, extra=self._own_targets(database.extra)) if "TargetDatabase" in database.extra else database

    def tables(self, database: str) -> Sequence[Table]:
        self._check("GetTables", {"DatabaseName": database})
        tables = self._catalog.tables(database)
        return [table for table in tables if self._is_visible(table)]

    def visible_tables(self, database: str) -> Sequence[Table]:
        """Return the tables that the caller sees, none if the caller may not list them."""
        try:
            return self.tables(database)
        except StatementError:
            return []

    def table(self, database: str, name: str) -> Table:
        self._check("GetTable", {"DatabaseName": database, "Name": name})
        table = self._catalog.table(database, name)
        return replace(table, extra=self._own_targets(table.extra)) if "TargetTable" in table.extra else table

    def partitions(self, database: str, table: str, expression: str | None = None) -> Sequence[Partition]:
        self._check("GetPartitions", {"DatabaseName": database, "TableName": table})
        return self._catalog.partitions(database, table, expression)

    def reading(self, database: str, table: str, columns: Sequence[str]) -> TableAccess | None:
        return None if self._access is None else self._access.reading(database, table, columns)

    def hides_columns(self) -> bool:
        return self._access is not None and self._access.hides_columns()

    def visible_columns(self, database: str, table: str, columns: Sequence[str]) -> Collection[str] | None:
        return None if self._access is None else self._access.visible_columns(database, table, columns)

    def check_writing(self, database: str, table: str, permissions: Sequence[str]) -> None:
        if self._access is not None:
            with _as_statement_error():
                self._access.check_writing(database, table, permissions)

    def change(self, operation: str, request: Mapping[str, Any], /) -> Mapping[str, Any]:
        self._check(operation, request)
        if operation == "DeleteDatabase":
            # It removes the database's tables, too, also those that the caller does not see.
            for table in self._catalog.tables(str(request["Name"])) if self._access is not None else ():
                self._check("DeleteTable", {"DatabaseName": table.database, "Name": table.name})
        answer = self._changes.change(operation, request)
        if self._access is not None and operation == "CreateDatabase":
            self._access.created(str(request["DatabaseInput"]["Name"]), None)
        elif self._access is not None and operation == "CreateTable":
            self._access.created(str(request["DatabaseName"]), str(request["TableInput"]["Name"]))
        return answer

    def authorize(self, operation: str, request: Mapping[str, Any]) -> None:
        """Raise :class:`StatementError` unless the caller may call Glue's ``operation`` with ``request``."""
        self._check(operation, request)

    def check_files(self, action: str, uris: Sequence[str], table: TableKey | None = None, /) -> Sequence[str]:
        """See :class:`penstock.lake.permitted.FileAccess`. Raises :class:`StatementError`."""
        if self._access is None:
            return ["s3://"]
        with _as_statement_error():
            return self._access.check_files(action, uris, table)

    def _own_targets(self, extra: Mapping[str, object]) -> Mapping[str, object]:
        targets = {
            name: target for name, target in extra.items() if name.startswith("Target") and isinstance(target, Mapping)
        }
        return {
            **extra,
            **{
                name: {key: value for key, value in target.items() if (key, value) != ("CatalogId", self._account)}
                for name, target in targets.items()
            },
        }

    def _is_visible(self, table: Table) -> bool:
        return self._access is None or self._access.is_visible(
            "GetTables", {"DatabaseName": table.database, "Name": table.name}
        )

    def _check(self, operation: str, request: Mapping[str, Any]) -> None:
        if self._access is not None:
            with _as_statement_error():
                self._access.check(operation, request)


def permitted_name(find: Callable[[str], str | None], name: str, access: CatalogAccess | None) -> str | None:
    """Return the data catalog that ``name`` stands for, None if there is none. Raises :class:`AccessDenied`."""
    if name.lower() == CATALOG_NAME.lower():
        return CATALOG_NAME
    catalog = find(name)
    if access is not None:
        # Policies name it as it was given; whoever may not read it does not learn whether it exists.
        access.check_athena("GetDataCatalog", {"Name": catalog or name})
    return catalog


class PermittedStatements:
    """The prepared statements of a work group for one caller, who may do all without ``access``."""

    def __init__(self, prepared: PreparedStatements, work_group: str, access: CatalogAccess | None) -> None:
        self._prepared = prepared
        self._work_group = work_group
        self._access = access

    def get(self, name: str) -> str:
        """Return the text of a prepared statement.

        Raises :class:`AccessDenied`, and :class:`~penstock.statements.errors.ResourceNotFound`.
        """
        self._check("GetPreparedStatement", name)
        return self._prepared.get(self._work_group, name).sql

    def shown(self, name: str) -> str:
        """Return the text of a prepared statement. Raises :class:`StatementError` if denied, and ResourceNotFound."""
        with _as_statement_error():
            return self.get(name)

    def create(self, name: str, sql: str) -> None:
        """Store a prepared statement.

        Raises :class:`StatementError` if denied, and the errors of :meth:`PreparedStatements.create`.
        """
        with _as_statement_error():
            self._check("CreatePreparedStatement", name)
        self._prepared.create(self._work_group, name, sql)

    def delete(self, name: str) -> None:
        """Delete a prepared statement. Raises :class:`StatementError` if denied, and ResourceNotFound."""
        with _as_statement_error():
            self._check("DeletePreparedStatement", name)
        self._prepared.delete(self._work_group, name)

    def _check(self, operation: str, name: str) -> None:
        if self._access is not None:
            self._access.check_athena(operation, {"WorkGroup": self._work_group, "StatementName": name})


@contextmanager
def _as_statement_error() -> Iterator[None]:
    try:
        yield
    except AccessDenied as error:
        raise StatementError("PERMISSION_DENIED", error.message, remedy=error.remedy) from error
