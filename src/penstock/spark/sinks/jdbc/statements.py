# ruff: noqa: S608 -- identifiers are quoted, and values are parameters
"""The SQL of the JDBC sink, as text: the marker of batches, new tables, and how staged rows get into a table.

PostgreSQL has ON CONFLICT. Redshift has not, and does not enforce unique keys, so that it locks the markers' table, and
replaces rows by DELETE and INSERT (https://docs.aws.amazon.com/redshift/latest/dg/t_updating-inserting-using-staging-tables-.html).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql.types import StructType

from penstock.client.databases.jdbc_url import Dialect
from penstock.spark.sinks.jdbc.types import column_type

__all__ = [
    "MARKERS",
    "STAGE",
    "TableName",
    "columns_of",
    "create_table",
    "has_key",
    "mark",
    "marked",
    "marker_table",
    "matched",
    "merge",
    "quoted",
    "stage",
]

MARKERS = "penstock_batches"
"""The table of markers, in the schema of the sink's table."""

STAGE = "penstock_stage"
"""The temporary table of a batch's rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableName:
    """A table and its schema, as the database has them."""

    schema: str
    name: str

    @property
    def sql(self) -> str:
        """Return the name for a statement."""
        return f"{quoted(self.schema)}.{quoted(self.name)}"

    @property
    def markers(self) -> str:
        """Return the name of the markers' table, for a statement."""
        return f"{quoted(self.schema)}.{quoted(MARKERS)}"


def quoted(name: str) -> str:
    """Return an identifier in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def _list(names: Sequence[str]) -> str:
    return ", ".join(quoted(name) for name in names)


def marker_table(table: TableName) -> str:
    """Return the statement that creates the table of markers: a row for each batch that was written."""
    return (
        f"CREATE TABLE IF NOT EXISTS {table.markers} (application varchar(512) NOT NULL, batch bigint NOT NULL, "
        "offsets varchar(65535) NOT NULL, row_count bigint NOT NULL, written_at timestamp with time zone NOT NULL, "
        "PRIMARY KEY (application, batch))"
    )


def mark(table: TableName, dialect: Dialect) -> str:
    """Return the statement that inserts a marker; on PostgreSQL no row if it is there."""
    conflict = " ON CONFLICT DO NOTHING" if dialect == "postgresql" else ""
    return f"INSERT INTO {table.markers} VALUES (:application, :batch, :offsets, :rows, CURRENT_TIMESTAMP){conflict}"


def marked(table: TableName) -> str:
    """Return the query that counts the markers of a batch and of later ones."""
    return f"SELECT count(*) FROM {table.markers} WHERE application = :application AND batch >= :batch"


def columns_of(dialect: Dialect) -> str:
    """Return the query for a table's columns: name, type, length, precision, scale, and whether a row may lack it."""
    identity = " OR is_identity = 'YES'" if dialect == "postgresql" else ""
    return (
        "SELECT column_name, lower(data_type), character_maximum_length, numeric_precision, numeric_scale, "
        f"is_nullable = 'YES' OR column_default IS NOT NULL{identity} FROM information_schema.columns "
        "WHERE table_schema = :schema AND table_name = :table ORDER BY ordinal_position"
    )


def create_table(table: TableName, columns: StructType, keys: Sequence[str], dialect: Dialect) -> str:
    """Return the statement that creates a table; Redshift only plans with its primary key."""
    lines = []
    for field in columns.fields:
        required = " NOT NULL" if field.name in keys else ""
        lines.append(f"{quoted(field.name)} {column_type(field.dataType, dialect, column=field.name)}{required}")
    if keys:
        lines.append(f"PRIMARY KEY ({_list(keys)})")
    return f"CREATE TABLE IF NOT EXISTS {table.sql} ({', '.join(lines)})"


def stage(table: TableName, columns: Sequence[str], deleted: str) -> str:
    """Return the statement that creates the temporary table for the batch's changes: ``columns`` and ``deleted``."""
    return (
        f"CREATE TEMPORARY TABLE {STAGE} AS SELECT {_list(columns)}, false AS {quoted(deleted)} FROM {table.sql} WHERE 1 = 0"
    )


def merge(
    table: TableName, columns: Sequence[str], keys: Sequence[str], deleted: str, dialect: Dialect, *, deletes: bool
) -> list[str]:
    """Return the statements that apply the staged changes: deletions if there can be some, then rows to write."""
    same = " AND ".join(f"{table.sql}.{quoted(key)} = {STAGE}.{quoted(key)}" for key in keys)
    written = f"SELECT {_list(columns)} FROM {STAGE} WHERE NOT {quoted(deleted)}"
    delete = f"DELETE FROM {table.sql} USING {STAGE} WHERE {same}"
    insert = f"INSERT INTO {table.sql} ({_list(columns)}) {written}"
    if dialect == "redshift":
        return [delete, insert]
    others = [name for name in columns if name not in keys]
    update = ", ".join(f"{quoted(name)} = EXCLUDED.{quoted(name)}" for name in others)
    upsert = f"{insert} ON CONFLICT ({_list(keys)}) DO {f'UPDATE SET {update}' if others else 'NOTHING'}"
    return [f"{delete} AND {STAGE}.{quoted(deleted)}", upsert] if deletes else [upsert]


def has_key() -> str:
    """Return the query for a unique index of PostgreSQL on exactly the columns ``:keys`` (sorted, with commas between)."""
    return (
        "SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = :schema AND c.relname = :table "
        "AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indnatts = i.indnkeyatts "
        "AND :keys = (SELECT string_agg(a.attname, ',' ORDER BY a.attname COLLATE \"C\") FROM pg_attribute a "
        "WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey))"
    )


def matched(columns: Sequence[str], table: Sequence[str]) -> Mapping[str, str]:
    """Return the table's column for each of ``columns``, whatever its case; without those that it lacks."""
    exact, folded = set(table), {name.lower(): name for name in table}
    columns_by_name = {name: name if name in exact else folded.get(name.lower()) for name in columns}
    return {name: column for name, column in columns_by_name.items() if column is not None}
