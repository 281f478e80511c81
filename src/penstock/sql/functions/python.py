"""Python functions of one row's values, as functions over Arrow arrays."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from penstock.sql.engine_types import lake_type
from penstock.sql.functions.rows import ArrowFunction
from penstock.sql.trino_types import Type
from penstock.types import arrow

__all__ = ["by_row", "invalid"]


def by_row(
    name: str, parameters: Sequence[str], returns: str, function: Callable[..., Any], *, nulls: bool = False
) -> ArrowFunction:
    """Return ``function`` of one row's values as a function of arrays. NULL gives NULL, unless ``nulls`` is set."""
    written = exp.DataType.build(returns, dialect="duckdb")
    for node in written.find_all(exp.DataType):
        if node.this == exp.DType.TIMESTAMPNTZ:  # sqlglot's name for the engine's TIMESTAMP
            node.set("this", exp.DType.TIMESTAMP)
    result = Type.of(written)
    if result is None:
        raise TypeError(f"{name} returns {returns}, which is not one of Trino's types.")
    type_ = arrow.render(lake_type(result))

    def apply(*columns: pa.Array) -> pa.Array:
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        return pa.array([None if None in row and not nulls else function(*row) for row in rows], type_)

    return ArrowFunction(name, parameters, returns, apply)


def invalid(message: str, code: str = "INVALID_FUNCTION_ARGUMENT") -> ValueError:
    """Return the error to raise for an argument; the statement fails with ``code`` and ``message``."""
    return ValueError(f"TRINO[{code}] {message}")
