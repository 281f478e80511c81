"""Where a node of a syntax tree stands in the SQL text."""

from sqlglot import exp

from penstock.sql.errors import Position

__all__ = ["position_of"]


def position_of(node: exp.Expr) -> Position | None:
    """Return where ``node`` begins in the SQL text, or None if the parser did not keep it."""
    first = (
        [node.args[part] for part in ("catalog", "db", "this") if node.args.get(part)] if isinstance(node, exp.Table) else []
    )
    for item in (*first, *node.walk(bfs=False)):
        meta = item.meta
        if "line" in meta and "col" in meta:
            width = int(meta.get("end", 0)) - int(meta.get("start", 0))
            return Position(int(meta["line"]), max(1, int(meta["col"]) - width))
    return None
