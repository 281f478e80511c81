"""The values of partitions as a table of the engine, in the types of their keys."""

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from penstock.catalog.model import Partition, Table
from penstock.lake.partitions import HIVE_DEFAULT_PARTITION
from penstock.query.tables.memory import registered
from penstock.sql.errors import StatementError
from penstock.sql.types import duckdb_type, quote_name

__all__ = ["make_partition_table"]


def make_partition_table(
    engine: Any,
    name: str,
    table: Table,
    rows: Sequence[tuple[object, Partition]],
    *,
    index: str,
    index_type: str,
    lenient: bool = False,
) -> None:
    """Make the table ``name(index, <partition keys in their types>)`` with one row for each of ``rows``.

    ``name`` is quoted SQL, ``index_type`` the engine's type of the index. A value that is not of its key's type is NULL
    where that is allowed (``lenient``), and otherwise raises :class:`StatementError`.
    """
    columns: dict[str, pa.Array] = {"place": pa.array([at for at, _ in rows])}
    casts = [f"CAST(place AS {index_type}) AS {index}"]
    for number, key in enumerate(table.partition_keys):
        values = [partition.values[number] for _, partition in rows]
        columns[f"k{number}"] = pa.array(
            [None if value == HIVE_DEFAULT_PARTITION else value for value in values], pa.string()
        )
        cast = "TRY_CAST" if lenient else "CAST"
        casts.append(f"{cast}(k{number} AS {duckdb_type(key.type or 'string')}) AS {quote_name(key.name)}")
    with registered(engine, "partition_rows", pa.table(columns)):
        try:
            engine.execute(f"CREATE TABLE {name} AS SELECT {', '.join(casts)} FROM partition_rows")  # noqa: S608 quoted names
        except duckdb.ConversionException as error:
            raise _invalid(engine, table) from error


def _invalid(engine: Any, table: Table) -> StatementError:
    """Return the error about the first value in ``partition_rows`` that is not of its key's type."""
    for number, key in enumerate(table.partition_keys):
        type_ = key.type or "string"
        invalid = engine.execute(
            f"SELECT k{number} FROM partition_rows WHERE k{number} IS NOT NULL "  # noqa: S608 our names
            f"AND TRY_CAST(k{number} AS {duckdb_type(type_)}) IS NULL LIMIT 1"
        ).fetchall()
        if invalid:
            message = f"Invalid partition value '{invalid[0][0][:100]}' for {type_} partition key: {key.name}"
            break
    else:
        message = "A partition has a value that is not of its key's type"
    return StatementError(
        "HIVE_INVALID_PARTITION_VALUE",
        f"{message} (table '{table.database}.{table.name}')",
        remedy="Drop the partition with ALTER TABLE DROP PARTITION, or leave it out with a condition on the key.",
    )
