"""Hive types of Arrow types, and the common type of two.

Only widenings that Parquet readers support (Spark's and DuckDB's) are made; any other difference is a reported conflict.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from penstock.errors import DataProblem
from penstock.types import hive, widening
from penstock.types.model import Array, LakeType, Map, Scalar, Struct, TypeMissing, fold, replace_fields

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["hive_type", "nameable", "partition_type", "widen"]

_UNNAMEABLE = re.compile(r"[<>,:]")
_INT = re.compile(r"-?(0|[1-9]\d{0,18})")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def hive_type(arrow_type: "pa.DataType") -> str:
    """Return the Hive type of an Arrow type. Raises :class:`DataProblem` if Hive has none."""
    from penstock.types import arrow  # noqa: PLC0415 - pyarrow is heavy, and the values of this package do not need it

    try:
        return hive.render(nameable(arrow.in_hive_table(arrow.parse(arrow_type))))
    except TypeMissing as error:
        raise DataProblem(f"it has a column without a Hive type: {error.message}") from None


def nameable(lake_type: LakeType) -> LakeType:
    """Return the type with its fields' names in lower case. Raises :class:`DataProblem` for a name that crawlers refuse."""

    def checked(struct: Struct, types: tuple[LakeType, ...]) -> LakeType:
        for field in struct:
            if _UNNAMEABLE.search(field.name):
                raise DataProblem(f"it has a field named '{field.name[:100]}', which a Hive type cannot name")
        lowered = Struct(tuple(replace(field, name=field.name.lower()) for field in struct))
        return replace_fields(lowered, types)

    return fold(lake_type, scalar=_same, array=Array, mapping=Map, struct=checked)


def _same(scalar: Scalar) -> LakeType:
    return scalar


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
