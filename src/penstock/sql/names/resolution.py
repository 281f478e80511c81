"""Whether a name means one column: names that two sources have, that only the output has, or that only the engine knows.

The engine takes the first of equal names of a subquery, sees the output's aliases in WHERE, GROUP BY and HAVING, and has
names of its own (``user``). Trino does none of this.
"""

from collections.abc import Iterable, Sequence

from sqlglot import exp

from penstock.sql.errors import StatementError
from penstock.sql.names.suggestions import did_you_mean
from penstock.sql.positions import position_of

__all__ = ["Named", "check_column", "not_found", "with_session"]

_OF_THE_ENGINE = frozenset({"user", "session_user", "current_role", "current_database", "system_user", "rowid"})
"""Names that mean something to the engine where no column has them."""

Named = tuple[str, Sequence[str] | None]
"""A source: its alias, and its columns in order, None if they are not known."""


def check_column(node: exp.Column, scopes: Iterable[tuple[exp.Expr, Sequence[Named]]]) -> None:
    """Raise Trino's error for a column that is ambiguous or, as far as that is known, no column.

    ``scopes`` are the queries that the column is in with their sources, from the inside to the outside.
    """
    name, table = node.name.lower(), node.table.lower()
    if name.startswith("$"):
        return
    columns_seen: list[str] = []
    only_output = False
    complete = True
    for query, sources in scopes:
        if not table and isinstance(query, exp.Select) and name in _outputs(query) and _sees_output(node, query):
            return
        mine = [source for source in sources if not table or source[0].lower() == table]
        count = sum(_count(columns, name) for _, columns in mine)
        shared = _shared(query)
        if count > 1 and name not in shared and all(columns is not None for _, columns in mine):
            raise StatementError("AMBIGUOUS_NAME", f"Column '{_shown(node)}' is ambiguous", position=position_of(node))
        if count:
            return
        # A view's columns in the catalog may be others than those of its text; the engine knows them.
        complete = complete and all(columns is not None for _, columns in sources) and not _reads_tables(query)
        columns_seen += [column for _, columns in sources for column in columns or ()]
        only_output = only_output or (not table and any(_is_alias(expression, name) for expression in query.expressions))
    if not table and (complete or ((only_output or name in _OF_THE_ENGINE) and name not in columns_seen)):
        raise not_found(node, columns_seen)


def not_found(node: exp.Column, columns: Iterable[str]) -> StatementError:
    """Return Trino's error for a name that is not a column."""
    return StatementError(
        "COLUMN_NOT_FOUND",
        f"Column '{_shown(node)}' cannot be resolved",
        position=position_of(node),
        remedy=did_you_mean(node.name, columns),
    )


def _shown(node: exp.Column) -> str:
    return ".".join(part.name for part in node.parts).lower()


def _count(columns: Sequence[str] | None, name: str) -> int:
    return sum(column.lower() == name for column in columns or ())


def _shared(query: exp.Expr) -> frozenset[str]:
    """Return the columns that joins with USING make one of."""
    joins = query.args.get("joins") or ()
    return frozenset(item.name.lower() for join in joins for item in join.args.get("using") or ())


def _is_alias(node: exp.Expr, name: str) -> bool:
    return isinstance(node, exp.Alias) and node.alias.lower() == name


def _outputs(query: exp.Select) -> frozenset[str]:
    """Return the names of a query's output columns."""
    return frozenset(
        expression.alias_or_name.lower()
        for expression in query.expressions
        if isinstance(expression, exp.Alias | exp.Column)
    )


def _reads_tables(query: exp.Expr) -> bool:
    """Whether a query reads tables of the catalog, and not only subqueries and values."""
    ctes = {expression.alias_or_name.lower() for above in _above(query) for expression in above.args["with_"].expressions}
    joined = [join.this for join in (query.args.get("from_"), *(query.args.get("joins") or ())) if join is not None]
    return any(isinstance(item, exp.Table) and item.name.lower() not in ctes for item in joined)


def _above(query: exp.Expr) -> Iterable[exp.Expr]:
    node: exp.Expr | None = query
    while node is not None:
        if node.args.get("with_"):
            yield node
        node = node.parent


def _sees_output(node: exp.Expr, query: exp.Select) -> bool:
    """Whether ``node`` stands in the query's own ORDER BY."""
    above: exp.Expr | None = node
    while above is not None and above is not query:
        if above.parent is query:
            return above.arg_key == "order"
        above = above.parent
    return False


def with_session(tree: exp.Expr, catalog: str, database: str | None) -> None:
    """Write the values of ``current_catalog`` and ``current_schema`` in their places; without a database, that is NULL."""
    for node in list(tree.find_all(exp.CurrentCatalog, exp.CurrentSchema, exp.Column)):
        name = node.name.lower() if isinstance(node, exp.Column) else ""
        if isinstance(node, exp.Column) and (name not in {"current_schema", "current_catalog"} or node.table):
            continue
        if isinstance(node, exp.Column) and node.this.args.get("quoted"):
            continue
        is_catalog = isinstance(node, exp.CurrentCatalog) or name == "current_catalog"
        value = catalog if is_catalog else database
        text = exp.Literal.string(value) if value is not None else exp.Null()
        node.replace(exp.Cast(this=text, to=exp.DataType.build("varchar")))
