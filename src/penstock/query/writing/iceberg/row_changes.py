"""DELETE, UPDATE and MERGE: rows are found by a query, marked as deleted by their positions, and written anew.

Source: Trino documentation, "DELETE", "UPDATE", "MERGE"; Athena writes position deletes, too (Athena user guide,
"Update Iceberg table data"). A file whose rows are all deleted leaves the table instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.manifest import DataFile
from pyiceberg.table.snapshots import Operation
from pyroaring import BitMap64
from sqlglot import exp

from penstock.catalog.model import Table
from penstock.query.engine.context import Computation, ExecutionContext
from penstock.query.planning.planner import POSITIONS
from penstock.query.tables.iceberg.scan import FILE, POSITION, IcebergScan
from penstock.query.tables.iceberg.types import all_fields
from penstock.query.task import Outcome
from penstock.query.writing.iceberg.commits import MAX_TRIES, Conflict, TableChanges, check_writable, commit_error
from penstock.query.writing.iceberg.data_files import DataWriter, write_positions
from penstock.query.writing.iceberg.definitions import outcome
from penstock.query.writing.iceberg.merges import ACTION, DELETED, INSERTED, UPDATED, assignments, merge_query
from penstock.query.writing.iceberg.snapshots import Change
from penstock.sql.errors import StatementError
from penstock.sql.statements.model import Delete, Merge, Update

__all__ = ["changed_rows", "delete", "merge", "update"]


def delete(context: ExecutionContext, statement: Delete, table: Table) -> Outcome:
    """Delete the rows that meet the condition. Raises :class:`StatementError`."""
    return _run(context, table, statement)


def update(context: ExecutionContext, statement: Update, table: Table) -> Outcome:
    """Change the rows that meet the condition. Raises :class:`StatementError`."""
    return _run(context, table, statement)


def merge(context: ExecutionContext, statement: Merge, table: Table) -> Outcome:
    """Insert, change and delete rows by those of a source. Raises :class:`StatementError`."""
    return _run(context, table, statement)


def changed_rows(context: ExecutionContext, statement: Delete | Update | Merge, table: Table) -> exp.Select:
    """Return the query for the rows that the statement changes, for its plan alone. Raises :class:`StatementError`."""
    state = TableChanges(context, table).state
    check_writable(state)
    return _query(statement, [field.name.lower() for field in all_fields(state.metadata.schema())])


def _query(statement: Delete | Update | Merge, names: Sequence[str]) -> exp.Select:
    """Return the query for the rows that the statement changes, in a table with the columns ``names``."""
    if isinstance(statement, Merge):
        return merge_query(statement.tree, _target(statement.tree.this), names)
    return _deleted_rows(statement.tree) if isinstance(statement, Delete) else _updated_rows(statement.tree, names)


def _deleted_rows(tree: exp.Expr) -> exp.Select:
    _refuse(tree, {"this", "where"}, "DELETE")
    query = exp.select(FILE, POSITION, exp.alias_(exp.Literal.number(DELETED), ACTION)).from_(_target(tree.this))
    return query.where(tree.args["where"].this.copy(), copy=False) if tree.args.get("where") else query


def _updated_rows(tree: exp.Expr, names: Sequence[str]) -> exp.Select:
    _refuse(tree, {"this", "expressions", "where"}, "UPDATE")
    target = _target(tree.this)
    changed = assignments(tree.expressions, names, "UPDATE")
    alias = target.alias_or_name
    columns = [
        exp.alias_(changed[name].copy() if name in changed else exp.column(name, alias, quoted=True), name, quoted=True)
        for name in names
    ]
    query = exp.select(FILE, POSITION, exp.alias_(exp.Literal.number(UPDATED), ACTION), *columns).from_(target)
    return query.where(tree.args["where"].this.copy(), copy=False) if tree.args.get("where") else query


def _target(node: exp.Expr) -> exp.Table:
    """Return the reference to the table, with the positions of its rows."""
    if not isinstance(node, exp.Table) or node.args.get("version") is not None:
        raise StatementError("SYNTAX_ERROR", "The target of the statement is not a table.")
    target = node.copy()
    target.meta[POSITIONS] = True
    return target


def _refuse(tree: exp.Expr, columns: set[str], what: str) -> None:
    for name, value in tree.args.items():
        if value and name not in columns:
            raise StatementError("NOT_SUPPORTED", f"{what} with {name.upper().rstrip('_')} is not supported.")


@dataclass(slots=True)
class _Deleted:
    """Positions of deleted rows, by the path of their file."""

    positions: dict[str, BitMap64] = field(default_factory=dict)

    def add(self, files: pa.Array, positions: pa.Array) -> None:
        """Add rows. Raises :class:`StatementError` for one that was added before: two rows of a MERGE's source met it."""
        encoded = files.dictionary_encode() if not isinstance(files, pa.DictionaryArray) else files
        for number, path in enumerate(encoded.dictionary.to_pylist()):
            own = positions.filter(pc.equal(encoded.indices, number)).to_numpy(zero_copy_only=False)
            bits = self.positions.setdefault(path, BitMap64())
            before = len(bits)
            bits.update(own.tolist())
            if len(bits) != before + len(own):
                raise StatementError(
                    "MERGE_TARGET_ROW_MULTIPLE_MATCHES",
                    "One MERGE target table row matched more than one source row",
                    remedy="Let the source have one row for each row of the target.",
                )


