"""Values of a query as a table's columns: only the coercions that Trino makes when it assigns.

Source: Trino documentation, "INSERT": the types have to be the table's, or coercible to them without loss.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from penstock.sql.errors import StatementError

__all__ = ["coerced"]

_T = pa.types


def coerced(values: pa.Array, type_: IcebergType, column: str) -> pa.Array:
    """Return ``values`` in the Arrow type of ``type_``, with its field ids.

    Raises :class:`StatementError`: TYPE_MISMATCH if the types do not fit, INVALID_CAST_ARGUMENT if a value does not.
    """
    target = schema_to_pyarrow(type_)
    try:
        return _coerced(values, type_, target, column)
    except pa.ArrowInvalid as error:
        raise StatementError(
            "INVALID_CAST_ARGUMENT", f"A value does not fit into column '{column}' of type {type_}: {error}"
        ) from None


def _coerced(values: pa.Array, type_: IcebergType, target: pa.DataType, column: str) -> pa.Array:
    if _T.is_null(values.type):
        return pa.nulls(len(values), target)
    if isinstance(type_, StructType):
        return _struct(values, type_, target, column)
    if isinstance(type_, ListType):
        if not (_T.is_list(values.type) or _T.is_large_list(values.type)):
            raise _mismatch(values.type, type_, column)
        items = _coerced(values.values, type_.element_type, target.value_type, column)
        large = _T.is_large_list(target)
        offsets = values.offsets.cast(pa.int64() if large else pa.int32())
        return (pa.LargeListArray if large else pa.ListArray).from_arrays(offsets, items, type=target, mask=_nulls(values))
    if isinstance(type_, MapType):
        if not _T.is_map(values.type):
            raise _mismatch(values.type, type_, column)
        keys = _coerced(values.keys, type_.key_type, target.key_type, column)
        items = _coerced(values.items, type_.value_type, target.item_type, column)
        return pa.MapArray.from_arrays(values.offsets, keys, items, type=target, mask=_nulls(values))
    fits = _FITS.get(type(type_))
    if fits is None or not fits(values.type, type_):
        raise _mismatch(values.type, type_, column)
    if isinstance(type_, UUIDType):
        return _uuids(values, target)
    if isinstance(type_, DecimalType) and _T.is_floating(values.type):
        raise _mismatch(values.type, type_, column)
    return values.cast(target)


def _struct(values: pa.Array, type_: StructType, target: pa.DataType, column: str) -> pa.Array:
    if not _T.is_struct(values.type) or values.type.num_fields != len(type_.fields):
        raise _mismatch(values.type, type_, column)
    fields = [
        _coerced(pc.struct_field(values, [at]), field.field_type, target.field(at).type, column)
        for at, field in enumerate(type_.fields)
    ]
    return pa.StructArray.from_arrays(fields, fields=list(target), mask=_nulls(values))


def _nulls(values: pa.Array) -> pa.Array | None:
    # Arrow takes a mask only for whole arrays, not for slices; a query's batches are whole.
    return values.is_null() if values.null_count else None


def _uuids(values: pa.Array, target: pa.DataType) -> pa.Array:
    import uuid  # noqa: PLC0415 - of rare use

    plain = values.storage if isinstance(values, pa.ExtensionArray) else values
    if _T.is_string(plain.type):
        values_of_bytes = [None if text is None else uuid.UUID(text).bytes for text in plain.to_pylist()]
        plain = pa.array(values_of_bytes, pa.binary(16))
    return pa.ExtensionArray.from_storage(target, plain) if isinstance(target, pa.BaseExtensionType) else plain.cast(target)


def _mismatch(source: pa.DataType, type_: IcebergType, column: str) -> StatementError:
    return StatementError(
        "TYPE_MISMATCH",
        f"Insert query has mismatched column types: column '{column}' is of type {type_}, the query's is {source}.",
        remedy="Write a CAST.",
    )


def _whole(source: pa.DataType, bits: int) -> bool:
    return bool(_T.is_integer(source)) and source.bit_width + _T.is_unsigned_integer(source) <= bits


def _is_wide_count(source: pa.DataType) -> bool:
    """Return whether this is the engine's HUGEINT, which a sum has where Trino's is a bigint."""
    return bool(_T.is_decimal(source)) and (source.precision, source.scale) == (38, 0)


def _fits_decimal(source: pa.DataType, type_: Any) -> bool:
    if _T.is_integer(source):
        digits = {8: 3, 16: 5, 32: 10, 64: 19}[source.bit_width]
        return bool(digits <= type_.precision - type_.scale)
    # The engine's constants have more digits than Trino's; a value that does not fit is an error of its own.
    return bool(_T.is_decimal(source))


def _fits_number(source: pa.DataType, _type: Any) -> bool:
    return bool(_T.is_integer(source) or _T.is_decimal(source) or _T.is_float32(source))


def _fits_bytes(source: pa.DataType, _type: Any) -> bool:
    return bool(_T.is_binary(source) or _T.is_large_binary(source) or _T.is_fixed_size_binary(source))


def _fits_uuid(source: pa.DataType, _type: Any) -> bool:
    return bool(_T.is_string(source)) or str(getattr(source, "extension_name", "")) == "arrow.uuid"


_FITS: Mapping[type[IcebergType], Callable[[pa.DataType, Any], bool]] = {
    BooleanType: lambda source, _: _T.is_boolean(source),
    IntegerType: lambda source, _: _whole(source, 32),
    LongType: lambda source, _: _whole(source, 64) or _is_wide_count(source),
    FloatType: _fits_number,
    DoubleType: lambda source, type_: _fits_number(source, type_) or _T.is_float64(source),
    DecimalType: _fits_decimal,
    StringType: lambda source, _: _T.is_string(source) or _T.is_large_string(source),
    BinaryType: _fits_bytes,
    FixedType: _fits_bytes,
    UUIDType: _fits_uuid,
    DateType: lambda source, _: _T.is_date32(source),
    TimeType: lambda source, _: _T.is_time(source),
    TimestampType: lambda source, _: _T.is_date32(source) or (_T.is_timestamp(source) and source.tz is None),
    TimestamptzType: lambda source, _: _T.is_timestamp(source) and source.tz is not None,
}
