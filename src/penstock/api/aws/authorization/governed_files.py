"""Which files Lake Formation's grants decide on: those below the location of their table, if that is registered.

Source: Lake Formation developer guide, "Underlying data access control": for a table at a registered location Lake Formation
hands out credentials for that location, and for none that the table's metadata names beside it. Locations are ARNs of S3
(``arn:aws:s3:::bucket/key``).
"""

from collections.abc import Iterator

from penstock.api.aws.authorization.data_locations import arn_of, implicit_home
from penstock.api.aws.authorization.lake_permissions import CallersLake, denied
from penstock.catalog.model import Table
from penstock.catalog.service import CatalogService
from penstock.errors import NotFound
from penstock.lake.permitted import TableKey
from penstock.lakeformation.decisions import Snapshot

__all__ = ["GovernedFiles"]

_ON_FILES = {
    "s3:GetObject": {"SELECT"},
    "s3:ListBucket": {"SELECT", "INSERT", "DELETE", "ALTER"},
    "s3:PutObject": {"INSERT", "DELETE", "ALTER"},
    "s3:DeleteObject": {"DELETE", "DROP"},
}
# Folders of what describes a table: who may see the table may read it, and needs to for writing to it.
_METADATA = ("/metadata/", "/_delta_log/")


class GovernedFiles:
    """Lake Formation's part of the decisions on one caller's files, for one request or statement."""

    def __init__(self, lake: CallersLake, tables: CatalogService) -> None:
        self._lake = lake
        self._tables = tables
        self._found: dict[TableKey, Table | None] = {}
        self._folders: dict[TableKey, frozenset[str]] = {}

    @property
    def snapshot(self) -> Snapshot | None:
        """What decides now; None if no location is registered, or nothing restricts the caller."""
        snapshot = self._lake.snapshot()
        return snapshot if snapshot is not None and snapshot.locations else None

    def home_of(self, location: str, table: TableKey | None) -> str | None:
        """Return the registered table's or partition's own location that has ``location``; None if no grant decides on it.

        Of a table that does not exist yet it is ``location`` itself.
        """
        snapshot = self.snapshot
        registered = snapshot.registered(location) if snapshot is not None else None
        if snapshot is None or registered is None or table is None:
            return None
        if self._table(table) is None:
            return location
        return next((home for home in self._homes(location, table) if snapshot.registered(home) == registered), None)

    def location_of(self, table: TableKey) -> str | None:
        """Return the location of a table in the catalog; None if it has none in S3."""
        stored = self._table(table)
        return arn_of(stored.storage.location) if stored is not None else None

    def check(self, action: str, location: str, table: TableKey) -> None:
        """Raise :class:`NotAuthorized` unless grants allow S3's ``action`` on ``location``, which has a :meth:`home_of`."""
        if not self.allows(action, location, table):
            if self._table(table) is None:
                raise denied("DATA_LOCATION_ACCESS", location)
            raise denied(" or ".join(sorted(_ON_FILES[action])), f"table {'.'.join(table)} at {location}")

    def allows(self, action: str, location: str, table: TableKey) -> bool:
        """Return whether :meth:`check` passes."""
        snapshot = self.snapshot
        if snapshot is None:
            return True
        if self._table(table) is None:
            home = implicit_home(self._tables, table[0], location, snapshot.registered)
            return home or snapshot.may_use_location(self._lake.principals, location)
        access = snapshot.on_table(self._lake.principals, *table)
        if access is None or access & _ON_FILES[action]:
            return True
        return action == "s3:GetObject" and "DESCRIBE" in access and any(name in location for name in _METADATA)

    def _homes(self, location: str, table: TableKey) -> Iterator[str]:
        stored = self._table(table)
        own = self.location_of(table)
        if own is not None and _is_below(location, own):
            yield own
            return
        if table not in self._folders:
            # All of them, once a statement: the files of a partition may be anywhere.
            keys = stored is not None and stored.partition_keys
            partitions = self._tables.partitions(*table) if keys else ()
            self._folders[table] = frozenset(filter(None, (arn_of(partition.storage.location) for partition in partitions)))
        yield from (ancestor for ancestor in _ancestors(location) if ancestor in self._folders[table])

    def _table(self, table: TableKey) -> Table | None:
        if table not in self._found:
            try:
                self._found[table] = self._tables.table(*table)
            except NotFound:
                self._found[table] = None
        return self._found[table]


def _is_below(location: str, home: str) -> bool:
    return location.rstrip("/") == home or location.startswith(f"{home}/")


def _ancestors(location: str) -> Iterator[str]:
    folder = location.rstrip("/")
    while "/" in folder:
        yield folder
        folder = folder.rpartition("/")[0]
