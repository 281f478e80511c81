"""checksum: the sum of the hashes of a group's values, whatever their order is.

Sources: Trino's documentation, "Aggregate functions"; trinodb/trino, ChecksumAggregationFunction, and the operators
XX_HASH_64 of its types.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from penstock.sql.functions.build import cast_to, integer, text
from penstock.sql.functions.hashes import xxhash64, xxhash64_of_longs
from penstock.sql.functions.python import by_row
from penstock.sql.functions.rows import ArrowFunction, Call, Definition, Row, call_engine
from penstock.sql.trino_types import VARBINARY, Type

__all__ = ["DEFINITIONS", "ROWS"]

_PRIME = 0x9E3779B185EBCA87  # PRIME64 of ChecksumAggregationFunction
_MASK = (1 << 64) - 1
_SHORT = 18  # digits of a decimal that Trino keeps in 64 bits
_TEXTS = frozenset({"varchar", "varbinary"})


def _write(call: Call) -> exp.Expr:
    type_ = call.types[0]
    hashed = _hash(call.arguments[0], type_) if type_ is not None else None
    if hashed is None:
        raise call.error(
            f"checksum of {type_ or 'a value whose type is not known'} is not supported.",
            code="NOT_SUPPORTED",
            remedy="CAST it to a number, a date, a timestamp or a text.",
        )
    # A NULL adds the prime itself, as a hash of 1 would.
    total = call.engine("sum", call_engine("coalesce", hashed, cast_to(integer(1), "UBIGINT")))
    return call_engine("trino_checksum", cast_to(total, "VARCHAR"))


def _hash(value: exp.Expr, type_: Type) -> exp.Expr | None:
    """Return Trino's hash of a value; None if its type has none here."""
    if type_.name in _TEXTS:
        return call_engine("trino_hash_bytes", value if type_.name == "varbinary" else call_engine("encode", value))
    if type_.is_integer or type_.name in {"boolean", "unknown"}:
        number = cast_to(value, "BIGINT")
    elif type_.name == "date":
        epoch = cast_to(text("1970-01-01"), "DATE")
        number = cast_to(call_engine("date_diff", text("day"), epoch, value), "BIGINT")
    elif type_.name == "timestamp":
        number = call_engine("epoch_us", value)
    elif type_.name == "decimal" and type_.numbers[0] <= _SHORT:
        number = cast_to(exp.Mul(this=exp.paren(value.copy()), expression=integer(10 ** type_.numbers[1])), "BIGINT")
    elif type_.is_floating:
        return call_engine(f"trino_hash_{type_.name}", value)
    else:
        return None
    return call_engine("trino_hash_long", number)


def _hashed(values: Any) -> pa.Array:
    """Return the hash of each 64-bit integer, NULL of NULL."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    hashes = xxhash64_of_longs(pc.fill_null(array, 0).to_numpy(zero_copy_only=False).copy())
    return pa.array(hashes, pa.uint64(), mask=array.is_null().to_numpy(zero_copy_only=False))


def _bits(values: Any, bits: str, numpy_type: str) -> pa.Array:
    """Return the hashes of real numbers by their bits: one of zero, and one of NaN."""
    import numpy as np  # noqa: PLC0415 - only for real numbers

    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    numbers = pc.fill_null(array, 0).to_numpy(zero_copy_only=False).astype(numpy_type).copy()
    numbers[numbers == 0] = 0
    numbers[np.isnan(numbers)] = np.nan
    longs = pa.array(numbers.view(bits).astype("int64"), mask=array.is_null().to_numpy(zero_copy_only=False))
    return _hashed(longs)


def _hashed_bytes(values: Any) -> pa.Array:
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    encoded = array.dictionary_encode()
    hashes = pa.array([xxhash64(item) for item in encoded.dictionary.to_pylist()], pa.uint64())
    return pc.take(hashes, encoded.indices)


ROWS: Sequence[Row] = [
    Row(
        "checksum",
        arity=1,
        returns=VARBINARY,
        write=_write,
        kind="aggregate",
        note="Not of arrays, maps, rows, times with a zone, and decimals of more than 18 digits.",
    )
]

DEFINITIONS: Sequence[Definition] = [
    ArrowFunction("trino_hash_long", ["BIGINT"], "UBIGINT", _hashed),
    ArrowFunction("trino_hash_double", ["DOUBLE"], "UBIGINT", lambda values: _bits(values, "int64", "float64")),
    ArrowFunction("trino_hash_real", ["FLOAT"], "UBIGINT", lambda values: _bits(values, "int32", "float32")),
    ArrowFunction("trino_hash_bytes", ["BLOB"], "UBIGINT", _hashed_bytes),
    by_row("trino_checksum", ["VARCHAR"], "BLOB", lambda total: (int(total) * _PRIME & _MASK).to_bytes(8, "little")),
]
