"""``penstock restore``: replaces the contents of the store with a backup, in one transaction."""

from contextlib import closing
from pathlib import Path

import click

from penstock.cli.options import PATH
from penstock.cli.server.stores import opened_store, store_options
from penstock.store.sql.backup import restore
from penstock.store.sql.database import Database
from penstock.store.sql.tenancy import account_ids, beside, of_account

__all__ = ["command"]


@click.command("restore")
@click.argument("file", type=PATH)
@click.option("--replace", is_flag=True, help="Delete the contents of a store that is not empty.")
@click.option(
    "--ids-above", type=click.IntRange(0), default=0, help="Assign only schema ids above this one. [the highest known]"
)
@store_options
def command(file: Path, replace: bool, ids_above: int, home: Path | None, store_url: str | None) -> None:
    """Replace the contents of the store with those of FILE, while servers run.

    Each file is one transaction: readers see all of it or nothing. The files of further accounts are found beside FILE,
    by the names that 'penstock backup' gives them. The backup's access keys replace those of the store; the server adds
    its bootstrap key again when it starts. A schema id is never reused: new ones are above all that the backup or the
    store have. If the store with the ids assigned since the backup is lost, give the highest id in any record as
    --ids-above.
    """
    with opened_store(home, store_url, existing=False) as database:
        _restore(file, database, replace=replace, ids_above=ids_above)
        for account in account_ids(database):
            if beside(file, account).exists():
                with closing(of_account(database, account)) as own:
                    _restore(beside(file, account), own, replace=replace, ids_above=ids_above)


def _restore(file: Path, database: Database, *, replace: bool, ids_above: int) -> None:
    rows = restore(file, database, replace=replace, ids_above=ids_above)
    click.echo(f"{database.name}: {sum(rows.values()):,} rows from {file}.")
