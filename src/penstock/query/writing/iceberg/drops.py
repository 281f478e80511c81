"""DROP TABLE of Iceberg tables, which removes their files, too (Athena user guide, "DROP TABLE")."""

from penstock.catalog.model import Table
from penstock.errors import NotFound
from penstock.lake.permitted import DELETE_OBJECT
from penstock.query.engine.context import ExecutionContext
from penstock.query.tables.iceberg.lake_io import LakeIO
from penstock.query.tables.iceberg.state import load
from penstock.query.task import Outcome
from penstock.query.writing.iceberg.definitions import outcome
from penstock.query.writing.iceberg.reach import metadata_files, snapshot_files
from penstock.sql.errors import StatementError
from penstock.sql.statements.model import DropTable

__all__ = ["drop_table"]


def drop_table(context: ExecutionContext, statement: DropTable, table: Table) -> Outcome:
    """Remove the catalog's entry, then the files that the metadata refers to and that are below the table's location.

    A table whose metadata cannot be read leaves the catalog, and its files stay. Raises :class:`StatementError`.
    """
    files: set[str] = set()
    try:
        opened = context.lake.of(table)
        state = load(table, opened)
        if state.metadata.properties.get("gc.enabled", "true").lower() != "false":
            found = snapshot_files(state.metadata.snapshots, LakeIO(opened))
            own = f"{state.metadata.location.rstrip('/')}/"
            files = {each for each in (*found, *metadata_files(state, state.metadata)) if each.startswith(own)}
    except (StatementError, OSError, ValueError):
        files = set()
    key = (table.database, table.name)
    if files:
        context.host.check_files(DELETE_OBJECT, sorted(files), key)
    try:
        context.host.change("DeleteTable", {"DatabaseName": table.database, "Name": table.name})
    except NotFound:
        if not statement.if_exists:
            raise StatementError("TABLE_NOT_FOUND", f"Table '{table.database}.{table.name}' does not exist") from None
    if files:
        context.host.remove(sorted(files), key)
    return outcome(context)
