"""Glue's operations on partition indexes, column statistics and user-defined functions."""

from collections.abc import Callable, Sequence

from penstock.api.aws.catalog.shapes import error_detail
from penstock.api.aws.protocol.handlers import call, member, under
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.catalog.details import Body
from penstock.catalog.indexes import PartitionIndex
from penstock.catalog.model import Column, Partition, Table
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
    indexes = service.indexes

    def table(request: Request, _context: RequestContext) -> Table:
        return service.table(request["DatabaseName"], request["TableName"])

    def index_shape(index: tuple[str, Sequence[Column]]) -> Response:
        # Active at once, because no index is built.
        name, keys = index
        columns = [{"Name": key.name, "Type": key.type or "string"} for key in keys]
        return {"IndexName": name, "Keys": columns, "IndexStatus": "ACTIVE"}

    # A table has at most three, which is one page.
    answer = under("PartitionIndexDescriptorList", lambda stored: [index_shape(index) for index in stored])
    return {
        "CreatePartitionIndex": call(indexes.create, table, member("PartitionIndex", partition_index)),
        "GetPartitionIndexes": call(indexes.list, table, answer=answer),
        "DeletePartitionIndex": call(indexes.delete, table, "IndexName"),
    }


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

    return {
        "CreateUserDefinedFunction": call(functions.create, "DatabaseName", "FunctionInput"),
        "GetUserDefinedFunction": get,
        "GetUserDefinedFunctions": get_all,
        "UpdateUserDefinedFunction": call(functions.update, "DatabaseName", "FunctionName", "FunctionInput"),
        "DeleteUserDefinedFunction": call(functions.delete, "DatabaseName", "FunctionName"),
    }


def _function(database: str, body: Body, context: RequestContext) -> Response:
    return {**body, "DatabaseName": database, "CatalogId": context.account}
