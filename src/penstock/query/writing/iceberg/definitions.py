"""CREATE TABLE of Iceberg tables, also AS a query, and their DROP.

Source: Athena user guide, "Create Iceberg tables", "CREATE TABLE AS".
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pyarrow as pa
from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.table.snapshots import Operation

from penstock.catalog.model import Table
from penstock.errors import AlreadyExists, InvalidInput, NotFound
from penstock.lake.iceberg.errors import BadDocument, NotSupported
from penstock.lake.iceberg.table_metadata import new_table, written
from penstock.lake.iceberg.updates import apply_updates
from penstock.lake.locations import parse_uri
from penstock.query.engine.context import ExecutionContext
from penstock.query.tables.iceberg.lake_io import LakeIO
from penstock.query.tables.lookup import find_database
from penstock.query.task import Outcome, milliseconds_since
from penstock.query.writing.iceberg.commits import FOLDER, create
from penstock.query.writing.iceberg.data_files import DataWriter
from penstock.query.writing.iceberg.properties import iceberg_properties
from penstock.query.writing.iceberg.snapshots import Change, snapshot_updates
from penstock.sql.errors import StatementError
from penstock.sql.statements.model import CreateTable, CreateTableAs, PartitionTransform, PropertyValue
from penstock.statements.model import StatementStatistics
from penstock.types import arrow, hive, iceberg
from penstock.types.model import TypeMissing

__all__ = ["create_table", "create_table_as", "iceberg_type", "outcome"]

_TRANSFORMS = frozenset({"identity", "year", "month", "day", "hour"})
_CALL = re.compile(r"\s*(\w+)\s*\(\s*([^,()]+?)\s*(?:,\s*([^,()]+?)\s*)?\)\s*", re.ASCII)
_NUMBERED = {"bucket": "bucket[{}]", "truncate": "truncate[{}]"}
_WITH = frozenset({"table_type", "is_external", "location", "partitioning"})


def create_table(context: ExecutionContext, statement: CreateTable) -> Outcome:
    """Create an empty table. Raises :class:`StatementError`."""
    for refused, what in (
        (statement.external, "External keyword not allowed for table type ICEBERG"),
        (statement.partitioned_by, "The columns in PARTITIONED BY of an Iceberg table have no types"),
        (
            statement.row_format or statement.format or statement.input_format,
            "An Iceberg table has no ROW FORMAT or STORED AS",
        ),
        (statement.clustered_by, "An Iceberg table is not CLUSTERED BY; write PARTITIONED BY (bucket(N, column))"),
        (not statement.columns, "An Iceberg table needs columns"),
    ):
        if refused:
            raise StatementError("INVALID_TABLE_PROPERTY", f"{what}.")
    ids = count(1)
    fields = [_field(column.name, iceberg_type(column.type, ids), ids, column.comment) for column in statement.columns]
    database = find_database(context.host, statement.table, context.task.database)
    document = _document(
        fields,
        statement.transforms,
        _location(statement.location),
        iceberg_properties(statement.properties),
        statement.comment,
    )
    io = LakeIO(context.lake.of((database, statement.table.name)), context.task.folder / FOLDER)
    try:
        _check_absent(context, database, statement.table.name)
        create(context, database, statement.table.name, document, io)
    except AlreadyExists:
        if not statement.if_not_exists:
            raise _exists(database, statement.table.name) from None
    return outcome(context)


def create_table_as(context: ExecutionContext, statement: CreateTableAs) -> Outcome:
    """Create a table with the rows of a query, in one commit. Raises :class:`StatementError`."""
    properties = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in statement.properties.items()
        if name != "partitioning"
    }
    if properties.get("is_external", "").lower() != "false":
        raise StatementError(
            "INVALID_TABLE_PROPERTY",
            "An Iceberg table cannot be external.",
            remedy="Set is_external = false in the WITH clause.",
        )
    location = _location(properties.get("location"))
    stored = iceberg_properties({name: value for name, value in properties.items() if name not in _WITH})
    transforms = [_parsed(text) for text in _texts(statement.properties.get("partitioning"))]
    database = find_database(context.host, statement.table, context.task.database)
    name = statement.table.name
    try:
        _check_absent(context, database, name)
    except AlreadyExists:
        if statement.if_not_exists:
            return outcome(context)
        raise _exists(database, name) from None
    io = LakeIO(context.lake.of((database, name)), context.task.folder / FOLDER)
    with context.computed(statement.query) as computation:
        batches = computation.result.batches
        names = [column.name.lower() for column in computation.result.columns]
        ids = count(1)
        fields = [
            # The engine's sums have more digits than a bigint, which they are in Trino.
            _field(column.name.lower(), "long" if column.type == "bigint" else _of_arrow(type_, ids, column.name), ids, None)
            for column, type_ in zip(computation.result.columns, batches.schema.types, strict=True)
        ]
        document = _document(fields, transforms, location, stored, statement.comment)
        metadata = TableMetadataUtil.parse_obj(written(document))
        writer = DataWriter(metadata, io)
        if statement.with_data:
            with computation.failures():
                for batch in batches:
                    writer.add(dict(zip(names, batch.columns, strict=True)), batch.num_rows)
        files = writer.finish()
        updates = snapshot_updates(metadata, Change(operation=Operation.APPEND, added=files), io)
        # The first snapshot is part of the first metadata file: the table is never seen without its rows.
        complete = apply_updates(document, updates, metadata_location=None) or document
        try:
            create(context, database, name, complete, io)
        except AlreadyExists:
            raise _exists(database, name) from None
        return outcome(context, computation.statistics, rows=writer.rows, written=[file.file_path for file in files])


def outcome(
    context: ExecutionContext,
    statistics: StatementStatistics | None = None,
    *,
    rows: int | None = None,
    written: Sequence[str] = (),
) -> Outcome:
    """Return the outcome of a statement that has no rows as its result."""
    timed = replace(statistics or StatementStatistics(), engine_ms=milliseconds_since(context.started))
    return Outcome((), timed, rows, written)


def _document(
    fields: Sequence[Mapping[str, Any]],
    transforms: Sequence[PartitionTransform],
    location: str,
    properties: Mapping[str, str],
    comment: str | None,
) -> dict[str, Any]:
    """Return the metadata of a new table of format version 2."""
    schema = {"type": "struct", "schema-id": 0, "fields": list(fields)}
    names = [field["name"] for field in fields]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise StatementError("DUPLICATE_COLUMN_NAME", f"Column name '{twice}' specified more than once")
    spec = {"spec-id": 0, "fields": [_partition(transform, fields) for transform in transforms]}
    stored = {"write.parquet.compression-codec": "zstd", **properties, **({"comment": comment} if comment else {})}
    try:
        return new_table(schema, location=location, spec=spec, properties=stored)
    except (BadDocument, NotSupported) as error:
        raise StatementError("INVALID_TABLE_PROPERTY", error.message, remedy=error.remedy) from None


def _partition(transform: PartitionTransform, fields: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    source = next((field["id"] for field in fields if field["name"] == transform.column), None)
    if source is None:
        raise StatementError("COLUMN_NOT_FOUND", f"The partition column '{transform.column}' is not a column of the table")
    name = transform.transform
    if name in _TRANSFORMS and transform.number is None:
        suffix = "" if name == "identity" else f"_{name}"
        return {"source-id": source, "transform": name, "name": f"{transform.column}{suffix}"}
    if name not in _NUMBERED or transform.number is None or not 0 < transform.number < 2**31:
        raise StatementError("INVALID_TABLE_PROPERTY", f"{name[:50]} is not a partition transform of an Iceberg table.")
    suffix = "bucket" if name == "bucket" else "trunc"
    return {
        "source-id": source,
        "transform": _NUMBERED[name].format(transform.number),
        "name": f"{transform.column}_{suffix}",
    }


def _parsed(text: str) -> PartitionTransform:
    """Return an item of ``partitioning``: ``day``, ``month(day)``, ``bucket(id, 16)``."""
    match = _CALL.fullmatch(text)
    if match is None:
        return PartitionTransform(text.strip().strip('"').lower())
    name, *arguments = (group.strip('"').lower() for group in match.groups() if group is not None)
    number = next((argument for argument in arguments if argument.isdigit()), None)
    columns = [argument for argument in arguments if not argument.isdigit()]
    if len(columns) != 1:
        raise StatementError("INVALID_TABLE_PROPERTY", f"'{text[:100]}' is not a partition transform.")
    return PartitionTransform(columns[0], name, int(number) if number is not None else None)


def iceberg_type(text: str, ids: Iterator[int]) -> Any:
    """Return Iceberg's type for a type of DDL, in JSON. Raises :class:`StatementError` for types that Iceberg lacks."""
    try:
        return iceberg.render(hive.parse(text.lower()), ids)
    except hive.TypeUnreadable as error:
        raise StatementError("INVALID_TABLE_PROPERTY", error.message) from None
    except TypeMissing as error:
        raise StatementError("NOT_SUPPORTED", f"Type not supported for Iceberg: {text}", remedy=error.remedy) from None


