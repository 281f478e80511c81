"""Python functions of one row's values, as functions over Arrow arrays."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from sqlglot import exp

from penstock.sql.engine_types import lake_type
from penstock.sql.trino_types import Type
from penstock.types import arrow

__all__ = ["each_row", "invalid"]


def each_row(returns: str, function: Callable[..., Any], *, nulls: bool = False) -> Callable[..., pa.Array]:
    """Return ``function`` over arrays; ``returns`` is the engine's type. NULL gives NULL, unless ``nulls`` is set."""
    type_ = arrow.render(lake_type(Type.of(exp.DataType.build(returns, dialect="duckdb"))))

    def apply(*columns: pa.Array) -> pa.Array:
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        if nulls:
            return pa.array([function(*row) for row in rows], type_)
        return pa.array([None if None in row else function(*row) for row in rows], type_)

    return apply


def invalid(message: str, code: str = "INVALID_FUNCTION_ARGUMENT") -> ValueError:
    """Return the error to raise for an argument; the statement fails with ``code`` and ``message``."""
    return ValueError(f"TRINO[{code}] {message}")
