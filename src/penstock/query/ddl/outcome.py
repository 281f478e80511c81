"""The outcome of a statement that changes the catalog: at most some lines of report."""

from collections.abc import Sequence

from penstock.query.engine.context import ExecutionContext, Outcome, milliseconds_since
from penstock.query.results.rows import write_lines
from penstock.statements.model import ResultColumn, StatementStatistics

__all__ = ["changed"]

RESULT = "result"


def changed(context: ExecutionContext, report: Sequence[str] = ()) -> Outcome:
    """Write the lines of ``report``, if any, as the result, and return the outcome."""
    rows = write_lines(context.task.folder / RESULT, [[line] for line in report]) if report else 0
    columns = [ResultColumn(name="result", type="string")] if report else ()
    return Outcome(columns, StatementStatistics(output_rows=rows, engine_ms=milliseconds_since(context.started)))
