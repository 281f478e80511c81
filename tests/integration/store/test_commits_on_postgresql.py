"""A commit on PostgreSQL waits for the disk, whatever the server's default is; the tests' server has everything off."""

from pathlib import Path

from penstock.store.sql.database import Database
from penstock.store.sql.direct import Direct
from penstock.testing.server import running_server


def test_no_connection_commits_before_the_disk_has_it(postgres_url: str) -> None:
    database = Database(postgres_url)
    try:
        with database.read() as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar_one() == "on"
        # Also after a rollback, and on the connections that the hot paths take.
        with database.pin_connection(), database.write() as connection:
            connection.exec_driver_sql("ROLLBACK")
        with database.write(synced=False) as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar_one() == "off"
        with database.write() as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar_one() == "on"
        direct = Direct(database)
        with direct.write() as transaction:
            transaction._cursor.execute("SHOW synchronous_commit")
            assert transaction._cursor.fetchone() == ["on"]
        assert database.risks() == ["fsync is off", "full_page_writes is off"]
    finally:
        database.close()


def test_a_server_says_at_its_start_what_the_database_does_not_promise(postgres_url: str, tmp_path: Path) -> None:
    with running_server(tmp_path, environment={"PENSTOCK_STORE_URL": postgres_url}) as server:
        assert "fsync is off on the store's PostgreSQL" in server.log
