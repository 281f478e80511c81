"""The values of partitions as a table of the engine, in the types of their keys."""

import re
from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from penstock.catalog.model import Partition, Table
from penstock.lake.partitions import HIVE_DEFAULT_PARTITION
from penstock.query.dialect.types import duckdb_type, quote_name
from penstock.query.errors import StatementError

__all__ = ["make_partition_table"]


def make_partition_table(
    engine: Any, name: str, table: Table, rows: Sequence[tuple[object, Partition]], *, index: str, kind: str
) -> None:
    """Make the table ``name(index, <partition keys in their types>)`` with one row for each of ``rows``.

    ``name`` is quoted SQL, ``kind`` the engine's type of the index. Raises :class:`StatementError` for a value that is not
    of its key's type.
    """
    columns: dict[str, pa.Array] = {"place": pa.array([at for at, _ in rows])}
    casts = [f"CAST(place AS {kind}) AS {index}"]
    for number, key in enumerate(table.partition_keys):
        values = [partition.values[number] for _, partition in rows]
        columns[f"k{number}"] = pa.array(
            [None if value == HIVE_DEFAULT_PARTITION else value for value in values], pa.string()
        )
        casts.append(f"CAST(k{number} AS {duckdb_type(key.type or 'string')}) AS {quote_name(key.name)}")
    engine.register("partition_rows", pa.table(columns))
    try:
        engine.execute(f"CREATE TABLE {name} AS SELECT {', '.join(casts)} FROM partition_rows")  # noqa: S608 quoted names
    except duckdb.ConversionException as error:
        what = re.sub(r"\s+", " ", str(error).split("LINE", maxsplit=1)[0]).strip()
        raise StatementError(
            "HIVE_INVALID_PARTITION_VALUE",
            f"A partition of '{table.database}.{table.name}' has a value that is not of its key's type: {what}",
            remedy="Correct the partition's values or the key's type in the catalog.",
        ) from error
    finally:
        engine.unregister("partition_rows")
