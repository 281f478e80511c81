"""Lake Formation's operations on data cell filters."""

from collections.abc import Mapping
from typing import Any

from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.catalog.service import CatalogService
from penstock.lakeformation.errors import InvalidRequest
from penstock.lakeformation.resources import check_own
from penstock.lakeformation.service import LakeFormation

__all__ = ["filter_handlers"]

_MAX_CONDITION = 2_048


def filter_handlers(service: LakeFormation, catalog: CatalogService) -> dict[str, Handler]:
    """Return the handlers."""

    def create(request: Request, _context: RequestContext) -> Response:
        check_own(request["TableData"], service.account)
        service.put_filter(_document(request["TableData"], catalog), new=True)
        return {}

    def update(request: Request, _context: RequestContext) -> Response:
        data = request["TableData"]
        check_own(data, service.account)
        service.put_filter(_document(data, catalog), new=False, version=data.get("VersionId"))
        return {}

    def get(request: Request, _context: RequestContext) -> Response:
        check_own(request, service.account)
        data_filter = service.get_filter(request["DatabaseName"], request["TableName"], request["Name"])
        return {"DataCellsFilter": _shown(data_filter, service.account)}

    def delete(request: Request, _context: RequestContext) -> Response:
        check_own(request, service.account)
        missing = [name for name in ("DatabaseName", "TableName", "Name") if not request.get(name)]
        if missing:
            raise InvalidRequest(f"DeleteDataCellsFilter needs {', '.join(missing)}.")
        service.delete_filter(request["DatabaseName"], request["TableName"], request["Name"])
        return {}

    def list_all(request: Request, _context: RequestContext) -> Response:
        table = request.get("Table") or {}
        check_own(table, service.account)
        database, name = table.get("DatabaseName", "").lower(), (table.get("Name") or "").lower()
        filters = [
            _shown(filter_, service.account)
            for filter_ in service.filters()
            if database in {"", filter_["DatabaseName"]} and name in {"", filter_["TableName"]}
        ]
        return {"DataCellsFilters": filters}

    return {
        "CreateDataCellsFilter": create,
        "UpdateDataCellsFilter": update,
        "GetDataCellsFilter": get,
        "DeleteDataCellsFilter": delete,
        "ListDataCellsFilter": list_all,
    }


def _document(data: Mapping[str, Any], catalog: CatalogService) -> dict[str, Any]:
    """Return the filter to store. Raises :class:`InvalidRequest` unless it says which columns and which rows."""
    table = catalog.table(data["DatabaseName"], data["TableName"])
    columns = {column.name.lower() for column in (*table.storage.columns, *table.partition_keys)}
    document: dict[str, Any] = {"DatabaseName": table.database, "TableName": table.name, "Name": data["Name"]}
    names, wildcard = data.get("ColumnNames"), data.get("ColumnWildcard")
    if names and wildcard is None:
        document["ColumnNames"] = sorted({name.lower() for name in names})
    elif wildcard is not None and not names:
        document["ColumnWildcard"] = {
            "ExcludedColumnNames": sorted(
                excluded_column_name.lower() for excluded_column_name in wildcard.get("ExcludedColumnNames") or ()
            )
        }
    else:
        raise InvalidRequest("A filter has ColumnNames or ColumnWildcard.")
    chosen = document.get("ColumnNames") or document.get("ColumnWildcard", {}).get("ExcludedColumnNames", ())
    unknown = sorted(set(chosen) - columns)
    if unknown:
        raise InvalidRequest(f"Table {table.database}.{table.name} has no column {unknown[0]}.")
    rows = data.get("RowFilter") or {}
    condition, every = rows.get("FilterExpression"), rows.get("AllRowsWildcard")
    if (not condition) == (every is None):
        raise InvalidRequest("RowFilter has FilterExpression or AllRowsWildcard.")
    if condition and condition.strip().lower() != "true":
        if len(condition) > _MAX_CONDITION:
            raise InvalidRequest(f"A FilterExpression has at most {_MAX_CONDITION} characters.")
        document["Row"] = condition
    return document


def _shown(document: Mapping[str, Any], account: str) -> dict[str, Any]:
    rows = {"FilterExpression": document["Row"]} if document.get("Row") else {"AllRowsWildcard": {}}
    columns = {name: document[name] for name in ("ColumnNames", "ColumnWildcard") if name in document}
    identity = {name: document[name] for name in ("DatabaseName", "TableName", "Name", "VersionId")}
    return {"TableCatalogId": account, **identity, "RowFilter": rows, **columns}
