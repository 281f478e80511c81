"""Compares Athena's texts with DuckDB's values."""

import datetime
import math
from collections.abc import Sequence
from decimal import Decimal

__all__ = ["same"]

_RELATIVE = 1e-9


def same(ours: Sequence[Sequence[str | None]], oracle: Sequence[Sequence[object]]) -> bool:
    """Return whether the rows are equal, as far as the digits go that Trino's types have.

    Quotients and averages of decimals are decimals in Trino, and doubles in DuckDB.
    """
    return len(ours) == len(oracle) and all(
        len(row) == len(other) and all(map(_equal, row, other)) for row, other in zip(ours, oracle, strict=True)
    )


def _equal(text: str | None, value: object) -> bool:
    if text is None or value is None:
        return text is None and value is None
    if isinstance(value, bool):
        return text == str(value).lower()
    if isinstance(value, int):
        return Decimal(text) == value
    if isinstance(value, float | Decimal):
        digits = 0 if "E" in text else len(text.partition(".")[2])
        rounding = 0.51 * 10.0**-digits if "E" not in text else 0.0
        return math.isclose(float(text), float(value), rel_tol=_RELATIVE, abs_tol=rounding)
    if isinstance(value, datetime.date):
        return text == value.isoformat()
    return text == value
