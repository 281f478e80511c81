"""Prepared statements by name within a work group."""

from datetime import UTC, datetime, timedelta

import pytest

from penstock.errors import LimitExceeded
from penstock.paging import InvalidToken
from penstock.statements import prepared
from penstock.statements.errors import ResourceExists, ResourceNotFound
from penstock.statements.prepared import PreparedStatements
from penstock.store.sql.resources import SqlResourceStore
from penstock.testing.sqlite import new_database

NOW = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)


@pytest.fixture
def statements() -> PreparedStatements:
    times = (NOW + timedelta(seconds=count) for count in range(10_000))
    return PreparedStatements(SqlResourceStore(new_database()), clock=lambda: next(times))


def test_a_statement_is_created_changed_and_deleted(statements: PreparedStatements) -> None:
    made = statements.create("primary", "by_id", "SELECT ?", "of the shop")
    assert statements.get("primary", "by_id") == made
    changed = statements.update("primary", "by_id", "SELECT ? + 1")
    assert (changed.sql, changed.description, changed.modified) == (
        "SELECT ? + 1",
        "of the shop",
        NOW + timedelta(seconds=1),
    )
    assert statements.get("primary", "by_id") == changed
    statements.delete("primary", "by_id")
    for act in (statements.get, statements.delete):
        with pytest.raises(ResourceNotFound, match="PreparedStatement by_id was not found in WorkGroup primary"):
            act("primary", "by_id")
    with pytest.raises(ResourceNotFound):
        statements.update("primary", "by_id", "SELECT 1")


def test_a_name_is_taken_within_its_work_group(statements: PreparedStatements) -> None:
    statements.create("primary", "by_id", "SELECT ?")
    statements.create("other", "by_id", "SELECT ?")
    with pytest.raises(ResourceExists, match="by_id already exists in WorkGroup primary"):
        statements.create("primary", "by_id", "SELECT 2")


def test_a_listing_is_paged_by_name(statements: PreparedStatements) -> None:
    for name in ("c", "a", "b"):
        statements.create("primary", name, "SELECT 1")
    first = statements.list("primary", limit=2)
    assert [item.name for item in first.items] == ["a", "b"]
    last = statements.list("primary", limit=2, token=first.next_token)
    assert ([item.name for item in last.items], last.next_token) == (["c"], None)
    with pytest.raises(InvalidToken):
        statements.list("other", limit=2, token=first.next_token)


def test_a_work_group_has_a_limit(statements: PreparedStatements, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "MAX_PREPARED_STATEMENTS", 1)
    statements.create("primary", "a", "SELECT 1")
    with pytest.raises(LimitExceeded):
        statements.create("primary", "b", "SELECT 1")
