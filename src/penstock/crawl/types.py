"""Hive types of Arrow types, and the common type of two.

Only widenings that Parquet readers support (Spark's and DuckDB's) are made; any other difference is a reported conflict.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from penstock.errors import DataProblem
from penstock.hive_types import HiveType, TypeUnreadable, parse_type, type_text

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["hive_type", "partition_type", "widen"]

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_MAX_PRECISION = 38
_MAX_DEPTH = 100
_SIMPLE = {
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint8": "smallint",
    "uint16": "int",
    "uint32": "bigint",
    "uint64": "decimal(20,0)",
    "halffloat": "float",
    "float": "float",
    "double": "double",
    "string": "string",
    "large_string": "string",
    "string_view": "string",
    "binary": "binary",
    "large_binary": "binary",
    "binary_view": "binary",
    "date32[day]": "date",
    "date64[ms]": "date",
    "null": "string",
}
_INT = re.compile(r"-?(0|[1-9]\d{0,18})")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def hive_type(arrow: "pa.DataType", *, depth: int = 0) -> str:
    """Return the Hive type of an Arrow type. Raises :class:`DataProblem` if Hive has none."""
    import pyarrow as pa  # noqa: PLC0415 - heavy, and the values of this package do not need it

    if depth > _MAX_DEPTH:
        raise DataProblem(f"its schema is nested more than {_MAX_DEPTH} levels deep")
    if simple := _SIMPLE.get(str(arrow)):
        return simple
    if isinstance(arrow, (pa.DictionaryType, pa.BaseExtensionType)):
        inner = arrow.value_type if isinstance(arrow, pa.DictionaryType) else arrow.storage_type
        return hive_type(inner, depth=depth + 1)
    if isinstance(arrow, pa.MapType):
        return f"map<{hive_type(arrow.key_type, depth=depth + 1)},{hive_type(arrow.item_type, depth=depth + 1)}>"
    if isinstance(arrow, pa.StructType):
        return f"struct<{','.join(_member(arrow.field(index), depth) for index in range(arrow.num_fields))}>"
    if isinstance(arrow, (pa.ListType, pa.LargeListType, pa.FixedSizeListType)):
        return f"array<{hive_type(arrow.value_type, depth=depth + 1)}>"
    return _parameterised(arrow)


def _parameterised(arrow: "pa.DataType") -> str:
    import pyarrow as pa  # noqa: PLC0415 - see above

    types = pa.types
    if types.is_timestamp(arrow):
        return "timestamp"
    if types.is_decimal(arrow) and arrow.precision <= _MAX_PRECISION:
        return f"decimal({arrow.precision},{arrow.scale})"
    if types.is_fixed_size_binary(arrow):
        return "binary"
    if types.is_time32(arrow):
        return "int"
    if types.is_time64(arrow) or types.is_duration(arrow):
        return "bigint"
    raise DataProblem(f"it has a column of type {arrow}, which has no Hive type")


def _member(field: "pa.Field", depth: int) -> str:
    if re.search(r"[<>,:]", field.name):
        raise DataProblem(f"it has a struct with a field named '{field.name}', which a Hive type cannot name")
    return f"{field.name.lower()}:{hive_type(field.type, depth=depth + 1)}"


def partition_type(values: Sequence[str]) -> str:
    """Return ``int``, ``bigint``, ``date`` or ``string`` for a key with these values, ignoring nulls.

    A number with leading zeros (``month=01``) is a string, because the number would not lead to its folder.
    """
    if values and all(_INT.fullmatch(value) and value != "-0" for value in values):
        numbers = [int(value) for value in values]
        if all(-(2**31) <= number < 2**31 for number in numbers):
            return "int"
        return "bigint" if all(-(2**63) <= number < 2**63 for number in numbers) else "string"
    return "date" if values and all(_is_date(value) for value in values) else "string"


def _is_date(value: str) -> bool:
    try:
        return bool(_DATE.fullmatch(value) and date.fromisoformat(value))
    except ValueError:
        return False


def widen(first: str, second: str) -> str | None:
    """Return the common type of both, None if readers support none. Structs merge by field."""
    if first == second:
        return first
    try:
        merged = _widen(parse_type(first.lower()), parse_type(second.lower()))
    except TypeUnreadable:
        return None
    return None if merged is None else type_text(merged)


def _widen(first: HiveType, second: HiveType) -> HiveType | None:
    if first == second:
        return first
    if "void" in (first.name, second.name):
        return second if first.name == "void" else first
    if first.name == second.name and first.inner:
        return _widen_struct(first, second) if first.name == "struct" else _widen_members(first, second)
    return _widen_numbers(first, second)


def _widen_numbers(first: HiveType, second: HiveType) -> HiveType | None:
    names = {first.name, second.name}
    if names <= set(_INTEGERS):
        return max(first, second, key=lambda each: _INTEGERS.index(each.name))
    if names == {"float", "double"} or ("double" in names and names <= {"double", "tinyint", "smallint", "int"}):
        return HiveType("double")
    if "decimal" in names and names <= {"decimal", *_INTEGERS}:
        return _widen_decimals(first, second)
    return None


def _widen_members(first: HiveType, second: HiveType) -> HiveType | None:
    merged = list(map(_widen, first.inner, second.inner))
    return None if None in merged else replace(first, inner=tuple(filter(None, merged)))


def _widen_struct(first: HiveType, second: HiveType) -> HiveType | None:
    members: dict[str, HiveType] = dict(zip(first.fields, first.inner, strict=True))
    for name, kind in zip(second.fields, second.inner, strict=True):
        merged = _widen(members[name], kind) if name in members else kind
        if merged is None:
            return None
        members[name] = merged
    return HiveType("struct", inner=tuple(members.values()), fields=tuple(members))


def _widen_decimals(first: HiveType, second: HiveType) -> HiveType | None:
    (p1, s1), (p2, s2) = (each.numbers or (_DIGITS[each.name], 0) for each in (first, second))
    scale, whole = max(s1, s2), max(p1 - s1, p2 - s2)
    return HiveType("decimal", (whole + scale, scale)) if whole + scale <= _MAX_PRECISION else None
