"""``penstock backup``: the whole store into one file, while it serves."""

from pathlib import Path

import click

from penstock.cli.stores import opened_store, store_options
from penstock.store.sql.backup import back_up

__all__ = ["command"]


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@store_options
def command(file: Path, home: Path | None, store_url: str | None) -> None:
    """Copy the store as it is now into FILE, while servers go on.

    FILE restores into SQLite and PostgreSQL alike. Secrets and access keys in it are sealed: keep the master key file
    (master.key in the home), without which they cannot be opened, in another place.
    """
    with opened_store(home, store_url) as database:
        rows = back_up(database, file)
    click.echo(f"{file}: {sum(rows.values()):,} rows, {file.stat().st_size / 1e6:.1f} MB, of {database.name}.")
