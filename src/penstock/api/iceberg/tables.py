"""Tables: create, load, commit, list, rename, register, drop; transactions over several of them.

Source: Iceberg's REST catalog specification.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from penstock.api.iceberg.call import Answer, Call, checked_name, identifier, no_content
from penstock.api.iceberg.commits import Change, commit, create_plan, publish
from penstock.api.iceberg.credentials import storage_of, table_credentials, table_locations
from penstock.api.iceberg.errors import UnknownPath
from penstock.api.iceberg.lookup import (
    check_location,
    default_location,
    existing_table,
    existing_view,
    find_table,
    kind_of,
    load,
    refuse_existing,
)
from penstock.api.iceberg.routes import PREFIX, Route
from penstock.catalog.errors import TableExists
from penstock.catalog.model import TableInput
from penstock.catalog.tables import TableWrite
from penstock.errors import AlreadyExists, InvalidInput, NotFound
from penstock.lake.iceberg.documents import documents, member, optional_text, text, texts
from penstock.lake.iceberg.errors import BadDocument
from penstock.lake.iceberg.glue_tables import is_table, is_view, location_of, table_input
from penstock.lake.iceberg.reachable import files_of, remove_files
from penstock.lake.iceberg.table_metadata import new_table, read_table, referenced_only, written

__all__ = ["creation", "exists", "list_tables", "registered_document", "rename", "routes"]

_MAX_CHANGES = 100
_REPORTS = {"scan-report", "commit-report"}


def routes() -> list[Route]:
    """Return the routes of tables."""
    home = f"{PREFIX}/namespaces/{{namespace}}"
    all_of, one = f"{home}/tables", f"{home}/tables/{{table}}"
    return [
        Route(method="GET", path=all_of, name="ListTables", handler=partial(list_tables, views=False)),
        Route(method="POST", path=all_of, name="CreateTable", handler=_create, changes=True),
        Route(method="GET", path=one, name="LoadTable", handler=_load),
        Route(method="HEAD", path=one, name="TableExists", handler=partial(exists, views=False)),
        Route(method="POST", path=one, name="UpdateTable", handler=_commit, changes=True),
        Route(method="DELETE", path=one, name="DropTable", handler=_drop, changes=True),
        Route(method="GET", path=f"{one}/credentials", name="LoadCredentials", handler=_credentials),
        Route(method="POST", path=f"{one}/metrics", name="ReportMetrics", handler=_report),
        Route(method="POST", path=f"{home}/register", name="RegisterTable", handler=_register, changes=True),
        Route(
            method="POST",
            path=f"{PREFIX}/tables/rename",
            name="RenameTable",
            handler=partial(rename, views=False),
            changes=True,
        ),
        Route(
            method="POST",
            path=f"{PREFIX}/transactions/commit",
            name="CommitTransaction",
            handler=_transaction,
            changes=True,
        ),
    ]


def list_tables(call: Call, *, views: bool) -> Answer:
    """Return the tables or views of a namespace that the caller may see; in pages if the client asks for them."""
    database = call.database
    call.access.check("GetTables", {"DatabaseName": database})
    is_listed = is_view if views else is_table
    identifiers: list[dict[str, Any]] = []
    token = call.parameter("pageToken")
    paged = call.has_parameter("pageToken") or call.has_parameter("pageSize")
    while True:
        page = call.tables.tables_page(database, limit=call.page_size(), token=token)
        for table in page.items:
            shape = {"DatabaseName": database, "Name": table.name}
            if is_listed(table) and call.access.is_visible("GetTables", shape):
                identifiers.append({"namespace": [database], "name": table.name})
        token = page.next_token
        if token is None or (paged and identifiers):
            break
    return Answer({"identifiers": identifiers, "next-page-token": token})


def rename(call: Call, *, views: bool) -> Answer:
    """Move a table or view to another name, in one change of the catalog."""
    database, name = identifier(call.document.get("source"), "source")
    to_database, to_name = identifier(call.document.get("destination"), "destination")
    call.access.check("GetTable", {"DatabaseName": database, "Name": name})
    call.access.check("DeleteTable", {"DatabaseName": database, "Name": name})
    call.access.check("CreateTable", {"DatabaseName": to_database, "TableInput": {"Name": to_name}})
    call.tables.database(database)
    table = (existing_view if views else existing_table)(call, database, name)
    call.tables.database(to_database)
    moved = TableInput.of(table)
    try:
        if (database, name) == (to_database, to_name):
            raise TableExists(to_database, to_name)
        call.rename_table(
            [
                TableWrite(database=database, name=name, definition=None, version=table.version_id),
                TableWrite(database=to_database, name=to_name, definition=replace(moved, name=to_name)),
            ]
        )
    except TableExists:
        entity_type = kind_of(call, to_database, to_name) or "Table"
        names = (
            ".".join([*identifier["namespace"], identifier["name"]])
            for identifier in (call.body["source"], call.body["destination"])
        )
        raise AlreadyExists(f"Cannot rename {' to '.join(names)}. {entity_type} already exists") from None
    return no_content()


def exists(call: Call, *, views: bool) -> Answer:
    """Answer if the table or view exists; raise if it does not."""
    call.access.check("GetTable", {"DatabaseName": call.database, "Name": call.table})
    (existing_view if views else existing_table)(call, call.database, call.table)
    return no_content()


def creation(call: Call, *, view: bool) -> tuple[str, str, Mapping[str, str]]:
    """Return the name, location and properties of the table or view that a request creates, and that does not exist."""
    request, database = call.document, call.database
    name = checked_name(request.get("name"), f"name of the {'view' if view else 'table'}")
    call.access.check("CreateTable", {"DatabaseName": database, "TableInput": {"Name": name}})
    location = optional_text(request, "location", "the request") or default_location(call, database, name)
    properties = texts(request, "properties", "the request") if request.get("properties") else {}
    refuse_existing(call, database, name, view=view)
    return name, location.rstrip("/"), properties


def registered_document(call: Call, location: str) -> Any:
    """Return the metadata document that a request registers; raise :class:`BadDocument` if there is none."""
    try:
        return call.files.read(location)
    except NotFound as error:
        raise BadDocument(error.message) from None


def _create(call: Call) -> Answer:
    request, database = call.document, call.database
    name, location, properties = creation(call, view=False)
    table = new_table(
        member(request, "schema", "the request"),
        location=location,
        spec=request.get("partition-spec"),
        order=request.get("write-order"),
        properties=properties,
    )
    if request.get("stage-create"):
        check_location(call, database, name, table["location"], new=True)
        return _answer(call, database, name, None, written(table))
    [created] = publish(call, [lambda: create_plan(call, database, name, table)])
    return _answer(call, database, name, created.location, created.document)


def _load(call: Call) -> Answer:
    database, name = call.database, call.table
    call.access.check("GetTable", {"DatabaseName": database, "Name": name})
    mode = call.parameter("snapshots") or "all"
    if mode not in {"all", "refs"}:
        raise InvalidInput(f"'snapshots' is {mode[:50]!r}; it has to be 'all' or 'refs'.")
    _, loaded = load(call, database, name)
    # A table's parameters may name any file: what is not a table's metadata is not shown.
    read_table(loaded.document)
    tag = f'"{hashlib.sha256(f"{loaded.location} {mode}".encode()).hexdigest()[:32]}"'
    if tag in call.headers.get("if-none-match", ""):
        return Answer(status=304, headers={"etag": tag})
    document = loaded.document if mode == "all" else referenced_only(loaded.document)
    answer = _answer(call, database, name, loaded.location, document)
    return Answer(answer.body, headers={"etag": tag})


def _commit(call: Call) -> Answer:
    change = _change(call.database, call.table, call.document)
    [loaded] = commit(call, [change])
    return Answer({"metadata-location": loaded.location, "metadata": loaded.document})


def _transaction(call: Call) -> Answer:
    changes = []
    for document in documents(call.document, "table-changes", "the transaction"):
        database, name = identifier(document.get("identifier"), "identifier")
        changes.append(_change(database, name, document))
    if not 1 <= len(changes) <= _MAX_CHANGES:
        raise InvalidInput(f"A transaction changes 1 to {_MAX_CHANGES} tables, not {len(changes)}.")
    commit(call, changes)
    return no_content()


def _change(database: str, name: str, request: Mapping[str, Any]) -> Change:
    if "identifier" in request and identifier(request["identifier"], "identifier") != (database, name):
        raise InvalidInput("The identifier in the body is not that of the path.")
    return Change(
        database,
        name,
        documents(request, "requirements", "the commit", default=()),
        documents(request, "updates", "the commit", default=()),
    )


def _drop(call: Call) -> Answer:
    database, name = call.database, call.table
    call.access.check("DeleteTable", {"DatabaseName": database, "Name": name})
    purge = (call.parameter("purgeRequested") or "false").lower() == "true"
    table = existing_table(call, database, name)
    unwanted: Sequence[str] = ()
    if purge:
        call.access.check_files("s3:DeleteObject", [location_of(table)], (database, name))
        _, loaded = load(call, database, name)
        # Else the right to drop any table would be one to delete any file: who registers a table chooses what it refers to.
        unwanted = files_of(call.files, read_table(loaded.document), loaded.location, below=table_locations(loaded.document))
        call.access.check_files("s3:DeleteObject", unwanted, (database, name))
    call.change_tables([TableWrite(database=database, name=name, definition=None, version=table.version_id)])
    remove_files(call.files, unwanted)
    return no_content()


def _register(call: Call) -> Answer:
    request, database = call.document, call.database
    name = checked_name(request.get("name"), "name of the table")
    location = text(request, "metadata-location", "the request")
    overwrite = bool(request.get("overwrite"))
    call.access.check("CreateTable", {"DatabaseName": database, "TableInput": {"Name": name}})
    call.access.check_files("s3:GetObject", [location], (database, name))
    call.tables.database(database)
    current = find_table(call, database, name) if overwrite else None
    if current is not None:
        call.access.check("UpdateTable", {"DatabaseName": database, "TableInput": {"Name": name}})
    else:
        refuse_existing(call, database, name)
    document = registered_document(call, location)
    table = read_table(document)
    check_location(call, database, name, table["location"], new=current is None, metadata=location)
    glue_table = table_input(name, table, location, current)
    version = None if current is None else current.version_id
    call.change_tables([TableWrite(database=database, name=name, definition=glue_table, version=version)])
    return _answer(call, database, name, location, document)


def _credentials(call: Call) -> Answer:
    database, name = call.database, call.table
    call.access.check("GetTable", {"DatabaseName": database, "Name": name})
    _, loaded = load(call, database, name)
    credentials = table_credentials(call, database, name, loaded.document)
    if not credentials:
        raise UnknownPath(
            "This server makes no credentials for this caller.",
            remedy="It needs an S3 endpoint, a caller of the catalog's own account, and no session policy.",
        )
    return Answer({"storage-credentials": credentials})


def _report(call: Call) -> Answer:
    if call.document.get("report-type") not in _REPORTS:
        raise InvalidInput(f"The report-type is not one of {', '.join(sorted(_REPORTS))}.")
    call.access.check("GetTable", {"DatabaseName": call.database, "Name": call.table})
    return no_content()


def _answer(call: Call, database: str, name: str, location: str | None, document: Mapping[str, Any]) -> Answer:
    body: dict[str, Any] = {"metadata": document, **storage_of(call, database, name, document, staged=location is None)}
    if location is not None:
        body["metadata-location"] = location
    return Answer(body)
