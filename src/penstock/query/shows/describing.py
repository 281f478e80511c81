"""DESCRIBE of a table, a partition or a column, in Hive's lines. Source: Apache Hive language manual, "Describe"."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from penstock.catalog.model import Column, SerDeInfo, StorageDescriptor, Table
from penstock.lake.iceberg.glue_tables import current_columns
from penstock.query.ddl.errors import semantic_error, table_of
from penstock.query.ddl.partitions import one_partition
from penstock.query.engine.context import ExecutionContext
from penstock.query.shows.result import ShowResult
from penstock.query.tables import information_schema
from penstock.query.tables.shown import shown_storage, shown_table
from penstock.sql.errors import StatementError
from penstock.sql.hive_types import parse_hive_type
from penstock.sql.statements.model import Describe
from penstock.types import hive
from penstock.types.model import LakeType, Struct

__all__ = ["describe"]

_NAMES = ["col_name", "data_type", "comment"]
_WIDTH = 20
Row = list[str]


def describe(context: ExecutionContext, statement: Describe) -> ShowResult:
    """Run DESCRIBE. Raises :class:`StatementError` if the table, the partition or the column does not exist."""
    table = _table(context, statement)
    storage = table.storage
    if statement.partition:
        storage = shown_storage(context.host, table, one_partition(context, table, statement.partition).storage)
    columns = (storage.columns if statement.partition else ()) or current_columns(table)
    if statement.column:
        return ShowResult(_NAMES, [_column([*columns, *table.partition_keys], statement.column)])
    rows = [_described(column) for column in (*columns, *table.partition_keys)]
    if statement.style == "FORMATTED":
        rows = [_heads(), _blank(), *(_described(column) for column in columns)]
    if table.partition_keys:
        rows += [_blank(), ["# Partition Information", "", ""], _heads(), _blank()]
        rows += [_described(column) for column in table.partition_keys]
    if statement.style == "FORMATTED":
        rows += [_blank(), *_detailed(table, storage)]
    elif statement.style == "EXTENDED":
        rows += [_blank(), ["Detailed Table Information", _everything(table, storage), ""]]
    return ShowResult(_NAMES, rows)


def _table(context: ExecutionContext, statement: Describe) -> Table:
    if (statement.table.database or context.task.database) == information_schema.NAME:
        for table in information_schema.schema_tables():
            if table.name == statement.table.name:
                return table
    return shown_table(context.host, table_of(context.host, statement.table, context.task.database))


def _column(columns: Sequence[Column], path: Sequence[str]) -> Row:
    for column in columns:
        if column.name.lower() == path[0]:
            break
    else:
        raise semantic_error(f"Invalid column reference {path[0]}", number=10002)
    text = column.type or "string"
    if len(path) > 1:
        text = hive.render(_inside(parse_hive_type(text), path))
    comment = column.comment if len(path) == 1 and column.comment else "from deserializer"
    return [path[-1].ljust(_WIDTH), text.ljust(_WIDTH), comment.ljust(_WIDTH)]


def _inside(type_: LakeType, path: Sequence[str]) -> LakeType:
    for at, part in enumerate(path[1:], 1):
        parts: Mapping[str, LakeType] = {}
        if type_.name == "array":
            parts = {"$elem$": type_.inner[0]}
        elif type_.name == "map":
            parts = {"$key$": type_.inner[0], "$value$": type_.inner[1]}
        elif isinstance(type_, Struct):
            parts = {field.name.lower(): field.type for field in type_.fields}
        if part not in parts:
            raise StatementError(
                "FAILED",
                f"SemanticException Error retrieving the field '{part}' of {'.'.join(path[:at])}",
                remedy=f"It has {', '.join(parts)}." if parts else "It has no parts.",
            )
        type_ = parts[part]
    return type_


def _described(column: Column) -> Row:
    comment = (column.comment or "").replace("\t", " ").replace("\n", " ")
    return [column.name.ljust(_WIDTH), (column.type or "string").ljust(_WIDTH), comment.ljust(_WIDTH)]


def _detailed(table: Table, storage: StorageDescriptor) -> Sequence[Row]:
    serde = storage.serde_info or SerDeInfo()
    extra = storage.extra
    order = [f"Order(col:{item['Column']}, order:{item['SortOrder']})" for item in _listed(extra.get("SortColumns"))]
    return [
        ["# Detailed Table Information", "", ""],
        _line("Database:", table.database),
        _line("Owner:", table.owner or ""),
        _line("CreateTime:", _date(table.create_time)),
        _line("LastAccessTime:", _date(table.last_access_time) if table.last_access_time else "UNKNOWN"),
        _line("Retention:", str(table.retention)),
        _line("Location:", storage.location or ""),
        _line("Table Type:", table.table_type or ""),
        ["Table Parameters:", "", ""],
        *_parameters(table.parameters),
        _blank(),
        ["# Storage Information", "", ""],
        _line("SerDe Library:", serde.serialization_library or "null"),
        _line("InputFormat:", storage.input_format or "null"),
        _line("OutputFormat:", storage.output_format or "null"),
        _line("Compressed:", "Yes" if storage.compressed else "No"),
        _line("Num Buckets:", str(extra.get("NumberOfBuckets", 0))),
        _line("Bucket Columns:", f"[{', '.join(map(str, _listed(extra.get('BucketColumns'))))}]"),
        _line("Sort Columns:", f"[{', '.join(order)}]"),
        ["Storage Desc Params:", "", ""],
        *_parameters(serde.parameters),
    ]


def _listed(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _everything(table: Table, storage: StorageDescriptor) -> str:
    """Return the table in one text, in the form of the metastore's own."""
    columns = ", ".join(
        f"FieldSchema(name:{column.name}, type:{column.type or 'string'}, comment:{column.comment or 'null'})"
        for column in storage.columns
    )
    serde = storage.serde_info or SerDeInfo()
    library = serde.serialization_library or "null"
    return (
        (
            f"Table(tableName:{table.name}, dbName:{table.database}, owner:{table.owner or 'null'}, "
            f"createTime:{int(table.create_time.timestamp())}, retention:{table.retention}, "
            f"sd:StorageDescriptor(cols:[{columns}], location:{storage.location or 'null'}, "
            f"inputFormat:{storage.input_format or 'null'}, outputFormat:{storage.output_format or 'null'}, "
            f"serdeInfo:SerDeInfo(serializationLib:{library}, parameters:{_braces(serde.parameters)})), "
            f"partitionKeys:[{', '.join(key.name for key in table.partition_keys)}], "
            f"parameters:{_braces(table.parameters)}, tableType:{table.table_type or 'null'})"
        )
        .replace("\n", " ")
        .replace("\t", " ")
    )


def _braces(values: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{key}={value}' for key, value in sorted(values.items()))}}}"


def _parameters(values: Mapping[str, str]) -> Sequence[Row]:
    return [["", key.ljust(_WIDTH), _one_line(value).ljust(_WIDTH)] for key, value in sorted(values.items())]


def _one_line(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


def _line(name: str, value: str) -> Row:
    return [name.ljust(_WIDTH), _one_line(value).ljust(_WIDTH), ""]


def _heads() -> Row:
    return [name.ljust(_WIDTH) for name in ("# col_name", "data_type", "comment")]


def _blank() -> Row:
    return ["", "", ""]


def _date(moment: datetime) -> str:
    return moment.strftime("%a %b %d %H:%M:%S UTC %Y")
