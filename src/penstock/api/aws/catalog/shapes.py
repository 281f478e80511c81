"""Converts the catalog's values to Glue's shapes and back.

Members that are not interpreted here pass through ``extra`` under AWS's names, so that a client reads back what it wrote.
"""

from collections.abc import Mapping, Sequence
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
_DATABASE = {"Name", "Description", "LocationUri", "Parameters"}
_TABLE = {
    "Name",
    "Description",
    "Owner",
    "LastAccessTime",
    "LastAnalyzedTime",
    "Retention",
    "StorageDescriptor",
    "PartitionKeys",
    "ViewOriginalText",
    "ViewExpandedText",
    "TableType",
    "Parameters",
}
_STORAGE = {
    "Columns",
    "Location",
    "InputFormat",
    "OutputFormat",
    "Compressed",
    "SerdeInfo",
    "Parameters",
    "SchemaReference",
}
_PARTITION = {"Values", "LastAccessTime", "LastAnalyzedTime", "StorageDescriptor", "Parameters"}


def database_input(shape: Shape) -> DatabaseInput:
    """Return the value of a DatabaseInput shape; raise :class:`InvalidInput` for permissions that no table has."""
    try:
        check_defaults(shape.get("CreateTableDefaultPermissions") or (), "Table")
    except InvalidRequest as error:
        raise InvalidInput(f"CreateTableDefaultPermissions: {error.message}", remedy=error.remedy) from None
    return DatabaseInput(
        name=shape["Name"],
        description=shape.get("Description"),
        location_uri=shape.get("LocationUri"),
        parameters=shape.get("Parameters") or {},
        extra=_extra(shape, _DATABASE),
    )


def database_shape(database: Database, account: str) -> dict[str, Any]:
    """Return a Database shape."""
    return present(
        **{
            **database.extra,
            "Name": database.name,
            "Description": database.description,
            "LocationUri": database.location_uri,
            "Parameters": dict(database.parameters) or None,
            "CreateTime": database.create_time,
            "CatalogId": account,
        }
    )


def table_input(shape: Shape) -> TableInput:
    """Return the value of a TableInput shape."""
    return TableInput(
        name=shape["Name"],
        storage=_storage(shape.get("StorageDescriptor")),
        partition_keys=_columns(shape.get("PartitionKeys")),
        table_type=shape.get("TableType"),
        description=shape.get("Description"),
        owner=shape.get("Owner"),
        parameters=shape.get("Parameters") or {},
        view_original_text=shape.get("ViewOriginalText"),
        view_expanded_text=shape.get("ViewExpandedText"),
        last_access_time=_utc(shape.get("LastAccessTime")),
        last_analyzed_time=_utc(shape.get("LastAnalyzedTime")),
        retention=shape.get("Retention") or 0,
        extra=_extra(shape, _TABLE),
    )


def table_shape(table: Table, account: str) -> dict[str, Any]:
    """Return a Table shape; ``account`` is the catalog's id."""
    return present(
        **{
            "IsRegisteredWithLakeFormation": False,
            **table.extra,
            "Name": table.name,
            "DatabaseName": table.database,
            "Description": table.description,
            "Owner": table.owner,
            "CreateTime": table.create_time,
            "UpdateTime": table.update_time,
            "LastAccessTime": table.last_access_time,
            "LastAnalyzedTime": table.last_analyzed_time,
            "Retention": table.retention,
            "StorageDescriptor": _storage_shape(table.storage),
            "PartitionKeys": _columns_shape(table.partition_keys),
            "ViewOriginalText": table.view_original_text,
            "ViewExpandedText": table.view_expanded_text,
            "TableType": table.table_type,
            "Parameters": dict(table.parameters) or None,
            "CatalogId": account,
            "VersionId": table.version_id,
        }
    )


def partition_input(shape: Shape) -> PartitionInput:
    """Return the value of a PartitionInput shape."""
    return PartitionInput(
        values=tuple(shape.get("Values") or ()),
        storage=_storage(shape.get("StorageDescriptor")),
        parameters=shape.get("Parameters") or {},
        last_access_time=_utc(shape.get("LastAccessTime")),
        last_analyzed_time=_utc(shape.get("LastAnalyzedTime")),
        extra=_extra(shape, _PARTITION),
    )


