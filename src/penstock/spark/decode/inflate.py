"""Inflate zlib payloads in Arrow batches, because Spark has no such function; bounded against hostile payloads."""

import zlib
from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BinaryType

__all__ = ["MAX_INFLATED", "inflate", "inflater"]

MAX_INFLATED = 16 * 1024 * 1024  # bytes of one payload


def inflater(limit: int = MAX_INFLATED) -> Callable[[pa.Array], pa.Array]:
    """Return a function from an Arrow array of payloads to one of their inflated bytes.

    The result is null if a payload is null, is not a complete zlib stream, has bytes after it, or inflates to over
    ``limit`` bytes. The function contains all that it uses, because Spark ships it to workers without Penstock.
    """

    def inflated(data: bytes) -> bytes | None:
        stream = zlib.decompressobj()
        try:
            result = stream.decompress(data, limit)
        except zlib.error:
            return None
        return result if stream.eof and not stream.unused_data else None

    def inflate_batch(payloads: pa.Array) -> pa.Array:
        return pa.array(
            (None if payload is None else inflated(payload) for payload in payloads.to_pylist()), type=pa.binary()
        )

    return inflate_batch


def inflate(payload: Column) -> Column:
    """Return the column inflated; null if it was null or cannot be inflated."""
    return arrow_udf(inflater(), BinaryType())(payload)  # type: ignore[call-overload,no-any-return]
