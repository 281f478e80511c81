"""Rewrite Trino's functions to macros where the engine's function of the same name returns something else.

Trino returns a DATE if a DATE is truncated or an interval is added to it; the engine returns a TIMESTAMP. Macros with
typed parameters decide when the query is bound, because the columns' types are known then.
"""

import re

from sqlglot import exp

__all__ = ["MACROS", "to_engine"]

_TRUNC = "trino_date_trunc"
_ADD = "trino_date_add"

MACROS = (
    f"CREATE MACRO {_TRUNC}(unit, x DATE) AS CAST(date_trunc(unit, x) AS DATE), "
    "(unit, x TIMESTAMP) AS date_trunc(unit, x), (unit, x TIMESTAMPTZ) AS date_trunc(unit, x)",
    f"CREATE MACRO {_ADD}(step, x DATE) AS CAST(x + step AS DATE), (step, x TIMESTAMP) AS x + step, "
    "(step, x TIMESTAMPTZ) AS x + step, (step, x TIME) AS x + step, (step, x INTERVAL) AS x + step",
)


def to_engine(tree: exp.Query) -> None:
    """Rewrite ``tree`` in place."""
    for node in list(tree.walk(bfs=False)):
        if isinstance(node, exp.DateTrunc | exp.TimestampTrunc):
            unit = node.args["unit"].name.lower()
            _replace(node, _TRUNC, exp.Literal.string(unit), node.this)
        elif isinstance(node, exp.DateAdd):
            _replace(node, _ADD, exp.Interval(this=exp.paren(node.expression), unit=node.args["unit"]), node.this)
        elif isinstance(node, exp.Add | exp.Sub):
            _interval_added(node)
        elif isinstance(node, exp.Format) and isinstance(node.this, exp.Literal):
            node.this.set("this", re.sub(r"%[sd]", "{}", node.this.this))


def _interval_added(node: exp.Add | exp.Sub) -> None:
    if isinstance(node.expression, exp.Interval):
        step: exp.Expr = node.expression
        _replace(node, _ADD, exp.Neg(this=exp.paren(step)) if isinstance(node, exp.Sub) else step, node.this)
    elif isinstance(node, exp.Add) and isinstance(node.this, exp.Interval):
        _replace(node, _ADD, node.this, node.expression)


def _replace(node: exp.Expr, name: str, *arguments: exp.Expr) -> None:
    node.replace(exp.Anonymous(this=name, expressions=list(arguments)))
