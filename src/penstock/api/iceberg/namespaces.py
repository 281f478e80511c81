"""Namespaces are databases of the catalog: one level, names in lower case.

A database's location and description are the properties ``location`` and ``comment``, as in Iceberg's Java GlueCatalog.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.api.iceberg.call import Answer, Call, level, no_content
from penstock.api.iceberg.errors import Unprocessable
from penstock.api.iceberg.routes import PREFIX, Route
from penstock.catalog.model import Database, DatabaseInput
from penstock.errors import InvalidInput
from penstock.lake.iceberg.documents import texts

__all__ = ["properties_of", "routes"]

_LOCATION = "location"
_COMMENT = "comment"


def routes() -> list[Route]:
    """Return the routes of namespaces."""
    all_of, one = f"{PREFIX}/namespaces", f"{PREFIX}/namespaces/{{namespace}}"
    return [
        Route(method="GET", path=all_of, name="ListNamespaces", handler=_list),
        Route(method="POST", path=all_of, name="CreateNamespace", handler=_create, changes=True),
        Route(method="GET", path=one, name="LoadNamespace", handler=_load),
        Route(method="HEAD", path=one, name="NamespaceExists", handler=_exists),
        Route(method="DELETE", path=one, name="DropNamespace", handler=_drop, changes=True),
        Route(method="POST", path=f"{one}/properties", name="UpdateNamespace", handler=_update, changes=True),
    ]


def properties_of(database: Database) -> dict[str, str]:
    """Return a database's properties as Iceberg's clients see them."""
    properties = dict(database.parameters)
    if database.location_uri is not None:
        properties[_LOCATION] = database.location_uri
    if database.description is not None:
        properties[_COMMENT] = database.description
    return properties


def _list(call: Call) -> Answer:
    parent = call.parameter("parent")
    if parent:
        inner = replace(call, parts={"namespace": parent})
        call.access.check("GetDatabase", {"Name": inner.database})
        call.tables.database(inner.database)
        return Answer({"namespaces": []})
    call.access.check("GetDatabases", {})
    names: list[list[str]] = []
    token = call.parameter("pageToken")
    paged = call.has_parameter("pageToken") or call.has_parameter("pageSize")
    while True:
        page = call.tables.databases_page(limit=call.page_size(), token=token)
        shown = (database.name for database in page.items if call.access.is_visible("GetDatabases", {"Name": database.name}))
        names.extend([name] for name in shown)
        token = page.next_token
        if paged or token is None:
            break
    return Answer({"namespaces": names, "next-page-token": token})


def _create(call: Call) -> Answer:
    name = level(call.document.get("namespace"))
    properties = texts(call.document, "properties", "the namespace") if call.document.get("properties") else {}
    new = _input(name, properties)
    call.access.check("CreateDatabase", {"DatabaseInput": {"Name": name, **_located(properties)}})
    _check_location(call, properties)
    created = call.tables.create_database(new)
    call.lake_formation.created(name, None, by=call.caller.arn_for_policies)
    return Answer({"namespace": [created.name], "properties": properties_of(created)})


def _load(call: Call) -> Answer:
    call.access.check("GetDatabase", {"Name": call.database})
    database = call.tables.database(call.database)
    return Answer({"namespace": [database.name], "properties": properties_of(database)})


def _exists(call: Call) -> Answer:
    _load(call)
    return no_content()


def _drop(call: Call) -> Answer:
    call.access.check("DeleteDatabase", {"Name": call.database})
    call.tables.delete_database(call.database, empty=True)
    call.lake_formation.deleted(call.database, None)
    return no_content()


def _update(call: Call) -> Answer:
    name = call.database
    removals = call.document.get("removals") or []
    updates = texts(call.document, "updates", "the request") if call.document.get("updates") else {}
    if not isinstance(removals, list) or not all(isinstance(removal, str) for removal in removals):
        raise InvalidInput("'removals' is not a list of strings.")
    both = sorted(set(removals) & set(updates))
    if both:
        raise Unprocessable(f"Cannot update and remove the same properties: {', '.join(both)[:200]}")
    call.access.check("UpdateDatabase", {"Name": name, "DatabaseInput": {"Name": name, **_located(updates)}})
    _check_location(call, updates)
    changes: dict[str, list[str]] = {"updated": sorted(updates), "removed": [], "missing": []}

    def change(old: Database) -> Database:
        current = properties_of(old)
        # Assigned, not appended: a store may call this again.
        changes["removed"] = sorted(set(removals) & set(current))
        changes["missing"] = sorted(set(removals) - set(current))
        properties = {key: value for key, value in current.items() if key not in removals}
        new = _input(name, {**properties, **updates})
        return replace(old, description=new.description, location_uri=new.location_uri, parameters=new.parameters)

    call.tables.change_database(name, change)
    return Answer(changes)


def _input(name: str, properties: Mapping[str, str]) -> DatabaseInput:
    parameters = {key: value for key, value in properties.items() if key not in {_LOCATION, _COMMENT}}
    return DatabaseInput(
        name=name, description=properties.get(_COMMENT), location_uri=properties.get(_LOCATION), parameters=parameters
    )


def _located(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"LocationUri": properties[_LOCATION]} if _LOCATION in properties else {}


def _check_location(call: Call, properties: Mapping[str, Any]) -> None:
    if _LOCATION in properties:
        call.files.check(properties[_LOCATION])
