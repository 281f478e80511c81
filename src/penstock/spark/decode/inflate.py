"""zlib payloads, inflated in Arrow batches because Spark has no such function; bounded against hostile payloads."""

import zlib
from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BinaryType

__all__ = ["MAX_INFLATED", "inflate", "inflater"]

MAX_INFLATED = 16 * 1024 * 1024  # bytes of one payload


def inflater(limit: int = MAX_INFLATED) -> Callable[[pa.Array], pa.Array]:
    """A function from an Arrow array of payloads to one of their inflated bytes.

    Null where a payload is null, is not a whole zlib stream, has more behind it, or inflates to over ``limit`` bytes. All
    that it uses is inside it: Spark ships it to workers that have no Penstock.
    """

    def inflated(data: bytes) -> bytes | None:
        stream = zlib.decompressobj()
        try:
            result = stream.decompress(data, limit)
        except zlib.error:
            return None
        return result if stream.eof and not stream.unused_data else None

    def inflate_batch(payloads: pa.Array) -> pa.Array:
        return pa.array((None if each is None else inflated(each) for each in payloads.to_pylist()), type=pa.binary())

    return inflate_batch


def inflate(payload: Column) -> Column:
    """The column inflated; null where it was null or cannot be inflated."""
    return arrow_udf(inflater(), BinaryType())(payload)  # type: ignore[call-overload,no-any-return]
