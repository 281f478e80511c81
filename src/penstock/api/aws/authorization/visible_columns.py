"""Answers about tables without the columns that their caller may not see.

Source: Lake Formation developer guide, "Metadata permissions": the catalog returns only the metadata that the caller has
permissions on. Keys of partitions stay, because the values of partitions are of no use without them.
"""

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["Visible", "hide_columns"]

Visible = Callable[[str, str, list[str]], frozenset[str] | None]
"""Returns which columns of a table are to be shown, by database, table and names of all; None for all."""

# Spark keeps a second list of columns, with all of them, in these parameters.
_LISTS_OF_COLUMNS = "spark.sql.sources.schema"

# By operation: where tables or partitions are in its answer.
_SHOWN: Mapping[str, str] = {
    "GetTable": "Table",
    "GetTables": "TableList",
    "SearchTables": "TableList",
    "GetTableVersion": "TableVersion.Table",
    "GetTableVersions": "TableVersions.Table",
    "GetPartition": "Partition",
    "GetPartitions": "Partitions",
    "BatchGetPartition": "Partitions",
    "GetTableMetadata": "TableMetadata",
    "ListTableMetadata": "TableMetadataList",
    "SearchTablesByLFTags": "TableList.Table",
    "GetColumnStatisticsForTable": "ColumnStatisticsList",
    "GetColumnStatisticsForPartition": "ColumnStatisticsList",
}


def hide_columns(
    operation: str, request: Mapping[str, Any], answer: Mapping[str, Any], visible: Visible
) -> Mapping[str, Any]:
    """Return ``answer`` without hidden columns."""
    path = _SHOWN.get(operation)
    return answer if path is None else _at(answer, path.split("."), lambda shape: _narrowed(shape, request, visible))


def _at(value: Any, path: list[str], change: Callable[[Any], Any]) -> Any:
    if isinstance(value, list):
        items = [_at(item, path, change) for item in value]
        return [item for item in items if item is not None]
    if not path:
        return change(value)
    if value.get(path[0]) is None:
        return value
    return {**value, path[0]: _at(value[path[0]], path[1:], change)}


def _narrowed(shape: Mapping[str, Any], request: Mapping[str, Any], visible: Visible) -> Mapping[str, Any] | None:
    """Return a table, a partition or the statistics of a column as it is shown; None for one that is not."""
    database = str(shape.get("DatabaseName") or request.get("DatabaseName", "")).lower()
    if "ColumnName" in shape:
        name = str(shape["ColumnName"])
        shown = visible(database, str(request["TableName"]).lower(), [name.lower()])
        return shape if shown is None or name.lower() in shown else None
    storage = shape.get("StorageDescriptor") or {}
    columns = shape.get("Columns") or storage.get("Columns") or []
    keys = shape.get("PartitionKeys") or []
    table = str(shape.get("TableName") or shape.get("Name") or request.get("TableName", "")).lower()
    shown = visible(database, table, [str(column["Name"]).lower() for column in (*columns, *keys)])
    if shown is None:
        return shape
    visible_columns = [column for column in columns if str(column["Name"]).lower() in shown]
    parameters = {
        name: value for name, value in (shape.get("Parameters") or {}).items() if not name.startswith(_LISTS_OF_COLUMNS)
    }
    narrowed = {**shape, "Parameters": parameters}
    if "Columns" in shape:
        narrowed["Columns"] = visible_columns
    if "Columns" in storage:
        narrowed["StorageDescriptor"] = {**storage, "Columns": visible_columns}
    return narrowed
