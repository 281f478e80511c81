"""Athena's operations on data catalogs: further names of the account's catalog."""

from collections.abc import Mapping
from typing import Any

from penstock.api.aws.athena.answers import page_arguments, pages, with_token
from penstock.api.aws.athena.tags import tags_of
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.statements.data_catalogs import DataCatalog, DataCatalogs
from penstock.statements.work_groups import PRIMARY, WorkGroups

__all__ = ["data_catalog_handlers"]

_STATE = {"Type": "GLUE", "Status": "CREATE_COMPLETE"}


def data_catalog_handlers(catalogs: DataCatalogs, groups: WorkGroups) -> Mapping[str, Handler]:
    """Return the handlers over ``catalogs``, by operation. A request's work group has to be one of ``groups``."""
    handlers = _DataCatalogs(catalogs, groups)
    return {
        "CreateDataCatalog": handlers.create,
        "DeleteDataCatalog": handlers.delete,
        "GetDataCatalog": handlers.get,
        "ListDataCatalogs": handlers.list,
        "UpdateDataCatalog": handlers.update,
    }


class _DataCatalogs:
    def __init__(self, catalogs: DataCatalogs, groups: WorkGroups) -> None:
        self._catalogs = catalogs
        self._groups = groups

    def create(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        catalog = self._catalogs.create(
            request["Name"],
            request["Type"],
            description=request.get("Description"),
            parameters=request.get("Parameters"),
            tags=tags_of(request),
        )
        return {"DataCatalog": _shape(catalog)}

    def get(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        self._groups.get(request.get("WorkGroup") or PRIMARY)
        return {"DataCatalog": _shape(self._catalogs.get(request["Name"]))}

    def list(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        self._groups.get(request.get("WorkGroup") or PRIMARY)
        with pages():
            page = self._catalogs.list(**page_arguments(request))
        return with_token(
            {"DataCatalogsSummary": [{"CatalogName": item.shown, **_STATE} for item in page.items]}, page.next_token
        )

    def update(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        self._catalogs.update(
            request["Name"],
            request["Type"],
            description=request.get("Description"),
            parameters=request.get("Parameters"),
        )
        return {}

    def delete(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        # DeleteCatalogOnly is about what a FEDERATED catalog made beside itself.
        return {"DataCatalog": _shape(self._catalogs.delete(request["Name"]))}


def _shape(catalog: DataCatalog) -> Mapping[str, Any]:
    described = {} if catalog.description is None else {"Description": catalog.description}
    return {"Name": catalog.shown, **_STATE, **described, "Parameters": dict(catalog.parameters)}
