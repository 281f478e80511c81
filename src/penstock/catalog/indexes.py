"""Partition indexes of tables. Penstock answers GetPartitions from an index over all keys, so these are only stored.

Source: Glue developer guide, "Working with partition indexes": up to three a table, over partition keys.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.catalog.details import Body, DetailKind, Home, removal
from penstock.catalog.errors import CatalogFull
from penstock.catalog.model import Column, Table
from penstock.catalog.store import CatalogStore
from penstock.errors import AlreadyExists, InvalidInput, NotFound

__all__ = ["PartitionIndex", "PartitionIndexes", "check_keys", "index_bodies"]

_MOST = 3


@dataclass(frozen=True, slots=True)
class PartitionIndex:
    """An index over partition keys, by their names."""

    name: str
    keys: Sequence[str]


class PartitionIndexes:
    """Create, read and delete the indexes of existing tables."""

    def __init__(self, store: CatalogStore) -> None:
        self._store = store

    def create(self, table: Table, index: PartitionIndex) -> None:
        """Add an index.

        Raises :class:`InvalidInput` for its keys, :class:`AlreadyExists`, :class:`LimitExceeded` for a fourth one.
        """
        self._store.change_details(_home(table), DetailKind.INDEX, lambda bodies: index_bodies(table, [index], bodies))

    def list(self, table: Table) -> Sequence[tuple[str, Sequence[Column]]]:
        """Return the table's indexes by name, each with its keys."""
        keys = {key.name.lower(): key for key in table.partition_keys}
        indexes = self._store.details(_home(table), DetailKind.INDEX)
        return [(name, [keys.get(str(key), Column(name=str(key))) for key in _keys(body)]) for name, body in indexes.items()]

    def delete(self, table: Table, name: str) -> None:
        """Remove an index. Raises :class:`NotFound`."""
        missing = NotFound(
            f"Index {name} not found on table {table.database}.{table.name}.",
            remedy="GetPartitionIndexes lists the existing ones.",
        )
        self._store.change_details(_home(table), DetailKind.INDEX, removal(name, missing))


def check_keys(table: Table, bodies: Mapping[str, Body]) -> None:
    """Raise :class:`InvalidInput` if the new ``table`` lacks a key of an index of ``bodies``."""
    names = {key.name.lower() for key in table.partition_keys}
    for name, body in bodies.items():
        if not names.issuperset(map(str, _keys(body))):
            raise InvalidInput(
                f"Index {name} of table {table.database}.{table.name} has partition keys that the new table lacks.",
                remedy="Delete the index first (DeletePartitionIndex).",
            )


def index_bodies(
    table: Table, indexes: Sequence[PartitionIndex], bodies: Mapping[str, Body] | None = None
) -> Mapping[str, Body]:
    """Return the indexes of ``table`` and those of ``indexes``, as a store keeps them. Raises what ``create`` raises."""
    bodies = dict(bodies or {})
    keys = {key.name.lower() for key in table.partition_keys}
    for index in indexes:
        names = [key.lower() for key in index.keys]
        unknown = [name for name in names if name not in keys]
        if unknown or len(set(names)) != len(names) or not names:
            raise InvalidInput(
                f"Index {index.name} cannot be over the keys {list(index.keys)}: the partition keys of table "
                f"{table.database}.{table.name} are {sorted(keys)}.",
                remedy="Name one or more of them, each once.",
            )
        if index.name in bodies:
            raise AlreadyExists(f"Index {index.name} already exists on table {table.database}.{table.name}.")
        if len(bodies) >= _MOST:
            raise CatalogFull(f"partition indexes of table {table.database}.{table.name}", _MOST)
        bodies[index.name] = {"Keys": names}
    return bodies


def _home(table: Table) -> Home:
    return Home(table.database, table.name)


def _keys(body: Body) -> Sequence[object]:
    keys = body["Keys"]
    return keys if isinstance(keys, list) else ()
