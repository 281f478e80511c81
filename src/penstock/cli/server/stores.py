"""Shared by the commands that use a store directly: the store, and the user who changes it."""

import getpass
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import PATH, option_group
from penstock.durable import make_folder
from penstock.errors import EnvironmentProblem
from penstock.registry.audit import Actor, acting
from penstock.settings.home import Home

if TYPE_CHECKING:
    from penstock.store.sql.database import Database

__all__ = ["opened_store", "store_options"]

store_options = option_group(
    click.option("--home", type=PATH, envvar="PENSTOCK_HOME", help="Folder of the state. [.penstock]"),
    click.option("--store-url", envvar="PENSTOCK_STORE_URL", help="URL of the store. [SQLite in the home]"),
)
"""The options of :func:`opened_store`."""


@contextmanager
def opened_store(home: Path | None, store_url: str | None, *, existing: bool = True) -> "Iterator[Database]":
    """Open the store; its audit log names the user of this machine for changes.

    With ``existing``, raises :class:`EnvironmentProblem` if an SQLite store does not exist.
    """
    # The client extra has these options too, without the server's packages.
    from penstock.store.sql.database import Database  # noqa: PLC0415

    folder = Home.at(home, os.environ)
    database = Database(store_url or folder.store_url)
    file = Path(str(database.url.database)) if database.is_sqlite else None
    if file is not None and not file.exists():
        if existing:
            raise EnvironmentProblem(
                f"There is no store at {file}.", remedy="Name it with --home or --store-url, or start a server on it once."
            )
        make_folder(file.parent, mode=0o700)
    try:
        with acting(Actor(principal=f"local:{_user()}", client=socket.gethostname())):
            yield database
    finally:
        database.close()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
