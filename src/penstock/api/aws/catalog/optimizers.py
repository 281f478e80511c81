"""Glue's operations on table optimizers."""

from typing import Any

from penstock.api.aws.catalog.shapes import error_detail
from penstock.api.aws.protocol.handlers import call
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.catalog.details import Body
from penstock.catalog.model import Table
from penstock.catalog.service import CatalogService
from penstock.errors import NotFound, PenstockError

__all__ = ["optimizer_handlers"]


def optimizer_handlers(service: CatalogService) -> dict[str, Handler]:
    """Return the handlers by operation name."""
    optimizers = service.optimizers

    def table_of(request: Request, _context: RequestContext) -> Table:
        return service.table(request["DatabaseName"], request["TableName"])

    def get(request: Request, context: RequestContext) -> Response:
        table, optimizer_type = table_of(request, context), request["Type"]
        return {
            **_named(table, request["CatalogId"]),
            "TableOptimizer": _shape(optimizer_type, optimizers.get(table, optimizer_type)),
        }

    def runs(request: Request, context: RequestContext) -> Response:
        table = table_of(request, context)
        optimizers.get(table, request["Type"])
        # Penstock runs none by itself.
        return {**_named(table, request["CatalogId"]), "TableOptimizerRuns": []}

    return {
        "CreateTableOptimizer": call(optimizers.create, table_of, "Type", "TableOptimizerConfiguration"),
        "GetTableOptimizer": get,
        "UpdateTableOptimizer": call(optimizers.update, table_of, "Type", "TableOptimizerConfiguration"),
        "DeleteTableOptimizer": call(optimizers.delete, table_of, "Type"),
        "ListTableOptimizerRuns": runs,
        "BatchGetTableOptimizer": _several(service),
    }


def _several(service: CatalogService) -> Handler:
    def one(entry: Request, context: RequestContext) -> dict[str, Any]:
        if entry.get("catalogId", context.account) != context.account:
            raise NotFound(f"Catalog {entry['catalogId']} not found.")
        table = service.table(entry.get("databaseName", ""), entry.get("tableName", ""))
        optimizer_type = entry.get("type", "")
        return _shape(optimizer_type, service.optimizers.get(table, optimizer_type))

    def get_several(request: Request, context: RequestContext) -> Response:
        optimizers: list[dict[str, Any]] = []
        failed: list[dict[str, Any]] = []
        for entry in request["Entries"]:
            place = {name: entry.get(name) for name in ("catalogId", "databaseName", "tableName")}
            try:
                optimizers.append({**place, "tableOptimizer": one(entry, context)})
            except PenstockError as error:
                failed.append({**place, "type": entry.get("type"), "error": error_detail(error)})
        return {"TableOptimizers": optimizers, "Failures": failed}

    return get_several


def _named(table: Table, catalog: str) -> dict[str, Any]:
    return {"CatalogId": catalog, "DatabaseName": table.database, "TableName": table.name}


def _shape(optimizer_type: str, body: Body) -> dict[str, Any]:
    return {"type": optimizer_type, "configuration": dict(body), "configurationSource": "table"}
