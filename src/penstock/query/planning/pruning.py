"""Find the partitions that a query can need: conditions on partition keys, taken from its WHERE and inner joins.

A condition is only ever weakened (an unknown part counts as true), so a partition is left out only if none of its rows
can pass. The engine that runs the query evaluates the conditions over the catalog's values.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from penstock.catalog.model import Column, Table

__all__ = ["conditions_on", "has_outer_join", "narrow"]

# With one of these in a view, leaving out rows before it would change what the view returns for the others.
_WHOLE = ("group", "having", "distinct", "limit", "offset", "qualify", "windows", "laterals", "sample", "match")

_UNSTABLE = (exp.Query, exp.Subquery, exp.Window, exp.AggFunc, exp.Rand, exp.Randn, exp.Uuid, exp.Placeholder, exp.Lambda)
_UNSTABLE_NAMES = frozenset({"random", "trino_random", "trino_shuffle", "uuid"})  # the engine's, and our macros


def conditions_on(scope: Scope, alias: str, tables: Mapping[str, Table], columns: Collection[str]) -> Sequence[exp.Expr]:
    """Return conditions on ``columns`` (lower case) that are all true for every row of ``alias`` the query can use.

    ``tables`` maps the scope's sources to tables of the catalog; conditions name columns without a table.
    An outer join may leave the alias's columns NULL; the caller has to evaluate each condition with NULLs, too.
    """
    query = scope.expression
    if not isinstance(query, exp.Select):
        return []
    keys = set(columns)
    others = {column.name.lower() for name, table in tables.items() if name != alias for column in _columns(table)}
    sole = set(tables) == set(scope.sources) and not query.args.get("laterals") and not query.find(exp.Unnest, exp.Lateral)
    bare = keys - others if sole else set()
    conditions = [_weakened(conjunct, alias.lower(), keys, bare) for conjunct in _conjuncts(query)]
    return [condition for condition in conditions if condition is not None]


def _columns(table: Table) -> Iterator[Column]:
    yield from table.storage.columns
    yield from table.partition_keys


def _conjuncts(query: exp.Select) -> Iterator[exp.Expr]:
    where = query.args.get("where")
    if where is not None:
        yield from _flat(where.this)
    joins = query.args.get("joins") or []
    if all(_is_inner(join) for join in joins):
        for join in joins:
            if join.args.get("on") is not None:
                yield from _flat(join.args["on"])


def has_outer_join(scope: Scope) -> bool:
    """Return whether a join of the scope may leave a table's columns NULL."""
    return not all(_is_inner(join) for join in scope.expression.args.get("joins") or [])


def _is_inner(join: exp.Join) -> bool:
    return not join.side and join.kind in {"", "INNER", "CROSS"} and not join.method


def _flat(condition: exp.Expr) -> Iterator[exp.Expr]:
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        yield from _flat(condition.left)
        yield from _flat(condition.right)
    else:
        yield condition


def _weakened(condition: exp.Expr, alias: str, keys: set[str], bare: set[str]) -> exp.Expr | None:
    """Return what ``condition`` implies about the columns ``keys`` alone, None if that is nothing."""
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        parts = [_weakened(node, alias, keys, bare) for node in (condition.left, condition.right)]
        known = [part for part in parts if part is not None]
        return exp.and_(*known, copy=False) if known else None
    if isinstance(condition, exp.Or):
        parts = [_weakened(node, alias, keys, bare) for node in (condition.left, condition.right)]
        known = [part for part in parts if part is not None]
        return exp.or_(*known, copy=False) if len(known) == len(parts) else None
    return _own(condition, alias, keys, bare)


def _own(condition: exp.Expr, alias: str, keys: set[str], bare: set[str]) -> exp.Expr | None:
    columns = list(condition.find_all(exp.Column))
    if not columns or condition.find(*_UNSTABLE) is not None:
        return None
    if any(node.name.lower() in _UNSTABLE_NAMES for node in condition.find_all(exp.Anonymous)):
        return None
    for column in columns:
        name, table = column.name.lower(), column.table.lower()
        if column.args.get("db") is not None or name not in (keys if table == alias else bare if not table else ()):
            return None
    copy = condition.copy()
    for column in copy.find_all(exp.Column):
        column.set("table", None)
    return copy


def narrow(tree: exp.Query, conditions: Callable[[Collection[str]], Sequence[exp.Expr]]) -> None:
    """Add to the view's query ``tree`` the conditions on columns that it only passes on. Other queries do not change."""
    if not isinstance(tree, exp.Select) or any(tree.args.get(part) for part in _WHOLE):
        return
    if any(tree.find_all(exp.AggFunc, exp.Window, exp.Unnest)):
        return
    if any(join.side or join.kind not in {"", "INNER", "CROSS"} or join.method for join in tree.args.get("joins") or ()):
        return
    passed = _passed(tree)
    for condition in conditions(list(passed)):
        # A condition names only columns that are passed on.
        inner = condition.transform(lambda node: passed[node.name.lower()].copy() if isinstance(node, exp.Column) else node)
        tree.where(exp.paren(inner), copy=False)


def _passed(tree: exp.Select) -> Mapping[str, exp.Column]:
    """Return the columns of tables that are columns of the result as they are, by their names there in lower case."""
    columns: dict[str, exp.Column] = {}
    names = []
    for projection in tree.expressions:
        column = projection.this if isinstance(projection, exp.Alias) else projection
        name = projection.alias_or_name.lower()
        names.append(name)
        if isinstance(column, exp.Column) and not isinstance(column.this, exp.Star):
            columns[name] = column
    return {name: column for name, column in columns.items() if names.count(name) == 1}
