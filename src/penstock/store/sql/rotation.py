"""Changing the master key: what is sealed is opened with the key it has and sealed with the new one, while servers go on.

The order is what makes it safe to stop at any point. The new key is in the file, first, before anything is sealed with it;
an old one leaves the file only when nothing is sealed with it any more. In between both open. A server looks at the file
whenever it seals, and whenever it meets a key that it does not know.
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
from penstock.store.sql.database import Database
from penstock.store.sql.migrate import revision_of
from penstock.store.sql.registry.audit import write_audit
from penstock.store.sql.sealing import SEALED, MasterKey, MasterKeys, Sealer, key_id_of
from penstock.store.sql.tenancy import of_account, with_database

__all__ = ["Rotated", "add_key", "create_key_file", "forget_keys", "rotate", "sealed_with", "sealer_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated:
    """``values`` were sealed anew with the key ``key``; ``finished`` where that only ended a rotation that was stopped."""

    key: str
    values: int
    finished: bool


def sealed_with(databases: Sequence[Database]) -> Mapping[str | None, int]:
    """How many values are sealed with each key, by its id; None are those from before there were ids."""
    counts: Counter[str | None] = Counter()
    for database in databases:
        with database.read() as connection:
            counts += _count(connection, [(table, name) for table, name, _ in SEALED])
    return counts


def sealer_of(path: Path, first: Database) -> Sealer:
    """A sealer with the keys in ``path``, which is made with one where ``first`` and its accounts hold nothing sealed.

    A new key beside values of another one would leave those closed, and seal further ones that no other server opens: it
    is what a server gets that is started with an empty home on another one's store. Raises :class:`EnvironmentProblem`
    there and where the store cannot be read, and what :meth:`MasterKeys.load` raises.
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
    """Make a key file with a new key; :class:`InvalidInput` where the file is there."""
    if path.exists():
        raise InvalidInput(f"{path} is there already.", remedy="To change the key run 'penstock master-key rotate'.")
    return MasterKeys.load(path).current


def _sealed_anywhere(first: Database) -> Counter[str | None]:
    """What is sealed in the store and its accounts' ones, also where they are of an earlier release."""
    if revision_of(first) is None:
        return Counter()
    counts = _count_existing(first)
    with first.read() as connection:
        known = inspect(connection).has_table(accounts.name)
    for account in with_database(first) if known else ():
        with closing(of_account(first, account)) as database:
            counts += _count_existing(database)
    return counts


def _count_existing(database: Database) -> Counter[str | None]:
    with database.read() as connection:
        found = inspect(connection)
        there = [(table, name) for table, name, _ in SEALED if _has_column(found, table.name, name)]
        return _count(connection, there)


def _has_column(found: Inspector, table: str, name: str) -> bool:
    return found.has_table(table) and any(column["name"] == name for column in found.get_columns(table))


def add_key(path: Path) -> MasterKey:
    """Add a key to the file that opens and does not seal yet, for servers of other machines to have it first.

    Raises :class:`InvalidInput` where one waits already, :class:`EnvironmentProblem` where the file cannot be written.
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
    """Make the key that waits in the file, or a new one, the current one, and seal all values with it.

    One transaction a database. Stopped at any point, the next call finishes it. Raises :class:`DataProblem` for a value
    that none of the keys opens; its database is then left as it was.
    """
    with _changing(path) as found:
        keys = found
        # Under another key than the current one there is only what a rotation was to seal anew and did not.
        unfinished = bool(keys.older) and any(key != keys.current.id for key in sealed_with(databases))
        if not unfinished:
            new = keys.waiting or MasterKey.generate()
            keys = MasterKeys(new, (keys.current, *keys.older))
            keys.save(path)
        sealer = Sealer(keys)
        values = sum(_seal_anew(database, sealer) for database in databases)
        return Rotated(key=keys.current.id, values=values, finished=unfinished)


def forget_keys(path: Path, databases: Sequence[Database]) -> Sequence[str]:
    """Remove the older keys from the file; their ids. :class:`InvalidInput` where something is still sealed with one."""
    with _changing(path) as keys:
        left = {key: count for key, count in sealed_with(databases).items() if key != keys.current.id}
        if left:
            raise InvalidInput(
                f"{sum(left.values())} values are not sealed with the current master key, {keys.current.id}.",
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
    """The keys of a file that exists, for the one process of this machine that changes it."""
    if not path.is_file():
        raise InvalidInput(f"There is no master key file {path}.", remedy="Name it with --home or --master-key-file.")
    lock = file_lock(path.with_name(f".{path.name}.lock"))
    try:
        try:
            held = lock.acquire()
        except TimeoutError:
            raise InvalidInput(f"Another process changes {path}.", remedy="Wait until it has ended.") from None
        with held:
            yield MasterKeys.load(path)
    except OSError as error:
        raise EnvironmentProblem(
            f"The master key file {path} cannot be changed: {error.strerror}.",
            remedy="Check its folder and the disk's space.",
        ) from error
