"""Python functions of one row's values, as functions over Arrow arrays."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

__all__ = ["each_row", "invalid"]

_TYPES = {
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "DOUBLE": pa.float64(),
    "FLOAT": pa.float32(),
    "VARCHAR": pa.string(),
    "BLOB": pa.binary(),
    "BOOLEAN": pa.bool_(),
    "VARCHAR[]": pa.list_(pa.string()),
    "VARCHAR[][]": pa.list_(pa.list_(pa.string())),
    "BIGINT[]": pa.list_(pa.int64()),
    "DOUBLE[]": pa.list_(pa.float64()),
    "MAP(VARCHAR, VARCHAR)": pa.map_(pa.string(), pa.string()),
    "MAP(VARCHAR, VARCHAR[])": pa.map_(pa.string(), pa.list_(pa.string())),
    "DECIMAL(38,0)": pa.decimal128(38, 0),
}


def each_row(returns: str, function: Callable[..., Any], *, nulls: bool = False) -> Callable[..., pa.Array]:
    """Return ``function`` over arrays; ``returns`` is the engine's type. NULL gives NULL, unless ``nulls`` is set."""
    type_ = _TYPES[returns]

    def apply(*columns: pa.Array) -> pa.Array:
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        if nulls:
            return pa.array([function(*row) for row in rows], type_)
        return pa.array([None if None in row else function(*row) for row in rows], type_)

    return apply


def invalid(message: str, code: str = "INVALID_FUNCTION_ARGUMENT") -> ValueError:
    """Return the error to raise for an argument; the statement fails with ``code`` and ``message``."""
    return ValueError(f"TRINO[{code}] {message}")
