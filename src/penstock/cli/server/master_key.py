"""``penstock master-key``: lists, adds, rotates and removes the keys that encrypt secrets at rest."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import PATH, option_group
from penstock.cli.server.stores import opened_store, store_options
from penstock.settings.home import Home

if TYPE_CHECKING:
    from penstock.store.sql.database import Database

__all__ = ["command"]

_options = option_group(
    store_options, click.option("--master-key-file", type=PATH, help="The key file. [master.key in the home]")
)


@click.group("master-key")
def command() -> None:
    """Rotate the key that encrypts secrets, connections and access keys in the store.

    On one machine, run 'rotate', while servers run. With servers on several machines: 'add', copy the key file to each,
    'rotate', copy it again. 'forget' then removes the old key, which earlier backups still need.
    """


@command.command("list")
@_options
def list_keys(home: Path | None, store_url: str | None, master_key_file: Path | None) -> None:
    """List the keys by id, and how many values each encrypts. The keys themselves are never shown."""
    from penstock.store.sql.rotation import sealed_with, sealer_of  # noqa: PLC0415 - as in stores.py

    with _stores(home, store_url) as databases:
        counts = dict(sealed_with(databases))
        keys = sealer_of(_file(home, master_key_file), databases[0]).keys
    for key in keys:
        what = "current" if key == keys.current else "waiting" if key == keys.waiting else "older"
        click.echo(f"{key.id}  {what}  {counts.pop(key.id, 0):,} values")
    for unknown, count in counts.items():
        what = "not in the file" if unknown else "sealed before keys had ids"
        click.echo(f"{unknown or '-' * 16}  {what}  {count:,} values")


@command.command("add")
@_options
def add(home: Path | None, store_url: str | None, master_key_file: Path | None) -> None:  # noqa: ARG001 - as the others
    """Add a new key to the file, which is not used yet, so that servers on other machines can get it first."""
    from penstock.store.sql.rotation import add_key  # noqa: PLC0415 - as in stores.py

    path = _file(home, master_key_file)
    key = add_key(path)
    click.echo(f"Master key {key.id} waits in {path}. Copy the file to every server, then run 'penstock master-key rotate'.")


@command.command("create")
@_options
def create(home: Path | None, store_url: str | None, master_key_file: Path | None) -> None:  # noqa: ARG001 - as the others
    """Create a new key file if the old one is lost. Values that the lost key encrypts cannot be read any more."""
    from penstock.store.sql.rotation import create_key_file  # noqa: PLC0415 - as in stores.py

    path = _file(home, master_key_file)
    click.echo(f"Master key {create_key_file(path).id} is in {path}. Back it up, apart from the store.")


@command.command("rotate")
@_options
def rotate_key(home: Path | None, store_url: str | None, master_key_file: Path | None) -> None:
    """Encrypt everything with a new key, or with the one that 'add' put into the file. Safe to stop and to run again."""
    from penstock.store.sql.rotation import rotate  # noqa: PLC0415 - as in stores.py

    path = _file(home, master_key_file)
    with _stores(home, store_url) as databases:
        rotation = rotate(path, databases)
    if rotation.finished:
        click.echo("An earlier rotation was not complete: this one finished it.")
    click.echo(
        f"{rotation.values:,} values sealed with master key {rotation.key}. Back {path} up; it has the older keys too."
    )


@command.command("forget")
@_options
def forget(home: Path | None, store_url: str | None, master_key_file: Path | None) -> None:
    """Remove the older keys. Session tokens from before the rotation and backups from before it need them."""
    from penstock.store.sql.rotation import forget_keys  # noqa: PLC0415 - as in stores.py

    path = _file(home, master_key_file)
    with _stores(home, store_url) as databases:
        forgotten = forget_keys(path, databases)
    click.echo(f"Removed from {path}: {', '.join(forgotten) or 'nothing, it holds one key'}.")


def _file(home: Path | None, file: Path | None) -> Path:
    folder = Home.at(home, os.environ)
    return (file or folder.master_key_file).absolute()


@contextmanager
def _stores(home: Path | None, store_url: str | None) -> "Iterator[Sequence[Database]]":
    """Yield the first account's store and those of all others, migrated to the current version."""
    from penstock.store.sql.migrate import migrate  # noqa: PLC0415 - as in stores.py
    from penstock.store.sql.tenancy import of_account, with_database  # noqa: PLC0415

    with ExitStack() as stack:
        first = stack.enter_context(opened_store(home, store_url))
        databases = [first]
        migrate(first)
        for account in with_database(first):
            databases.append(stack.enter_context(closing(of_account(first, account))))
            migrate(databases[-1])
        yield databases
