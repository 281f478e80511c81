"""INSERT INTO of Hive's tables. Source: Athena user guide, "INSERT INTO"."""

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from penstock.catalog.model import Table
from penstock.query.engine.context import ExecutionContext
from penstock.query.tables.hive import check_readable
from penstock.query.tables.lookup import find_table, is_delta
from penstock.query.tables.projection import is_projected
from penstock.query.task import Commit, Outcome
from penstock.query.writing.commit import marked, outcome, placed
from penstock.query.writing.options import options_of_table
from penstock.query.writing.partitioned import PartitionedWriter, WrittenFile
from penstock.query.writing.targets import columns_of, new_partitions, partition_changes, storage_of
from penstock.query.writing.types import check_insertable
from penstock.sql.errors import StatementError
from penstock.sql.statements.model import Insert
from penstock.statements.model import ResultColumn

__all__ = ["insert"]


def insert(context: ExecutionContext, statement: Insert) -> Outcome:
    """Add a query's rows to a table. Raises :class:`StatementError`."""
    table = find_table(context.host, statement.table, database=context.task.database)
    _check(table)
    context.host.check_writing(table.database, table.name, ("INSERT",))
    options = options_of_table(table)
    own = [(column.name.lower(), column.type or "string") for column in table.storage.columns]
    keys = [(key.name.lower(), key.type or "string") for key in table.partition_keys]
    query = _in_order(statement.query, statement.columns, [name for name, _ in (*own, *keys)])
    with context.computed(query) as computed, computed.failures():
        columns, batches = computed.result.columns, computed.result.batches
        _check_types(statement, (*own, *keys), columns, batches.schema)
        writer = PartitionedWriter(context, columns_of(own), columns_of(keys), options)
        writer.write_all(iter(batches))
        files = writer.finish(empty=False)
    commit = _commit(context, table, files)
    return outcome(context, replace(computed.statistics, output_rows=0), writer.rows, commit)


def _check(table: Table) -> None:
    if is_delta(table):
        raise StatementError(
            "NOT_SUPPORTED",
            f"'{table.database}.{table.name}' is a Delta table, which is only read.",
            remedy="Write it with Spark.",
        )
    check_readable(table)
    if table.storage.extra.get("BucketColumns"):
        raise StatementError(
            "NOT_SUPPORTED", f"INSERT into '{table.database}.{table.name}' is not supported: it is bucketed."
        )
    location = table.storage.location or ""
    if table.parameters.get("storage.location.template") and is_projected(table):
        raise StatementError(
            "NOT_SUPPORTED",
            f"INSERT into '{table.database}.{table.name}' is not supported: its partitions' places are from "
            "storage.location.template.",
            remedy="Write the files to the partitions' places.",
        )
    if not location:
        raise StatementError("HIVE_INVALID_METADATA", f"Table '{table.database}.{table.name}' has no location.")


def _in_order(query: exp.Query, columns: Sequence[str], names: Sequence[str]) -> exp.Query:
    """Return a query of all the table's columns in their order; those that the statement does not name are NULL."""
    if not columns:
        return query
    lowered = [name.lower() for name in columns]
    for name in lowered:
        if name not in names:
            raise StatementError("COLUMN_NOT_FOUND", f"Insert column name does not exist in target table: {name}")
    source = [f"i{number}" for number in range(len(lowered))]
    place = dict(zip(lowered, source, strict=True))
    chosen = [
        exp.column(place[name], quoted=True).as_(name, quoted=True) if name in place else exp.Null().as_(name, quoted=True)
        for name in names
    ]
    alias = exp.TableAlias(
        this=exp.to_identifier("inserted", quoted=True), columns=[exp.to_identifier(item, quoted=True) for item in source]
    )
    return exp.select(*chosen).from_(exp.Subquery(this=query, alias=alias))


def _check_types(
    statement: Insert, table: Sequence[tuple[str, str]], columns: Sequence[ResultColumn], schema: object
) -> None:
    if statement.columns and len(columns) != len(table):
        raise StatementError("MISMATCHED_COLUMN_ALIASES", "The query has another number of columns than INSERT names.")
    check_insertable(table, columns, schema)


def _commit(context: ExecutionContext, table: Table, files: Sequence[WrittenFile]) -> Commit:
    """Return the commit. What appears in several steps has a ledger entry, so that it counts in one."""
    storage = storage_of(table)
    location = table.storage.location or ""
    keys = [key.name for key in table.partition_keys]
    fresh = new_partitions(context.host, table, files) if keys and not is_projected(table) else ()
    commit = Commit(
        table=(table.database, table.name),
        files=_placed(context, table, files, location),
        changes=partition_changes(table.database, table.name, storage, keys, fresh) if fresh else (),
    )
    steps = len(commit.files) + len(commit.changes)
    return marked(context, commit, location) if steps > 1 else commit


def _placed(
    context: ExecutionContext, table: Table, files: Sequence[WrittenFile], location: str
) -> Sequence[tuple[str, str]]:
    """Return the places of files; those of a registered partition are at its own location."""
    if not table.partition_keys or is_projected(table):
        return placed(context, files, location)
    locations = {
        tuple(partition.values): partition.storage.location
        for partition in context.host.partitions(table.database, table.name)
    }
    places: list[tuple[str, str]] = []
    for file in files:
        home = locations.get(tuple(value or "__HIVE_DEFAULT_PARTITION__" for value in file.values))
        own = replace(file, name=file.name.rpartition("/")[2]) if home else file
        places += placed(context, [own], home or location)
    return places
