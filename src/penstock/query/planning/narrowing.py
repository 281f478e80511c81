"""Move conditions of a query on a view's columns into the view, so that its tables are pruned by them, too."""

from collections.abc import Callable, Collection, Mapping, Sequence

from sqlglot import exp

__all__ = ["narrow"]

# With one of these, leaving out rows before it would change what the view returns for the others.
_WHOLE = ("group", "having", "distinct", "limit", "offset", "qualify", "windows", "laterals", "sample", "match")


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
    found: dict[str, exp.Column] = {}
    names = []
    for projection in tree.expressions:
        column = projection.this if isinstance(projection, exp.Alias) else projection
        name = projection.alias_or_name.lower()
        names.append(name)
        if isinstance(column, exp.Column) and not isinstance(column.this, exp.Star):
            found[name] = column
    return {name: column for name, column in found.items() if names.count(name) == 1}
