"""DuckDB's types of the catalog's columns, and names and texts in its SQL."""

from penstock.sql.hive_types import parse_hive_type
from penstock.types import duckdb

__all__ = ["ZONED_FIELDS", "duckdb_type", "quote_name", "quote_text"]


def quote_name(name: str) -> str:
    """Return ``name`` as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """Return ``text`` as a SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def duckdb_type(hive: str) -> str:
    """Return DuckDB's type for a Hive type string. Raises :class:`StatementError` if the type cannot be read.

    ``char`` and ``varchar`` lose their length, as they do when Athena reads Parquet.
    """
    return duckdb.render(parse_hive_type(hive))


ZONED_FIELDS = ["$utc", "$zone"]
"""Fields of the struct that stands for a timestamp in a zone which is not UTC (``functions.times.zones``)."""
