"""CreateTable with OpenTableFormatInput: an Iceberg table, whose first metadata file the catalog writes.

Source: Glue's API reference, "IcebergInput" and "CreateIcebergTableInput"; Lake Formation's developer guide, "Creating
Apache Iceberg tables", which gives the columns and the location in TableInput.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.api.aws.catalog.shapes import table_input
from penstock.api.aws.protocol.operations import RequestContext
from penstock.api.aws.protocol.values import Request, present
from penstock.catalog.errors import TableExists, TableNotFound
from penstock.catalog.model import TableInput
from penstock.catalog.service import CatalogService
from penstock.errors import InvalidInput, PenstockError
from penstock.lake.iceberg import glue_tables
from penstock.lake.iceberg.errors import BadDocument, NotSupported
from penstock.lake.iceberg.files import MetadataFiles
from penstock.lake.iceberg.table_metadata import DEFAULT_VERSION, FORMAT_VERSION, new_table, written

__all__ = ["create_iceberg_table"]

_SCHEMA = {"SchemaId": "schema-id", "IdentifierFieldIds": "identifier-field-ids", "Type": "type"}
_FIELD = {
    "Id": "id",
    "Name": "name",
    "Type": "type",
    "Required": "required",
    "Doc": "doc",
    "InitialDefault": "initial-default",
    "WriteDefault": "write-default",
}
_SOURCE = {"SourceId": "source-id", "Transform": "transform"}
_PARTITION = {**_SOURCE, "Name": "name", "FieldId": "field-id"}
_SORTED = {**_SOURCE, "Direction": "direction", "NullOrder": "null-order"}
_EXTERNAL = "EXTERNAL_TABLE"


def create_iceberg_table(
    service: CatalogService, files: MetadataFiles | None, request: Request, context: RequestContext
) -> None:
    """Write a new table's metadata file with the caller's rights, and add the table to the catalog.

    Raises :class:`InvalidInput`, :class:`penstock.errors.NotFound` for the database, :class:`TableExists` and
    :class:`penstock.errors.AccessDenied`.
    """
    if files is None:
        raise InvalidInput("This catalog has no lake, so that it cannot write the metadata of a table.")
    described = _table_input(request)
    try:
        table = _metadata(request, described)
        document = written(table)
    except (BadDocument, NotSupported) as error:
        raise InvalidInput(error.message, remedy=error.remedy) from None
    database = request["DatabaseName"].lower()
    files.check(document["location"])
    service.database(database)
    with contextlib.suppress(TableNotFound):
        service.table(database, described.name)
        raise TableExists(database, described.name)
    location = files.write_as(context.catalog_access, (database, described.name), document, previous=None)
    iceberg_input = glue_tables.table_input(described.name, table, location, None)
    table_with_location = replace(
        described,
        table_type=iceberg_input.table_type,
        storage=replace(described.storage, location=iceberg_input.storage.location, columns=iceberg_input.storage.columns),
        parameters={**described.parameters, **iceberg_input.parameters},
    )
    try:
        service.create_table(database, table_with_location)
    except PenstockError:
        files.remove(location)
        raise


def _table_input(request: Request) -> TableInput:
    """Return what the request says of the table beside its format, checked; the name is in lower case."""
    shape = request.get("TableInput") or {}
    names = {name.lower() for name in (request.get("Name"), shape.get("Name")) if name}
    if len(names) != 1:
        raise InvalidInput("The table needs one name.", remedy="Give it as Name, or as Name of TableInput.")
    table = table_input({**shape, "Name": names.pop()})
    for refused, message in (
        (table.partition_keys or request.get("PartitionIndexes"), "Cannot create partitions in an iceberg table"),
        (
            table.view_original_text or table.view_expanded_text or table.extra,
            "An Iceberg table is neither a view nor a link",
        ),
        (table.table_type not in {None, "", _EXTERNAL}, f"The TableType of an Iceberg table is {_EXTERNAL}"),
        (table.storage.schema_reference, "An Iceberg table has its columns in its own metadata, not in a SchemaReference"),
        (
            glue_tables.METADATA_LOCATION in table.parameters
            or table.parameters.get("table_type", "ICEBERG").upper() != "ICEBERG",
            "The parameters metadata_location and table_type are those of the new metadata",
        ),
    ):
        if refused:
            raise InvalidInput(f"{message}.", remedy="CreateIcebergTableInput has a Schema and a PartitionSpec.")
    return table


def _metadata(request: Request, table: TableInput) -> dict[str, Any]:
    """Return the document of the new table. Raises :class:`BadDocument`, :class:`NotSupported`, :class:`InvalidInput`."""
    iceberg_input = request["OpenTableFormatInput"].get("IcebergInput")
    if iceberg_input is None or iceberg_input["MetadataOperation"] != "CREATE":
        raise InvalidInput("OpenTableFormatInput has no IcebergInput with CREATE.", remedy="Give the MetadataOperation.")
    described, version = iceberg_input.get("CreateIcebergTableInput"), iceberg_input.get("Version")
    if described is None:
        columns = table.storage.columns
        return _new(glue_tables.schema_of(columns), table.storage.location, _with_version({}, version))
    schema = _fields(described["Schema"], _SCHEMA, _FIELD)
    spec = _fields(described.get("PartitionSpec"), {"SpecId": "spec-id"}, _PARTITION)
    order = _fields(described.get("WriteOrder"), {"OrderId": "order-id"}, _SORTED)
    location, properties = described["Location"], _with_version(described.get("Properties") or {}, version)
    if table.storage.columns or table.storage.location not in {None, "", location}:
        raise InvalidInput(
            "Columns or location are given both in TableInput and in CreateIcebergTableInput.",
            remedy="Leave them out of TableInput.",
        )
    return _new(schema or {}, location, properties, spec=spec, order=order)


def _new(
    schema: Mapping[str, Any], location: str | None, properties: Mapping[str, str], **layout: Mapping[str, Any] | None
) -> dict[str, Any]:
    if not location:
        raise InvalidInput("The Iceberg table has no location.", remedy="Give Location in the StorageDescriptor.")
    if not schema["fields"]:
        raise InvalidInput("The Iceberg table has no columns.", remedy="Give Columns in the StorageDescriptor.")
    return new_table(schema, location=location.rstrip("/"), properties=properties, **layout)


def _with_version(properties: Mapping[str, str], version: str | None) -> dict[str, str]:
    """Return ``properties`` with the format version, which the request may give twice."""
    versions = {name for name in (version, properties.get(FORMAT_VERSION)) if name}
    if len(versions) > 1:
        raise InvalidInput(f"Version and the property {FORMAT_VERSION} differ.", remedy="Give one of them.")
    return {**properties, FORMAT_VERSION: versions.pop() if versions else str(DEFAULT_VERSION)}


def _fields(shape: Request | None, own: Mapping[str, str], members: Mapping[str, str]) -> dict[str, Any] | None:
    """Return a structure with ``Fields`` as Iceberg's JSON has it: ``own`` are its other members, ``members`` a field's."""
    if shape is None:
        return None
    fields: Sequence[Request] = shape.get("Fields") or ()
    return {**_renamed(shape, own), "fields": [_renamed(field, members) for field in fields]}


def _renamed(shape: Request, names: Mapping[str, str]) -> dict[str, Any]:
    return present(**{ours: shape.get(name) for name, ours in names.items()})
