"""A commit: files published, then the catalog's entry changed if it is still the one that the change was made for.

What a statement that is killed leaves behind are files that no metadata refers to; VACUUM removes them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyiceberg.table.metadata import TableMetadataUtil

from penstock.catalog.model import Table
from penstock.errors import AlreadyExists, ConcurrentModification, NotFound
from penstock.lake.iceberg.errors import BadDocument, NotSupported, RequirementFailed
from penstock.lake.iceberg.files import encode
from penstock.lake.iceberg.glue_tables import table_input
from penstock.lake.iceberg.table_metadata import written
from penstock.lake.iceberg.updates import apply_updates
from penstock.query.ddl.requests import table_request
from penstock.query.engine.context import ExecutionContext
from penstock.query.tables.iceberg.lake_io import LakeIO
from penstock.query.tables.iceberg.state import IcebergState, load
from penstock.query.writing.iceberg.snapshots import Change, snapshot_updates
from penstock.sql.errors import StatementError

__all__ = ["MAX_TRIES", "Conflict", "TableChanges", "Updates", "check_writable", "commit_error", "create"]

MAX_TRIES = 5
FOLDER = "iceberg"
_WRITTEN_VERSION = 2

Updates = Sequence[Mapping[str, Any]]


class Conflict(Exception):
    """Another commit came between; nothing has changed."""


class TableChanges:
    """Commits to one table on behalf of a statement. Written files are published with the commit that needs them."""

    def __init__(self, context: ExecutionContext, table: Table) -> None:
        self._context = context
        self._table = table
        self.opened = context.lake.of(table)
        self.io = LakeIO(self.opened, context.task.folder / FOLDER)
        self.state: IcebergState = load(table, self.opened)

    def reload(self) -> None:
        """Read the table again. Raises :class:`StatementError` if it is gone, or is another table now."""
        before = self.state.metadata.table_uuid
        # The host answers from memory until something is changed.
        try:
            table = self._context.host.table(self._table.database, self._table.name)
        except NotFound:
            raise commit_error(self.state.name, "it was dropped in the meantime") from None
        self.state = load(table, self.opened)
        if self.state.metadata.table_uuid != before:
            raise commit_error(self.state.name, "it was replaced by another table in the meantime")

    def commit(self, updates: Updates) -> None:
        """Publish the written files and apply ``updates``. Raises :class:`Conflict`."""
        state = self.state
        try:
            document = apply_updates(state.document, updates, metadata_location=state.location)
        except RequirementFailed:
            raise Conflict from None
        except (BadDocument, NotSupported) as error:
            raise StatementError("ICEBERG_COMMIT_ERROR", error.message, remedy=error.remedy) from None
        if document is None:
            return
        location, content = encode(written(document), previous=state.location)
        with self.io.new_output(location).create() as stream:
            stream.write(content)
        host = self._context.host
        host.publish(self.io.publications(), self.opened.table)
        request = {
            "DatabaseName": state.table.database,
            "TableInput": table_request(table_input(state.table.name, document, location, state.table)),
            "VersionId": state.table.version_id,
            "SkipArchive": True,
        }
        try:
            host.change("UpdateTable", request)
        except (ConcurrentModification, NotFound):
            # Who may write files may not always remove them; VACUUM does.
            raise Conflict from None
        self.state = IcebergState(
            table=host.table(state.table.database, state.table.name),
            location=location,
            document=document,
            metadata=TableMetadataUtil.parse_obj(written(document)),
        )

    def commit_snapshot(self, change: Change) -> None:
        """Commit one snapshot on the current one. Raises :class:`Conflict`."""
        self.commit(snapshot_updates(self.state.metadata, change, self.io))

    def commit_again(self, make: Callable[[IcebergState], Updates]) -> None:
        """Commit what ``make`` returns for the table's state, again for each newer state that another commit made."""
        for _ in range(MAX_TRIES):
            try:
                self.commit(make(self.state))
            except Conflict:
                self.reload()
            else:
                return
        raise commit_error(self.state.name, f"other commits came between {MAX_TRIES} times")


def check_writable(state: IcebergState) -> None:
    """Raise :class:`StatementError` for tables of a format version whose rows are read here, and not written."""
    if state.metadata.format_version != _WRITTEN_VERSION:
        raise StatementError(
            "NOT_SUPPORTED",
            f"'{state.name}' is a table of format version {state.metadata.format_version}; rows are written to version "
            f"{_WRITTEN_VERSION} only.",
            remedy="Write to it with Spark.",
        )


def commit_error(name: str, why: str) -> StatementError:
    """Return Athena's error of a commit that conflicts with others."""
    return StatementError(
        "ICEBERG_COMMIT_ERROR",
        f"Failed to commit Iceberg update to table: {name}: {why}.",
        remedy="Run the statement again.",
    )


def create(context: ExecutionContext, database: str, name: str, document: Mapping[str, Any], io: LakeIO) -> None:
    """Publish the written files and create the catalog's entry. Raises :class:`penstock.errors.AlreadyExists`."""
    location, content = encode(written(document), previous=None)
    with io.new_output(location).create() as stream:
        stream.write(content)
    files = io.publications()
    context.host.publish(files, (database, name))
    try:
        shape = table_request(table_input(name, document, location, None))
        context.host.change("CreateTable", {"DatabaseName": database, "TableInput": shape})
    except AlreadyExists:
        context.host.remove([uri for _, uri in files], (database, name))
        raise
