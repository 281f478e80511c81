"""Glue's operations on connections."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from penstock.api.aws.catalog.operations import own_catalog
from penstock.api.aws.catalog.shapes import error_detail
from penstock.api.aws.protocol.operations import OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.catalog.connections import Connection, ConnectionService, without_passwords
from penstock.errors import PenstockError

__all__ = ["operations"]

_PAGE = 100
_EPOCH = datetime.fromtimestamp(0, UTC)


def operations(service: ConnectionService) -> OperationSet:
    """Return every operation of Glue on connections that ``service`` answers."""
    handlers = _Handlers(service)
    named = {
        "CreateConnection": handlers.create,
        "GetConnection": handlers.get,
        "GetConnections": handlers.list,
        "UpdateConnection": handlers.update,
        "DeleteConnection": handlers.delete,
        "BatchDeleteConnection": handlers.delete_several,
    }
    return OperationSet(service="glue", handlers={name: own_catalog(item) for name, item in named.items()})


class _Handlers:
    def __init__(self, service: ConnectionService) -> None:
        self._service = service

    def create(self, request: Request, context: RequestContext) -> Response:
        wanted = _wanted(request["ConnectionInput"], context)
        self._service.create(replace(wanted, tags=request.get("Tags") or {}))
        return {"CreateConnectionStatus": "READY"}

    def get(self, request: Request, _context: RequestContext) -> Response:
        return {"Connection": _shape(self._service.get(request["Name"]), request)}

    def list(self, request: Request, _context: RequestContext) -> Response:
        page = self._service.page(limit=request.get("MaxResults") or _PAGE, token=request.get("NextToken"))
        wanted = request.get("Filter") or {}
        connections = [item for item in page.items if _matches(item, wanted)]
        token = {"NextToken": page.next_token} if page.next_token else {}
        return {"ConnectionList": [_shape(connection, request) for connection in connections], **token}

    def update(self, request: Request, context: RequestContext) -> Response:
        self._service.update(request["Name"], _wanted(request["ConnectionInput"], context))
        return {}

    def delete(self, request: Request, _context: RequestContext) -> Response:
        self._service.delete(request["ConnectionName"])
        return {}

    def delete_several(self, request: Request, _context: RequestContext) -> Response:
        deleted: list[str] = []
        failed: dict[str, Any] = {}
        for name in dict.fromkeys(request["ConnectionNameList"]):
            try:
                self._service.delete(name)
                deleted.append(name)
            except PenstockError as error:
                failed[name] = error_detail(error)
        return {"Succeeded": deleted, "Errors": failed}


def _wanted(shape: Request, context: RequestContext) -> Connection:
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


def _matches(connection: Connection, wanted: Request) -> bool:
    connection_type, criteria = wanted.get("ConnectionType"), wanted.get("MatchCriteria") or ()
    if wanted.get("ConnectionSchemaVersion") not in {None, 1}:
        return False
    return (connection_type is None or connection_type == connection.type) and set(criteria) <= set(
        connection.match_criteria
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
