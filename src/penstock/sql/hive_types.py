"""The catalog's types, as SQL reads them."""

from functools import lru_cache

from penstock.sql.errors import StatementError
from penstock.types import duckdb, hive
from penstock.types.model import LakeType, Scalar, TypeMissing, replace_scalars

__all__ = ["parse_hive_type"]


@lru_cache(maxsize=4_096)
def parse_hive_type(text: str) -> LakeType:
    """Return the type that ``text`` spells. Raises :class:`StatementError` if it, or values of it, cannot be read.

    Spark's ``timestamp_ntz`` is ``timestamp``, whose values have no zone in SQL.
    """
    try:
        type_ = replace_scalars(hive.parse(text), _without_ntz)
        duckdb.render(type_)
    except (hive.TypeUnreadable, TypeMissing) as error:
        raise StatementError("HIVE_INVALID_METADATA", error.message, remedy=error.remedy) from None
    return type_


def _without_ntz(type_: Scalar) -> LakeType:
    return Scalar("timestamp", type_.numbers) if type_.name == "timestamp_ntz" else type_
