"""Which locations of the lake a request of Glue's API makes a database, table or partition point to.

Source: Lake Formation developer guide, "Underlying data access control": whoever makes or changes one that points to a
registered location needs DATA_LOCATION_ACCESS there. Below the location of its own database or table nothing more is asked
for ("Implicit data location permissions"), nor for a location that stays as it is. What is other than on AWS: a new table
needs the permission even below its database's location where another table of the database lies, whose grants it would pass.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock.api.aws.protocol.values import Request
from penstock.catalog.service import CatalogService
from penstock.errors import InvalidInput, NotFound
from penstock.lake.locations import is_below, parse_uri

__all__ = ["Registered", "arn_of", "implicit_home", "new_locations"]

Registered = Callable[[str], str | None]
"""Returns the innermost registered location that a location (an ARN) is at or below; None if there is none."""


def new_locations(operation: str, request: Request, tables: CatalogService, registered: Registered) -> Iterator[str]:
    """Yield the ARNs of locations that ``request`` would point to, and that are not within what is there already.

    What is there already counts only if it is in the same registered location: a database or table above one has no right
    to it.
    """
    find = _FINDERS.get(operation)
    if find is None:
        return
    known = False
    home: str | None = None
    for location in find(request):
        location_arn = arn_of(location)
        if location_arn is None:
            continue
        if not known:
            home, known = _home(operation, request, tables), True
        if (
            home is None
            or not is_below(location_arn, home)
            or registered(home) != registered(location_arn)
            or (operation == "CreateTable" and _others_at(tables, str(request["DatabaseName"]).lower(), location_arn))
        ):
            yield location_arn


def arn_of(location: Any) -> str | None:
    """Return the ARN of an ``s3://`` location, without a slash at its end; None if it is not in S3."""
    try:
        uri = parse_uri(str(location))
    except InvalidInput:
        return None
    return f"arn:aws:s3:::{uri.bucket}/{uri.key}".rstrip("/")


def implicit_home(tables: CatalogService, database: str, location: str, registered: Registered) -> bool:
    """Return whether a new table of ``database`` may be at ``location`` (an ARN) because its database is there."""
    try:
        home = arn_of(tables.database(database).location_uri)
    except NotFound:
        return False
    if home is None or not is_below(location, home) or registered(home) != registered(location):
        return False
    return not _others_at(tables, database, location)


def _others_at(tables: CatalogService, database: str, location: str) -> bool:
    """Return whether a table of ``database`` lies at, above or below ``location``."""
    try:
        homes = [arn_of(table.storage.location) for table in tables.tables(database)]
    except NotFound:
        return False
    return any(home is not None and (is_below(home, location) or is_below(location, home)) for home in homes)


def _home(operation: str, request: Request, tables: CatalogService) -> str | None:
    """Return the ARN of the location below which the caller needs no permission."""
    try:
        if operation == "UpdateDatabase":
            return arn_of(tables.database(str(request["Name"]).lower()).location_uri)
        database = str(request.get("DatabaseName", "")).lower()
        if operation == "CreateTable":
            return arn_of(tables.database(database).location_uri)
        if operation == "UpdateTable":
            return arn_of(tables.table(database, str(request["TableInput"].get("Name", "")).lower()).storage.location)
        if operation != "CreateDatabase":
            return arn_of(tables.table(database, str(request["TableName"]).lower()).storage.location)
    except NotFound:
        pass  # the handler says so
    return None


def _of_table(shape: Mapping[str, Any]) -> list[Any]:
    """Return the locations that a table or partition points to: its own, and those that its parameters name."""
    storage, parameters = shape.get("StorageDescriptor") or {}, shape.get("Parameters") or {}
    serde = (storage.get("SerdeInfo") or {}).get("Parameters") or {}
    metadata, template = parameters.get("metadata_location"), parameters.get("storage.location.template")
    return [
        storage.get("Location"),
        *(storage.get("AdditionalLocations") or ()),
        serde.get("path"),
        str(metadata).rpartition("/")[0] if metadata else None,
        str(template).partition("${")[0].rpartition("/")[0] if template else None,
    ]


def _of_new_iceberg(request: Request) -> Any:
    """Return the location of the Iceberg table that a request of CreateTable describes beside TableInput, if it does."""
    iceberg = (request.get("OpenTableFormatInput") or {}).get("IcebergInput") or {}
    return (iceberg.get("CreateIcebergTableInput") or {}).get("Location")


_FINDERS: Mapping[str, Callable[[Request], list[Any]]] = {
    "CreateDatabase": lambda request: [request["DatabaseInput"].get("LocationUri")],
    "UpdateDatabase": lambda request: [request["DatabaseInput"].get("LocationUri")],
    "CreateTable": lambda request: [*_of_table(request.get("TableInput") or {}), _of_new_iceberg(request)],
    "UpdateTable": lambda request: _of_table(request.get("TableInput") or {}),
    "CreatePartition": lambda request: _of_table(request.get("PartitionInput") or {}),
    "UpdatePartition": lambda request: _of_table(request.get("PartitionInput") or {}),
    "BatchCreatePartition": lambda request: [
        place for partition_input in request.get("PartitionInputList", ()) for place in _of_table(partition_input)
    ],
    "BatchUpdatePartition": lambda request: [
        place for entry in request.get("Entries", ()) for place in _of_table(entry["PartitionInput"])
    ],
}
