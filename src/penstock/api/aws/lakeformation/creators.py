"""Databases and tables as they are created and deleted: default permissions on new ones, no grants left on deleted ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from penstock.api.aws.protocol.operations import AnyHandler, BatchHandler, OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.catalog.indexes import PartitionIndex
from penstock.catalog.model import Database, DatabaseInput, Table, TableInput
from penstock.catalog.service import CatalogService
from penstock.catalog.store import CatalogStore
from penstock.catalog.tables import ColumnSource
from penstock.errors import NotFound
from penstock.lakeformation.service import Defaults, LakeFormation

__all__ = ["GovernedCatalog", "table_defaults", "with_lake_formation"]

After = Callable[[LakeFormation, Request, RequestContext], None]


class GovernedCatalog(CatalogService):
    """A catalog for crawlers: ``lake`` hears of what they make and delete. Administrators grant permissions on it."""

    def __init__(self, store: CatalogStore, lake: LakeFormation, *, columns_of: ColumnSource) -> None:
        super().__init__(store, columns_of=columns_of)
        self._lake = lake

    def create_database(self, new: DatabaseInput, *, tags: Mapping[str, str] | None = None) -> Database:
        database = super().create_database(new, tags=tags)
        self._lake.created(database.name, None, by="")
        return database

    def create_table(self, database: str, new: TableInput, *, indexes: Sequence[PartitionIndex] = ()) -> Table:
        table = super().create_table(database, new, indexes=indexes)
        self._lake.created(table.database, table.name, by="")
        return table

    def delete_table(self, database: str, name: str) -> None:
        super().delete_table(database, name)
        self._lake.deleted(database, name)


def table_defaults(catalog: CatalogService, database: str) -> Defaults | None:
    """Return what a database of Glue's catalog says of the permissions on new tables; None if it says nothing."""
    try:
        permissions = catalog.database(database).extra.get("CreateTableDefaultPermissions")
    except NotFound:
        return None
    return cast("Defaults | None", permissions)


def with_lake_formation(catalog: OperationSet, lake: LakeFormation) -> OperationSet:
    """Return the catalog's operations, which then tell ``lake`` of databases and tables that were made and deleted."""
    wrapped: dict[str, AnyHandler] = {
        name: _then(catalog.handlers[name], after, lake) for name, after in _AFTER.items() if name in catalog.handlers
    }
    return replace(catalog, handlers={**catalog.handlers, **wrapped})


def _then(handler: AnyHandler, after: After, lake: LakeFormation) -> AnyHandler:
    assert not isinstance(handler, BatchHandler)

    def handled(request: Request, context: RequestContext) -> Response:
        answer = handler(request, context)
        after(lake, request, context)
        return answer

    return handled


def _creator(context: RequestContext) -> str:
    return context.caller_or_root.arn_for_policies


def _database_made(lake: LakeFormation, request: Request, context: RequestContext) -> None:
    lake.created(request["DatabaseInput"]["Name"].lower(), None, by=_creator(context))


def _table_made(lake: LakeFormation, request: Request, context: RequestContext) -> None:
    name = (request.get("TableInput") or {}).get("Name") or request.get("Name", "")
    lake.created(request["DatabaseName"].lower(), name.lower(), by=_creator(context))


def _database_gone(lake: LakeFormation, request: Request, _context: RequestContext) -> None:
    lake.deleted(request["Name"], None)


def _table_gone(lake: LakeFormation, request: Request, _context: RequestContext) -> None:
    lake.deleted(request["DatabaseName"], request["Name"])


def _tables_gone(lake: LakeFormation, request: Request, _context: RequestContext) -> None:
    for name in request["TablesToDelete"]:
        lake.deleted(request["DatabaseName"], name)


_AFTER: Mapping[str, After] = {
    "CreateDatabase": _database_made,
    "CreateTable": _table_made,
    "DeleteDatabase": _database_gone,
    "DeleteTable": _table_gone,
    "BatchDeleteTable": _tables_gone,
}