def partition_shape(partition: Partition, account: str, *, columns: bool = True) -> dict[str, Any]:
    """Return a Partition shape; if ``columns`` is false, its storage has no ``Columns``."""
    return present(
        **{
            **partition.extra,
            "Values": list(partition.values),
            "DatabaseName": partition.database,
            "TableName": partition.table,
            "CreationTime": partition.create_time,
            "LastAccessTime": partition.last_access_time,
            "LastAnalyzedTime": partition.last_analyzed_time,
            "StorageDescriptor": _storage_shape(partition.storage, columns=columns),
            "Parameters": dict(partition.parameters) or None,
            "CatalogId": account,
        }
    )


def error_detail(error: PenstockError) -> dict[str, str]:
    """Return an ErrorDetail shape."""
    return {"ErrorCode": error.aws_code, "ErrorMessage": str(error)[:_MAX_ERROR]}


def _storage(shape: Shape | None) -> StorageDescriptor:
    if shape is None:
        return StorageDescriptor()
    serde = shape.get("SerdeInfo")
    reference = shape.get("SchemaReference")
    return StorageDescriptor(
        columns=_columns(shape.get("Columns")),
        location=shape.get("Location"),
        input_format=shape.get("InputFormat"),
        output_format=shape.get("OutputFormat"),
        compressed=bool(shape.get("Compressed")),
        serde_info=None
        if serde is None
        else SerDeInfo(
            name=serde.get("Name"),
            serialization_library=serde.get("SerializationLibrary"),
            parameters=serde.get("Parameters") or {},
        ),
        parameters=shape.get("Parameters") or {},
        schema_reference=None if reference is None else _reference(reference),
        extra=_extra(shape, _STORAGE),
    )


def _storage_shape(storage: StorageDescriptor, *, columns: bool = True) -> dict[str, Any] | None:
    if storage == StorageDescriptor():
        return None
    serde = storage.serde_info
    return present(
        **{
            "NumberOfBuckets": 0,
            "StoredAsSubDirectories": False,
            **storage.extra,
            "Columns": _columns_shape(storage.columns) if columns else None,
            "Location": storage.location,
            "InputFormat": storage.input_format,
            "OutputFormat": storage.output_format,
            "Compressed": storage.compressed,
            "SerdeInfo": None
            if serde is None
            else present(
                **{
                    "Name": serde.name,
                    "SerializationLibrary": serde.serialization_library,
                    "Parameters": dict(serde.parameters) or None,
                }
            ),
            "Parameters": dict(storage.parameters) or None,
            "SchemaReference": None if storage.schema_reference is None else _reference_shape(storage.schema_reference),
        }
    )


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


def _reference_shape(reference: SchemaReference) -> dict[str, Any]:
    schema = present(
        **{
            "SchemaArn": reference.schema_arn,
            "RegistryName": reference.registry_name,
            "SchemaName": reference.schema_name,
        }
    )
    return present(
        **{
            "SchemaId": schema or None,
            "SchemaVersionId": reference.schema_version_id,
            "SchemaVersionNumber": reference.schema_version_number,
        }
    )


def _columns(shapes: Sequence[Shape] | None) -> tuple[Column, ...]:
    return tuple(
        Column(
            name=shape["Name"],
            type=shape.get("Type"),
            comment=shape.get("Comment"),
            parameters=shape.get("Parameters") or {},
        )
        for shape in shapes or ()
    )


def _columns_shape(columns: Sequence[Column]) -> list[dict[str, Any]]:
    return [
        present(
            **{
                "Name": column.name,
                "Type": column.type,
                "Comment": column.comment,
                "Parameters": dict(column.parameters) or None,
            }
        )
        for column in columns
    ]


def _extra(shape: Shape, known: set[str]) -> dict[str, Any]:
    return {name: value for name, value in shape.items() if name not in known and value is not None}


def _utc(time: datetime | None) -> datetime | None:
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time
