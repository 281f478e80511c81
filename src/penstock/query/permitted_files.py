"""What a statement opens of the lake: files of tables, each asked for of the statement's owner before it is opened."""

from collections.abc import Iterable

from penstock.catalog.model import Table
from penstock.lake.locations import LakeFolder
from penstock.lake.permitted import FileAccess, PermittedFiles, TableKey
from penstock.sql.errors import StatementError

__all__ = ["PermittedLake"]


class PermittedLake:
    """What a statement opens of the lake, by the tables that it opens it for."""

    def __init__(self, lake: LakeFolder, access: FileAccess) -> None:
        self.folder = lake
        """The lake itself, for names of what is not opened."""
        self._access = access
        self._tables: dict[TableKey | None, PermittedFiles] = {}

    def of(self, table: Table | TableKey | None) -> "PermittedFiles":
        """Return the files that are opened for ``table``, or for none."""
        key = (table.database, table.name) if isinstance(table, Table) else table
        if key not in self._tables:
            self._tables[key] = PermittedFiles(self.folder, self._access, key)
        return self._tables[key]

    def check_unchanged(self) -> None:
        """Raise :class:`StatementError` if metadata that named files changed since: another engine may have read it then."""
        if any(table.changed() for table in self._tables.values()):
            raise StatementError(
                "ICEBERG_INVALID_METADATA", "Metadata of a table was overwritten while it was read.", remedy="Run it again."
            )

    def check_opened(self, paths: Iterable[str]) -> None:
        """Raise :class:`StatementError` unless each of ``paths`` was asked for as a file of some table."""
        for path in paths:
            if not any(table.covers(path) for table in self._tables.values()):
                raise StatementError("GENERIC_INTERNAL_ERROR", "The statement would open a file that it did not ask for.")
