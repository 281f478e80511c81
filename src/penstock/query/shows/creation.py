"""SHOW CREATE TABLE and SHOW CREATE VIEW: texts that make the same table or view again."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.catalog.model import Column, Table
from penstock.query.ddl.errors import semantic_error
from penstock.query.engine.context import ExecutionContext
from penstock.query.shows.result import ShowResult
from penstock.query.tables.lookup import is_iceberg
from penstock.query.tables.shown import visible_columns
from penstock.query.tables.views import VIEW_TYPE, read_view
from penstock.sql.errors import StatementError

__all__ = ["create_table", "create_view", "hive_quoted"]

# Properties that have a clause of their own.
_CLAUSES = frozenset({"EXTERNAL", "comment"})
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CONTROL = re.compile(r"[\\'\x00-\x1f]")


def create_table(context: ExecutionContext, table: Table) -> ShowResult:
    """Return the lines of CREATE TABLE. Raises :class:`StatementError` for a view."""
    if table.table_type == VIEW_TYPE:
        raise semantic_error(f"{table.database}.{table.name} is a view", remedy="Use SHOW CREATE VIEW.")
    lines = _iceberg(context, table) if is_iceberg(table) else _hive(table)
    return ShowResult(["createtab_stmt"], [[line] for line in lines])


def create_view(_context: ExecutionContext, table: Table) -> ShowResult:
    """Return the lines of CREATE VIEW. Raises :class:`StatementError` for a table."""
    name = f"{table.database}.{table.name}"
    if table.table_type != VIEW_TYPE:
        raise StatementError("NOT_SUPPORTED", f"Relation '{name}' is not a view", remedy="Use SHOW CREATE TABLE.")
    lines = [f"CREATE VIEW {name} AS", *read_view(table).sql.splitlines()]
    return ShowResult(["Create View"], [[line] for line in lines])


def hive_quoted(text: str) -> str:
    """Return ``text`` as Hive's string literal."""
    return "'" + _CONTROL.sub(lambda match: _ESCAPES.get(match[0], f"\\{ord(match[0]):03o}"), text) + "'"


def _hive(table: Table) -> Sequence[str]:
    storage = table.storage
    lines = [f"CREATE EXTERNAL TABLE `{table.database}.{table.name}`(", *_definitions(storage.columns)]
    comment = table.parameters.get("comment") or table.description
    if comment:
        lines += ["COMMENT", f"  {hive_quoted(comment)}"]
    if table.partition_keys:
        lines += ["PARTITIONED BY ( ", *_definitions(table.partition_keys)]
    lines += _buckets(storage.extra)
    serde = storage.serde_info
    if serde is not None and serde.serialization_library:
        lines += ["ROW FORMAT SERDE ", f"  {hive_quoted(serde.serialization_library)} "]
        if serde.parameters:
            lines += ["WITH SERDEPROPERTIES ( ", *_pairs(serde.parameters)]
    if storage.input_format:
        lines += ["STORED AS INPUTFORMAT ", f"  {hive_quoted(storage.input_format)} "]
        lines += ["OUTPUTFORMAT ", f"  {hive_quoted(storage.output_format or '')}"]
    if storage.location:
        lines += ["LOCATION", f"  {hive_quoted(storage.location)}"]
    properties = {key: value for key, value in table.parameters.items() if key not in _CLAUSES}
    return [*lines, "TBLPROPERTIES (", *_pairs(properties)] if properties else lines


def _buckets(extra: Mapping[str, Any]) -> Sequence[str]:
    columns, number = extra.get("BucketColumns") or (), extra.get("NumberOfBuckets") or 0
    if not columns or number < 1:
        return []
    lines = ["CLUSTERED BY ( ", *_names(columns)]
    order = extra.get("SortColumns") or ()
    if order:
        lines += ["SORTED BY ( "]
        named = [f"  `{item['Column']}` {'ASC' if item['SortOrder'] else 'DESC'}" for item in order]
        lines += [*(f"{name}, " for name in named[:-1]), f"{named[-1]})"]
    return [*lines, f"INTO {number} BUCKETS"]


def _names(names: Sequence[str]) -> Sequence[str]:
    return [*(f"  `{name}`, " for name in names[:-1]), f"  `{names[-1]}`)"]


def _iceberg(context: ExecutionContext, table: Table) -> Sequence[str]:
    from penstock.query.tables.iceberg.state import load  # noqa: PLC0415 - it imports pyiceberg, which Hive's tables do not need
    from penstock.query.tables.iceberg.types import hive_type  # noqa: PLC0415 - see above
    from penstock.query.writing.iceberg.properties import athena_properties  # noqa: PLC0415 - as below

    metadata = load(table, context.lake.of(table)).metadata
    schema = metadata.schema()
    visible = visible_columns(context.host, table, [nested_field.name for nested_field in schema.fields])
    shown = [nested_field for nested_field in schema.fields if visible is None or nested_field.name.lower() in visible]
    columns = [
        Column(name=nested_field.name, type=hive_type(nested_field.field_type), comment=nested_field.doc)
        for nested_field in shown
    ]
    lines = [f"CREATE TABLE {table.database}.{table.name} (", *_definitions(columns)]
    fields = []
    for field in metadata.spec().fields:
        name, transform = schema.find_column_name(field.source_id), str(field.transform)
        call = re.fullmatch(r"(bucket|truncate)\[(\d+)\]", transform)
        if transform != "void":
            whole = f"`{name}`" if transform == "identity" else f"{transform}(`{name}`)"
            fields.append(f"{call[1]}({call[2]}, `{name}`)" if call else whole)
    if fields:
        lines.append(f"PARTITIONED BY ({', '.join(fields)})")
    lines.append(f"LOCATION {hive_quoted(metadata.location)}")
    return [*lines, "TBLPROPERTIES (", *_pairs(athena_properties(metadata.properties))]


def _definitions(columns: Sequence[Column]) -> Sequence[str]:
    comments = [f" COMMENT {hive_quoted(column.comment)}" if column.comment else "" for column in columns]
    ends = [", "] * (len(columns) - 1) + [")"]
    return [
        f"  `{column.name}` {column.type or 'string'}{comment}{end}"
        for column, comment, end in zip(columns, comments, ends, strict=False)
    ]


def _pairs(values: Mapping[str, str]) -> Sequence[str]:
    ends = [", "] * (len(values) - 1) + [")"]
    return [
        f"  {hive_quoted(key)}={hive_quoted(value)}{end}"
        for (key, value), end in zip(sorted(values.items()), ends, strict=True)
    ]
