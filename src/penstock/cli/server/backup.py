"""``penstock backup``: copies the whole store into one file, while servers run."""

from contextlib import closing
from pathlib import Path

import click

from penstock.cli.options import PATH
from penstock.cli.server.stores import opened_store, store_options
from penstock.store.sql.backup import back_up
from penstock.store.sql.database import Database
from penstock.store.sql.tenancy import beside, of_account, with_database

__all__ = ["command"]


@click.command("backup")
@click.argument("file", type=PATH)
@store_options
def command(file: Path, home: Path | None, store_url: str | None) -> None:
    """Copy the store into FILE, while servers run.

    Each further account has its own store, and its own file beside FILE with the account in its name. Each file is the
    state of one moment, and can be restored into SQLite and PostgreSQL. Secrets and access keys in it are encrypted with
    the master key: keep its file (master.key in the home) in another place.
    """
    with opened_store(home, store_url) as database:
        _back_up(database, file)
        for account in with_database(database):
            with closing(of_account(database, account)) as own:
                _back_up(own, beside(file, account))


def _back_up(database: Database, file: Path) -> None:
    rows = back_up(database, file)
    click.echo(f"{file}: {sum(rows.values()):,} rows, {file.stat().st_size / 1e6:.1f} MB, of {database.name}.")
