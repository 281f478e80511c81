"""Rotate the master key: unseal each value with its key and seal it with the new one, while servers run.

The order makes it safe to stop at any point. The new key is in the file before any value is sealed with it; an old one is
removed only when no value is sealed with it. In between both unseal. A server reads the file whenever it seals a value, and
whenever a value has a key that it does not know.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection, Inspector, Table, inspect, select, update

import penstock.store.sql.tables  # noqa: F401 - every table declares what it has sealed
from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.locks import file_lock
from penstock.store.sql.access import accounts
from penstock.store.sql.audit import write_audit
from penstock.store.sql.database import Database
from penstock.store.sql.migrate import revision_of
from penstock.store.sql.sealing import SEALED, MasterKey, MasterKeys, Sealer, key_id_of
from penstock.store.sql.tenancy import of_account, with_database

__all__ = ["Rotated", "add_key", "create_key_file", "forget_keys", "rotate", "sealed_with", "sealer_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated:
    """``values`` were sealed again with the key ``key``; ``finished`` if this completed a rotation that was stopped."""

    key: str
    values: int
    finished: bool


def sealed_with(databases: Sequence[Database]) -> Mapping[str | None, int]:
    """Return the number of values sealed with each key, by key id; None for values from before there were key ids."""
    counts: Counter[str | None] = Counter()
    for database in databases:
        with database.read() as connection:
            counts += _count(connection, [(table, name) for table, name, _ in SEALED])
    return counts


def sealer_of(path: Path, first: Database) -> Sealer:
    """Return a sealer with the keys in ``path``; create the file if ``first`` and its accounts have no sealed values.

    Raises :class:`EnvironmentProblem` if there are sealed values but no file, as for a server that is started with an empty
    home on another server's store: with a new key it could not unseal them, and no other server could unseal its own. Also
    if the store cannot be read, and what :meth:`MasterKeys.load` raises.
    """
    if not path.exists():
        counts = _sealed_anywhere(first)
        if counts:
            keys = " and ".join(sorted(key or "one without an id" for key in counts))
            raise EnvironmentProblem(
                f"There is no master key file {path}, and the store holds {sum(counts.values())} values that are sealed "
                f"with master key {keys}.",
                remedy="Copy the file from the server that made it, or from a backup. Where it is lost for good, 'penstock "
                "master-key create' makes a new one; what the old one sealed stays closed.",
            )
    return Sealer.of_file(path)


def create_key_file(path: Path) -> MasterKey:
    """Create a key file with a new key; :class:`InvalidInput` if the file exists."""
    if path.exists():
        raise InvalidInput(f"{path} is there already.", remedy="To change the key run 'penstock master-key rotate'.")
    return MasterKeys.load(path).current


def _sealed_anywhere(first: Database) -> Counter[str | None]:
    """Count the sealed values in the store and in its accounts', including those of an earlier release."""
    if revision_of(first) is None:
        return Counter()
    counts = _count_existing(first)
    with first.read() as connection:
        has_accounts = inspect(connection).has_table(accounts.name)
    for account in with_database(first) if has_accounts else ():
        with closing(of_account(first, account)) as database:
            counts += _count_existing(database)
    return counts


def _count_existing(database: Database) -> Counter[str | None]:
    with database.read() as connection:
        inspector = inspect(connection)
        columns = [(table, name) for table, name, _ in SEALED if _has_column(inspector, table.name, name)]
        return _count(connection, columns)


def _has_column(inspector: Inspector, table: str, name: str) -> bool:
    return inspector.has_table(table) and any(column["name"] == name for column in inspector.get_columns(table))


def add_key(path: Path) -> MasterKey:
    """Add a key to the file that unseals and does not seal yet, so that servers on other machines get it first.

    Raises :class:`InvalidInput` if one waits already, :class:`EnvironmentProblem` if the file cannot be written.
    """
    with _changing(path) as keys:
        if keys.waiting is not None:
            raise InvalidInput(
                f"Master key {keys.waiting.id} waits in {path} already.",
                remedy="Copy the file to all servers, then run 'penstock master-key rotate'.",
            )
        key = MasterKey.generate()
        replace(keys, waiting=key).save(path)
        return key


def rotate(path: Path, databases: Sequence[Database]) -> Rotated:
    """Make the waiting key in the file, or a new one, the current one, and seal all values with it.

    One transaction per database. If it is stopped at any point, the next call finishes it. Raises :class:`DataProblem` for a
    value that no key unseals; its database is then unchanged.
    """
    with _changing(path) as before:
        keys = before
        # Values under another key than the current one are those that a stopped rotation did not reach.
        unfinished = bool(keys.older) and any(key != keys.current.id for key in sealed_with(databases))
        if not unfinished:
            new = keys.waiting or MasterKey.generate()
            keys = MasterKeys(new, (keys.current, *keys.older))
            keys.save(path)
        sealer = Sealer(keys)
        values = sum(_seal_anew(database, sealer) for database in databases)
        return Rotated(key=keys.current.id, values=values, finished=unfinished)


def forget_keys(path: Path, databases: Sequence[Database]) -> Sequence[str]:
    """Remove the older keys from the file; return their ids. :class:`InvalidInput` if a value is still sealed with one."""
    with _changing(path) as keys:
        remaining = {key: count for key, count in sealed_with(databases).items() if key != keys.current.id}
        if remaining:
            raise InvalidInput(
                f"{sum(remaining.values())} values are not sealed with the current master key, {keys.current.id}.",
                remedy="Run 'penstock master-key rotate' first, which seals them with it.",
            )
        replace(keys, older=()).save(path)
        return [key.id for key in keys.older]


def _seal_anew(database: Database, sealer: Sealer) -> int:
    count = 0
    with database.write() as connection:
        for table, name, context in SEALED:
            where = [table.c[key.name] for key in table.primary_key]
            for row in connection.execute(select(*where, table.c[name])).all():
                sealed = row._mapping[name]
                if sealer.is_current(sealed):
                    continue
                bound = context(row)
                value = sealer.seal(sealer.open(sealed, bound), bound)
                this = [column == row._mapping[column.name] for column in where]
                connection.execute(update(table).where(*this).values({name: value}))
                count += 1
        if count:
            write_audit(connection, "RotateMasterKey", "store", f"{count} values sealed with {sealer.keys.current.id}")
    return count


def _count(connection: Connection, columns: Sequence[tuple[Table, str]]) -> Counter[str | None]:
    return Counter(
        key_id_of(sealed) for table, name in columns for sealed in connection.execute(select(table.c[name])).scalars()
    )


@contextmanager
def _changing(path: Path) -> Iterator[MasterKeys]:
    """Yield the keys of an existing file, locked against other processes of this machine that change it."""
    if not path.is_file():
        raise InvalidInput(f"There is no master key file {path}.", remedy="Name it with --home or --master-key-file.")
    lock = file_lock(path.with_name(f".{path.name}.lock"))
    try:
        try:
            locked = lock.acquire()
        except TimeoutError:
            raise InvalidInput(f"Another process changes {path}.", remedy="Wait until it has ended.") from None
        with locked:
            yield MasterKeys.load(path)
    except OSError as error:
        raise EnvironmentProblem(
            f"The master key file {path} cannot be changed: {error.strerror}.",
            remedy="Check its folder and the disk's space.",
        ) from error
