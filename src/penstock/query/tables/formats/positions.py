"""Formats whose lines are split into texts by position: each text becomes the column at its place in the files' layout."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Column
from penstock.query.tables.formats.casts import column_type, null_of
from penstock.query.tables.formats.lines import LineOptions, read_lines
from penstock.query.tables.formats.port import FILE_COLUMN, Layout, NumberedFile, Relation
from penstock.query.tables.formats.streams import register_stream
from penstock.sql.errors import StatementError
from penstock.sql.hive_types import parse_hive_type
from penstock.types.model import LakeType
from penstock.types.widening import TEXT_PARTITIONS, fits

__all__ = ["Split", "placed_columns", "text_relation"]

Split = Callable[[NumberedFile, int, list[str]], pa.Array]
"""The function from lines (with their file and the number of the first) to their texts: a list of strings for each."""

_ROWS = 8_192


def text_relation(
    engine: Any, view: str, files: Sequence[NumberedFile], options: LineOptions, split: Split | None
) -> Relation:
    """Return the lines as a relation of ``v``, the texts of each line, or of ``line`` without ``split``; no columns yet."""
    type_, name = (pa.string(), "line") if split is None else (pa.list_(pa.string()), "v")
    schema = pa.schema([(name, type_), (FILE_COLUMN, pa.int32())])

    def batches() -> Iterator[pa.RecordBatch]:
        for file, first, lines in read_lines(files, options):
            for start in range(0, len(lines), _ROWS):
                part = lines[start : start + _ROWS]
                texts = pa.array(part, pa.string()) if split is None else split(file, first + start, part)
                numbers = pa.array([file[0]] * len(part), pa.int32())
                yield pa.record_batch([texts, numbers], schema=schema)

    return Relation(register_stream(engine, view, schema, batches), {})


def placed_columns(layout: Layout, used: Sequence[Column], decode: Callable[[LakeType, str], str]) -> dict[str, str]:
    """Return the SQL of each wanted column: its text, ``f.v[n]``, decoded as the layout's type and cast to the wanted one.

    Raises :class:`StatementError` if the layout, which is a partition's, has another kind of type than the table.
    """
    places = {name: (number, own) for number, (name, own) in enumerate(layout, start=1)}
    placed = {}
    for column in used:
        name = column.name.lower()
        if name not in places:
            placed[name] = null_of(column)
            continue
        number, own = places[name]
        type_, target = parse_hive_type(own), parse_hive_type(column.type or "string")
        if type_ != target and not fits(type_, target, TEXT_PARTITIONS):
            raise StatementError(
                "HIVE_PARTITION_SCHEMA_MISMATCH",
                f"Column '{column.name}' is {own} in a partition, and {column.type} in the table.",
                remedy="Give the partition the table's column types.",
            )
        text = decode(type_, f"f.v[{number}]")
        placed[name] = f"CAST({text} AS {column_type(column)})"
    return placed
