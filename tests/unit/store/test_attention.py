"""Which accounts have something to do, and what it costs to know that none has."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.store.sql.attention import WorkFinder
from penstock.store.sql.database import Database
from penstock.store.sql.tenancy import beside
from penstock.testing.sqlite import new_database
from tests.unit.store.attention_suite import MAIN, NOW, OTHER, WorkFinderSuite, crawl_schedule

DAY_NS = 86_400_000_000_000


class TestFiles(WorkFinderSuite):
    @pytest.fixture
    def first(self, shared_database: Database) -> Database:
        return shared_database


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that the finder opens."""
    names: list[str] = []
    connect = sqlite3.connect

    def counting(name: str, **options: Any) -> Any:
        if options.get("uri"):  # by which the finder names them
            names.append(name)
        return connect(name, **options)

    monkeypatch.setattr("penstock.store.sql.attention.sqlite3.connect", counting)
    return names


def test_a_file_that_has_not_changed_is_not_read_again(
    shared_database: Database, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0]
    monkeypatch.setattr("penstock.store.sql.attention.time.time_ns", lambda: now[0])
    file = Path(str(shared_database.url.database))
    finder = WorkFinder(shared_database, MAIN)
    with closing(new_database(beside(file, OTHER))) as other:
        crawl_schedule(other)()
        now[0] = file.stat().st_mtime_ns + DAY_NS
        for _ in range(3):
            assert finder.find([OTHER], now=NOW) == []
        assert len(opened) == 2, "each of the two files once"
        assert finder.find([OTHER], now=NOW + timedelta(seconds=1)) == [OTHER]
        assert len(opened) == 2, "when its schedule is due was read before"


def test_a_file_that_changed_just_now_is_read_again(shared_database: Database, opened: list[str]) -> None:
    finder = WorkFinder(shared_database, MAIN)
    file = Path(str(shared_database.url.database))
    for _ in range(2):
        file.touch()
        assert finder.find([], now=NOW) == []
    assert len(opened) == 2, "it may change once more within the same time of its file"


def test_a_file_that_cannot_be_read_is_left_to_its_accounts_services(shared_database: Database) -> None:
    finder = WorkFinder(shared_database, MAIN)
    beside(Path(str(shared_database.url.database)), OTHER).write_bytes(b"no database" * 100)
    assert finder.find([OTHER], now=NOW) == [OTHER]


def test_every_account_of_a_store_in_memory_is_looked_at(database: Database) -> None:
    assert WorkFinder(database, MAIN).find([OTHER], now=NOW) == [MAIN, OTHER]
