"""A database for each account, which no statement of another account can reach.

SQLite: a file beside the first one, ``penstock-111122223333.db`` beside ``penstock.db``. PostgreSQL: a schema of the same
database, ``account_111122223333``, which is the whole search path of its connections. See docs/adr/0011.
"""

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import select, text

from penstock.store.sql.access import accounts
from penstock.store.sql.database import Database

__all__ = ["account_ids", "beside", "of_account", "schema_of", "with_database"]


def of_account(first: Database, account: str) -> Database:
    """Return the database of ``account``, beside ``first``; the caller migrates its tables.

    It is in memory if ``first`` is.
    """
    if not first.is_sqlite:
        name = schema_of(account)
        with first.write() as connection:
            connection.exec_driver_sql(f'CREATE SCHEMA IF NOT EXISTS "{name}"')
        return Database(first.url.render_as_string(hide_password=False), schema=name)
    file = _file(first)
    if file is None:
        return Database("sqlite://")
    return Database(first.url.set(database=str(beside(file, account))).render_as_string(hide_password=False))


def account_ids(first: Database) -> Sequence[str]:
    """Return all accounts, which are stored in the first one's database."""
    with first.read() as connection:
        return list(connection.execute(select(accounts.c.id).order_by(accounts.c.id)).scalars())


def with_database(first: Database) -> Sequence[str]:
    """Return the accounts that have a database of their own: not the first one, and not one that was never used."""
    ids = account_ids(first)
    if not first.is_sqlite:
        with first.read() as connection:
            schemas = set(connection.execute(text("SELECT nspname FROM pg_namespace")).scalars())
        return [account for account in ids if schema_of(account) in schemas]
    file = _file(first)
    return [] if file is None else [account for account in ids if beside(file, account).exists()]


def beside(file: Path, account: str) -> Path:
    """Return the file of ``account`` beside ``file``: ``penstock-111122223333.db`` with ``penstock.db``."""
    return file.with_name(f"{file.stem}-{account}{file.suffix}")


def _file(first: Database) -> Path | None:
    name = first.url.database
    return None if name in (None, "", ":memory:") else Path(str(name))


def schema_of(account: str) -> str:
    """Return the schema of an account on PostgreSQL."""
    return f"account_{account}"
