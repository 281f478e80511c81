"""MERGE as one query: each row of the source beside the target's rows that it matches, with what to do with it.

Source: Trino documentation, "MERGE".
"""

from collections.abc import Sequence

from sqlglot import exp

from penstock.query.tables.iceberg.scan import FILE, POSITION
from penstock.sql.errors import StatementError
from penstock.sql.functions.table import is_repeatable

__all__ = ["ACTION", "DELETED", "INSERTED", "UPDATED", "assignments", "merge_query"]

ACTION = "__penstock_action"
"""The column that says what to do with a row: 0 nothing, or one of the three."""
DELETED, UPDATED, INSERTED = 1, 2, 3


def merge_query(tree: exp.Merge, target: exp.Table, names: Sequence[str]) -> exp.Select:
    """Return the query: file, position, action, and the columns ``names`` as they are to be.

    Raises :class:`StatementError` for clauses that Trino does not have.
    """
    for name, value in tree.args.items():
        if value and name not in {"this", "using", "on", "whens"}:
            raise StatementError("NOT_SUPPORTED", f"MERGE with {name.upper().rstrip('_')} is not supported.")
    alias = target.alias_or_name
    cases = [_Case(expression, alias, names) for expression in tree.args["whens"].expressions]
    inserts = any(item.action == INSERTED for item in cases)
    action = exp.Case()
    columns = {name: exp.Case() for name in names}
    for item in cases:
        action = action.when(item.condition.copy(), exp.Literal.number(item.action), copy=False)
        for name, case in columns.items():
            value = item.values.get(name, exp.null())
            columns[name] = case.when(item.condition.copy(), value.copy(), copy=False)
    query = exp.select(
        exp.alias_(exp.column(FILE, alias), FILE),
        exp.alias_(exp.column(POSITION, alias), POSITION),
        exp.alias_(action.else_(exp.Literal.number(0), copy=False), ACTION),
        *(exp.alias_(case, name, quoted=True) for name, case in columns.items()),
    )
    source = tree.args["using"].copy()
    join = "left" if inserts else "inner"
    return query.from_(source).join(target, on=tree.args["on"].copy(), join_type=join, copy=False)


def assignments(expressions: Sequence[exp.Expr], names: Sequence[str], what: str) -> dict[str, exp.Expr]:
    """Return the expressions of SET by column. Raises :class:`StatementError` for unknown and repeated columns."""
    assigned: dict[str, exp.Expr] = {}
    for expression in expressions:
        if not isinstance(expression, exp.EQ) or not isinstance(expression.this, exp.Column):
            raise StatementError("SYNTAX_ERROR", f"{what} sets columns: SET column = value.")
        name = expression.this.name.lower()
        if name not in names:
            raise StatementError("COLUMN_NOT_FOUND", f"The {what} SET expression has an unknown column: {name}")
        if name in assigned:
            raise StatementError("SYNTAX_ERROR", f"The column '{name}' is set twice.")
        assigned[name] = expression.expression
    return assigned


class _Case:
    """A WHEN clause: its condition, what it does, and the values of the columns."""

    def __init__(self, when: exp.When, alias: str, names: Sequence[str]) -> None:
        matched = bool(when.args.get("matched"))
        if when.args.get("source"):
            raise StatementError("NOT_SUPPORTED", "WHEN NOT MATCHED BY SOURCE is not part of Athena's MERGE.")
        position = exp.column(POSITION, alias)
        self.condition: exp.Expr = exp.Is(this=position, expression=exp.null())
        if matched:
            self.condition = exp.Not(this=self.condition)
        condition = when.args.get("condition")
        if condition is not None:
            if not is_repeatable(exp.select(condition.copy())):
                raise StatementError(
                    "NOT_SUPPORTED", "A condition of MERGE that gives other values each time is not supported."
                )
            self.condition = exp.and_(self.condition, condition.copy())
        self.values: dict[str, exp.Expr] = {}
        then = when.args["then"]
        if matched and isinstance(then, exp.Update):
            self.action = UPDATED
            self._set(then, alias, names)
        elif not matched and isinstance(then, exp.Insert):
            self.action = INSERTED
            self._insert(then, names)
        elif matched and then.sql().upper() == "DELETE":
            self.action = DELETED
        else:
            raise StatementError(
                "SYNTAX_ERROR", "MERGE updates or deletes rows WHEN MATCHED, and inserts them WHEN NOT MATCHED."
            )

    def _set(self, then: exp.Update, alias: str, names: Sequence[str]) -> None:
        changed = assignments(then.expressions, names, "MERGE")
        self.values = {name: changed.get(name) or exp.column(name, alias, quoted=True) for name in names}

    def _insert(self, then: exp.Insert, names: Sequence[str]) -> None:
        target_columns = then.this
        columns = (
            [expression.name.lower() for expression in target_columns.expressions]
            if isinstance(target_columns, exp.Tuple | exp.Schema)
            else list(names)
        )
        values = then.expression.expressions if isinstance(then.expression, exp.Tuple) else []
        if len(values) != len(columns):
            raise StatementError("TYPE_MISMATCH", f"MERGE inserts {len(values)} value(s) into {len(columns)} column(s).")
        unknown = [column for column in columns if column not in names]
        if unknown or len(set(columns)) != len(columns):
            what = unknown[0] if unknown else next(column for column in columns if columns.count(column) > 1)
            raise StatementError("COLUMN_NOT_FOUND", f"Insert column name does not exist in target table, or twice: {what}")
        self.values = dict(zip(columns, values, strict=True))
