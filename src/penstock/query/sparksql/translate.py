"""Translate a query in Trino's dialect to Spark SQL. What Spark SQL would compute otherwise is refused by name."""

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.optimizer.scope import traverse_scope

from penstock.query.sparksql.reads import OutputColumn
from penstock.query.sparksql.rows import BY_NAME, BY_NODE, refused
from penstock.query.sparksql.types import spark_type
from penstock.sql.errors import StatementError
from penstock.sql.functions.rows import Call, Row
from penstock.sql.names.clauses import with_output_names
from penstock.sql.patterns.recognition import RECOGNIZED
from penstock.sql.positions import position_of
from penstock.sql.relations import check_relations, name_values
from penstock.sql.scopes import Columns
from penstock.sql.translate import Translation
from penstock.sql.trino_types import Type

__all__ = ["to_spark"]

_REFUSED: dict[type[exp.Expr], str] = {
    exp.Unnest: "UNNEST",
    exp.Lateral: "LATERAL",
    exp.TableSample: "TABLESAMPLE",
    exp.Dot: "a field of a row",
    exp.Lambda: "a lambda",
    exp.All: "ALL",
    exp.Any: "ANY",
}


def to_spark(tree: exp.Query, columns: Columns) -> Sequence[OutputColumn]:
    """Translate ``tree`` in place, and return its result's columns. Raises :class:`StatementError` for what is refused.

    The tree is one that :func:`penstock.sql.translate.to_engine` accepts a copy of.
    """
    return _Translation(columns).columns(tree)


class _Translation(Translation):
    def columns(self, tree: exp.Query) -> Sequence[OutputColumn]:
        check_relations(tree)
        name_values(tree)
        for node in tree.walk():
            self._check(node)
        with_output_names(tree)
        for scope in list(traverse_scope(tree)):
            self._scope = scope
            self._visit(scope.expression)
            self._scopes.finish(scope)
        result = self._scopes.result(tree)
        if result is None:
            raise _unsupported("* over a join with USING", tree)
        typed = [(name, type_) for name, type_ in result if type_ is not None and spark_type(type_) is not None]
        if len(typed) != len(result):
            names = [name or "of an expression" for name, type_ in result if type_ is None or spark_type(type_) is None]
            raise _unsupported(f"the type of the result's column {names[0]}", tree, "CAST it to its type.")
        return [(alias or name, type_) for alias, (name, type_) in zip(_written_names(tree, len(typed)), typed, strict=True)]

    def _check(self, node: exp.Expr) -> None:
        what = _REFUSED.get(type(node))
        options = node.args.get("limit_options") if isinstance(node, exp.Fetch) else None
        if options is not None and options.args.get("with_ties"):
            what = "FETCH FIRST WITH TIES"
        if isinstance(node, exp.With) and node.recursive:
            what = "WITH RECURSIVE"
        if isinstance(node, exp.Subquery) and RECOGNIZED in node.meta:
            what = "MATCH_RECOGNIZE"
        if what is not None:
            raise _unsupported(what, node)

    def _written(self, row: Row, call: Call, type_: Type | None, _costly: Sequence[exp.Expr]) -> exp.Expr | None:
        by_name = isinstance(call.node, exp.Anonymous)
        write = BY_NAME.get(row.name) if by_name else BY_NODE.get(type(call.node))
        if write is None:
            raise refused(call, "it has no translation that gives the same results")
        return write(call, type_)


def _written_names(tree: exp.Query, count: int) -> Sequence[str]:
    """Return the aliases of the result's columns as they are written, empty for columns without one."""
    query: exp.Expr = tree
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    aliases = (
        [expression.alias for expression in query.expressions] if isinstance(query, exp.Select) and not query.is_star else []
    )
    return aliases if len(aliases) == count else [""] * count


def _unsupported(what: str, node: exp.Expr, remedy: str = "Run it in a work group of the other engine.") -> StatementError:
    return StatementError(
        "NOT_SUPPORTED", f"{what} is not supported by the engine Spark SQL.", position=position_of(node), remedy=remedy
    )
