"""Glue's operations on databases, tables and table versions; those on partitions are in :mod:`.partitions`."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.aws.catalog.account import account_handlers
from penstock.api.aws.catalog.details import detail_handlers, partition_index
from penstock.api.aws.catalog.iceberg import create_iceberg_table
from penstock.api.aws.catalog.optimizers import optimizer_handlers
from penstock.api.aws.catalog.partitions import partition_handlers
from penstock.api.aws.catalog.shapes import database_input, database_shape, error_detail, table_input, table_shape
from penstock.api.aws.protocol.handlers import call, member, paged
from penstock.api.aws.protocol.operations import Handler, OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.catalog.model import Table, TableInput
from penstock.catalog.service import CatalogService
from penstock.catalog.table_search import Predicate, TableSearch
from penstock.errors import InvalidInput, NotFound, PenstockError
from penstock.lake.iceberg.files import MetadataFiles

__all__ = ["operations", "own_catalog"]

_PAGE = 100  # CatalogGetterPageSize
_SHARED = frozenset({"FOREIGN", "FEDERATED"})  # there are no databases or tables shared by other accounts or sources
_DATABASE_ATTRIBUTES = {"NAME": "Name", "TARGET_DATABASE": "TargetDatabase"}
_TABLE_ATTRIBUTES = {"NAME": "Name", "TABLE_TYPE": "TableType"}


def operations(service: CatalogService, files: MetadataFiles | None = None) -> OperationSet:
    """Return every operation of Glue on the catalog that ``service`` answers.

    ``files`` are those of the account's lake, where metadata of new Iceberg tables is written; None if there is no lake.
    """
    handlers = {**_database_handlers(service), **_table_readers(service), **_table_writers(service, files)}
    handlers |= {**_version_handlers(service), **partition_handlers(service), **detail_handlers(service)}
    handlers |= {**optimizer_handlers(service), **account_handlers()}
    return OperationSet(service="glue", handlers={name: own_catalog(handler) for name, handler in handlers.items()})


def own_catalog(handler: Handler) -> Handler:
    """Return ``handler`` with a check that the request is for this account's catalog, which is the only one."""

    def checked(request: Request, context: RequestContext) -> Response:
        catalog = request.get("CatalogId")
        if catalog is not None and catalog != context.account:
            raise NotFound(
                f"Catalog {catalog} not found.",
                remedy=f"The catalog of this server is {context.account}; or leave CatalogId out.",
            )
        return handler(request, context)

    return checked


def _database_handlers(service: CatalogService) -> dict[str, Handler]:
    def get(request: Request, context: RequestContext) -> Response:
        return {"Database": database_shape(service.database(request["Name"]), context.account)}

    def get_all(request: Request, context: RequestContext) -> Response:
        if request.get("ResourceShareType") in _SHARED:
            return {"DatabaseList": []}
        page = service.databases_page(limit=request.get("MaxResults") or _PAGE, token=request.get("NextToken"))
        shapes = [database_shape(database, context.account) for database in page.items]
        return paged(page, DatabaseList=_chosen(shapes, request, _DATABASE_ATTRIBUTES))

    database = member("DatabaseInput", database_input)
    return {
        "CreateDatabase": call(service.create_database, database, tags=member("Tags", default=None)),
        "GetDatabase": get,
        "GetDatabases": get_all,
        "UpdateDatabase": call(service.update_database, "Name", database),
        "DeleteDatabase": call(service.delete_database, "Name"),
    }


def _table_readers(service: CatalogService) -> dict[str, Handler]:
    def get(request: Request, context: RequestContext) -> Response:
        shape = table_shape(service.table(request["DatabaseName"], request["Name"]), context.account)
        return {"Table": _chosen([shape], request, _TABLE_ATTRIBUTES)[0]}

    def get_all(request: Request, context: RequestContext) -> Response:
        if request.get("ResourceShareType") in _SHARED:
            return {"TableList": []}
        page = service.tables_page(
            request["DatabaseName"],
            limit=request.get("MaxResults") or _PAGE,
            token=request.get("NextToken"),
            expression=request.get("Expression"),
        )
        shapes = [table_shape(table, context.account) for table in page.items]
        return paged(page, TableList=_chosen(shapes, request, _TABLE_ATTRIBUTES))

    def search(request: Request, context: RequestContext) -> Response:
        if request.get("ResourceShareType") in _SHARED:
            return {"TableList": []}
        page = service.search_page(
            _search(request), limit=request.get("MaxResults") or _PAGE, token=request.get("NextToken")
        )
        return paged(page, TableList=[table_shape(table, context.account) for table in page.items])

    return {"GetTable": get, "GetTables": get_all, "SearchTables": search}


