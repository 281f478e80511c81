"""What a query may read from: names of tables, subqueries, UNNEST and VALUES.

The engine itself can open only the lake's files, and every call needs a row in the table of functions; so this check is
only the one whose message names what is not supported.
"""

from sqlglot import exp

from penstock.sql.errors import InvalidRequest
from penstock.sql.positions import position_of

__all__ = ["check_tables"]


def check_tables(tree: exp.Expr) -> None:
    """Raise :class:`InvalidRequest` for a table that is not a name (a table function, a file), and for a variable."""
    for table in tree.find_all(exp.Table):
        parts = [table.args.get(part) for part in ("this", "db", "catalog")]
        if parts[0] is None or not all(isinstance(part, exp.Identifier | None) for part in parts):
            raise _refused(table, f"The table function {table.this.sql('trino')[:100]} is not supported.")
    variable = tree.find(exp.Parameter, exp.SessionParameter)
    if variable is not None:
        raise _refused(variable, f"The variable {variable.sql('trino')[:100]} is not supported.")


def _refused(node: exp.Expr, message: str) -> InvalidRequest:
    position = position_of(node)
    where = f"{position}: " if position is not None else ""
    return InvalidRequest(
        f"{where}{message}", remedy="Queries compute only on the catalog's tables.", athena_code="MALFORMED_QUERY"
    )
