"""Hive's buckets: which file of a bucketed table a row belongs to, and the names of such files.

The hash is Hive's first (``bucketing_version`` 1), which CREATE TABLE AS of Athena and Trino writes. Sources: Apache Hive,
ObjectInspectorUtils; Trino's HiveBucketingV1; Athena user guide, "Use partitioning and bucketing".
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.sql.errors import StatementError
from penstock.sql.statements.model import PropertyValue
from penstock.types.model import LakeType

__all__ = ["Buckets", "bucket_hashes", "file_name", "read_buckets"]

_MAX_BUCKETS = 1_000_000  # Trino's MAX_BUCKET_COUNT
_BITS = 0xFFFFFFFF
_POSITIVE = 0x7FFFFFFF
_EPOCH = date(1970, 1, 1).toordinal()
_INTEGERS = frozenset({"tinyint", "smallint", "int"})


@dataclass(frozen=True, slots=True)
class Buckets:
    """The columns that a table is bucketed by, and the number of its buckets."""

    columns: Sequence[str]
    count: int

    @property
    def storage(self) -> Mapping[str, object]:
        """The members of the catalog's StorageDescriptor."""
        return {"BucketColumns": list(self.columns), "NumberOfBuckets": self.count, "SortColumns": []}

    def numbers(self, rows: pa.Table, types: Mapping[str, LakeType]) -> pa.ChunkedArray:
        """Return the number of each row's bucket."""
        hashes = bucket_hashes([(rows.column(name), types[name]) for name in self.columns])
        positive = pc.bit_wise_and(hashes, _POSITIVE)
        return pc.subtract(positive, pc.multiply(pc.divide(positive, self.count), self.count))


def file_name(bucket: int, number: int, query: str, suffix: str) -> str:
    """Return the name of a bucket's file as Hive and Trino read it: ``000003_0_QUERY.gz.parquet``."""
    return f"{bucket:06d}_{number}_{query}{suffix}"


def read_buckets(properties: Mapping[str, PropertyValue], columns: Mapping[str, LakeType]) -> Buckets | None:
    """Return the buckets that WITH asks for, of a table with ``columns`` (partition keys excepted).

    Raises :class:`StatementError`.
    """
    columns_named, count = properties.get("bucketed_by", ()), properties.get("bucket_count", 0)
    names = [str(item).lower() for item in (columns_named if isinstance(columns_named, tuple) else (columns_named,))]
    if isinstance(count, str) and count.isascii() and count.isdigit():
        count = int(count)
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise _invalid("bucket_count must be greater than zero")
    if not names and not count:
        return None
    if not names or not count:
        raise _invalid("bucketed_by and bucket_count must be specified together")
    if count > _MAX_BUCKETS:
        raise _invalid(f"bucket_count should be no more than {_MAX_BUCKETS}")
    missing = [name for name in names if name not in columns]
    if missing:
        raise _invalid(f"Bucketing columns [{', '.join(missing)}] not present in schema")
    if len(set(names)) != len(names):
        raise _invalid("Bucketing columns are named more than once")
    if not all(_is_hashed(columns[name]) for name in names):
        raise StatementError(
            "NOT_SUPPORTED",
            "Cannot create a table bucketed on an unsupported type",
            remedy="Hive's hash is that of booleans, integers, real numbers, texts, dates, arrays and maps.",
        )
    return Buckets(names, count)


def bucket_hashes(columns: Sequence[tuple[pa.ChunkedArray, LakeType]]) -> pa.ChunkedArray:
    """Return Hive's hash of each row over ``columns``, as 32 bits in an int64."""
    result: Any = None
    for values, type_ in columns:
        hashes = _hashes(values, type_)
        result = hashes if result is None else pc.bit_wise_and(pc.add(pc.multiply(result, 31), hashes), _BITS)
    return result


def _hashes(values: pa.ChunkedArray, type_: LakeType) -> pa.ChunkedArray:
    if type_.name in _INTEGERS or type_.name == "boolean":
        hashes = values.cast(pa.int64())
    elif type_.name == "date":
        hashes = values.cast(pa.int32()).cast(pa.int64())
    elif type_.name == "bigint":
        hashes = pc.bit_wise_xor(pc.shift_right(values, 32), values)
    elif type_.inner:
        write = _of(type_)
        return pa.chunked_array([pa.array([write(item) & _BITS for item in values.to_pylist()], pa.int64())])
    else:
        write = _of(type_)
        encoded = values.combine_chunks().dictionary_encode()
        hashes_of_values = pa.array([write(item) & _BITS for item in encoded.dictionary.to_pylist()], pa.int64())
        hashes = pa.chunked_array([pc.take(hashes_of_values, encoded.indices)])
    return pc.bit_wise_and(pc.fill_null(hashes, 0), _BITS)


def _of(type_: LakeType) -> Callable[[Any], int]:
    """Return the function that hashes a value of ``type_``, as any number that is equal to Hive's in its last 32 bits."""
    if type_.name == "array":
        inner = _of(type_.inner[0])
        return lambda value: _joined(map(inner, value)) if value is not None else 0
    if type_.name == "map":
        keys, values = map(_of, type_.inner)
        return lambda value: sum((keys(k) ^ values(v)) & _BITS for k, v in value) if value is not None else 0
    of_value = _SCALARS[type_.name]
    return lambda value: of_value(value) if value is not None else 0


def _joined(parts: Any, start: int = 0) -> int:
    result = start
    for part in parts:
        result = (result * 31 + part) & _BITS
    return result


def _bytes(text: str, start: int) -> int:
    """Hash the bytes of UTF-8, each of which has a sign in Java."""
    return _joined((number - 256 if number > 127 else number for number in text.encode()), start)


def _long(value: int) -> int:
    return (value >> 32) ^ value


def _double(value: float) -> int:
    bits = 0x7FF8000000000000 if value != value else int(struct.unpack(">q", struct.pack(">d", value))[0])  # noqa: PLR0124 NaN
    return _long(bits)


def _float(value: float) -> int:
    return 0x7FC00000 if value != value else int(struct.unpack(">i", struct.pack(">f", value))[0])  # noqa: PLR0124 NaN


_SCALARS: Mapping[str, Callable[[Any], int]] = {
    "boolean": int,
    "tinyint": int,
    "smallint": int,
    "int": int,
    "bigint": _long,
    "float": _float,
    "double": _double,
    "string": lambda value: _bytes(value, 0),
    "varchar": lambda value: _bytes(value, 1),
    "date": lambda value: value.toordinal() - _EPOCH,
}
"""The hash of a value of each type that Trino buckets by."""


def _is_hashed(type_: LakeType) -> bool:
    return all(map(_is_hashed, type_.inner)) if type_.name in {"array", "map"} else type_.name in _SCALARS


def _invalid(message: str) -> StatementError:
    return StatementError("INVALID_TABLE_PROPERTY", message)