def _table_writers(service: CatalogService, files: MetadataFiles | None) -> dict[str, Handler]:
    def create(request: Request, context: RequestContext) -> Response:
        if request.get("OpenTableFormatInput") is not None:
            create_iceberg_table(service, files, request, context)
            return {}
        indexes = [partition_index(index) for index in request.get("PartitionIndexes") or ()]
        service.create_table(request["DatabaseName"], _table_of(request), indexes=indexes)
        return {}

    def update(request: Request, _context: RequestContext) -> Response:
        table = _table_of(request)
        name = request.get("Name", table.name)
        if name.lower() != table.name.lower():
            raise InvalidInput(
                f"Table {request['DatabaseName']}.{name} cannot be renamed to {table.name}.",
                remedy=f"Create {table.name}, and delete {name}.",
            )
        service.update_table(
            request["DatabaseName"],
            table,
            version=request.get("VersionId"),
            skip_archive=bool(request.get("SkipArchive")),
        )
        return {}

    def errors(failed: Sequence[tuple[str, PenstockError]]) -> Response:
        return {"Errors": [{"TableName": name, "ErrorDetail": error_detail(error)} for name, error in failed]}

    return {
        "CreateTable": create,
        "UpdateTable": update,
        "DeleteTable": call(service.delete_table, "DatabaseName", "Name"),
        "BatchDeleteTable": call(service.delete_tables, "DatabaseName", "TablesToDelete", answer=errors),
    }


def _version_handlers(service: CatalogService) -> dict[str, Handler]:
    def get(request: Request, context: RequestContext) -> Response:
        table = service.table_version(request["DatabaseName"], request["TableName"], request.get("VersionId"))
        return {"TableVersion": _version_shape(table, context)}

    def get_all(request: Request, context: RequestContext) -> Response:
        page = service.table_versions_page(
            request["DatabaseName"],
            request["TableName"],
            limit=request.get("MaxResults") or _PAGE,
            token=request.get("NextToken"),
        )
        return paged(page, TableVersions=[_version_shape(version, context) for version in page.items])

    def remove_several(request: Request, _context: RequestContext) -> Response:
        name = request["TableName"]
        failed = service.delete_table_versions(request["DatabaseName"], name, request["VersionIds"])
        return {
            "Errors": [
                {"TableName": name, "VersionId": version, "ErrorDetail": error_detail(error)} for version, error in failed
            ]
        }

    return {
        "GetTableVersion": get,
        "GetTableVersions": get_all,
        "DeleteTableVersion": call(service.delete_table_version, "DatabaseName", "TableName", "VersionId"),
        "BatchDeleteTableVersion": remove_several,
    }


def _search(request: Request) -> TableSearch:
    criteria = request.get("SortCriteria") or [{}]
    return TableSearch(
        text=request.get("SearchText"),
        predicates=[
            Predicate(key=filter_["Key"], value=filter_.get("Value", ""), comparator=filter_.get("Comparator", "EQUALS"))
            for filter_ in request.get("Filters") or ()
            if filter_.get("Key")
        ],
        sort_by=criteria[0].get("FieldName"),
        descending=criteria[0].get("Sort") == "DESC",
    )


def _version_shape(table: Table, context: RequestContext) -> dict[str, Any]:
    return {"Table": table_shape(table, context.account), "VersionId": table.version_id}


def _table_of(request: Request) -> TableInput:
    shape: Request | None = request.get("TableInput")
    if shape is None:
        raise InvalidInput("TableInput is missing.", remedy="Describe the table in TableInput.")
    return table_input(shape)


def _chosen(shapes: Sequence[dict[str, Any]], request: Request, members: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
    """Return ``shapes`` with only the members that AttributesToGet asks for; names always stay."""
    attributes = request.get("AttributesToGet")
    if attributes and "LATEST_ICEBERG_METADATA" in attributes:
        raise InvalidInput(
            "AttributesToGet LATEST_ICEBERG_METADATA is not served.", remedy="Read the table with an Iceberg client."
        )
    if not attributes or not set(attributes) <= set(members):
        return shapes
    names = {"Name", "DatabaseName", *(members[attribute] for attribute in attributes)}
    return [{name: value for name, value in shape.items() if name in names} for shape in shapes]
