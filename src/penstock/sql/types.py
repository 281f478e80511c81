"""Types: DuckDB's for reading, Athena's in the description of results.

Athena's names and precisions: what GetQueryResults returns.
"""

from typing import Any

from penstock.sql.hive_types import parse_hive_type
from penstock.sql.kinds import SKETCHES, Type
from penstock.statements.model import ResultColumn
from penstock.types import duckdb

__all__ = ["ZONED_FIELDS", "duckdb_type", "quote_name", "quote_text", "result_column"]

# DuckDB's type id -> (Athena's name, precision).
_ATHENA = {
    "boolean": ("boolean", 0),
    "tinyint": ("tinyint", 3),
    "smallint": ("smallint", 5),
    "integer": ("integer", 10),
    "bigint": ("bigint", 19),
    "utinyint": ("smallint", 5),
    "usmallint": ("integer", 10),
    "uinteger": ("bigint", 19),
    "ubigint": ("bigint", 19),
    "hugeint": ("bigint", 19),
    "uhugeint": ("bigint", 19),
    "float": ("float", 17),
    "double": ("double", 17),
    "varchar": ("varchar", 2147483647),
    "date": ("date", 0),
    "time": ("time", 3),
    "timestamp": ("timestamp", 3),
    "timestamp_s": ("timestamp", 3),
    "timestamp_ms": ("timestamp", 3),
    "timestamp_ns": ("timestamp", 3),
    "timestamp with time zone": ("timestamp with time zone", 3),
    "blob": ("varbinary", 1073741824),
    "list": ("array", 0),
    "array": ("array", 0),
    "map": ("map", 0),
    "struct": ("row", 0),
    "interval": ("interval day to second", 0),
}


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


_NAMED_AS_IN_TRINO = {"json", "ipaddress", "Geometry", "SphericalGeography"}

ZONED_FIELDS = ["$utc", "$zone"]
"""Fields of the struct that stands for a timestamp in a zone which is not UTC (``functions.times.zones``)."""


def result_column(name: str, kind: Any, known: Type | None = None) -> ResultColumn:
    """Return Athena's description of a column of DuckDB's type ``kind`` (a DuckDBPyType), and Trino's, if ``known``."""
    if known is not None and (known in SKETCHES or known.name in _NAMED_AS_IN_TRINO):
        return ResultColumn(name=name, type=known.name if known in SKETCHES else known.name.lower(), precision=0)
    if known is not None and known.is_text and known.numbers:
        return ResultColumn(name=name, type=known.name, precision=known.numbers[0])
    if kind.id == "decimal":
        precision, scale = (int(value) for _, value in kind.children)
        return ResultColumn(name=name, type="decimal", precision=precision, scale=scale)
    if kind.id == "struct" and [field for field, _ in kind.children] == ZONED_FIELDS:
        return ResultColumn(name=name, type="timestamp with time zone", precision=3)
    if str(kind) == "JSON":
        return ResultColumn(name=name, type="json", precision=0)
    type_name, precision = _ATHENA.get(kind.id, ("varchar", 2147483647))
    return ResultColumn(name=name, type=type_name, precision=precision)
