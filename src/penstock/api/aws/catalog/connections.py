"""Glue's operations on connections."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from penstock.api.aws.catalog.operations import own_catalog
from penstock.api.aws.catalog.shapes import error_detail
from penstock.api.aws.protocol.handlers import call, paged
from penstock.api.aws.protocol.operations import Handler, OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.catalog.connections import Connection, ConnectionService, without_passwords
from penstock.errors import PenstockError

__all__ = ["operations"]

_PAGE = 100
_EPOCH = datetime.fromtimestamp(0, UTC)


def operations(service: ConnectionService) -> OperationSet:
    """Return every operation of Glue on connections that ``service`` answers."""

    def create(request: Request, context: RequestContext) -> Response:
        service.create(replace(_connection(request, context), tags=request.get("Tags") or {}))
        return {"CreateConnectionStatus": "READY"}

    def get(request: Request, _context: RequestContext) -> Response:
        return {"Connection": _shape(service.get(request["Name"]), request)}

    def list_all(request: Request, _context: RequestContext) -> Response:
        page = service.page(limit=request.get("MaxResults") or _PAGE, token=request.get("NextToken"))
        criteria = request.get("Filter") or {}
        matches = [connection for connection in page.items if _matches(connection, criteria)]
        return paged(page, ConnectionList=[_shape(connection, request) for connection in matches])

    def delete_several(request: Request, _context: RequestContext) -> Response:
        deleted: list[str] = []
        failed: dict[str, Any] = {}
        for name in dict.fromkeys(request["ConnectionNameList"]):
            try:
                service.delete(name)
                deleted.append(name)
            except PenstockError as error:
                failed[name] = error_detail(error)
        return {"Succeeded": deleted, "Errors": failed}

    handlers: dict[str, Handler] = {
        "CreateConnection": create,
        "GetConnection": get,
        "GetConnections": list_all,
        "UpdateConnection": call(service.update, "Name", _connection),
        "DeleteConnection": call(service.delete, "ConnectionName"),
        "BatchDeleteConnection": delete_several,
    }
    return OperationSet(service="glue", handlers={name: own_catalog(handler) for name, handler in handlers.items()})


def _connection(request: Request, context: RequestContext) -> Connection:
    shape = request["ConnectionInput"]
    return Connection(
        name=shape["Name"],
        type=shape["ConnectionType"],
        properties=dict(shape["ConnectionProperties"]),
        description=shape.get("Description"),
        match_criteria=tuple(shape.get("MatchCriteria") or ()),
        place=shape.get("PhysicalConnectionRequirements"),
        created=_EPOCH,
        updated=_EPOCH,
        updated_by=context.principal,
    )


def _matches(connection: Connection, criteria: Request) -> bool:
    return (
        criteria.get("ConnectionSchemaVersion") in {None, 1}
        and criteria.get("ConnectionType") in {None, connection.type}
        and set(criteria.get("MatchCriteria") or ()) <= set(connection.match_criteria)
    )


def _shape(connection: Connection, request: Request) -> dict[str, Any]:
    shown = without_passwords(connection) if request.get("HidePassword") else connection
    return {
        "Name": shown.name,
        "Description": shown.description,
        "ConnectionType": shown.type,
        "MatchCriteria": list(shown.match_criteria) or None,
        "ConnectionProperties": dict(shown.properties),
        "PhysicalConnectionRequirements": shown.place,
        "CreationTime": shown.created,
        "LastUpdatedTime": shown.updated,
        "LastUpdatedBy": shown.updated_by or None,
        "Status": "READY",
        "ConnectionSchemaVersion": 1,
    }
