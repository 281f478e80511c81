"""``penstock restore``: a backup in place of what the store holds, in one transaction."""

from contextlib import closing
from pathlib import Path

import click

from penstock.cli.server.stores import opened_store, store_options
from penstock.store.sql.backup import restore
from penstock.store.sql.database import Database
from penstock.store.sql.tenancy import account_ids, beside, of_account

__all__ = ["command"]


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--replace", is_flag=True, help="Also where the store holds something, all of which is then gone.")
@click.option(
    "--ids-above", type=click.IntRange(0), default=0, help="Give only schema ids above this one. [the highest known]"
)
@store_options
def command(file: Path, replace: bool, ids_above: int, home: Path | None, store_url: str | None) -> None:
    """Put what FILE holds into the store, while servers go on.

    The change is one transaction a file: whoever reads sees all of it or nothing. The files of further accounts are looked
    for beside FILE, by the names that 'penstock backup' gives them. Access keys of the backup replace those of the
    store; the server's bootstrap key comes back when it starts again. A schema id is given once: new ones lie above all
    that the backup or the store know of. Where the store is lost with those that it gave since, say --ids-above: the
    highest id that any record carries.
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
