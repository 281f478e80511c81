"""What a clause may name: output columns in ORDER BY, positions, and where aggregates may not stand.

Source: Trino's documentation, "SELECT" (GROUP BY, HAVING, ORDER BY), and its analyzer's tests (TestAnalyzer). ORDER BY
sees the names of the output before those of the source; WHERE, GROUP BY, HAVING and the output itself see the source's only.
"""

from collections.abc import Iterator, Sequence

from sqlglot import exp

from penstock.sql.errors import StatementError
from penstock.sql.functions.table import row_of
from penstock.sql.positions import position_of

__all__ = ["check_clauses", "with_output_names"]

_SCALAR = ((exp.Where, "WHERE"), (exp.Group, "GROUP BY"), (exp.Join, "JOIN"))


def check_clauses(tree: exp.Expr) -> None:
    """Raise Trino's error for an aggregate where rows are not grouped yet, and for a position that is not in the output."""
    for node in tree.find_all(exp.Where, exp.Group, exp.Join):
        what = next(name for node_class, name in _SCALAR if isinstance(node, node_class))
        inside = node.args.get("on") if isinstance(node, exp.Join) else node
        aggregate = next(_aggregates(inside), None) if inside is not None else None
        if aggregate is not None:
            raise StatementError(
                "EXPRESSION_NOT_SCALAR",
                f"{what} clause cannot contain aggregations, window functions or grouping operations: "
                f"[{aggregate.sql('trino', comments=False, normalize_functions=False)[:200]}]",
                position=position_of(aggregate),
            )
    for select in tree.find_all(exp.Select):
        for name, keys in (("GROUP BY", _keys(select, "group")), ("ORDER BY", _keys(select, "order"))):
            for key in keys:
                _check_position(select, name, key)


def with_output_names(tree: exp.Expr) -> None:
    """Write what an output's alias stands for in the place of the alias within an expression of ORDER BY."""
    for select in tree.find_all(exp.Select):
        aliases = _expressions(select)
        for key in _keys(select, "order"):
            if isinstance(key, exp.Column):
                continue  # the engine takes an alias that stands alone for the output's column, too
            for column in list(_columns(key)):
                meant = aliases.get(column.name.lower()) if not column.table else None
                if meant is not None and not (isinstance(meant, exp.Column) and meant.name.lower() == column.name.lower()):
                    column.replace(exp.paren(meant.copy(), copy=False))


def _expressions(select: exp.Select) -> dict[str, exp.Expr]:
    return {
        expression.alias.lower(): expression.this for expression in select.expressions if isinstance(expression, exp.Alias)
    }


def _keys(select: exp.Select, clause: str) -> Sequence[exp.Expr]:
    node = select.args.get(clause)
    if node is None:
        return ()
    return [expression.this if isinstance(expression, exp.Ordered) else expression for expression in node.expressions]


def _check_position(select: exp.Select, clause: str, key: exp.Expr) -> None:
    if not isinstance(key, exp.Literal) or key.is_string or not key.name.isdigit():
        return
    count = len(select.expressions)
    if any(expression.is_star for expression in select.expressions) or 0 < int(key.name) <= count:
        return
    message = f"{clause} position {key.name} is not in select list"
    raise StatementError("INVALID_COLUMN_REFERENCE", message, position=position_of(key))


def _aggregates(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the aggregates and windows in an expression, and not those of its subqueries."""
    if isinstance(node, exp.Query):
        return
    row = row_of(node)
    if isinstance(node, exp.Window) or (row is not None and row.kind != "scalar"):
        yield node
        return
    for child in node.iter_expressions():
        yield from _aggregates(child)


def _columns(node: exp.Expr) -> Iterator[exp.Column]:
    """Yield the columns of an expression, and not those of subqueries, lambdas and aggregates in it."""
    if isinstance(node, exp.Column):
        yield node
        return
    row = row_of(node)
    if isinstance(node, exp.Query | exp.Lambda) or (row is not None and row.kind == "aggregate"):
        return
    for child in node.iter_expressions():
        yield from _columns(child)
