"""From a column as a file has it to the column's type in the catalog; values are not read as what they are not.

Readers of Parquet and ORC convert within a family of types (Trino's documentation, "Hive connector", coercions), and fail
for all else: a file of text under a column of integers is not of the table.
"""

from penstock.catalog.model import Column
from penstock.sql.errors import StatementError
from penstock.sql.hive_types import parse_hive_type
from penstock.sql.types import duckdb_type, quote_name

__all__ = ["column_type", "converted", "null_of"]

_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT"}
_NUMBERS = {*_INTEGERS, "FLOAT", "DOUBLE", "DECIMAL"}
_TIMES = {"TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "DATE"}
_TEXTS = {"VARCHAR", "BLOB", "ENUM", "UUID", "JSON"}
_NULL = '"NULL"'  # the type of columns whose values are all NULL
# A time of day that is the number of its units in Parquet, as which crawlers enter it.
_UNITS = {("TIME", "INTEGER"): "epoch_ms({})", ("TIME", "BIGINT"): "epoch_us({})", ("TIME_NS", "BIGINT"): "epoch_ns({})"}
_FAMILIES = (_NUMBERS, _TIMES, _TEXTS, {"BOOLEAN"})


def column_type(column: Column) -> str:
    """Return the engine's type of the column."""
    return duckdb_type(column.type or "string")


def null_of(column: Column) -> str:
    """Return NULL of the column's type."""
    return f"CAST(NULL AS {column_type(column)})"


def converted(column: Column, source: str, expression: str, *, where: str) -> str:
    """Return ``expression``, of the engine's type ``source``, in the column's type. ``where`` names the files in errors."""
    target = column_type(column)
    if _NULL in (source, target):
        return null_of(column)
    if (source, target) in _UNITS:
        return f"CAST({_UNITS[source, target].format(expression)} AS {target})"
    if _family(source) != _family(target):
        raise StatementError(
            "HIVE_BAD_DATA",
            f"Column '{column.name}' is {source} in {where}, which cannot be read as {column.type or 'string'}.",
            remedy="Correct the column's type in the catalog, or rewrite the file.",
        )
    type_ = parse_hive_type(column.type or "string")
    if source == target:
        text = expression
    elif source == "BLOB" and target == "VARCHAR":  # strings written without their UTF8 annotation
        text = f"decode({expression})"
    elif source == "VARCHAR" and target == "BLOB":
        text = f"encode({expression})"
    else:
        text = f"CAST({expression} AS {target})"
    return f"left({text}, {type_.numbers[0]})" if type_.name == "varchar" and type_.numbers else text


def _family(type_: str) -> str:
    """Return a name for the types that can be read as each other."""
    for shape, start in (("list", "]"), ("map", "MAP("), ("struct", "STRUCT(")):
        if type_.endswith(start) if start == "]" else type_.startswith(start):
            return shape
    head = type_.partition("(")[0].strip()
    for number, family in enumerate(_FAMILIES):
        if head in family:
            return str(number)
    return head


def field(name: str) -> str:
    """Return the column ``name`` of the alias ``f``."""
    return f"f.{quote_name(name)}"
