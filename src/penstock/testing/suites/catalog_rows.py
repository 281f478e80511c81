"""Databases, tables with their versions, and partitions: rows that come back as they went in."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from penstock.catalog.errors import (
    CatalogFull,
    DatabaseExists,
    DatabaseInUse,
    DatabaseNotFound,
    StaleTable,
    TableExists,
    TableNotFound,
)
from penstock.catalog.model import (
    Column,
    Database,
    Partition,
    SchemaReference,
    SerDeInfo,
    StorageDescriptor,
    Table,
)
from penstock.catalog.partitions.filters import PartitionFilter, partition_filter
from penstock.catalog.partitions.keys import partition_key
from penstock.catalog.store import CatalogStore, TableChange
from penstock.errors import InvalidInput

__all__ = ["CatalogRows"]

NOW = datetime(2026, 11, 21, 10, 0, 0, 123456, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
STORAGE = StorageDescriptor(
    columns=(Column(name="id", type="bigint", comment="row", parameters={"a": "b"}), Column(name="s", type="struct<a:int>")),
    location="s3://lake/flights/",
    input_format="in",
    output_format="out",
    compressed=True,
    serde_info=SerDeInfo(name="n", serialization_library="lib", parameters={"k": "v"}),
    parameters={"p": "q"},
    schema_reference=SchemaReference(registry_name="r", schema_name="s", schema_version_number=2),
    extra={"SortColumns": [{"Column": "id", "SortOrder": 1}]},
)


def database(name: str = "sales") -> Database:
    return Database(
        name=name, description="d", location_uri="s3://x/", parameters={"a": "b"}, create_time=NOW, extra={"T": {"U": 1}}
    )


def table(name: str = "orders", **changes: object) -> Table:
    whole = Table(
        database="sales",
        name=name,
        version_id="0",
        storage=STORAGE,
        partition_keys=(Column(name="year", type="int"), Column(name="origin", type="string")),
        table_type="EXTERNAL_TABLE",
        description="d",
        owner="o",
        parameters={"classification": "parquet"},
        view_original_text="v",
        view_expanded_text="w",
        create_time=NOW,
        update_time=NOW,
        last_access_time=NOW,
        last_analyzed_time=LATER,
        retention=3,
        extra={"TargetTable": {"Name": "t"}},
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


def partition(*values: str, **changes: object) -> Partition:
    whole = Partition(
        database="sales",
        table="orders",
        values=values,
        storage=STORAGE,
        parameters={"rows": "1"},
        create_time=NOW,
        last_access_time=LATER,
        last_analyzed_time=NOW,
        extra={"x": [1]},
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


def filled(store: CatalogStore) -> CatalogStore:
    store.create_database(database(), limit=10)
    store.create_table(table(), limit=10)
    return store


class CatalogRows:
    """Fixture ``store`` is an empty :class:`~penstock.catalog.store.CatalogStore`; many threads use it at once."""

    def test_databases_come_back_as_they_went_in(self, store: CatalogStore) -> None:
        store.create_database(database(), limit=10)
        assert store.database("sales") == database()
        assert store.database("other") is None
        with pytest.raises(DatabaseExists):
            store.create_database(database(), limit=10)
        with pytest.raises(CatalogFull, match="1 databases"):
            store.create_database(database("b"), limit=1)

    def test_a_database_is_changed_as_it_is_stored(self, store: CatalogStore) -> None:
        store.create_database(database(), limit=10)
        store.change_database(database().name, lambda old: replace(old, description="new", tags={"team": "ops"}))
        assert store.database("sales") == replace(database(), description="new", tags={"team": "ops"})
        with pytest.raises(DatabaseNotFound):
            store.change_database("b", lambda old: old)

        def fail(_old: Database) -> Database:
            raise InvalidInput("no")

        with pytest.raises(InvalidInput):
            store.change_database("sales", fail)
        assert store.database("sales") == replace(database(), description="new", tags={"team": "ops"})

    def test_databases_are_listed_by_name_behind_a_key(self, store: CatalogStore) -> None:
        for name in "cab":
            store.create_database(database(name), limit=10)
        assert [item.name for item in store.list_databases(after=None, limit=2)] == ["a", "b"]
        assert [item.name for item in store.list_databases(after="a", limit=9)] == ["b", "c"]

    def test_deleting_a_database_removes_all_in_it(self, store: CatalogStore) -> None:
        filled(store).create_partitions([partition("2013", "JFK")])
        store.delete_database("sales")
        assert store.table("sales", "orders") is None
        with pytest.raises(DatabaseNotFound):
            store.delete_database("sales")
        filled(store)
        assert store.list_partitions("sales", "orders", after=None, limit=None) == []

    def test_tables_come_back_as_they_went_in(self, store: CatalogStore) -> None:
        filled(store)
        assert store.table("sales", "orders") == table()
        assert store.table("sales", "other") is None
        assert store.table("other", "orders") is None
        with pytest.raises(TableExists):
            store.create_table(table(), limit=10)
        with pytest.raises(DatabaseNotFound):
            store.create_table(table(database="other"), limit=10)
        with pytest.raises(CatalogFull):
            store.create_table(table("b"), limit=1)

    def test_tables_are_listed_by_name_behind_a_key(self, store: CatalogStore) -> None:
        filled(store)
        for name in ("a", "z"):
            store.create_table(table(name), limit=10)
        assert [listed.name for listed in store.list_tables("sales", after=None, limit=2)] == ["a", "orders"]
        assert [listed.name for listed in store.list_tables("sales", after="a", limit=9)] == ["orders", "z"]
        assert store.list_tables("other", after=None, limit=9) == []

    def test_replacing_a_table_counts_versions_and_archives(self, store: CatalogStore) -> None:
        filled(store)
        first = store.replace_table(table(owner="p", create_time=LATER), expected="0", archive=True, limit=10)
        assert first == table(owner="p", version_id="1")
        second = store.replace_table(table(owner="q"), expected=None, archive=False, limit=10)
        assert second.version_id == "2"
        assert store.table("sales", "orders") == second
        assert store.table("sales", "orders", "0") == table()
        assert store.table("sales", "orders", "1") is None
        assert store.table("sales", "orders", "nonsense") is None
        listed = store.list_table_versions("sales", "orders", before=None, limit=10)
        assert [version.version_id for version in listed] == ["2", "0"]
        assert [
            table_version.version_id for table_version in store.list_table_versions("sales", "orders", before=2, limit=1)
        ] == ["0"]

    def test_a_stale_table_is_refused_and_unchanged(self, store: CatalogStore) -> None:
        filled(store)
        store.replace_table(table(owner="p"), expected="0", archive=True, limit=10)
        with pytest.raises(StaleTable, match=r"at version 1.*for version 0"):
            store.replace_table(table(owner="q"), expected="0", archive=True, limit=10)
        assert store.table("sales", "orders") == table(owner="p", version_id="1")
        with pytest.raises(CatalogFull):
            store.replace_table(table(), expected=None, archive=True, limit=1)
        with pytest.raises(TableNotFound):
            store.replace_table(table("b"), expected=None, archive=True, limit=1)

    def test_changes_of_several_tables_are_made_together(self, store: CatalogStore) -> None:
        filled(store)
        store.create_table(table("old"), limit=10)
        stored = store.change_tables(
            [
                TableChange(database="sales", name="new", table=table("new")),
                TableChange(database="sales", name="orders", table=table(owner="p"), expected="0"),
                TableChange(database="sales", name="old", table=None, expected="0"),
            ],
            tables=10,
            versions=10,
            archive=True,
        )
        assert {stored_table.name: stored_table.version_id for stored_table in stored} == {"new": "0", "orders": "1"}
        assert [stored_table.name for stored_table in store.list_tables("sales", after=None, limit=9)] == ["new", "orders"]
        assert store.table("sales", "orders") == table(owner="p", version_id="1")
        assert store.table("sales", "orders", "0") == table()

    def test_of_several_changes_none_is_made_if_one_fails(self, store: CatalogStore) -> None:
        filled(store)
        store.create_table(table("other"), limit=10)
        first = TableChange(database="sales", name="orders", table=table(owner="p"), expected="0")
        failing = [
            (TableChange(database="sales", name="other", table=table("other"), expected="7"), StaleTable),
            (TableChange(database="sales", name="other", table=None, expected="7"), StaleTable),
            (TableChange(database="sales", name="other", table=table("other")), TableExists),
            (TableChange(database="sales", name="zero", table=table("zero"), expected="0"), TableNotFound),
            (TableChange(database="none", name="zero", table=table("zero", database="none")), DatabaseNotFound),
        ]
        for second, error in failing:
            for changes in ([first, second], [second, first]):
                with pytest.raises(error):
                    store.change_tables(changes, tables=10, versions=10, archive=True)
        assert store.table("sales", "orders") == table()
        assert [
            table_version.version_id for table_version in store.list_table_versions("sales", "orders", before=None, limit=9)
        ] == ["0"]
        assert [item.name for item in store.list_tables("sales", after=None, limit=9)] == ["orders", "other"]

    def test_only_an_empty_database_is_deleted_if_asked_for(self, store: CatalogStore) -> None:
        filled(store)
        with pytest.raises(DatabaseInUse):
            store.delete_database("sales", empty=True)
        store.delete_table("sales", "orders")
        store.delete_database("sales", empty=True)
        assert store.database("sales") is None
        with pytest.raises(DatabaseNotFound):
            store.delete_database("sales", empty=True)

    def test_archived_versions_are_deleted_one_by_one(self, store: CatalogStore) -> None:
        filled(store)
        store.replace_table(table(), expected=None, archive=True, limit=10)
        assert not store.delete_table_version("sales", "orders", "1")
        assert not store.delete_table_version("sales", "orders", "x")
        assert store.delete_table_version("sales", "orders", "0")
        assert not store.delete_table_version("sales", "orders", "0")

    def test_partition_keys_keep_their_number_under_partitions(self, store: CatalogStore) -> None:
        filled(store).create_partitions([partition("2013", "JFK")])
        with pytest.raises(InvalidInput, match="number of its partition keys"):
            store.replace_table(table(partition_keys=()), expected=None, archive=True, limit=10)

    def test_deleting_a_table_removes_its_versions_and_partitions(self, store: CatalogStore) -> None:
        filled(store).create_partitions([partition("2013", "JFK")])
        store.replace_table(table(), expected=None, archive=True, limit=10)
        store.delete_table("sales", "orders")
        with pytest.raises(TableNotFound):
            store.delete_table("sales", "orders")
        with pytest.raises(DatabaseNotFound):
            store.delete_table("other", "orders")
        store.create_table(table(), limit=10)
        assert [
            table_version.version_id for table_version in store.list_table_versions("sales", "orders", before=None, limit=9)
        ] == ["0"]
        assert store.list_partitions("sales", "orders", after=None, limit=None) == []

    def test_partitions_come_back_as_they_went_in(self, store: CatalogStore) -> None:
        filled(store)
        assert store.create_partitions([partition("2013", "JFK"), partition("2013", "É \x02\x01")]) == []
        assert store.create_partitions([partition("2013", "JFK"), partition("2014", "EWR")]) == [("2013", "JFK")]
        assert store.partitions_of("sales", "orders", [("2013", "JFK"), ("1", "2")]) == [partition("2013", "JFK")]
        everything = store.list_partitions("sales", "orders", after=None, limit=None)
        assert everything == [partition("2013", "JFK"), partition("2013", "É \x02\x01"), partition("2014", "EWR")]
        for call in (store.create_partitions, store.replace_partitions):
            with pytest.raises(TableNotFound):
                call([partition("1", "2", table="other")])

    def test_partitions_are_replaced_where_they_exist(self, store: CatalogStore) -> None:
        filled(store).create_partitions([partition("2013", "JFK")])
        changed = partition("2013", "JFK", storage=StorageDescriptor(location="s3://lake/new/"), create_time=LATER)
        assert store.replace_partitions([changed, partition("1", "2")]) == [("1", "2")]
        assert store.list_partitions("sales", "orders", after=None, limit=None) == [replace(changed, create_time=NOW)]

    def test_partitions_are_deleted_where_they_exist(self, store: CatalogStore) -> None:
        filled(store).create_partitions([partition("2013", "JFK"), partition("2013", "EWR")])
        assert store.delete_partitions("sales", "orders", [("2013", "JFK"), ("1", "2")]) == [("1", "2")]
        assert [item.values for item in store.list_partitions("sales", "orders", after=None, limit=None)] == [
            ("2013", "EWR")
        ]
        with pytest.raises(TableNotFound):
            store.delete_partitions("sales", "other", [("1", "2")])

    def test_partitions_are_paged_and_filtered_by_key(self, store: CatalogStore) -> None:
        filled(store).create_partitions([partition(f"{year}", f"{code:03}") for year in (2013, 2014) for code in range(700)])
        first = store.list_partitions("sales", "orders", after=None, limit=1000)
        rest = store.list_partitions("sales", "orders", after=partition_key(first[-1].values), limit=1000)
        values = [tuple(item.values) for item in [*first, *rest]]
        assert values == sorted(values)
        assert len(values) == 1400
        odd = store.list_partitions(
            "sales", "orders", after=None, limit=None, matching=PartitionFilter(matches=lambda v: int(v[1]) % 2 == 1)
        )
        assert [tuple(item.values) for item in odd] == [entry for entry in values if int(entry[1]) % 2]
        not_one = PartitionFilter(matches=lambda v: v[1] != "001")
        few = store.list_partitions("sales", "orders", after=values[0][0] + "\x01", limit=3, matching=not_one)
        assert [item.values[1] for item in few] == ["000", "002", "003"]

    @pytest.mark.parametrize(
        "text",
        [
            "year = 2013", "year > 2012 AND origin LIKE 'J%'", "origin = 'O-07'", "year = 2013 OR origin = 'O-11'",
            "NOT (year = 2013)", "origin IN ('JFK', 'O-03') AND year BETWEEN 2012 AND 2013", "origin IS NULL",
            "year < 2013 AND origin <> 'JFK'", "origin >= 'O-10'", "origin LIKE '%1'", "year = 1 AND origin = 'JFK'",
        ],
    )  # fmt: skip
    def test_partitions_are_found_as_the_expression_takes_them(self, store: CatalogStore, text: str) -> None:
        origins = ["JFK", "é \x02\x01", "__HIVE_DEFAULT_PARTITION__", *(f"O-{number:02}" for number in range(20))]
        values = [(year, origin) for year in ("2013", "02013", "2012", "2014") for origin in origins]
        filled(store).create_partitions([partition(*pair) for pair in values])
        store.delete_partitions("sales", "orders", [("2014", "JFK")])
        condition = partition_filter(table(), text)
        assert condition is not None
        stored = sorted(set(values) - {("2014", "JFK")}, key=partition_key)
        expected = [pair for pair in stored if condition.matches(pair)]
        assert store.list_values("sales", "orders", after=None, limit=None, matching=condition) == expected
        partitions = store.list_partitions("sales", "orders", after=None, limit=5, matching=condition)
        assert [item.values for item in partitions] == expected[:5]
        behind = partition_key(("2012", "O-05"))
        rest = store.list_values("sales", "orders", after=behind, limit=None, matching=condition)
        assert rest == [pair for pair in expected if partition_key(pair) > behind]

    def test_of_writers_at_the_same_version_one_wins(self, store: CatalogStore) -> None:
        filled(store)
        barrier = threading.Barrier(6)

        def write(number: int) -> str:
            barrier.wait()
            try:
                store.replace_table(table(owner=str(number)), expected="0", archive=True, limit=10)
            except StaleTable:
                return "stale"
            return str(number)

        with ThreadPoolExecutor(6) as pool:
            outcomes = list(pool.map(write, range(6)))
        assert outcomes.count("stale") == 5
        stored = store.table("sales", "orders")
        assert stored is not None
        assert (stored.version_id, stored.owner in outcomes) == ("1", True)

    def test_of_writers_of_the_same_partition_one_wins(self, store: CatalogStore) -> None:
        filled(store)
        barrier = threading.Barrier(6)

        def write(_number: int) -> int:
            barrier.wait()
            return len(store.create_partitions([partition("2013", "JFK"), partition("2013", "EWR")]))

        with ThreadPoolExecutor(6) as pool:
            refused = list(pool.map(write, range(6)))
        assert sorted(refused) == [0, 2, 2, 2, 2, 2]
        assert len(store.list_partitions("sales", "orders", after=None, limit=None)) == 2
