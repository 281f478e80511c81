"""What the sketches' functions over Arrow columns share: the values of each row's list, and errors for bytes of others."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.sql.functions.python import invalid

__all__ = ["each_list", "each_pairs", "whole"]

Values = NDArray[Any]


def whole(column: Any) -> pa.Array:
    """Return a column as one array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def each_list(column: Any, build: Callable[[Values], bytes]) -> pa.Array:
    """Return the sketch of each row's list: NULL for a list that is NULL or has nothing but NULLs."""
    lists = whole(column)
    values, valid = _filled(lists.values)
    return pa.array([build(values[place]) if len(place) else None for place in _places(lists, valid)], pa.binary())


def each_pairs(column: Any, last: Any, build: Callable[[Values, Values, Any], bytes]) -> pa.Array:
    """Return the sketch of each row's list of values ``x`` and weights ``w``, without those that are NULL.

    ``last`` is a column with a further argument of ``build``.
    """
    lists = whole(column)
    pairs = lists.values
    x, x_given = _filled(pairs.field("x"))
    w, w_given = _filled(pairs.field("w"))
    places = _places(lists, x_given & w_given & _valid(pairs))
    arrays = [
        build(x[place], w[place], _not_null(argument)) if len(place) else None
        for place, argument in zip(places, whole(last).to_pylist(), strict=True)
    ]
    return pa.array(arrays, pa.binary())


def _filled(values: pa.Array) -> tuple[Values, NDArray[np.bool_]]:
    """Return the values, with 0 for NULL, and which of them are not NULL."""
    return (values.fill_null(0) if values.null_count else values).to_numpy(zero_copy_only=False), _valid(values)


def _valid(values: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(values.is_valid().to_numpy(zero_copy_only=False), np.bool_)


def _places(lists: pa.ListArray, valid: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
    """Yield where each row's values are that are not NULL; none of a row that is NULL."""
    offsets, rows = lists.offsets.to_numpy().tolist(), _valid(lists).tolist()
    for start, end, row in zip(offsets[:-1], offsets[1:], rows, strict=True):
        yield np.flatnonzero(valid[start:end]) + start if row else np.empty(0, np.int64)


def _not_null(argument: Any) -> Any:
    if argument is None:
        raise invalid("the last argument must not be NULL")
    return argument
