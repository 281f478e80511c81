"""``penstock restore``: a backup in place of what the store holds, in one transaction."""

from pathlib import Path

import click

from penstock.cli.stores import opened_store, store_options
from penstock.store.sql.backup import restore

__all__ = ["command"]


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--replace", is_flag=True, help="Also where the store holds something, all of which is then gone.")
@store_options
def command(file: Path, replace: bool, home: Path | None, store_url: str | None) -> None:
    """Put what FILE holds into the store, while servers go on.

    The change is one transaction: whoever reads sees all of it or nothing. Access keys of the backup replace those of the
    store; the server's bootstrap key comes back when it starts again.
    """
    with opened_store(home, store_url, existing=False) as database:
        rows = restore(file, database, replace=replace)
    click.echo(f"{database.name}: {sum(rows.values()):,} rows from {file}.")
