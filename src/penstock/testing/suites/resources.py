"""The behaviour of every :class:`~penstock.statements.resources.ResourceStore`."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from penstock.errors import InvalidInput, LimitExceeded
from penstock.statements.prepared import PREPARED_STATEMENTS, PreparedStatement
from penstock.statements.resources import ResourceKind, ResourceStore

__all__ = ["ResourceStoreSuite"]

NOW = datetime(2026, 11, 21, 10, 0, 0, 123456, tzinfo=UTC)
ONE = PreparedStatement(name="one", work_group="a", sql="SELECT ? AS é", description="of the shop", modified=NOW)
KIND = PREPARED_STATEMENTS
OTHER = ResourceKind("other", PREPARED_STATEMENTS.load)


class ResourceStoreSuite:
    """Fixture ``store`` is an empty :class:`~penstock.statements.resources.ResourceStore`; many threads use it at once."""

    def test_returns_what_was_added(self, store: ResourceStore) -> None:
        assert store.add(KIND, ONE, limit=5)
        assert store.get(KIND, "a", "one") == ONE
        assert store.get(KIND, "a", "ONE") is None
        assert store.get(KIND, "b", "one") is None
        assert store.get(OTHER, "a", "one") is None

    def test_a_key_is_taken_once_within_kind_and_scope(self, store: ResourceStore) -> None:
        assert store.add(KIND, ONE, limit=5)
        assert not store.add(KIND, replace(ONE, sql="SELECT 2"), limit=1)
        assert store.get(KIND, "a", "one") == ONE
        assert store.add(KIND, replace(ONE, work_group="b"), limit=5)
        assert store.add(OTHER, ONE, limit=5)
        with ThreadPoolExecutor(8) as pool:
            added = list(pool.map(lambda _: store.add(KIND, replace(ONE, name="same"), limit=50), range(16)))
        assert added.count(True) == 1

    def test_a_scope_has_as_many_as_its_limit(self, store: ResourceStore) -> None:
        for name in ("one", "two"):
            store.add(KIND, replace(ONE, name=name), limit=2)
        with pytest.raises(LimitExceeded, match="2 resources"):
            store.add(KIND, replace(ONE, name="three"), limit=2)
        assert store.add(KIND, replace(ONE, work_group="b"), limit=2)

    def test_lists_by_key_within_a_scope(self, store: ResourceStore) -> None:
        for name in ("c", "a", "B", "é", "b"):
            store.add(KIND, replace(ONE, name=name), limit=9)
        store.add(KIND, replace(ONE, work_group="b"), limit=9)
        store.add(OTHER, ONE, limit=9)
        assert [prepared_statement.name for prepared_statement in store.list(KIND, "a", after=None, limit=3)] == [
            "B",
            "a",
            "b",
        ]
        assert [prepared_statement.name for prepared_statement in store.list(KIND, "a", after="b", limit=9)] == ["c", "é"]

    def test_many_are_answered_in_the_order_asked(self, store: ResourceStore) -> None:
        for name in "abc":
            store.add(KIND, replace(ONE, name=name), limit=9)
        assert [prepared_statement.name for prepared_statement in store.get_many(KIND, "a", list("cxab"))] == ["c", "a", "b"]
        assert list(store.get_many(KIND, "a", [])) == []
        store.add(KIND, replace(ONE, work_group="b", name="d"), limit=9)
        store.add(OTHER, replace(ONE, name="e"), limit=9)
        assert [prepared_statement.name for prepared_statement in store.get_many(KIND, None, list("edb"))] == ["d", "b"]

    def test_changes_are_made_whole_or_not_at_all(self, store: ResourceStore) -> None:
        store.add(KIND, ONE, limit=5)
        changed = replace(ONE, description=None)
        assert store.change(KIND, "a", "one", lambda old: replace(old, description=None)) == changed
        assert store.get(KIND, "a", "one") == changed
        assert store.change(KIND, "b", "one", lambda old: old) is None

        def refuse(_old: PreparedStatement) -> PreparedStatement:
            raise InvalidInput("no")

        with pytest.raises(InvalidInput, match="no"):
            store.change(KIND, "a", "one", refuse)
        with ThreadPoolExecutor(8) as pool:
            done = pool.map(lambda _: store.change(KIND, "a", "one", lambda old: replace(old, sql=old.sql + "x")), range(16))
            assert None not in list(done)
        assert store.get(KIND, "a", "one") == replace(changed, sql=ONE.sql + "x" * 16)

    def test_deletes_one(self, store: ResourceStore) -> None:
        store.add(KIND, ONE, limit=5)
        store.add(KIND, replace(ONE, work_group="b"), limit=5)
        assert store.delete(KIND, "a", "one")
        assert not store.delete(KIND, "a", "one")
        assert (store.is_empty("a"), store.is_empty("b")) == (True, False)

    def test_deletes_one_with_all_of_its_scope(self, store: ResourceStore) -> None:
        owner = replace(ONE, work_group="", name="a")
        store.add(OTHER, owner, limit=5)
        store.add(OTHER, replace(owner, name="b"), limit=5)
        for group in "ab":
            store.add(KIND, replace(ONE, work_group=group), limit=5)
        assert not store.delete_with_scope(OTHER, "", "c", within="a")
        assert not store.is_empty("a")
        assert store.delete_with_scope(OTHER, "", "a", within="a")
        assert (store.is_empty("a"), store.is_empty("b")) == (True, False)
        assert [prepared_statement.name for prepared_statement in store.list(OTHER, "", after=None, limit=5)] == ["b"]
