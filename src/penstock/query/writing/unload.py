"""UNLOAD: a query's rows as files at a location that has none. Source: Athena user guide, "UNLOAD"."""

from dataclasses import replace

from penstock.query.engine.context import ExecutionContext
from penstock.query.task import Commit, Outcome
from penstock.query.writing.commit import outcome, placed
from penstock.query.writing.options import read_options
from penstock.query.writing.partitioned import PartitionedWriter
from penstock.query.writing.targets import check_empty, columns_of
from penstock.query.writing.types import hive_types
from penstock.sql.errors import StatementError
from penstock.sql.statements.model import Unload

__all__ = ["unload"]

_KNOWN = frozenset({"format", "compression", "compression_level", "field_delimiter", "partitioned_by"})


def unload(context: ExecutionContext, statement: Unload) -> Outcome:
    """Write a query's rows to files. Raises :class:`StatementError`."""
    unknown = sorted(set(statement.properties) - _KNOWN)
    if unknown or "format" not in statement.properties:
        what = f"Property '{unknown[0]}' does not exist" if unknown else "Property 'format' is missing"
        raise StatementError("INVALID_TABLE_PROPERTY", what, remedy=f"Known: {', '.join(sorted(_KNOWN))}.")
    options = read_options(statement.properties, compression="compression")
    check_empty(context.lake.of(None), statement.location)
    partitioned_by = statement.properties.get("partitioned_by", ())
    keys = [str(item).lower() for item in (partitioned_by if isinstance(partitioned_by, tuple) else (partitioned_by,))]
    with context.computed(statement.query) as computed, computed.failures():
        columns, batches = computed.result.columns, computed.result.batches
        types = hive_types(columns, batches.schema)
        pairs = [(column.name.lower(), type_) for column, type_ in zip(columns, types, strict=True)]
        names = [name for name, _ in pairs]
        if keys and (names[-len(keys) :] != keys or len(keys) == len(names)):
            raise StatementError(
                "HIVE_COLUMN_ORDER_MISMATCH",
                f"Partition keys must be the last columns of the query, in the order [{', '.join(keys)}], after others.",
            )
        own, parts = pairs[: len(pairs) - len(keys)], pairs[len(pairs) - len(keys) :]
        writer = PartitionedWriter(context, columns_of(own), columns_of(parts), options)
        writer.write_all(iter(batches))
        files = writer.finish(empty=False)
    commit = Commit(files=placed(context, files, statement.location))
    return outcome(context, replace(computed.statistics, output_rows=0), writer.rows, commit)
