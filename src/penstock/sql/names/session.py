"""What a statement names of its session: ``current_schema`` and ``current_catalog``."""

from sqlglot import exp

__all__ = ["with_session"]


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
