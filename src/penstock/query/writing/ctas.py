"""CREATE TABLE AS of Hive's tables. Source: Athena user guide, "CREATE TABLE AS" and "CTAS table properties"."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.query.ddl.errors import home_of
from penstock.query.engine.context import ExecutionContext
from penstock.query.task import Commit, Outcome
from penstock.query.writing.bucketing import read_buckets
from penstock.query.writing.commit import change, marked, outcome, placed
from penstock.query.writing.options import WriteOptions, read_options
from penstock.query.writing.partitioned import PartitionedWriter, WrittenFile
from penstock.query.writing.targets import check_empty, columns_of, existing, partition_changes
from penstock.query.writing.types import hive_types
from penstock.sql.errors import StatementError
from penstock.sql.statements.model import CreateTableAs, PropertyValue
from penstock.statements.model import ResultColumn, StatementStatistics

__all__ = ["create_table_as"]

_KNOWN = frozenset(
    {
        *("format", "write_compression", "parquet_compression", "orc_compression", "compression_level", "field_delimiter"),
        *("external_location", "is_external", "partitioned_by", "table_type", "bucketed_by", "bucket_count"),
    }
)
_ONE_REQUEST = 100  # partitions that the catalog registers at once


def create_table_as(context: ExecutionContext, statement: CreateTableAs) -> Outcome:
    """Write a query's rows to a new table. Raises :class:`StatementError`."""
    home = home_of(context.host, statement.table, context.task.database)
    name = statement.table.name
    options = _options(statement.properties)
    if existing(context.host, home, statement.table) is not None:
        if statement.if_not_exists:
            return Outcome((), StatementStatistics())
        raise StatementError("TABLE_ALREADY_EXISTS", f"Table 'awsdatacatalog.{home}.{name}' already exists")
    location = str(
        statement.properties.get("external_location")
        or f"{context.task.output_location.rstrip('/')}/tables/{context.task.id}"
    )
    location = location.rstrip("/") + "/"
    check_empty(context.lake.of((home, name)), location)
    with context.computed(statement.query) as computed, computed.failures():
        columns, batches = computed.result.columns, computed.result.batches
        types = hive_types(columns, batches.schema)
        _check_names(columns)
        own, keys = _split([(column.name.lower(), type_) for column, type_ in zip(columns, types, strict=True)], statement)
        buckets = read_buckets(statement.properties, dict(columns_of(own)))
        writer = PartitionedWriter(context, columns_of(own), columns_of(keys), options, buckets)
        if statement.with_data:
            writer.write_all(iter(batches))
        files = writer.finish(empty=False)
    table = _table(statement, options, own, keys, location)
    if buckets is not None:
        table = {
            **table,
            "Parameters": {**table["Parameters"], "bucketing_version": "1"},
            "StorageDescriptor": {**table["StorageDescriptor"], **buckets.storage},
        }
    commit = _commit(context, home, table, keys, files)
    return outcome(context, replace(computed.statistics, output_rows=0), writer.rows, commit)


def _options(properties: Mapping[str, PropertyValue]) -> WriteOptions:
    unknown = sorted(set(properties) - _KNOWN)
    if unknown:
        raise StatementError(
            "INVALID_TABLE_PROPERTY",
            f"Table property '{unknown[0]}' does not exist",
            remedy=f"Known: {', '.join(sorted(_KNOWN))}.",
        )
    if str(properties.get("table_type", "HIVE")).upper() != "HIVE":
        raise StatementError("NOT_SUPPORTED", f"CREATE TABLE AS of table type {properties['table_type']} is not supported.")
    external = properties.get("is_external", True)
    if external not in {True, "true"}:
        raise StatementError("INVALID_TABLE_PROPERTY", "is_external is true for tables that are not Iceberg's.")
    return read_options(properties, compression="write_compression")


def _check_names(columns: Sequence[ResultColumn]) -> None:
    names: set[str] = set()
    for column in columns:
        name = column.name.lower()
        if name in names:
            raise StatementError("DUPLICATE_COLUMN_NAME", f"Column name '{name}' specified more than once")
        if not name or name.startswith("_col"):
            raise StatementError("MISSING_COLUMN_NAME", "Column name not specified", remedy="Write expression AS name.")
        names.add(name)


Pairs = Sequence[tuple[str, str]]


def _split(columns: Pairs, statement: CreateTableAs) -> tuple[Pairs, Pairs]:
    """Return the table's columns and its partition keys, which have to be the query's last columns."""
    partitioned_by = statement.properties.get("partitioned_by", ())
    keys = [str(item).lower() for item in (partitioned_by if isinstance(partitioned_by, tuple) else (partitioned_by,))]
    if not keys:
        return columns, ()
    names = [name for name, _ in columns]
    missing = [key for key in keys if key not in names]
    if missing:
        raise StatementError("INVALID_TABLE_PROPERTY", f"Partition columns {missing} not present in schema")
    if len(keys) == len(columns):
        raise StatementError("INVALID_TABLE_PROPERTY", "Table contains only partition columns")
    if names[-len(keys) :] != keys:
        raise StatementError(
            "HIVE_COLUMN_ORDER_MISMATCH",
            "Partition keys must be the last columns in the table and in the same order as the table properties: "
            f"[{', '.join(keys)}]",
        )
    return columns[: -len(keys)], columns[-len(keys) :]


def _table(statement: CreateTableAs, options: WriteOptions, own: Pairs, keys: Pairs, location: str) -> Mapping[str, Any]:
    described = [{"Name": name, "Type": type_} for name, type_ in own]
    comment = {"comment": statement.comment} if statement.comment is not None else {}
    parameters = {"EXTERNAL": "TRUE", "has_encrypted_data": "false", "transient_lastDdlTime": str(int(time.time()))}
    return {
        "Name": statement.table.name,
        "TableType": "EXTERNAL_TABLE",
        "Parameters": {**parameters, "write.compression": options.compression, **comment},
        "PartitionKeys": [{"Name": name, "Type": type_} for name, type_ in keys],
        "StorageDescriptor": {"Columns": described, "Location": location, **options.storage},
        **({"Description": statement.comment} if statement.comment is not None else {}),
    }


def _commit(
    context: ExecutionContext, home: str, table: Mapping[str, Any], keys: Pairs, files: Sequence[WrittenFile]
) -> Commit:
    """Return the commit: first the files, which no reader looks for yet, then the table, then its partitions."""
    name, storage = str(table["Name"]), table["StorageDescriptor"]
    location = str(storage["Location"])
    values = dict.fromkeys(tuple(item or "__HIVE_DEFAULT_PARTITION__" for item in file.values) for file in files)
    partitions = partition_changes(home, name, storage, [key for key, _ in keys], list(values)) if keys else ()
    commit = Commit(
        files=placed(context, files, location),
        changes=[change("CreateTable", DatabaseName=home, TableInput=table), *partitions],
        undo=[change("DeleteTable", DatabaseName=home, Name=name)],
        table=(home, name),
    )
    return marked(context, commit, location) if len(values) > _ONE_REQUEST else commit
