"""Glue's request shapes of the catalog's values, to change existing ones."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.catalog.model import Column, Partition, SchemaReference, StorageDescriptor, Table, TableInput
from penstock.errors import ConcurrentModification
from penstock.query.ddl.errors import hive_errors, table_of
from penstock.query.engine.context import ExecutionContext
from penstock.sql.statements.names import ColumnDefinition, TableName

__all__ = ["change_table", "column_request", "partition_request", "storage_request", "table_request"]

Request = dict[str, Any]
_TRIES = 5


def change_table(context: ExecutionContext, name: TableName, change: Callable[[Table], Request]) -> None:
    """Replace a table by the TableInput that ``change`` makes of it, and of the new one if another change came between.

    Raises :class:`StatementError`.
    """
    for tried in range(_TRIES):
        table = table_of(context.host, name, context.task.database)
        request = {"DatabaseName": table.database, "TableInput": change(table), "VersionId": table.version_id}
        with hive_errors():
            try:
                context.host.change("UpdateTable", request)
                return
            except ConcurrentModification:
                if tried == _TRIES - 1:
                    raise


def table_request(table: Table | TableInput) -> Request:
    """Return the TableInput that ``table`` results from, or that is given as a value."""
    return _present(
        {
            **table.extra,
            "Name": table.name,
            "Description": table.description,
            "Owner": table.owner,
            "Retention": table.retention or None,
            "StorageDescriptor": storage_request(table.storage),
            "PartitionKeys": [column_request(key) for key in table.partition_keys],
            "TableType": table.table_type,
            "Parameters": dict(table.parameters),
            "ViewOriginalText": table.view_original_text,
            "ViewExpandedText": table.view_expanded_text,
            "LastAccessTime": _seconds(table.last_access_time),
            "LastAnalyzedTime": _seconds(table.last_analyzed_time),
        }
    )


def partition_request(partition: Partition, **changes: Any) -> Request:
    """Return the PartitionInput that ``partition`` results from, with ``changes``."""
    return _present(
        {
            **partition.extra,
            "Values": list(partition.values),
            "StorageDescriptor": storage_request(partition.storage),
            "Parameters": dict(partition.parameters),
            "LastAccessTime": _seconds(partition.last_access_time),
            "LastAnalyzedTime": _seconds(partition.last_analyzed_time),
        }
        | changes
    )


def storage_request(storage: StorageDescriptor, *, location: str | None = None) -> Request:
    """Return the shape of ``storage``, at another ``location`` if one is given."""
    serde = storage.serde_info
    return _present(
        {
            **storage.extra,
            "Columns": [] if storage.schema_reference else [column_request(column) for column in storage.columns],
            "Location": location if location is not None else storage.location,
            "InputFormat": storage.input_format,
            "OutputFormat": storage.output_format,
            "Compressed": storage.compressed,
            "Parameters": dict(storage.parameters),
            "SchemaReference": _reference(storage.schema_reference),
            "SerdeInfo": None
            if serde is None
            else _present(
                {
                    "Name": serde.name,
                    "SerializationLibrary": serde.serialization_library,
                    "Parameters": dict(serde.parameters),
                }
            ),
        }
    )


def column_request(column: Column | ColumnDefinition) -> Request:
    """Return the shape of a column."""
    parameters = dict(column.parameters) if isinstance(column, Column) else {}
    return _present({"Name": column.name, "Type": column.type, "Comment": column.comment, "Parameters": parameters or None})


def _reference(reference: SchemaReference | None) -> Request | None:
    if reference is None:
        return None
    schema = {
        "SchemaArn": reference.schema_arn,
        "RegistryName": reference.registry_name,
        "SchemaName": reference.schema_name,
    }
    return _present(
        {
            "SchemaVersionId": reference.schema_version_id,
            "SchemaVersionNumber": reference.schema_version_number,
            "SchemaId": _present(schema) or None,
        }
    )


def _seconds(time: Any) -> float | None:
    return time.timestamp() if time is not None else None


def _present(values: Mapping[str, Any]) -> Request:
    return {key: value for key, value in values.items() if value is not None}


def chunks(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """Return ``items`` in lists of at most ``size``."""
    return [items[at : at + size] for at in range(0, len(items), size)]
