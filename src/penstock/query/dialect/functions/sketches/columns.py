"""What the sketches' functions over Arrow columns share: the values of each row's list, and errors for bytes of others."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.query.dialect.functions.python import invalid

__all__ = ["each_list", "each_pairs", "whole"]

Values = NDArray[Any]


def whole(column: Any) -> pa.Array:
    """Return a column as one array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def each_list(column: Any, build: Callable[[Values], bytes]) -> pa.Array:
    """Return the sketch of each row's list: NULL for a list that is NULL or has nothing but NULLs."""
    lists = whole(column)
    return pa.array([build(each) if len(each) else None for each in _items(lists)], pa.binary())


def _items(lists: pa.ListArray) -> Iterator[Values]:
    for row in range(len(lists)):
        values = lists[row].values
        yield np.empty(0) if values is None else pc.drop_null(values).to_numpy(zero_copy_only=False)


def each_pairs(column: Any, last: Any, build: Callable[[Values, Values, Any], bytes]) -> pa.Array:
    """Return the sketch of each row's list of values ``x`` and weights ``w``, without those that are NULL.

    ``last`` is a column with a further argument of ``build``.
    """
    lists = whole(column)
    return pa.array(
        [_of_pairs(lists[row].values, last[row].as_py(), build) for row in range(len(lists))],
        pa.binary(),
    )


def _of_pairs(pairs: pa.StructArray | None, last: Any, build: Callable[[Values, Values, Any], bytes]) -> bytes | None:
    if pairs is None:
        return None
    if pairs.field("x").null_count or pairs.field("w").null_count or pairs.null_count:
        pairs = pairs.filter(pc.and_(pc.is_valid(pairs.field("x")), pc.is_valid(pairs.field("w"))))
    if not len(pairs):
        return None
    x, w = (pairs.field(name).to_numpy(zero_copy_only=False) for name in "xw")
    if last is None:
        raise invalid("the last argument must not be NULL")
    return build(x, w, last)
