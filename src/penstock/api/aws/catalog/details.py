"""Glue's operations on partition indexes, column statistics and user-defined functions."""

from collections.abc import Callable

from penstock.api.aws.catalog.shapes import error_detail
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.catalog.details import Body
from penstock.catalog.indexes import PartitionIndex
from penstock.catalog.model import Partition, Table
from penstock.catalog.service import CatalogService

__all__ = ["detail_handlers", "partition_index"]

_PAGE = 100  # CatalogGetterPageSize


def detail_handlers(service: CatalogService) -> dict[str, Handler]:
    """Return the handlers by operation name."""

    def of_table(request: Request) -> tuple[Table, None]:
        return service.table(request["DatabaseName"], request["TableName"]), None

    def of_partition(request: Request) -> tuple[Table, Partition]:
        place = request["DatabaseName"], request["TableName"]
        return service.table(*place), service.partition(*place, request["PartitionValues"])

    return {
        **_indexes(service),
        **_statistics(service, "ForTable", of_table),
        **_statistics(service, "ForPartition", of_partition),
        **_functions(service),
    }


def partition_index(shape: Request) -> PartitionIndex:
    """Return the index of a PartitionIndex shape."""
    return PartitionIndex(shape["IndexName"], tuple(shape["Keys"]))


def _indexes(service: CatalogService) -> dict[str, Handler]:
    def table_of(request: Request) -> Table:
        return service.table(request["DatabaseName"], request["TableName"])

    def create(request: Request, _context: RequestContext) -> Response:
        service.indexes.create(table_of(request), partition_index(request["PartitionIndex"]))
        return {}

    def get_all(request: Request, _context: RequestContext) -> Response:
        # A table has at most three, which is one page. They are active at once, because no index is built.
        indexes = [
            {
                "IndexName": name,
                "Keys": [{"Name": key.name, "Type": key.type or "string"} for key in keys],
                "IndexStatus": "ACTIVE",
            }
            for name, keys in service.indexes.list(table_of(request))
        ]
        return {"PartitionIndexDescriptorList": indexes}

    def remove(request: Request, _context: RequestContext) -> Response:
        service.indexes.delete(table_of(request), request["IndexName"])
        return {}

    return {"CreatePartitionIndex": create, "GetPartitionIndexes": get_all, "DeletePartitionIndex": remove}


def _statistics(
    service: CatalogService, suffix: str, home: Callable[[Request], tuple[Table, Partition | None]]
) -> dict[str, Handler]:
    def update(request: Request, _context: RequestContext) -> Response:
        table, partition = home(request)
        failed = service.statistics.put(table, request["ColumnStatisticsList"], partition=partition)
        return {"Errors": [{"ColumnStatistics": entry, "Error": error_detail(error)} for entry, error in failed]}

    def get(request: Request, _context: RequestContext) -> Response:
        table, partition = home(request)
        columns, missing = service.statistics.get(table, request["ColumnNames"], partition=partition)
        errors = [{"ColumnName": name, "Error": error_detail(error)} for name, error in missing]
        return {"ColumnStatisticsList": list(columns), "Errors": errors}

    def remove(request: Request, _context: RequestContext) -> Response:
        table, partition = home(request)
        service.statistics.delete(table, request["ColumnName"], partition=partition)
        return {}

    return {
        f"UpdateColumnStatistics{suffix}": update,
        f"GetColumnStatistics{suffix}": get,
        f"DeleteColumnStatistics{suffix}": remove,
    }


def _functions(service: CatalogService) -> dict[str, Handler]:
    functions = service.functions

    def create(request: Request, _context: RequestContext) -> Response:
        functions.create(request["DatabaseName"], request["FunctionInput"])
        return {}

    def get(request: Request, context: RequestContext) -> Response:
        database = request["DatabaseName"].lower()
        function = functions.get(database, request["FunctionName"])
        return {"UserDefinedFunction": _function(database, function, context)}

    def get_all(request: Request, context: RequestContext) -> Response:
        functions_page = functions.page(
            request["Pattern"],
            limit=request.get("MaxResults") or _PAGE,
            database=request.get("DatabaseName"),
            kind=request.get("FunctionType"),
            token=request.get("NextToken"),
        )
        shapes = [_function(database, body, context) for database, body in functions_page.items]
        return {"UserDefinedFunctions": shapes, "NextToken": functions_page.next_token}

    def update(request: Request, _context: RequestContext) -> Response:
        functions.update(request["DatabaseName"], request["FunctionName"], request["FunctionInput"])
        return {}

    def remove(request: Request, _context: RequestContext) -> Response:
        functions.delete(request["DatabaseName"], request["FunctionName"])
        return {}

    return {
        "CreateUserDefinedFunction": create,
        "GetUserDefinedFunction": get,
        "GetUserDefinedFunctions": get_all,
        "UpdateUserDefinedFunction": update,
        "DeleteUserDefinedFunction": remove,
    }


def _function(database: str, body: Body, context: RequestContext) -> Response:
    return {**body, "DatabaseName": database, "CatalogId": context.account}
