"""Statements of Spark SQL about tables: names, types, changes of columns, and MERGE, for Iceberg and Delta alike."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.types import StructType

from penstock.spark.quoting import quoted
from penstock.spark.sinks.changes import DELETED
from penstock.spark.tables.changes import AddColumn, Change, Incompatible, RenameColumn, WidenType
from penstock.spark.types import ddl

__all__ = ["alteration", "columns_sql", "for_columns", "literal", "merge_sql"]


def literal(text: str) -> str:
    """Return a text as a literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def columns_sql(columns: StructType) -> str:
    """Return the columns of CREATE TABLE."""
    return ", ".join(f"{quoted(field.name)} {ddl(field.dataType)}" for field in columns.fields)


def alteration(table: str, change: Change) -> str:
    """Return the ALTER TABLE of a change, for the table with the quoted name ``table``."""
    match change:
        case AddColumn():
            return f"ALTER TABLE {table} ADD COLUMNS ({quoted(*change.path)} {ddl(change.type)})"
        case WidenType():
            return f"ALTER TABLE {table} ALTER COLUMN {quoted(*change.path)} TYPE {ddl(change.new)}"
        case RenameColumn():
            return f"ALTER TABLE {table} RENAME COLUMN {quoted(*change.old)} TO {quoted(change.new[-1])}"
        case Incompatible():
            raise ValueError(change)


def for_columns(rows: DataFrame, table: StructType) -> DataFrame:
    """Return the rows with the columns of the table, in its order; null for those that the rows lack."""
    names = {name.lower(): name for name in rows.columns}
    columns = [
        F.col(quoted(names[field.name.lower()])).alias(field.name)
        if field.name.lower() in names
        else F.lit(None).cast(field.dataType).alias(field.name)
        for field in table.fields
    ]
    return rows.select(*columns)


def merge_sql(target: str, source: str, columns: Sequence[str], keys: Sequence[str]) -> str:
    """Return the MERGE of a view of :func:`~penstock.spark.sinks.changes.latest_changes` with ``columns`` into a table.

    Columns of the table that are not in ``columns`` keep their values. Keys that are null are equal.
    """
    same = " AND ".join(f"t.{quoted(key)} <=> s.{quoted(key)}" for key in keys)
    values = ", ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in columns)
    names, inserted = ", ".join(map(quoted, columns)), ", ".join(f"s.{quoted(name)}" for name in columns)
    parts = [
        f"MERGE INTO {target} AS t USING {source} AS s ON {same}",
        f"WHEN MATCHED AND s.{DELETED} THEN DELETE",
        f"WHEN MATCHED THEN UPDATE SET {values}",
        f"WHEN NOT MATCHED AND NOT s.{DELETED} THEN INSERT ({names}) VALUES ({inserted})",  # noqa: S608 - names are quoted
    ]
    return "\n".join(parts)
