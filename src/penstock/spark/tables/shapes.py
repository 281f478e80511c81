"""Columns of a table: two sets merged, fields under the table's names, types as the catalog writes them."""

from collections.abc import Collection, Iterable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from penstock.spark.quoting import quoted
from penstock.spark.sources.port import METADATA
from penstock.spark.tables.changes import Change, Path, RenameColumn, common_type
from penstock.spark.types import hive_type

__all__ = ["hive_columns", "merged", "under_table_names", "with_table_names", "without_fields"]


def merged(table: StructType, batch: StructType) -> StructType:
    """Return the table's columns, widened to hold the batch's, and then the columns that only the batch has.

    Where no type holds both, the table's stays. Names are compared without regard to case; the table's are kept.
    """
    theirs = {field.name.lower(): field for field in batch.fields}
    fields = []
    for field in table.fields:
        peer = theirs.pop(field.name.lower(), None)
        data_type = field.dataType if peer is None else _merged_type(field.dataType, peer.dataType)
        fields.append(StructField(field.name, data_type, field.nullable))
    return StructType([*fields, *theirs.values()])


def _merged_type(table: DataType, batch: DataType) -> DataType:
    match table, batch:
        case StructType(), StructType():
            return merged(table, batch)
        case ArrayType(), ArrayType():
            return ArrayType(_merged_type(table.elementType, batch.elementType))
        case MapType(), MapType():
            return MapType(_merged_type(table.keyType, batch.keyType), _merged_type(table.valueType, batch.valueType))
        case _:
            return common_type(table, batch) or table


def without_fields(batch: StructType, paths: Collection[Path]) -> StructType:
    """Return the batch's columns without the fields at ``paths``."""
    return _without((), batch, frozenset(paths)) if paths else batch


def _without(path: Path, batch: StructType, paths: Collection[Path]) -> StructType:
    return StructType(
        [
            StructField(field.name, _without_in((*path, field.name), field.dataType, paths), field.nullable)
            for field in batch.fields
            if (*path, field.name) not in paths
        ]
    )


def _without_in(path: Path, data_type: DataType, paths: Collection[Path]) -> DataType:
    match data_type:
        case StructType():
            return _without(path, data_type, paths)
        case ArrayType():
            return ArrayType(_without_in((*path, "element"), data_type.elementType, paths), data_type.containsNull)
        case MapType():
            value = _without_in((*path, "value"), data_type.valueType, paths)
            return MapType(_without_in((*path, "key"), data_type.keyType, paths), value, data_type.valueContainsNull)
        case _:
            return data_type


def with_table_names(batch: StructType, changes: Iterable[Change]) -> StructType:
    """Return the batch's columns with the names that the table has for renamed fields."""
    names = {change.new: change.old[-1] for change in changes if isinstance(change, RenameColumn)}
    return _named((), batch, names)


def _named(path: Path, batch: StructType, names: Mapping[Path, str]) -> StructType:
    return StructType(
        [
            StructField(
                names.get((*path, field.name), field.name),
                _named_type((*path, field.name), field.dataType, names),
                field.nullable,
            )
            for field in batch.fields
        ]
    )


def _named_type(path: Path, data_type: DataType, names: Mapping[Path, str]) -> DataType:
    match data_type:
        case StructType():
            return _named(path, data_type, names)
        case ArrayType():
            return ArrayType(_named_type((*path, "element"), data_type.elementType, names), data_type.containsNull)
        case MapType():
            key, value = (*path, "key"), (*path, "value")
            return MapType(
                _named_type(key, data_type.keyType, names),
                _named_type(value, data_type.valueType, names),
                data_type.valueContainsNull,
            )
        case _:
            return data_type


def under_table_names(rows: DataFrame, changes: Iterable[Change]) -> DataFrame:
    """Return ``rows`` with the table's names for renamed fields, also inside structs, arrays and maps."""
    target = with_table_names(rows.schema, changes)
    if target == rows.schema:
        return rows
    columns = []
    for have, want in zip(rows.schema.fields, target.fields, strict=True):
        column = F.col(quoted(have.name))
        columns.append((column if have.dataType == want.dataType else column.cast(want.dataType)).alias(want.name))
    return rows.select(*columns)


def hive_columns(schema: StructType) -> dict[str, str]:
    """Return columns to Hive types, without the records' metadata."""
    hidden = set(METADATA.values())
    return {field.name: hive_type(field.dataType) for field in schema.fields if field.name not in hidden}
