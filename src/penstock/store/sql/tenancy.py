"""A database for each account: what one account stores, no statement of another account's can reach.

SQLite: a file beside the first one, ``penstock-111122223333.db`` beside ``penstock.db``. PostgreSQL: a schema of the same
database, ``account_111122223333``, which is the whole search path of its connections. See docs/adr/0014.
"""

from pathlib import Path

from penstock.store.sql.database import Database

__all__ = ["of_account"]


def of_account(first: Database, account: str) -> Database:
    """The database of ``account``, beside ``first``; its tables are the caller's to migrate.

    One in memory where ``first`` is in memory.
    """
    if not first.is_sqlite:
        name = f"account_{account}"
        with first.write() as connection:
            connection.exec_driver_sql(f'CREATE SCHEMA IF NOT EXISTS "{name}"')
        return Database(first.url.render_as_string(hide_password=False), schema=name)
    file = first.url.database
    if file in (None, "", ":memory:"):
        return Database("sqlite://")
    path = Path(str(file))
    beside = path.with_name(f"{path.stem}-{account}{path.suffix}")
    return Database(first.url.set(database=str(beside)).render_as_string(hide_password=False))
