"""The index of partitions by value: which values each partition key of a table has, and which partitions have them.

Each change of partitions is a handful of statements, with its rows as one JSON text: a driver that sends every row by
itself would need hundreds of round trips for a batch.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import orjson
from sqlalchemy import Connection, bindparam, text

from penstock.catalog.partitions.keys import split_key
from penstock.catalog.partitions.values import kind_of

__all__ = ["add_keys", "remove_keys"]

_BATCH = 5_000  # keys in one text

_ROWS = {
    "sqlite": "json_each(:rows) AS r",
    "postgresql": "json_array_elements(CAST(:rows AS json)) AS r(value)",
}
_kind_of = lru_cache(maxsize=65_536)(kind_of)


def add_keys(connection: Connection, table_id: int, keys: Sequence[str]) -> None:
    """Add the new partitions ``keys`` of a table; the transaction has inserted them."""
    for start in range(0, len(keys), _BATCH):
        split = [(key, split_key(key)) for key in keys[start : start + _BATCH]]
        counts = Counter((position, value) for _, values in split for position, value in enumerate(values))
        # In order, so that two writers of one table meet at the same row first.
        rows = [(position, value, *_kind_of(value), count) for (position, value), count in sorted(counts.items())]
        stored = _run(connection, _ADD_VALUES, rows, table_id=table_id)
        ids = {(position, value): value_id for value_id, position, value in stored}
        postings = [(ids[position, values[position]], key) for key, values in split for position in range(1, len(values))]
        if postings:
            _run(connection, _ADD_POSTINGS, sorted(postings))


def remove_keys(connection: Connection, table_id: int, keys: Sequence[str]) -> None:
    """Remove the partitions ``keys``, which the transaction has deleted."""
    for start in range(0, len(keys), _BATCH):
        split = [(key, split_key(key)) for key in keys[start : start + _BATCH]]
        counts = Counter((position, value) for _, values in split for position, value in enumerate(values))
        rows = [(position, value, count) for (position, value), count in sorted(counts.items())]
        changed = _run(connection, _COUNT_DOWN, rows, table_id=table_id)
        ids = {(position, value): value_id for value_id, position, value in changed}
        postings = [(ids[position, values[position]], key) for key, values in split for position in range(1, len(values))]
        if postings:
            _run(connection, _REMOVE_POSTINGS, postings)
        _run(connection, _REMOVE_VALUES, [[value_id] for value_id in ids.values()])


_ADD_VALUES = (
    "INSERT INTO catalog_partition_value (table_id, position, value, kind, sort, count)"
    " SELECT :table_id, {0:int}, {1}, {2}, {3}, {4:bigint} FROM {rows} WHERE true"
    " ON CONFLICT (table_id, position, value) DO UPDATE SET count = catalog_partition_value.count + excluded.count"
    " RETURNING id, position, value"
)
_ADD_POSTINGS = "INSERT INTO catalog_partition_posting (value_id, key) SELECT {0:bigint}, {1} FROM {rows}"
_COUNT_DOWN = (
    "UPDATE catalog_partition_value SET count = count - r.many"
    " FROM (SELECT {0:int} AS place, {1} AS gone, {2:bigint} AS many FROM {rows}) AS r"
    " WHERE table_id = :table_id AND position = r.place AND value = r.gone RETURNING id, position, value"
)
_REMOVE_POSTINGS = "DELETE FROM catalog_partition_posting WHERE (value_id, key) IN (SELECT {0:bigint}, {1} FROM {rows})"
_REMOVE_VALUES = "DELETE FROM catalog_partition_value WHERE count <= 0 AND id IN (SELECT {0:bigint} FROM {rows})"


class _Field:
    """A field of a row of the JSON text, by its number, as the type that a format specification names."""

    def __init__(self, number: int, *, typed: bool) -> None:
        self._text, self._typed = f"r.value ->> {number}", typed

    def __format__(self, sql_type: str) -> str:
        return f"CAST({self._text} AS {sql_type})" if sql_type and self._typed else f"({self._text})"


@lru_cache
def _statement(template: str, dialect: str) -> Any:
    fields = [_Field(number, typed=dialect != "sqlite") for number in range(5)]
    return text(template.format(*fields, rows=_ROWS[dialect])).bindparams(bindparam("rows"))


def _run(connection: Connection, template: str, rows: Sequence[Sequence[object]], **values: object) -> Sequence[Any]:
    result = connection.execute(
        _statement(template, connection.dialect.name), {"rows": orjson.dumps(rows).decode(), **values}
    )
    return result.all() if result.returns_rows else ()
