"""Hive types of Arrow types, and the common type of two.

Only widenings that Parquet readers support (Spark's and DuckDB's) are made; any other difference is a reported conflict.
"""

import re
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from penstock.errors import DataProblem
from penstock.types import hive, widening

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["hive_type", "partition_type", "widen"]

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
        merged = widening.widen(hive.parse(first.lower()), hive.parse(second.lower()), widening.PARQUET)
    except hive.TypeUnreadable:
        return None
    return None if merged is None else hive.render(merged)
