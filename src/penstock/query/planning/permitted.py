"""The catalog as a statement's caller may read it: each read is authorized as Glue's own operation.

As at AWS, where Athena reads Glue's catalog on behalf of the caller (Athena user guide, "Configure access to
databases and tables in the AWS Glue Data Catalog"). Every read of a plan goes through here, however its SQL is written.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.catalog.model import Database, Partition, Table
from penstock.errors import AccessDenied
from penstock.query.errors import StatementError
from penstock.query.ports import CatalogAccess, CatalogReader

__all__ = ["PermittedCatalog"]


class PermittedCatalog:
    """A :class:`~penstock.query.ports.CatalogReader` for one caller. Raises :class:`StatementError` for denied reads."""

    def __init__(self, catalog: CatalogReader, catalog_access: CatalogAccess) -> None:
        self._catalog = catalog
        self._access = catalog_access

    def databases(self) -> Sequence[Database]:
        self._check("GetDatabases", {})
        return [each for each in self._catalog.databases() if self._access.is_visible("GetDatabases", {"Name": each.name})]

    def database(self, name: str) -> Database:
        self._check("GetDatabase", {"Name": name})
        return self._catalog.database(name)

    def tables(self, database: str) -> Sequence[Table]:
        self._check("GetTables", {"DatabaseName": database})
        found = self._catalog.tables(database)
        return [each for each in found if self._is_visible(each)]

    def table(self, database: str, name: str) -> Table:
        self._check("GetTable", {"DatabaseName": database, "Name": name})
        return self._catalog.table(database, name)

    def partitions(self, database: str, table: str, expression: str | None = None) -> Sequence[Partition]:
        self._check("GetPartitions", {"DatabaseName": database, "TableName": table})
        return self._catalog.partitions(database, table, expression)

    def _is_visible(self, table: Table) -> bool:
        return self._access.is_visible("GetTables", {"DatabaseName": table.database, "Name": table.name})

    def _check(self, operation: str, request: Mapping[str, Any]) -> None:
        try:
            self._access.check(operation, request)
        except AccessDenied as error:
            raise StatementError("PERMISSION_DENIED", error.message, remedy=error.remedy) from error
