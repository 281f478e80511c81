"""OPTIMIZE ... REWRITE DATA USING BIN_PACK: small files become large ones, and deleted rows leave the files.

Source: Athena user guide, "Optimize Iceberg tables", and the table properties that are named there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.manifest import DataFile, ManifestContent
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation
from sqlglot import exp

from penstock.catalog.model import Table
from penstock.query.engine.context import ExecutionContext
from penstock.query.planning.planner import Plan
from penstock.query.tables.iceberg.filters import to_iceberg
from penstock.query.tables.iceberg.planning import FileTask, ScanPlan, manifests_of, plan_files, read_entries
from penstock.query.tables.iceberg.scan import IcebergScan
from penstock.query.tables.iceberg.types import all_fields
from penstock.query.tables.port import SCHEMA
from penstock.query.task import Outcome
from penstock.query.writing.iceberg.commits import MAX_TRIES, Conflict, TableChanges, check_writable, commit_error
from penstock.query.writing.iceberg.data_files import DataWriter
from penstock.query.writing.iceberg.definitions import outcome
from penstock.query.writing.iceberg.snapshots import Change
from penstock.sql.errors import StatementError
from penstock.sql.statements.model import Optimize
from penstock.sql.types import quote_name

__all__ = ["optimize"]

_TARGET = ("write.target-file-size-bytes", 512 << 20)
_FEWEST_FILES = ("optimize_rewrite_data_file_threshold", 5)
_FEWEST_DELETES = ("optimize_rewrite_delete_file_threshold", 2)
_SMALLEST, _LARGEST = "optimize_rewrite_min_data_file_size_bytes", "optimize_rewrite_max_data_file_size_bytes"


def optimize(context: ExecutionContext, statement: Optimize, table: Table) -> Outcome:
    """Rewrite the files that are worth it, in one commit. Raises :class:`StatementError`."""
    changes = TableChanges(context, table)
    for _ in range(MAX_TRIES):
        check_writable(changes.state)
        change = _rewritten(context, changes, _condition(changes, statement.where))
        if change is None:
            return outcome(context)
        try:
            changes.commit_snapshot(change)
        except Conflict:
            changes.reload()
            continue
        return outcome(context, written=[data_file.file_path for data_file in change.added])
    raise commit_error(changes.state.name, f"other commits came between {MAX_TRIES} times")


def _condition(changes: TableChanges, where: exp.Expr | None) -> BooleanExpression:
    """Return the condition on partitions. Raises :class:`StatementError` for one on other columns."""
    if where is None:
        return AlwaysTrue()
    metadata = changes.state.metadata
    schema = metadata.schema()
    sources = {schema.find_column_name(field.source_id) for field in metadata.spec().fields}
    partition_columns = {name.lower() for name in sources if name}
    parts = list(where.flatten()) if isinstance(where, exp.And) else [where]
    for part in parts:
        columns = {column.name.lower() for column in part.find_all(exp.Column)}
        if (
            not columns
            or not columns <= partition_columns
            or isinstance(to_iceberg([part], schema, outer=False), AlwaysTrue)
        ):
            raise StatementError(
                "NOT_SUPPORTED",
                f"OPTIMIZE by the condition {part.sql('trino')[:200]} is not supported.",
                remedy="Compare columns that the table is partitioned by with constants of their types.",
            )
    return to_iceberg(parts, schema, outer=False)


@dataclass(frozen=True, slots=True)
class _Limits:
    """What the table's properties say is worth a rewrite."""

    smallest: int
    largest: int
    files: int
    deletes: int

    @classmethod
    def of(cls, metadata: TableMetadata) -> "_Limits":
        properties = metadata.properties
        target = int(properties.get(*map(str, _TARGET)))
        return cls(
            int(properties.get(_SMALLEST, str(target * 3 // 4))),
            int(properties.get(_LARGEST, str(target * 9 // 5))),
            int(properties.get(*map(str, _FEWEST_FILES))),
            int(properties.get(*map(str, _FEWEST_DELETES))),
        )

    def choose(self, tasks: Sequence[FileTask]) -> list[FileTask]:
        """Return the files of one partition to rewrite."""
        deleted = {task for task in tasks if len(task.positions) + len(task.equalities) >= self.deletes}
        sized = [task for task in tasks if not self.smallest <= task.file.file_size_in_bytes <= self.largest]
        packed = set(sized if len(sized) >= self.files else ())
        return [task for task in tasks if task in packed or task in deleted]


def _rewritten(context: ExecutionContext, changes: TableChanges, condition: BooleanExpression) -> Change | None:
    metadata = changes.state.metadata
    snapshot, schema, io = metadata.current_snapshot(), metadata.schema(), changes.io
    everything = plan_files(metadata, snapshot, schema, AlwaysTrue(), io)
    allowed = {task.file.file_path for task in plan_files(metadata, snapshot, schema, condition, io).tasks}
    groups: dict[object, list[FileTask]] = {}
    for file_task in everything.tasks:
        if file_task.file.file_path in allowed:
            groups.setdefault((file_task.file.spec_id, file_task.file.partition), []).append(file_task)
    limits = _Limits.of(metadata)
    chosen = [tasks_to_rewrite for tasks in groups.values() if (tasks_to_rewrite := limits.choose(tasks))]
    removed = {task.file.file_path for tasks in chosen for task in tasks}
    needed = {
        delete.file.file_path
        for task in everything.tasks
        if task.file.file_path not in removed
        for delete in (*task.positions, *task.equalities)
    }
    # Deletes that no remaining file has rows for are not needed, now or later: new files are younger.
    dangling = {
        entry.data_file.file_path
        for manifest in manifests_of(snapshot, io)
        if manifest.content == ManifestContent.DELETES
        for entry in read_entries(manifest, io)
    } - needed
    if not removed and not dangling:
        return None
    added: list[DataFile] = []
    for tasks in chosen:
        added += _rewrite(context, changes, replace(everything, tasks=tasks))
    return Change(operation=Operation.REPLACE, added=added, removed=removed | dangling)


def _rewrite(context: ExecutionContext, changes: TableChanges, plan: ScanPlan) -> list[DataFile]:
    """Write the rows of one partition's files to new files."""
    metadata = changes.state.metadata
    fields = all_fields(metadata.schema())
    scan = IcebergScan(
        view="s0",
        state=changes.state,
        schema=metadata.schema(),
        fields=fields,
        plan=plan,
        io=changes.io,
        opened=changes.opened,
    )
    changes.opened.check([file.path for file in scan.files])
    sql = f"SELECT {', '.join(quote_name(field.name.lower()) for field in fields)} FROM {SCHEMA}.s0"  # noqa: S608 quoted names
    session = context.own_engine()
    writer = DataWriter(metadata, changes.io)
    try:
        result = session.run(Plan(sql=sql, scans=[scan], names=[changes.state.name], tree=exp.select("*")))
        with session.failures():
            for batch in result.batches:
                columns = {field.name: batch.column(at) for at, field in enumerate(fields)}
                writer.add(columns, batch.num_rows)
    finally:
        session.close()
    return writer.finish()
