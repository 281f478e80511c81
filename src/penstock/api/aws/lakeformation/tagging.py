"""Lake Formation's operations on LF-tags: the tags, what they are assigned to, expressions, searches by them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from penstock.api.aws.catalog.shapes import database_shape, table_shape
from penstock.api.aws.protocol.handlers import call
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.catalog.service import CatalogService
from penstock.errors import PenstockError
from penstock.lakeformation.errors import InvalidRequest
from penstock.lakeformation.resources import canonical, check_own, kind_of
from penstock.lakeformation.service import LakeFormation
from penstock.lakeformation.tags import Assignments, LfTags, matches

__all__ = ["tag_handlers"]

_EXPRESSION = "expression"


def tag_handlers(service: LakeFormation, catalog: CatalogService) -> dict[str, Handler]:
    """Return the handlers."""
    return {**_tags(service), **_assignments(service, catalog), **_expressions(service), **_searches(service, catalog)}


def _tags(service: LakeFormation) -> dict[str, Handler]:
    tags = service.tags

    def get(request: Request, _context: RequestContext) -> Response:
        return _pair(service, request["TagKey"].lower(), tags.get(request["TagKey"]))

    def list_all(_request: Request, _context: RequestContext) -> Response:
        return {"LFTags": [_pair(service, key, values) for key, values in tags.list()]}

    def update(request: Request, _context: RequestContext) -> Response:
        added, removed = request.get("TagValuesToAdd") or (), request.get("TagValuesToDelete") or ()
        tags.update(request["TagKey"], add=added, remove=removed)
        service.forget_snapshot()
        return {}

    def delete(request: Request, _context: RequestContext) -> Response:
        tags.delete(request["TagKey"])
        service.forget_snapshot()
        return {}

    return {
        "CreateLFTag": call(tags.create, "TagKey", "TagValues"),
        "GetLFTag": get,
        "ListLFTags": list_all,
        "UpdateLFTag": update,
        "DeleteLFTag": delete,
    }


def _assignments(service: LakeFormation, catalog: CatalogService) -> dict[str, Handler]:
    tags = service.tags

    def add(request: Request, _context: RequestContext) -> Response:
        failures = []
        for place in _places(service, catalog, request["Resource"]):
            for pair in request["LFTags"]:
                check_own(pair, service.account)
                if len(pair["TagValues"]) != 1:
                    raise InvalidRequest(f"A resource has one value of LF-tag {pair['TagKey']}.")
                try:
                    tags.assign(place, {pair["TagKey"].lower(): pair["TagValues"][0].lower()})
                except PenstockError as error:
                    shown = {"CatalogId": service.account, **pair}
                    failures.append({"LFTag": shown, "Error": {"ErrorCode": error.aws_code, "ErrorMessage": str(error)}})
        service.forget_snapshot()
        return {"Failures": failures}

    def remove(request: Request, _context: RequestContext) -> Response:
        for place in _places(service, catalog, request["Resource"]):
            tags.unassign(place, [pair["TagKey"] for pair in request["LFTags"]])
        service.forget_snapshot()
        return {"Failures": []}

    def get(request: Request, _context: RequestContext) -> Response:
        resource = canonical(request["Resource"], service.account)
        places = _places(service, catalog, request["Resource"])
        assigned = tags.assignments()
        if kind_of(resource) == "Database":
            return _without_empty(LFTagOnDatabase=_pairs(service, assigned.database(places[0])))
        shape = next(iter(resource.values()))
        database, table = shape["DatabaseName"], shape["Name"]
        columns = shape.get("ColumnNames") or _columns(catalog, database, table)
        return _table_tags(service, assigned, database, table, columns)

    return {"AddLFTagsToResource": add, "RemoveLFTagsFromResource": remove, "GetResourceLFTags": get}


def _expressions(service: LakeFormation) -> dict[str, Handler]:
    def put(request: Request, *, new: bool) -> Response:
        document = {"Expression": _expression(service, request), "Description": request.get("Description", "")}
        service.put_named(_EXPRESSION, request["Name"], document, new=new)
        return {}

    def get(request: Request, _context: RequestContext) -> Response:
        return _shown_expression(service, request["Name"], service.get_named(_EXPRESSION, request["Name"]))

    def list_all(_request: Request, _context: RequestContext) -> Response:
        return {"LFTagExpressions": [_shown_expression(service, *pair) for pair in service.named(_EXPRESSION)]}

    return {
        "CreateLFTagExpression": lambda request, _context: put(request, new=True),
        "UpdateLFTagExpression": lambda request, _context: put(request, new=False),
        "GetLFTagExpression": get,
        "ListLFTagExpressions": list_all,
        "DeleteLFTagExpression": call(partial(service.delete_named, _EXPRESSION), "Name"),
    }


def _searches(service: LakeFormation, catalog: CatalogService) -> dict[str, Handler]:
    def databases(request: Request, context: RequestContext) -> Response:
        expression, assigned = _expression(service, request), service.tags.assignments()
        answers = []
        for database in catalog.databases():
            tags = assigned.database(database.name)
            if matches(expression, tags):
                shape = database_shape(database, context.account)
                answers.append({"Database": shape, **_without_empty(LFTags=_pairs(service, tags))})
        return {"DatabaseList": answers}

    def tables(request: Request, context: RequestContext) -> Response:
        expression, assigned = _expression(service, request), service.tags.assignments()
        answers = []
        for database in catalog.databases():
            for table in catalog.tables(database.name):
                if matches(expression, assigned.table(database.name, table.name)):
                    columns = [column.name.lower() for column in table.storage.columns]
                    tags = _table_tags(service, assigned, database.name, table.name, columns)
                    answers.append({"Table": table_shape(table, context.account), **tags})
        return {"TableList": answers}

    return {"SearchDatabasesByLFTags": databases, "SearchTablesByLFTags": tables}


def _expression(service: LakeFormation, request: Request) -> Sequence[Mapping[str, Any]]:
    """Return the expression of a request in its canonical form."""
    policy = {"LFTagPolicy": {"ResourceType": "TABLE", "Expression": request["Expression"]}}
    return canonical(policy, service.account)["LFTagPolicy"]["Expression"]  # type: ignore[no-any-return]


def _places(service: LakeFormation, catalog: CatalogService, resource: Mapping[str, Any]) -> Sequence[str]:
    """Return the keys of what ``resource`` names. Raises :class:`PenstockError` if the catalog does not have it."""
    target = canonical(resource, service.account)
    resource_type, shape = kind_of(target), next(iter(target.values()))
    if resource_type == "Database":
        catalog.database(shape["Name"])
        return [LfTags.place(shape["Name"])]
    if resource_type == "Table" and "Name" in shape:
        catalog.table(shape["DatabaseName"], shape["Name"])
        return [LfTags.place(shape["DatabaseName"], shape["Name"])]
    if resource_type == "TableWithColumns" and "ColumnNames" in shape:
        columns = _columns(catalog, shape["DatabaseName"], shape["Name"])
        unknown = sorted(set(shape["ColumnNames"]) - set(columns))
        if unknown:
            raise InvalidRequest(f"Table {shape['DatabaseName']}.{shape['Name']} has no column {unknown[0]}.")
        return [LfTags.place(shape["DatabaseName"], shape["Name"], column) for column in shape["ColumnNames"]]
    raise InvalidRequest("LF-tags are on databases, named tables and named columns.")


def _columns(catalog: CatalogService, database: str, table: str) -> list[str]:
    stored = catalog.table(database, table)
    return [column.name.lower() for column in (*stored.storage.columns, *stored.partition_keys)]


def _table_tags(
    service: LakeFormation, assigned: Assignments, database: str, table: str, columns: Sequence[str]
) -> dict[str, Any]:
    on_columns = [(column, _pairs(service, assigned.column(database, table, column))) for column in columns]
    return _without_empty(
        LFTagOnDatabase=_pairs(service, assigned.database(database)),
        LFTagsOnTable=_pairs(service, assigned.table(database, table)),
        LFTagsOnColumns=[{"Name": column, "LFTags": pairs} for column, pairs in on_columns if pairs],
    )


def _without_empty(**lists: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the lists that have members: AWS leaves the others out of its answer."""
    return {name: list_ for name, list_ in lists.items() if list_}


def _pair(service: LakeFormation, key: str, values: Sequence[str]) -> dict[str, Any]:
    return {"CatalogId": service.account, "TagKey": key, "TagValues": list(values)}


def _pairs(service: LakeFormation, tags: Mapping[str, str]) -> list[dict[str, Any]]:
    return [_pair(service, key, [value]) for key, value in sorted(tags.items())]


def _shown_expression(service: LakeFormation, name: str, document: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "Name": name,
        "Description": document.get("Description", ""),
        "CatalogId": service.account,
        "Expression": [_pair(service, pair["TagKey"], pair["TagValues"]) for pair in document["Expression"]],
    }
