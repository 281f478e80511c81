"""Compares Athena's texts with DuckDB's values."""

import datetime
import math
from collections.abc import Sequence
from decimal import Decimal

from penstock.query.service import QueryService, StatementRequest
from tests.unit.query.lake_of_flights import finished

__all__ = ["answered", "same"]

_RELATIVE = 1e-9
_PAGE = 1_000


def answered(service: QueryService, sql: str) -> list[list[str | None]]:
    """Run a statement, which must succeed, and return its rows."""
    statement = finished(service, service.start(StatementRequest(sql=sql, database="flights_db")))
    assert statement.state == "SUCCEEDED", statement.reason
    found: list[list[str | None]] = []
    token: str | None = None
    while True:
        _, page = service.results(statement.id, limit=_PAGE, token=token)
        found += [list(row) for row in page.rows]
        if page.next_offset is None:
            return found[1:]
        token = str(page.next_offset)


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
