"""Details: what belongs to databases, tables and partitions."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from penstock.catalog.details import Body, DetailKind, Home
from penstock.catalog.errors import DatabaseNotFound, PartitionNotFound, TableNotFound
from penstock.catalog.model import Column, Database, Partition, StorageDescriptor, Table
from penstock.catalog.store import CatalogStore
from penstock.errors import InvalidInput

__all__ = ["CatalogDetails"]

NOW = datetime(2026, 11, 21, 10, 0, 0, 123456, tzinfo=UTC)
BODY: Body = {"At": NOW, "Unscaled": b"\x00\xff", "Nested": {"List": [1, 2.5, "x", {"At": NOW}]}, "Nothing": None}
DATABASE, TABLE, PARTITION = Home("sales"), Home("sales", "orders"), Home("sales", "orders", ("2013",))
HOMES = pytest.mark.parametrize("home", [DATABASE, TABLE, PARTITION])
STATISTICS = DetailKind.STATISTICS


def fill(store: CatalogStore) -> None:
    for name in ("sales", "stock"):
        store.create_database(Database(name=name, create_time=NOW), limit=10)
    store.create_table(table(), limit=10)
    store.create_partitions([partition("2013"), partition("2014")])


def table(name: str = "orders") -> Table:
    return Table(
        database="sales", name=name, version_id="0", storage=StorageDescriptor(), partition_keys=(Column(name="year"),),
        create_time=NOW, update_time=NOW,
    )  # fmt: skip


def partition(year: str) -> Partition:
    return Partition(database="sales", table="orders", values=(year,), storage=StorageDescriptor(), create_time=NOW)


def put(store: CatalogStore, home: Home, **bodies: Body) -> None:
    store.change_details(home, STATISTICS, lambda known: {**known, **bodies})


class CatalogDetails:
    """Fixture ``store`` is an empty :class:`~penstock.catalog.store.CatalogStore`."""

    @HOMES
    def test_details_are_kept_changed_and_removed(self, store: CatalogStore, home: Home) -> None:
        fill(store)
        assert store.details(home, STATISTICS) == {}
        put(store, home, b=BODY, a={"n": 1})
        assert list(store.details(home, STATISTICS).items()) == [("a", {"n": 1}), ("b", BODY)]
        store.change_details(home, STATISTICS, lambda known: {"b": {**known["b"], "Nothing": 1}, "c": {}})
        assert store.details(home, STATISTICS) == {"b": {**BODY, "Nothing": 1}, "c": {}}
        assert store.details(home, DetailKind.INDEX) == {}

    @HOMES
    def test_a_change_that_fails_changes_nothing(self, store: CatalogStore, home: Home) -> None:
        fill(store)
        put(store, home, a=BODY)

        def fail(_known: object) -> dict[str, Body]:
            raise InvalidInput("no")

        with pytest.raises(InvalidInput):
            store.change_details(home, STATISTICS, fail)
        assert store.details(home, STATISTICS) == {"a": BODY}

    def test_details_of_each_home_are_its_own(self, store: CatalogStore) -> None:
        fill(store)
        for number, home in enumerate((DATABASE, TABLE, PARTITION)):
            put(store, home, a={"n": number})
        assert [store.details(home, STATISTICS) for home in (DATABASE, TABLE, PARTITION)] == [
            {"a": {"n": n}} for n in range(3)
        ]
        assert store.details(Home("sales", "orders", ("2014",)), STATISTICS) == {}
        assert store.details(Home("stock"), STATISTICS) == {}

    def test_details_of_what_is_not_there_are_refused(self, store: CatalogStore) -> None:
        fill(store)
        for home, error in (
            (Home("x"), DatabaseNotFound),
            (Home("x", "orders"), DatabaseNotFound),
            (Home("sales", "x"), TableNotFound),
            (Home("sales", "orders", ("2015",)), PartitionNotFound),
        ):
            with pytest.raises(error):
                store.details(home, STATISTICS)
            with pytest.raises(error):
                put(store, home, a=BODY)

    def test_details_go_with_what_they_belong_to(self, store: CatalogStore) -> None:
        fill(store)
        put(store, PARTITION, a=BODY)
        store.delete_partitions("sales", "orders", [("2013",)])
        store.create_partitions([partition("2013")])
        assert store.details(PARTITION, STATISTICS) == {}

        put(store, PARTITION, a=BODY)
        put(store, TABLE, a=BODY)
        store.delete_table("sales", "orders")
        store.create_table(table(), limit=10)
        store.create_partitions([partition("2013")])
        assert store.details(TABLE, STATISTICS) == store.details(PARTITION, STATISTICS) == {}

        for home in (DATABASE, TABLE, PARTITION):
            put(store, home, a=BODY)
        store.delete_database("sales")
        store.create_database(Database(name="sales", create_time=NOW), limit=10)
        store.create_table(table(), limit=10)
        store.create_partitions([partition("2013")])
        assert [store.details(home, STATISTICS) for home in (DATABASE, TABLE, PARTITION)] == [{}, {}, {}]

    def test_details_stay_with_what_is_replaced(self, store: CatalogStore) -> None:
        fill(store)
        for home in (TABLE, PARTITION):
            put(store, home, a=BODY)
        store.replace_table(table(), expected=None, archive=True, limit=10)
        store.replace_partitions([partition("2013")])
        assert [store.details(home, STATISTICS) for home in (TABLE, PARTITION)] == [{"a": BODY}, {"a": BODY}]

    def test_a_table_is_made_with_its_indexes_or_not_at_all(self, store: CatalogStore) -> None:
        fill(store)
        store.create_table(table("t"), limit=10, indexes={"i": {"Keys": ["year"]}})
        assert store.details(Home("sales", "t"), DetailKind.INDEX) == {"i": {"Keys": ["year"]}}

    def test_a_table_keeps_the_keys_that_an_index_is_over(self, store: CatalogStore) -> None:
        fill(store)
        store.create_table(table("t"), limit=10, indexes={"i": {"Keys": ["year"]}})
        renamed = replace(table("t"), partition_keys=(Column(name="month"),))
        with pytest.raises(InvalidInput, match=r"Index i of table sales\.t"):
            store.replace_table(renamed, expected=None, archive=True, limit=10)
        store.change_details(Home("sales", "t"), DetailKind.INDEX, lambda _known: {})
        assert store.replace_table(renamed, expected=None, archive=True, limit=10).version_id == "1"

    def test_details_of_databases_are_listed_behind_a_pair_of_names(self, store: CatalogStore) -> None:
        fill(store)
        for home, names in ((DATABASE, ("b", "a")), (Home("stock"), ("a",))):
            put(store, home, **{name: {"n": name} for name in names})

        def listed(**arguments: object) -> list[tuple[str, str]]:
            wanted = {"database": None, "after": None, "limit": 10, **arguments}
            return [(database, name) for database, name, _ in store.list_details(STATISTICS, **wanted)]  # type: ignore[arg-type]

        assert listed() == [("sales", "a"), ("sales", "b"), ("stock", "a")]
        assert listed(limit=2) == [("sales", "a"), ("sales", "b")]
        assert listed(after=("sales", "a")) == [("sales", "b"), ("stock", "a")]
        assert listed(database="stock") == [("stock", "a")]
        assert listed(database="stock", after=("stock", "a")) == []
