"""The suite of the master key's rotation, over PostgreSQL: a schema of one database for each account."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from penstock.store.sql.database import Database

_SUITE = import_module("tests.unit.store.test_master_key_rotation")


@pytest.fixture
def stores(postgres_database: Database, tmp_path: Path) -> Iterator[Any]:
    made = _SUITE.Stores(tmp_path / "home", postgres_database)
    yield made
    made.databases[1].close()


for _name, _test in vars(_SUITE).items():
    # The commands' test reads the SQLite file itself.
    if _name.startswith("test_") and _name != "test_the_commands":
        globals()[_name] = _test