def _run(context: ExecutionContext, table: Table, statement: Delete | Update | Merge) -> Outcome:
    """Run a statement to its commit, again from the start if another commit comes between."""
    changes = TableChanges(context, table)
    for _ in range(MAX_TRIES):
        check_writable(changes.state)
        names = {field.name.lower(): field.name for field in all_fields(changes.state.metadata.schema())}
        with context.computed(_query(statement, list(names))) as computation:
            rows, change = _changed(changes, computation, names)
            try:
                if change is not None:
                    changes.commit_snapshot(change)
            except Conflict:
                changes.reload()
                continue
            written = [data_file.file_path for data_file in change.added] if change else []
            return outcome(context, computation.statistics, rows=rows, written=written)
    raise commit_error(changes.state.name, f"other commits came between {MAX_TRIES} times")


def _changed(changes: TableChanges, computation: Computation, names: Mapping[str, str]) -> tuple[int, Change | None]:
    """Read the query's rows; return how many they are, and what they change, None for nothing."""
    metadata = changes.state.metadata
    scan = next(
        iceberg_scan
        for iceberg_scan in computation.plan.scans
        if isinstance(iceberg_scan, IcebergScan) and iceberg_scan.positions
    )
    if scan.state.location != changes.state.location:
        raise commit_error(changes.state.name, "it was changed in the meantime")
    deleted = _Deleted()
    writer = DataWriter(metadata, changes.io)
    rows = 0
    with computation.failures():
        for read in computation.result.batches:
            batch = read.filter(pc.greater(read.column(ACTION), 0))
            rows += batch.num_rows
            action = batch.column(ACTION)
            old = batch.filter(pc.is_in(action, pa.array([UPDATED, DELETED], action.type)))
            deleted.add(old.column(FILE), old.column(POSITION))
            new = batch.filter(pc.is_in(action, pa.array([UPDATED, INSERTED], action.type)))
            if new.num_rows:
                writer.add({names[name]: new.column(name) for name in names}, new.num_rows)
    if not rows:
        return 0, None
    tasks = {scan.path(task.file.file_path): task for task in scan.plan.tasks}
    whole: set[str] = set()
    parts: dict[str, tuple[DataFile, Sequence[int]]] = {}
    for path, bits in deleted.positions.items():
        task = tasks[path]
        if len(bits) == task.file.record_count:
            whole.add(task.file.file_path)
        elif bits:
            parts[task.file.file_path] = (task.file, list(bits))
    added = writer.finish()
    deletes = write_positions(metadata, changes.io, parts)
    operation = Operation.APPEND if not whole and not deletes else Operation.DELETE if not added else Operation.OVERWRITE
    return rows, Change(operation=operation, added=added, deletes=deletes, removed=whole)
