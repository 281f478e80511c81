"""A store whose disk is full: writes say why and change nothing, reads go on, and it is ready again once there is room."""

from collections.abc import Iterator
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import pytest
from sqlalchemy import event

from penstock.errors import StorageFull
from penstock.registry.model import SchemaKey
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.secrets.model import SecretValue
from penstock.secrets.service import SecretsService
from penstock.server.readiness import Readiness
from penstock.store.sql.database import Database
from penstock.store.sql.migrate import migrate
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.store.sql.sealing import Sealer
from penstock.store.sql.secrets import SqlSecretStore
from tests.unit.registry.registrations import register

KEY = SchemaKey("r", "s")


class SmallDisk:
    """A store that may grow to so many pages and no further, for which SQLite has the same error as for a full disk."""

    def __init__(self, file: Path) -> None:
        self.pages = 1 << 30
        self.writable = True
        self.database = Database(f"sqlite:///{file}")
        event.listen(self.database.engine, "checkout", self._bound)
        migrate(self.database)

    def _bound(self, connection: Connection, *_: Any | Any) -> None:
        connection.execute(f"PRAGMA max_page_count={self.pages}")
        connection.execute(f"PRAGMA query_only={int(not self.writable)}")

    def fill(self) -> None:
        """Leave no room."""
        with self.database.read() as connection:
            self.pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    made = SmallDisk(tmp_path / "store.db")
    yield made
    made.database.close()


def large(number: int) -> str:
    symbols = ", ".join(f'"S{number}_{index}"' for index in range(400))
    return f'{{"type": "enum", "name": "E", "symbols": [{symbols}]}}'


def test_a_write_says_why_and_leaves_nothing_and_reads_go_on(disk: SmallDisk, tmp_path: Path) -> None:
    service = RegistryService(SqlRegistryStore(disk.database))
    service.registries.create("r")
    service.schemas.create(NewSchema(registry="r", name="s", data_format="AVRO", definition='"int"'))
    ready = Readiness(disk.database, {"store": tmp_path}, minimum_free=0)
    assert ready.problems() == {}
    disk.fill()
    taken = 1
    with pytest.raises(StorageFull, match=r"^The store cannot be written: its disk is full\. Nothing was changed\. Free"):  # noqa: PT012
        for number in range(2, 200):
            register(service, KEY, large(number))
            taken += 1
    assert [head.number for head in service.versions.heads(KEY)] == list(range(1, taken + 1))
    assert disk.database.unwritable == "its disk is full"
    # The other way into the store, which goes through SQLAlchemy.
    secrets = SecretsService(SqlSecretStore(disk.database, Sealer(bytes(32))), region="us-east-1")
    with pytest.raises(StorageFull, match="its disk is full"):
        secrets.create("111122223333", "large", value=SecretValue(binary=bytes(60_000)))
    assert secrets.list("111122223333") == []
    disk.pages = 1 << 30
    assert register(service, KEY, '"long"').number == taken + 1
    assert ready.problems() == {}


def test_a_secret_is_read_where_the_day_of_its_reading_cannot_be_noted(disk: SmallDisk) -> None:
    secrets = SecretsService(SqlSecretStore(disk.database, Sealer(bytes(32))), region="us-east-1")
    secrets.create("111122223333", "s", value=SecretValue(text="kept"))
    disk.writable = False
    _, version = secrets.value("111122223333", "s")
    assert version.value.text == "kept"
    with pytest.raises(StorageFull, match="its disk takes no writes"):
        secrets.create("111122223333", "t")


def test_too_little_room_is_told_before_it_is_gone(disk: SmallDisk, tmp_path: Path) -> None:
    ready = Readiness(disk.database, {"store": tmp_path, "lake": tmp_path / "none"}, minimum_free=1 << 60)
    problems = ready.problems()
    assert problems["store"].startswith("its disk is full: ")
    assert problems["lake"] == "its folder cannot be used: No such file or directory"
