"""Views: create, load, replace, list, rename, register, drop. In the catalog a view is a table of type VIRTUAL_VIEW.

Source: Iceberg's REST catalog specification.
"""

from functools import partial
from typing import Any

from penstock.api.iceberg.call import Answer, Call, checked_name, no_content
from penstock.api.iceberg.commits import Plan, publish
from penstock.api.iceberg.lookup import (
    Loaded,
    check_location,
    existing_view,
    read_metadata,
    refuse_existing,
)
from penstock.api.iceberg.routes import PREFIX, Route
from penstock.api.iceberg.tables import creation, exists, list_tables, registered_document, rename
from penstock.catalog.model import Table
from penstock.catalog.tables import TableWrite
from penstock.lake.iceberg.documents import documents, member, text
from penstock.lake.iceberg.glue_tables import location_of, view_input
from penstock.lake.iceberg.view_metadata import apply_view_updates, check_view_requirements, new_view, read_view

__all__ = ["routes"]


def routes() -> list[Route]:
    """Return the routes of views."""
    home = f"{PREFIX}/namespaces/{{namespace}}"
    all_of, one = f"{home}/views", f"{home}/views/{{view}}"
    return [
        Route(method="GET", path=all_of, name="ListViews", handler=partial(list_tables, views=True)),
        Route(method="POST", path=all_of, name="CreateView", handler=_create, changes=True),
        Route(method="GET", path=one, name="LoadView", handler=_load),
        Route(method="HEAD", path=one, name="ViewExists", handler=partial(exists, views=True)),
        Route(method="POST", path=one, name="ReplaceView", handler=_replace, changes=True),
        Route(method="DELETE", path=one, name="DropView", handler=_drop, changes=True),
        Route(method="POST", path=f"{home}/register-view", name="RegisterView", handler=_register, changes=True),
        Route(
            method="POST",
            path=f"{PREFIX}/views/rename",
            name="RenameView",
            handler=partial(rename, views=True),
            changes=True,
        ),
    ]


def _create(call: Call) -> Answer:
    request = call.document
    name, location, properties = creation(call, view=True)
    view = new_view(
        member(request, "schema", "the request"),
        member(request, "view-version", "the request"),
        location=location,
        properties=properties,
    )
    [created] = publish(call, [lambda: _plan(call, call.database, name, view, None)])
    return _answer(created)


def _load(call: Call) -> Answer:
    call.access.check("GetTable", {"DatabaseName": call.database, "Name": call.table})
    return _answer(read_metadata(call, existing_view(call, call.database, call.table)))


def _replace(call: Call) -> Answer:
    request, database, name = call.document, call.database, call.table
    requirements = documents(request, "requirements", "the commit", default=())
    updates = documents(request, "updates", "the commit", default=())
    call.access.check("UpdateTable", {"DatabaseName": database, "TableInput": {"Name": name}})

    def plan() -> Plan:
        table = existing_view(call, database, name)
        loaded = read_metadata(call, table)
        base = read_view(loaded.document)
        check_view_requirements(requirements, base)
        changed = apply_view_updates(base, updates)
        if changed is None:
            return Plan(None, loaded)
        return _plan(call, database, name, changed, table)

    [replaced] = publish(call, [plan])
    return _answer(replaced)


def _drop(call: Call) -> Answer:
    database, name = call.database, call.table
    call.access.check("DeleteTable", {"DatabaseName": database, "Name": name})
    view = existing_view(call, database, name)
    call.change_tables([TableWrite(database=database, name=name, definition=None, version=view.version_id)])
    return no_content()


def _register(call: Call) -> Answer:
    request, database = call.document, call.database
    name = checked_name(request.get("name"), "name of the view")
    location = text(request, "metadata-location", "the request")
    call.access.check("CreateTable", {"DatabaseName": database, "TableInput": {"Name": name}})
    call.access.check_files("s3:GetObject", [location], (database, name))
    refuse_existing(call, database, name, view=True)
    view = read_view(registered_document(call, location))
    check_location(call, database, name, view["location"], new=True, metadata=location)
    call.change_tables([TableWrite(database=database, name=name, definition=view_input(name, view, location, None))])
    return _answer(Loaded(location, view))


def _plan(call: Call, database: str, name: str, view: dict[str, Any], current: Table | None) -> Plan:
    check_location(call, database, name, view["location"], new=current is None)
    call.access.check_files("s3:PutObject", [f"{view['location']}/metadata/new.metadata.json"], (database, name))
    location = call.files.write(view, previous=None if current is None else location_of(current))
    write = TableWrite(
        database=database,
        name=name,
        definition=view_input(name, view, location, current),
        version=None if current is None else current.version_id,
    )
    return Plan(write, Loaded(location, view))


def _answer(loaded: Loaded) -> Answer:
    return Answer({"metadata-location": loaded.location, "metadata": loaded.document, "config": {}})
