"""Derives the schema of a file's records from the file itself: one pass over it gives one version for all records."""

import re
from collections.abc import Iterable
from itertools import islice
from typing import Any

from penstock.produce.records import RecordFile
from penstock.schema.infer.shape import NOTHING, Shape, shape_of

__all__ = ["file_shape"]

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,18})")
_REAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
_LONG = 2**63


def file_shape(file: RecordFile, limit: int | None = None) -> Shape:
    """Return the shape of the file's first ``limit`` records, or of all records if it is None.

    JSON lines and Parquet have types. A CSV has text only: a column holds integers, numbers or booleans if every cell that
    is not empty is written that way, without leading zeros, and text otherwise. Dates in text stay text. Raises the errors
    of :meth:`RecordFile.values`, and :class:`~penstock.schema.infer.errors.CannotDerive`.
    """
    rows = islice(file.values(), limit)
    return _of_cells(rows) if file.format == "csv" else shape_of(rows)


def _of_cells(rows: Iterable[dict[str, Any]]) -> Shape:
    types: dict[str, set[str]] = {}
    for row in rows:
        for column, cell in row.items():
            column_types = types.setdefault(column, set())
            if cell != "" and "string" not in column_types:
                column_types.add(_scalar_type(cell))
    return Shape(members={column: _column(column_types) for column, column_types in types.items()})


def _scalar_type(cell: str) -> str:
    if _WHOLE.fullmatch(cell) and -_LONG <= int(cell) < _LONG:
        return "long" if int(float(cell)) == int(cell) else "wide"
    if _REAL.fullmatch(cell):
        return "double"
    return "boolean" if cell.lower() in {"true", "false"} else "string"


def _column(types: set[str]) -> Shape:
    if not types:
        return NOTHING
    fits = len(types) == 1 or types <= {"long", "wide"} or types <= {"long", "double"}
    return Shape(scalars=frozenset(types if fits else {"string"}))
