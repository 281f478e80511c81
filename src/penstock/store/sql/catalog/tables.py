"""The tables of the catalog's databases, tables and partitions."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, SmallInteger, String, Text
from sqlalchemy import Table as SqlTable

from penstock.store.sql.database import metadata

__all__ = ["databases", "partition_postings", "partition_values", "partitions", "tables", "versions"]

_ID = BigInteger().with_variant(Integer, "sqlite")
_NAME = String(255)


def _to(target: str, table: str, column: str) -> ForeignKey:
    return ForeignKey(f"{target}.id", name=f"fk_{table}_{column}_{target}", ondelete="CASCADE")


databases = SqlTable(
    "catalog_database", metadata, Column("name", _NAME, primary_key=True), Column("body", Text, nullable=False)
)
tables = SqlTable(
    "catalog_table",
    metadata,
    Column("id", _ID, primary_key=True, autoincrement=True),
    Column("database", _NAME, ForeignKey("catalog_database.name", ondelete="CASCADE"), nullable=False),
    Column("name", _NAME, nullable=False),
    Column("version", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Index("ix_catalog_table_database_name", "database", "name", unique=True),
    sqlite_autoincrement=True,
)
versions = SqlTable(
    "catalog_table_version",
    metadata,
    Column("table_id", _ID, ForeignKey("catalog_table.id", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("body", Text, nullable=False),
)
partitions = SqlTable(
    "catalog_partition",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("table_id", _ID, ForeignKey("catalog_table.id", ondelete="CASCADE"), nullable=False),
    Column("key", Text, nullable=False),
    Column("shared", Text, nullable=False),
    Column("body", Text, nullable=False),
    # Keys are matched over this index alone; bodies are read for what an expression takes.
    Index("ix_catalog_partition_table_id_key", "table_id", "key", unique=True),
)
partition_values = SqlTable(
    "catalog_partition_value",
    metadata,
    # Each value of each partition key of a table, and how many partitions have it.
    Column("id", _ID, primary_key=True),
    Column("table_id", _ID, _to("catalog_table", "catalog_partition_value", "table_id"), nullable=False),
    Column("position", SmallInteger, nullable=False),
    Column("value", Text, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("sort", Text, nullable=False),
    Column("count", BigInteger, nullable=False),
    Index("ix_catalog_partition_value_value", "table_id", "position", "value", unique=True),
    Index("ix_catalog_partition_value_sort", "table_id", "position", "kind", "sort"),
)
partition_postings = SqlTable(
    "catalog_partition_posting",
    metadata,
    # The partitions that have a value of the second or a later key; those of the first are a range of keys.
    Column("value_id", _ID, _to("catalog_partition_value", "catalog_partition_posting", "value_id"), primary_key=True),
    Column("key", Text, primary_key=True),
    sqlite_with_rowid=False,
)
