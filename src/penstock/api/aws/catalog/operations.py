"""Glue's operations on databases, tables and table versions; those on partitions are in :mod:`.catalog_partitions`."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.aws.catalog.account import account_handlers
from penstock.api.aws.catalog.details import detail_handlers, partition_index
from penstock.api.aws.catalog.iceberg import create_iceberg_table
from penstock.api.aws.catalog.optimizers import optimizer_handlers
from penstock.api.aws.catalog.partitions import partition_handlers
from penstock.api.aws.catalog.shapes import database_input, database_shape, error_detail, table_input, table_shape
from penstock.api.aws.protocol.operations import Handler, OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.catalog.model import Table
from penstock.catalog.service import CatalogService
from penstock.catalog.table_search import Predicate, TableSearch
from penstock.errors import InvalidInput, NotFound
from penstock.lake.iceberg.files import MetadataFiles

__all__ = ["operations", "own_catalog"]

_PAGE = 100  # CatalogGetterPageSize
_SHARED = frozenset({"FOREIGN", "FEDERATED"})  # there are no databases or tables shared by other accounts or sources
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
    def create(request: Request, _context: RequestContext) -> Response:
        service.create_database(database_input(request["DatabaseInput"]), tags=request.get("Tags"))
        return {}

    def get(request: Request, context: RequestContext) -> Response:
        return {"Database": database_shape(service.database(request["Name"]), context.account)}

    def get_all(request: Request, context: RequestContext) -> Response:
        if request.get("ResourceShareType") in _SHARED:
            return {"DatabaseList": []}
        page = service.databases_page(limit=request.get("MaxResults") or _PAGE, token=request.get("NextToken"))
        shapes = [database_shape(item, context.account) for item in page.items]
        return _page(
            "DatabaseList", _chosen(shapes, request, {"NAME": "Name", "TARGET_DATABASE": "TargetDatabase"}), page.next_token
        )

    def update(request: Request, _context: RequestContext) -> Response:
        service.update_database(request["Name"], database_input(request["DatabaseInput"]))
        return {}

    def remove(request: Request, _context: RequestContext) -> Response:
        service.delete_database(request["Name"])
        return {}

    return {
        "CreateDatabase": create,
        "GetDatabase": get,
        "GetDatabases": get_all,
        "UpdateDatabase": update,
        "DeleteDatabase": remove,
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
        shapes = [table_shape(item, context.account) for item in page.items]
        return _page("TableList", _chosen(shapes, request, _TABLE_ATTRIBUTES), page.next_token)

    def search(request: Request, context: RequestContext) -> Response:
        if request.get("ResourceShareType") in _SHARED:
            return {"TableList": []}
        page = service.search_page(
            _search(request), limit=request.get("MaxResults") or _PAGE, token=request.get("NextToken")
        )
        return _page("TableList", [table_shape(item, context.account) for item in page.items], page.next_token)

    return {"GetTable": get, "GetTables": get_all, "SearchTables": search}


def _table_writers(service: CatalogService, files: MetadataFiles | None) -> dict[str, Handler]:
    def create(request: Request, context: RequestContext) -> Response:
        if request.get("OpenTableFormatInput") is not None:
            create_iceberg_table(service, files, request, context)
            return {}
        indexes = [partition_index(index) for index in request.get("PartitionIndexes") or ()]
        service.create_table(request["DatabaseName"], table_input(_given_table(request)), indexes=indexes)
        return {}

    def update(request: Request, _context: RequestContext) -> Response:
        wanted = table_input(_given_table(request))
        name = request.get("Name", wanted.name)
        if name.lower() != wanted.name.lower():
            raise InvalidInput(
                f"Table {request['DatabaseName']}.{name} cannot be renamed to {wanted.name}.",
                remedy=f"Create {wanted.name}, and delete {name}.",
            )
        service.update_table(
            request["DatabaseName"],
            wanted,
            version=request.get("VersionId"),
            skip_archive=bool(request.get("SkipArchive")),
        )
        return {}

    def remove(request: Request, _context: RequestContext) -> Response:
        service.delete_table(request["DatabaseName"], request["Name"])
        return {}

    def remove_several(request: Request, _context: RequestContext) -> Response:
        failed = service.delete_tables(request["DatabaseName"], request["TablesToDelete"])
        return {"Errors": [{"TableName": name, "ErrorDetail": error_detail(error)} for name, error in failed]}

    return {
        "CreateTable": create,
        "UpdateTable": update,
        "DeleteTable": remove,
        "BatchDeleteTable": remove_several,
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
        return _page("TableVersions", [_version_shape(item, context) for item in page.items], page.next_token)

    def remove(request: Request, _context: RequestContext) -> Response:
        service.delete_table_version(request["DatabaseName"], request["TableName"], request["VersionId"])
        return {}

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
        "DeleteTableVersion": remove,
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


def _given_table(request: Request) -> Request:
    table: Request | None = request.get("TableInput")
    if table is None:
        raise InvalidInput("TableInput is missing.", remedy="Describe the table in TableInput.")
    return table


def _chosen(shapes: Sequence[dict[str, Any]], request: Request, members: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
    """Return ``shapes`` with only the members that AttributesToGet asks for; names always stay."""
    wanted = request.get("AttributesToGet")
    if wanted and "LATEST_ICEBERG_METADATA" in wanted:
        raise InvalidInput(
            "AttributesToGet LATEST_ICEBERG_METADATA is not served.", remedy="Read the table with an Iceberg client."
        )
    if not wanted or not set(wanted) <= set(members):
        return shapes
    names = {"Name", "DatabaseName", *(members[item] for item in wanted)}
    return [{name: value for name, value in shape.items() if name in names} for shape in shapes]


def _page(member: str, shapes: Sequence[Mapping[str, Any]], token: str | None) -> Response:
    return {member: shapes, "NextToken": token} if token else {member: shapes}
