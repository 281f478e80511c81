"""Converts the catalog's values to Glue's shapes and back.

Members that are not interpreted here pass through ``extra`` under AWS's names, so that a client reads back what it wrote.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from penstock.api.aws.protocol.values import present
from penstock.catalog.model import (
    Column,
    Database,
    DatabaseInput,
    Partition,
    PartitionInput,
    SchemaReference,
    SerDeInfo,
    StorageDescriptor,
    Table,
    TableInput,
)
from penstock.errors import InvalidInput, PenstockError
from penstock.lakeformation.errors import InvalidRequest
from penstock.lakeformation.service import check_defaults

__all__ = [
    "database_input",
    "database_shape",
    "error_detail",
    "partition_input",
    "partition_shape",
    "table_input",
    "table_shape",
]

Shape = Mapping[str, Any]

_MAX_ERROR = 2_048  # DescriptionString
# The members of each shape, and the attributes that have their values.
_DATABASE = {"Name": "name", "Description": "description", "LocationUri": "location_uri", "Parameters": "parameters"}
_ACCESSED = {"LastAccessTime": "last_access_time", "LastAnalyzedTime": "last_analyzed_time"}
_TABLE = {
    "Name": "name",
    "Description": "description",
    "Owner": "owner",
    **_ACCESSED,
    "Retention": "retention",
    "StorageDescriptor": "storage",
    "PartitionKeys": "partition_keys",
    "ViewOriginalText": "view_original_text",
    "ViewExpandedText": "view_expanded_text",
    "TableType": "table_type",
    "Parameters": "parameters",
}
_PARTITION = {"Values": "values", **_ACCESSED, "StorageDescriptor": "storage", "Parameters": "parameters"}
_STORAGE = {
    "Columns": "columns",
    "Location": "location",
    "InputFormat": "input_format",
    "OutputFormat": "output_format",
    "Compressed": "compressed",
    "SerdeInfo": "serde_info",
    "Parameters": "parameters",
    "SchemaReference": "schema_reference",
}
_SERDE = {"Name": "name", "SerializationLibrary": "serialization_library", "Parameters": "parameters"}
_COLUMN = {"Name": "name", "Type": "type", "Comment": "comment", "Parameters": "parameters"}


def database_input(shape: Shape) -> DatabaseInput:
    """Return the value of a DatabaseInput shape; raise :class:`InvalidInput` for permissions that no table has."""
    try:
        check_defaults(shape.get("CreateTableDefaultPermissions") or (), "Table")
    except InvalidRequest as error:
        raise InvalidInput(f"CreateTableDefaultPermissions: {error.message}", remedy=error.remedy) from None
    return DatabaseInput(**_read(shape, _DATABASE), extra=_extra(shape, _DATABASE))


def database_shape(database: Database, account: str) -> dict[str, Any]:
    """Return a Database shape."""
    own = {"CreateTime": database.create_time, "CatalogId": account}
    return present(**{**database.extra, **_written(database, _DATABASE), **own})


def table_input(shape: Shape) -> TableInput:
    """Return the value of a TableInput shape."""
    return TableInput(**_read(shape, _TABLE), extra=_extra(shape, _TABLE))


def table_shape(table: Table, account: str) -> dict[str, Any]:
    """Return a Table shape; ``account`` is the catalog's id."""
    own = {
        "DatabaseName": table.database,
        "CreateTime": table.create_time,
        "UpdateTime": table.update_time,
        "CatalogId": account,
        "VersionId": table.version_id,
    }
    return present(**{"IsRegisteredWithLakeFormation": False, **table.extra, **_written(table, _TABLE), **own})


def partition_input(shape: Shape) -> PartitionInput:
    """Return the value of a PartitionInput shape."""
    return PartitionInput(**_read(shape, _PARTITION), extra=_extra(shape, _PARTITION))


