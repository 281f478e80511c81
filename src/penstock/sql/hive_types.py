"""Hive's types, as the catalog spells them, as SQL reads them."""

from dataclasses import replace
from functools import lru_cache

from penstock.hive_types import HiveType, TypeUnreadable, parse_type
from penstock.sql.errors import StatementError

__all__ = ["HiveType", "parse_hive_type"]


@lru_cache(maxsize=4_096)
def parse_hive_type(text: str) -> HiveType:
    """Return the type that ``text`` spells. Raises :class:`StatementError` if it cannot be read.

    Spark's ``timestamp_ntz`` is ``timestamp``, whose values have no zone in SQL.
    """
    try:
        return _without_ntz(parse_type(text))
    except TypeUnreadable as error:
        raise StatementError("HIVE_INVALID_METADATA", error.message, remedy=error.remedy) from None


def _without_ntz(kind: HiveType) -> HiveType:
    if kind.name == "timestamp_ntz":
        return HiveType("timestamp", kind.numbers)
    return replace(kind, inner=tuple(map(_without_ntz, kind.inner))) if kind.inner else kind
