"""Which locations of the lake a request of Glue's API makes a database, table or partition point to.

Source: Lake Formation developer guide, "Underlying data access control": whoever makes or changes one that points to a
registered location needs DATA_LOCATION_ACCESS there. Below the location of its own database or table nothing more is asked
for ("Implicit data location permissions"), nor for a location that stays as it is.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock.api.aws.authorization.actions import Request
from penstock.catalog.service import CatalogService
from penstock.errors import InvalidInput, NotFound
from penstock.lake.locations import parse_uri

__all__ = ["new_locations"]


def new_locations(operation: str, request: Request, tables: CatalogService) -> Iterator[str]:
    """Yield the ARNs of locations that ``request`` would point to, and that are not within what is there already."""
    find = _FINDERS.get(operation)
    if find is None:
        return
    home: str | None = None
    for number, location in enumerate(find(request)):
        found = _arn(location)
        if found is None:
            continue
        if number == 0:
            home = _home(operation, request, tables)
        if home is None or not (found == home or found.startswith(f"{home}/")):
            yield found


def _arn(location: Any) -> str | None:
    try:
        uri = parse_uri(str(location))
    except InvalidInput:
        return None  # not in S3
    return f"arn:aws:s3:::{uri.bucket}/{uri.key}".rstrip("/")


def _home(operation: str, request: Request, tables: CatalogService) -> str | None:
    """Return the ARN of the location below which the caller needs no permission."""
    try:
        if operation == "UpdateDatabase":
            return _arn(tables.database(str(request["Name"]).lower()).location_uri)
        database = str(request.get("DatabaseName", "")).lower()
        if operation == "CreateTable":
            return _arn(tables.database(database).location_uri)
        if operation == "UpdateTable":
            return _arn(tables.table(database, str(request["TableInput"].get("Name", "")).lower()).storage.location)
        if operation != "CreateDatabase":
            return _arn(tables.table(database, str(request["TableName"]).lower()).storage.location)
    except NotFound:
        pass  # the handler says so
    return None


def _storage(shape: Mapping[str, Any]) -> Any:
    return (shape.get("StorageDescriptor") or {}).get("Location")


_FINDERS: Mapping[str, Callable[[Request], list[Any]]] = {
    "CreateDatabase": lambda request: [request["DatabaseInput"].get("LocationUri")],
    "UpdateDatabase": lambda request: [request["DatabaseInput"].get("LocationUri")],
    "CreateTable": lambda request: [_storage(request.get("TableInput") or {})],
    "UpdateTable": lambda request: [_storage(request.get("TableInput") or {})],
    "CreatePartition": lambda request: [_storage(request["PartitionInput"])],
    "UpdatePartition": lambda request: [_storage(request["PartitionInput"])],
    "BatchCreatePartition": lambda request: [_storage(each) for each in request["PartitionInputList"]],
    "BatchUpdatePartition": lambda request: [_storage(each["PartitionInput"]) for each in request["Entries"]],
}
