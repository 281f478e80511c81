"""Tables and views of the catalog, by name, and their metadata."""

from dataclasses import dataclass
from typing import Any

from penstock.api.iceberg.call import Call
from penstock.api.iceberg.errors import NoSuchTable, NoSuchView
from penstock.catalog.errors import DatabaseNotFound, TableNotFound
from penstock.catalog.model import Table
from penstock.errors import AlreadyExists, DataProblem, InvalidInput, NotFound
from penstock.lake.iceberg.errors import BadDocument
from penstock.lake.iceberg.glue_tables import is_table, is_view, location_of

__all__ = [
    "Loaded",
    "check_location",
    "default_location",
    "existing_table",
    "existing_view",
    "find_table",
    "kind_of",
    "load",
    "read_metadata",
    "refuse_existing",
]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A document in the form that is written to files, and the location of its file."""

    location: str
    document: dict[str, Any]


def find_table(call: Call, database: str, name: str) -> Table | None:
    """Return the Iceberg table; None if there is nothing of the name.

    Raises :class:`NoSuchTable` if the name is another kind of table, or a view.
    """
    try:
        table = call.tables.table(database, name)
    except TableNotFound:
        return None
    if not is_table(table):
        raise NoSuchTable(f"Table does not exist: {database}.{name} is not an Iceberg table.")
    return table


def existing_table(call: Call, database: str, name: str) -> Table:
    """Return the Iceberg table; raise :class:`NoSuchTable`."""
    try:
        table = find_table(call, database, name)
    except DatabaseNotFound:
        table = None
    if table is None:
        raise NoSuchTable(f"Table does not exist: {database}.{name}")
    return table


def existing_view(call: Call, database: str, name: str) -> Table:
    """Return the Iceberg view; raise :class:`NoSuchView`."""
    try:
        view = call.tables.table(database, name)
    except (DatabaseNotFound, TableNotFound):
        raise NoSuchView(f"View does not exist: {database}.{name}") from None
    if not is_view(view):
        raise NoSuchView(f"View does not exist: {database}.{name} is not an Iceberg view.")
    return view


def load(call: Call, database: str, name: str) -> tuple[Table, Loaded]:
    """Return a table and its current metadata; raise :class:`NoSuchTable`."""
    table = existing_table(call, database, name)
    return table, read_metadata(call, table)


def read_metadata(call: Call, table: Table) -> Loaded:
    """Return the current metadata of a table or view; raise :class:`DataProblem` if it cannot be read."""
    location = location_of(table)
    call.access.check_files("s3:GetObject", [location], (table.database, table.name))
    try:
        document = call.files.read(location)
    except (NotFound, InvalidInput) as error:
        raise DataProblem(f"The metadata of {table.database}.{table.name} cannot be read: {error.message}") from None
    if not isinstance(document, dict):
        raise DataProblem(f"The metadata file {location} of {table.database}.{table.name} is not a JSON object.")
    return Loaded(location, document)


def default_location(call: Call, database: str, name: str) -> str:
    """Return where a table without a location is stored: below its namespace's location, or the warehouse."""
    home = call.tables.database(database).location_uri
    base = home.rstrip("/") if home else f"{call.settings.warehouse}/{database}.db"
    return f"{base}/{name}"


def refuse_existing(call: Call, database: str, name: str, *, view: bool = False) -> None:
    """Raise :class:`AlreadyExists` if the database has anything of this name; ``view``: a view is to be created."""
    entity_type = kind_of(call, database, name)
    if entity_type is not None:
        own = entity_type == ("View" if view else "Table")
        raise AlreadyExists(f"{entity_type}{'' if own else ' with same name'} already exists: {database}.{name}")


def kind_of(call: Call, database: str, name: str) -> str | None:
    """Return what the name is: Table, View, or Table of another format; None if it is free."""
    try:
        table = call.tables.table(database, name)
    except TableNotFound:
        return None
    return "Table" if is_table(table) else "View" if is_view(table) else "Table of another format"


def check_location(call: Call, database: str, name: str, location: str, *, new: bool, metadata: str | None = None) -> None:
    """Raise unless a table or view, which may be ``new``, can be stored at ``location``, and the caller may do that.

    ``metadata`` is its metadata file, if that is there already.

    Raises :class:`BadDocument` and :class:`penstock.errors.AccessDenied`.
    """
    try:
        call.files.check(location)
    except InvalidInput as error:
        raise BadDocument(error.message, remedy=error.remedy) from None
    shape: dict[str, Any] = {"Name": name, "StorageDescriptor": {"Location": location}}
    if metadata is not None:
        shape["Parameters"] = {"metadata_location": metadata}
    call.access.check("CreateTable" if new else "UpdateTable", {"DatabaseName": database, "TableInput": shape})