def partition_shape(partition: Partition, account: str, *, columns: bool = True) -> dict[str, Any]:
    """Return a Partition shape; if ``columns`` is false, its storage has no ``Columns``."""
    own = {
        "DatabaseName": partition.database,
        "TableName": partition.table,
        "CreationTime": partition.create_time,
        "CatalogId": account,
    }
    shape = present(**{**partition.extra, **_written(partition, _PARTITION), **own})
    if not columns:
        shape.get("StorageDescriptor", {}).pop("Columns", None)
    return shape


def error_detail(error: PenstockError) -> dict[str, str]:
    """Return an ErrorDetail shape."""
    return {"ErrorCode": error.aws_code, "ErrorMessage": str(error)[:_MAX_ERROR]}


def _read(shape: Shape, members: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of ``members`` by attribute; those that are absent have the defaults of their attributes."""
    values = {attribute: (name, shape[name]) for name, attribute in members.items() if shape.get(name) is not None}
    return {attribute: _READ[name](value) if name in _READ else value for attribute, (name, value) in values.items()}


def _written(value: Any, members: Mapping[str, str]) -> dict[str, Any]:
    """Return ``members`` of a value; None for those that are absent."""
    values = {name: getattr(value, attribute) for name, attribute in members.items()}
    return {name: _WRITTEN[name](member) if name in _WRITTEN else member for name, member in values.items()}


def _storage(shape: Shape) -> StorageDescriptor:
    return StorageDescriptor(**_read(shape, _STORAGE), extra=_extra(shape, _STORAGE))


def _storage_shape(storage: StorageDescriptor) -> dict[str, Any] | None:
    if storage == StorageDescriptor():
        return None
    defaults = {"NumberOfBuckets": 0, "StoredAsSubDirectories": False}
    return present(**{**defaults, **storage.extra, **_written(storage, _STORAGE)})


def _reference(shape: Shape) -> SchemaReference:
    schema = shape.get("SchemaId") or {}
    if schema and shape.get("SchemaVersionId"):
        raise InvalidInput("One of schemaId or schemaVersionId has to be provided, both cannot be provided.")
    return SchemaReference(
        schema_version_id=shape.get("SchemaVersionId"),
        schema_arn=schema.get("SchemaArn"),
        registry_name=schema.get("RegistryName"),
        schema_name=schema.get("SchemaName"),
        schema_version_number=shape.get("SchemaVersionNumber"),
    )


def _reference_shape(reference: SchemaReference | None) -> dict[str, Any] | None:
    if reference is None:
        return None
    schema = present(SchemaArn=reference.schema_arn, RegistryName=reference.registry_name, SchemaName=reference.schema_name)
    return present(
        SchemaId=schema or None,
        SchemaVersionId=reference.schema_version_id,
        SchemaVersionNumber=reference.schema_version_number,
    )


def _columns(shapes: Sequence[Shape]) -> tuple[Column, ...]:
    return tuple(Column(**_read(shape, _COLUMN)) for shape in shapes)


def _columns_shape(columns: Sequence[Column]) -> list[dict[str, Any]]:
    return [present(**_written(column, _COLUMN)) for column in columns]


def _extra(shape: Shape, members: Mapping[str, str]) -> dict[str, Any]:
    return {name: value for name, value in shape.items() if name not in members and value is not None}


def _utc(time: datetime) -> datetime:
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time


# How a member is read and written, by its name; those that are not here are as they are.
_READ: Mapping[str, Callable[[Any], Any]] = {
    "Columns": _columns,
    "LastAccessTime": _utc,
    "LastAnalyzedTime": _utc,
    "PartitionKeys": _columns,
    "SchemaReference": _reference,
    "SerdeInfo": lambda shape: SerDeInfo(**_read(shape, _SERDE)),
    "StorageDescriptor": _storage,
    "Values": tuple,
}
_WRITTEN: Mapping[str, Callable[[Any], Any]] = {
    "Columns": _columns_shape,
    "Parameters": lambda parameters: dict(parameters) or None,
    "PartitionKeys": _columns_shape,
    "SchemaReference": _reference_shape,
    "SerdeInfo": lambda serde: None if serde is None else present(**_written(serde, _SERDE)),
    "StorageDescriptor": _storage_shape,
    "Values": list,
}
