"""Runs statements and collects all their rows."""

from penstock.query.service import QueryService, StatementRequest
from tests.unit.query.lake_of_flights import finished

__all__ = ["answered"]

_PAGE = 1_000


def answered(service: QueryService, sql: str) -> list[list[str | None]]:
    """Run a statement, which must succeed, and return its rows."""
    statement = finished(service, service.start(StatementRequest(sql=sql, database="flights_db")))
    assert statement.state == "SUCCEEDED", statement.reason
    lines: list[list[str | None]] = []
    token: str | None = None
    while True:
        _, page = service.results(statement.id, limit=_PAGE, token=token)
        lines += [list(row) for row in page.rows]
        if page.next_offset is None:
            return lines[1:]
        token = str(page.next_offset)
