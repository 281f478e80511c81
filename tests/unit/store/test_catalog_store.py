"""The behaviour of the catalog store on SQLite."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.catalog.partitions.keys import partition_key, split_key
from penstock.catalog.store import CatalogStore
from penstock.store.sql.backup import back_up, restore
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.store.sql.database import Database
from penstock.testing.sqlite import new_database
from penstock.testing.suites import CatalogStoreSuite
from penstock.testing.suites.catalog_details import BODY, DATABASE, PARTITION, STATISTICS, TABLE, fill, put


class TestCatalogStores(CatalogStoreSuite):
    @pytest.fixture
    def store(self, any_database: Database) -> CatalogStore:
        return SqlCatalogStore(any_database)


@given(st.lists(st.text(st.sampled_from("a\x01\x02\x03 é"), max_size=6), min_size=1, max_size=4))
def test_partition_keys_round_trip(values: list[str]) -> None:
    assert split_key(partition_key(values)) == tuple(values)


def test_a_backup_has_details(tmp_path: Path) -> None:
    stores = [new_database(tmp_path / name) for name in ("one.db", "two.db")]
    fill(SqlCatalogStore(stores[0]))
    for home in (DATABASE, TABLE, PARTITION):
        put(SqlCatalogStore(stores[0]), home, a=BODY)
    back_up(stores[0], tmp_path / "backup.db")
    restore(tmp_path / "backup.db", stores[1])
    for home in (DATABASE, TABLE, PARTITION):
        assert SqlCatalogStore(stores[1]).details(home, STATISTICS) == {"a": BODY}
    for store in stores:
        store.close()
