"""SHOW STATS: the statistics of a table's columns, or of a query's, computed from its rows.

Trino has its connectors' estimates; here they are counted, over the rows and columns that the caller may read, and only the
number of distinct values is an estimate. Source: Trino's documentation, "SHOW STATS".
"""

from collections.abc import Sequence
from dataclasses import replace

from penstock.query.engine.context import ExecutionContext
from penstock.query.results.values import texts
from penstock.query.task import Outcome
from penstock.sql.statements.model import Select, ShowStats
from penstock.sql.trino_types import Type
from penstock.statements.model import ResultColumn

__all__ = ["show_stats"]

_COLUMNS = [
    ResultColumn(name=name, type=type_, precision=2147483647 if type_ == "varchar" else 17)
    for type_, names in (
        ("varchar", "column_name"),
        ("double", "data_size distinct_values_count nulls_fraction row_count"),
        ("varchar", "low_value high_value"),
    )
    for name in names.split()
]
_SIZED = {"varchar": "strlen({})", "char": "strlen({})", "varbinary": "octet_length({})"}
_COUNTED = frozenset({"boolean", "tinyint", "smallint", "integer", "bigint", "decimal", "real", "double", "varchar", "char"})
_COUNTED |= frozenset({"varbinary", "date", "time", "timestamp", "uuid"})
_ORDERED = frozenset({"tinyint", "smallint", "integer", "bigint", "decimal", "real", "double", "date", "timestamp"})
_ABSENT = "CAST(NULL AS DOUBLE)"


def show_stats(context: ExecutionContext, statement: ShowStats) -> Outcome:
    """Write a line for each column and one for the rows. Raises :class:`StatementError`."""
    with context.planned(Select(tree=statement.query)) as (session, plan, statistics):
        context.on_planned(statistics)
        columns = session.described(plan)
        names = ", ".join(f"c{at}" for at in range(len(columns)))
        expressions = [_aggregates(f"c{at}", type_) for at, (_, type_) in enumerate(columns)]
        aggregates = ", ".join(["CAST(count(*) AS DOUBLE)", *(name for four in expressions for name in four)])
        counted = replace(plan, sql=f"SELECT {aggregates} FROM ({plan.sql}) AS t({names})", types=())  # noqa: S608 checked SQL
        with session.failures(plan.tree):
            row = session.run(counted).batches.read_all().combine_chunks()
        values = [texts(row.column(at).chunk(0))[0] for at in range(row.num_columns)]
        lines = [_line(name, values[1 + at * 5 : 6 + at * 5]) for at, (name, _) in enumerate(columns)]
        return context.text_result(_COLUMNS, [*lines, ["", "", "", "", values[0] or "", "", ""]], statistics)


def _aggregates(name: str, type_: Type) -> Sequence[str]:
    """Return SQL for a column's size in bytes, distinct values, share of NULLs, least and greatest value."""
    size = f"CAST(coalesce(sum({_SIZED[type_.name].format(name)}), 0) AS DOUBLE)" if type_.name in _SIZED else _ABSENT
    counted = type_.name in _COUNTED
    # NaN is not a bound, as in the statistics of files.
    value = f"CASE WHEN NOT isnan({name}) THEN {name} END" if type_.is_floating else name
    return [
        size,
        f"CAST(approx_count_distinct({name}) AS DOUBLE)" if counted else _ABSENT,
        f"coalesce(1 - count({name}) / nullif(CAST(count(*) AS DOUBLE), 0), 0.0)",
        *(f"{bound}({value})" if type_.name in _ORDERED else _ABSENT for bound in ("min", "max")),
    ]


def _line(name: str, values: Sequence[str | None]) -> Sequence[str]:
    size, distinct, nulls, low, high = (item or "" for item in values)
    return [name, size, distinct, nulls, "", low, high]
