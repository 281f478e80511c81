"""CREATE and DROP of Hive's tables.

What the catalog gets is what Athena writes there: table type EXTERNAL_TABLE, parameter EXTERNAL, classes by STORED AS.
"""

import time
from collections.abc import Mapping
from typing import Any

from penstock.catalog.storage_classes import LAZY_SIMPLE, STORAGE_CLASSES
from penstock.errors import AlreadyExists
from penstock.query.ddl.errors import (
    check_location,
    execution_error,
    hive_errors,
    home_of,
    semantic_error,
    table_of,
)
from penstock.query.ddl.requests import column_request
from penstock.query.engine.context import ExecutionContext
from penstock.query.tables.views import VIEW_TYPE
from penstock.query.task import Outcome
from penstock.sql.errors import StatementError
from penstock.sql.statements.model import CreateTable, DropTable

__all__ = ["create_table", "drop_table"]


def create_table(context: ExecutionContext, statement: CreateTable) -> Outcome:
    """Add an external table over the files at its location. Raises :class:`StatementError`."""
    home = home_of(context.host, statement.table, context.task.database)
    _check(statement)
    with hive_errors():
        try:
            context.host.change("CreateTable", {"DatabaseName": home, "TableInput": _table(statement)})
        except AlreadyExists:
            if not statement.if_not_exists:
                raise execution_error("AlreadyExistsException", f"Table {statement.table.name} already exists") from None
    return context.text_result()


def drop_table(context: ExecutionContext, statement: DropTable) -> Outcome:
    """Remove a table from the catalog; the files of an external table stay. Raises :class:`StatementError`."""
    try:
        table = table_of(context.host, statement.table, context.task.database)
    except StatementError as error:
        if statement.if_exists and error.code == "FAILED":
            return context.text_result()
        raise
    if table.table_type == VIEW_TYPE:
        raise semantic_error("Cannot drop a view with DROP TABLE", remedy="Use DROP VIEW.")
    with hive_errors():
        context.host.change("DeleteTable", {"DatabaseName": table.database, "Name": table.name})
    return context.text_result()


def _check(statement: CreateTable) -> None:
    if not statement.external:
        raise semantic_error(
            f"{statement.table.name} would be a managed table, which Athena does not have.",
            remedy="Write CREATE EXTERNAL TABLE, or TBLPROPERTIES ('table_type'='ICEBERG').",
        )
    if statement.transforms:
        raise semantic_error(
            "Columns in PARTITIONED BY need a type.", remedy="Only Iceberg tables partition by columns of the table."
        )
    if statement.location is None:
        raise semantic_error("No location was specified for table. An S3 location must be specified")
    check_location(statement.location)
    names = [column.name for column in statement.columns]
    for key in statement.partitioned_by:
        if key.name in names:
            raise semantic_error("Column repeated in partitioning columns", number=10035)
    for name in (*statement.clustered_by, *(name for name, _ in statement.sorted_by)):
        if name not in names:
            raise semantic_error(f"Invalid column reference '{name}' in CLUSTERED BY", number=10002)


def _table(statement: CreateTable) -> Mapping[str, Any]:
    comment = {"Description": statement.comment} if statement.comment is not None else {}
    return {
        "Name": statement.table.name,
        "TableType": "EXTERNAL_TABLE",
        "Parameters": {
            "EXTERNAL": "TRUE",
            "transient_lastDdlTime": str(int(time.time())),
            **({"comment": statement.comment} if statement.comment is not None else {}),
            **statement.properties,
        },
        "PartitionKeys": [column_request(column_definition) for column_definition in statement.partitioned_by],
        "StorageDescriptor": _storage(statement),
        **comment,
    }


def _storage(statement: CreateTable) -> Mapping[str, Any]:
    classes = STORAGE_CLASSES.get(statement.format or "TEXTFILE")
    if classes is None:
        raise semantic_error(
            f"Unrecognized file format in STORED AS clause: '{statement.format}'",
            remedy=f"Formats: {', '.join(STORAGE_CLASSES)}.",
        )
    row_format = statement.row_format
    serde = row_format.serde if row_format else None
    if serde is None:
        # A table whose classes are named has Hive's default SerDe; ROW FORMAT DELIMITED is that one's, too.
        delimited = row_format is not None and classes.serde != LAZY_SIMPLE
        if delimited:
            raise semantic_error(f"ROW FORMAT DELIMITED is not for STORED AS {statement.format}", remedy="Leave it out.")
        serde = LAZY_SIMPLE if statement.input_format else classes.serde
    serde_properties = dict(row_format.properties) if row_format else {}
    return {
        "Columns": [column_request(column) for column in statement.columns],
        "Location": statement.location,
        "InputFormat": statement.input_format or classes.input_format,
        "OutputFormat": statement.output_format or classes.output_format,
        "Compressed": False,
        "NumberOfBuckets": statement.buckets if statement.buckets is not None else -1,
        "BucketColumns": list(statement.clustered_by),
        "SortColumns": [{"Column": name, "SortOrder": int(ascending)} for name, ascending in statement.sorted_by],
        "StoredAsSubDirectories": False,
        "SerdeInfo": {"SerializationLibrary": serde, "Parameters": {"serialization.format": "1", **serde_properties}},
        "Parameters": {},
    }
