"""Arrow's types, and with them those of Parquet, as pyarrow reads it. Source: Arrow columnar format, "Logical types"."""

import re
from functools import lru_cache

import pyarrow as pa

from penstock.types.model import (
    MAX_DEPTH,
    MAX_PRECISION,
    STRING,
    VOID,
    Array,
    Field,
    LakeType,
    Map,
    Scalar,
    Struct,
    TypeMissing,
    fold,
    replace_scalars,
    scalar_of,
)

__all__ = ["in_hive_table", "parse", "render"]

_ARROW: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "varchar": pa.string(),
    "char": pa.string(),
    "uuid": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamp_ntz": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "void": pa.null(),
}
_LAKE = {type_: Scalar(name) for name, type_ in _ARROW.items() if name not in {"varchar", "char", "uuid", "timestamp_ntz"}}
# An unsigned integer is the smallest type that holds its values.
_LAKE |= {pa.uint8(): Scalar("smallint"), pa.uint16(): Scalar("int"), pa.uint32(): Scalar("bigint")}
_LAKE |= {pa.uint64(): Scalar("decimal", (20, 0)), pa.float16(): Scalar("float"), pa.date64(): Scalar("date")}
_LAKE |= dict.fromkeys((pa.large_string(), pa.string_view()), STRING)
_LAKE |= dict.fromkeys((pa.large_binary(), pa.binary_view()), Scalar("binary"))
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_UNIT = re.compile(r"\[(\w+)")


@lru_cache(maxsize=4_096)
def render(type_: LakeType) -> pa.DataType:
    """Return the Arrow type for the values of ``type_``, times in microseconds. Raises :class:`TypeMissing`."""
    return fold(type_, scalar=_arrow, array=pa.list_, mapping=pa.map_, struct=_fields)


def _arrow(type_: Scalar) -> pa.DataType:
    return pa.decimal128(*type_.numbers) if type_.name == "decimal" else scalar_of(_ARROW, type_, "Arrow")


def _fields(type_: Struct, types: tuple[pa.DataType, ...]) -> pa.DataType:
    return pa.struct([(field.name, inner) for field, inner in zip(type_.fields, types, strict=True)])


def parse(arrow: pa.DataType, *, depth: int = 0) -> LakeType:
    """Return the type of Arrow's values; a time has its digits. Raises :class:`TypeMissing` if the lake has none."""
    if depth > MAX_DEPTH:
        raise TypeMissing(f"A type of Arrow nests deeper than {MAX_DEPTH} levels.")
    if isinstance(arrow, pa.DictionaryType):
        return parse(arrow.value_type, depth=depth)
    if isinstance(arrow, pa.BaseExtensionType):
        return Scalar("uuid") if arrow.extension_name == "arrow.uuid" else parse(arrow.storage_type, depth=depth)
    if isinstance(arrow, pa.MapType):
        return Map(parse(arrow.key_type, depth=depth + 1), parse(arrow.item_type, depth=depth + 1))
    if isinstance(arrow, pa.StructType):
        fields = [arrow.field(at) for at in range(arrow.num_fields)]
        return Struct(tuple(Field(field.name, parse(field.type, depth=depth + 1), field.nullable) for field in fields))
    if isinstance(arrow, pa.ListType | pa.LargeListType | pa.FixedSizeListType):
        return Array(parse(arrow.value_type, depth=depth + 1))
    return _LAKE.get(arrow) or _parameterised(arrow)


def _parameterised(arrow: pa.DataType) -> Scalar:
    types = pa.types
    if types.is_timestamp(arrow):
        return Scalar("timestamp" if arrow.tz is None else "timestamptz")
    if types.is_decimal(arrow) and arrow.precision <= MAX_PRECISION:
        return Scalar("decimal", (arrow.precision, arrow.scale))
    if types.is_fixed_size_binary(arrow):
        return Scalar("binary")
    if types.is_time(arrow):
        unit = _UNIT.search(str(arrow))
        return Scalar("time", (_DIGITS[unit[1] if unit else "us"],))
    if types.is_duration(arrow):
        return Scalar("bigint")
    raise TypeMissing(f"The lake has no type for Arrow's {arrow}.", remedy="Convert the column, or leave it out.")


def in_hive_table(type_: LakeType) -> LakeType:
    """Return the type that a Hive table over files with values of ``type_`` has.

    A time of day is its number of milli- or microseconds, a uuid its bytes; a column without values is a string.
    """
    return replace_scalars(type_, _stored)


def _stored(type_: Scalar) -> LakeType:
    match type_:
        case Scalar("time", numbers):
            return Scalar("int" if numbers and numbers[0] <= _DIGITS["ms"] else "bigint")
        case Scalar("timestamptz"):
            return Scalar("timestamp")
        case Scalar("uuid"):
            return Scalar("binary")
        case _:
            return STRING if type_ == VOID else type_
