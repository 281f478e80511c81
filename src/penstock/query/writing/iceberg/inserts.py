"""INSERT INTO: the rows of a query as new files, in one commit."""

from pyiceberg.table.snapshots import Operation

from penstock.catalog.model import Table
from penstock.query.engine.context import ExecutionContext
from penstock.query.tables.iceberg.state import IcebergState
from penstock.query.tables.iceberg.types import all_fields
from penstock.query.task import Outcome
from penstock.query.writing.iceberg.commits import TableChanges, Updates, check_writable, commit_error
from penstock.query.writing.iceberg.data_files import DataWriter
from penstock.query.writing.iceberg.definitions import outcome
from penstock.query.writing.iceberg.snapshots import Change, snapshot_updates
from penstock.sql.errors import StatementError
from penstock.sql.statements.model import Insert

__all__ = ["insert"]


def insert(context: ExecutionContext, statement: Insert, table: Table) -> Outcome:
    """Append the query's rows. Other commits may come between, as Iceberg allows for appends.

    Raises :class:`StatementError`.
    """
    changes = TableChanges(context, table)
    check_writable(changes.state)
    target_names = {field.name.lower(): field.name for field in all_fields(changes.state.metadata.schema())}
    for column in statement.columns:
        if column not in target_names:
            raise StatementError("COLUMN_NOT_FOUND", f"Insert column name does not exist in target table: {column}")
    names = [target_names[column] for column in statement.columns] or list(target_names.values())
    with context.computed(statement.query) as computation:
        columns = computation.result.columns
        if len(columns) != len(names):
            raise StatementError(
                "TYPE_MISMATCH",
                f"Insert query has {len(columns)} expression(s) but expected {len(names)} target column(s)",
            )
        writer = DataWriter(changes.state.metadata, changes.io)
        with computation.failures():
            for batch in computation.result.batches:
                writer.add(dict(zip(names, batch.columns, strict=True)), batch.num_rows)
        files = writer.finish()
        read = changes.state.metadata

        def updates(state: IcebergState) -> Updates:
            now = state.metadata
            if (now.current_schema_id, now.default_spec_id) != (read.current_schema_id, read.default_spec_id):
                raise commit_error(state.name, "its columns or its partitioning were changed in the meantime")
            return snapshot_updates(now, Change(operation=Operation.APPEND, added=files), changes.io)

        if files:
            changes.commit_again(updates)
        return outcome(context, computation.statistics, rows=writer.rows, written=[file.file_path for file in files])