def _of_arrow(type_: pa.DataType, ids: Iterator[int], column: str) -> Any:
    """Return Iceberg's type for the type of a query's column."""
    try:
        return iceberg.render(arrow.parse(type_), ids, small_integers=True)
    except TypeMissing:
        what = "unknown" if pa.types.is_null(type_) else str(type_)
        raise StatementError(
            "NOT_SUPPORTED", f"Column '{column}': type not supported for Iceberg: {what}", remedy="Write a CAST."
        ) from None


def _field(name: str, type_: Any, ids: Iterator[int], comment: str | None) -> dict[str, Any]:
    if not name:
        raise StatementError("MISSING_COLUMN_NAME", "Column name not specified.")
    field = {"id": next(ids), "name": name, "type": type_, "required": False}
    return {**field, "doc": comment} if comment else field


def _location(location: str | None) -> str:
    if not location:
        raise StatementError(
            "INVALID_TABLE_PROPERTY", "Table location must be specified for an Iceberg table.", remedy="Add the location."
        )
    try:
        return str(parse_uri(location)).rstrip("/")
    except InvalidInput as error:
        raise StatementError("INVALID_TABLE_PROPERTY", error.message, remedy=error.remedy) from None


def _check_absent(context: ExecutionContext, database: str, name: str) -> None:
    """Raise :class:`AlreadyExists` before files are written for a table that exists."""
    table: Table | None
    try:
        table = context.host.table(database, name)
    except NotFound:
        table = None
    if table is not None:
        raise AlreadyExists(f"Table {name} already exists.")


def _exists(database: str, name: str) -> StatementError:
    return StatementError("TABLE_ALREADY_EXISTS", f"Table 'awsdatacatalog.{database}.{name}' already exists")


def _texts(value: PropertyValue | None) -> tuple[str, ...]:
    if value is not None and not isinstance(value, tuple):
        raise StatementError("INVALID_TABLE_PROPERTY", "partitioning is a list: ARRAY['month(day)'].")
    return value or ()
