"""Athena's operations on data catalogs: further names of the account's catalog."""

from collections.abc import Mapping

from penstock.api.aws.athena.answers import page_arguments, pages
from penstock.api.aws.athena.tags import tags_of
from penstock.api.aws.protocol.handlers import call, member, paged, under
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, Response, present
from penstock.statements.data_catalogs import DataCatalog, DataCatalogs
from penstock.statements.work_groups import PRIMARY, WorkGroups

__all__ = ["data_catalog_handlers"]

_STATE = {"Type": "GLUE", "Status": "CREATE_COMPLETE"}


def data_catalog_handlers(catalogs: DataCatalogs, groups: WorkGroups) -> Mapping[str, Handler]:
    """Return the handlers over ``catalogs``, by operation. A request's work group has to be one of ``groups``."""

    def get(request: Request, _context: RequestContext) -> Response:
        groups.get(request.get("WorkGroup") or PRIMARY)
        return answer(catalogs.get(request["Name"]))

    def list_all(request: Request, _context: RequestContext) -> Response:
        groups.get(request.get("WorkGroup") or PRIMARY)
        with pages():
            page = catalogs.list(**page_arguments(request))
        return paged(page, DataCatalogsSummary=[{"CatalogName": row.shown, **_STATE} for row in page.items])

    answer = under("DataCatalog", _shape)
    description, parameters = member("Description", default=None), member("Parameters", default=None)
    return {
        "CreateDataCatalog": call(
            catalogs.create,
            "Name",
            "Type",
            description=description,
            parameters=parameters,
            tags=lambda request, _context: tags_of(request),
            answer=answer,
        ),
        # DeleteCatalogOnly is about what a FEDERATED catalog made beside itself.
        "DeleteDataCatalog": call(catalogs.delete, "Name", answer=answer),
        "GetDataCatalog": get,
        "ListDataCatalogs": list_all,
        "UpdateDataCatalog": call(catalogs.update, "Name", "Type", description=description, parameters=parameters),
    }


def _shape(catalog: DataCatalog) -> Response:
    parameters = dict(catalog.parameters)
    return present(Name=catalog.shown, **_STATE, Description=catalog.description, Parameters=parameters)
