"""Backups between PostgreSQL and SQLite, taken and restored while writers go on."""

import threading
from importlib import import_module
from pathlib import Path

from sqlalchemy import func, select

from penstock.registry.model import SchemaKey
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.store.sql.backup import back_up, restore
from penstock.store.sql.database import Database
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.store.sql.registry.tables import schema_versions, schemas
from tests.unit.registry.registrations import register

_SUITE = import_module("tests.unit.store.test_backup")
KEY = SchemaKey("r", "s")


def test_a_backup_of_postgresql_restores_into_sqlite_and_back(postgres_database: Database, tmp_path: Path) -> None:
    _SUITE.fill(postgres_database)
    back_up(postgres_database, tmp_path / "b")
    local = _SUITE.sqlite_store(tmp_path / "local.db")
    restore(tmp_path / "b", local)
    assert _SUITE.rows(local) == _SUITE.rows(postgres_database)
    service = RegistryService(SqlRegistryStore(local))
    service.schemas.create(NewSchema(registry="r", name="t", data_format="AVRO", definition='"int"'))
    back_up(local, tmp_path / "c")
    running = RegistryService(SqlRegistryStore(postgres_database))
    assert running.schemas.get(KEY).latest == 2
    restore(tmp_path / "c", postgres_database, replace=True)
    assert _SUITE.rows(postgres_database) == _SUITE.rows(local)
    # New rows get numbers behind those that came with the backup.
    running.schemas.create(NewSchema(registry="r", name="u", data_format="AVRO", definition='"double"'))
    assert register(running, KEY, '"double"').number == 3
    local.close()


def test_a_backup_is_of_one_moment_though_writers_go_on(postgres_database: Database, tmp_path: Path) -> None:
    service = _SUITE.fill(postgres_database)
    wrong: list[BaseException] = []
    stop = threading.Event()

    def write(writer: int) -> None:
        try:
            number = 0
            while not stop.is_set():
                number += 1
                definition = f'{{"type":"enum","name":"E","symbols":["a_{writer}_{number}"]}}'
                register(service, KEY, definition)
        except BaseException as error:  # noqa: BLE001 -- the assertion below shows it
            wrong.append(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for number in range(5):
        back_up(postgres_database, tmp_path / str(number))
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    for number in range(5):
        copy = Database(f"sqlite:///{tmp_path / str(number)}")
        with copy.read() as connection:
            count = connection.execute(select(func.count()).select_from(schema_versions)).scalar_one()
            assert connection.execute(select(schemas.c.next_number)).scalar_one() == count + 1
        copy.close()
