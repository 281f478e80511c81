"""Lambda expressions: their parameters' types, and their bodies with values in the place of the parameters."""

from collections.abc import Mapping

from sqlglot import exp

from penstock.sql.functions.rows import Call

__all__ = ["applied", "body", "fresh", "function", "lambda_of"]


def lambda_of(call: Call, number: int, parameters: int) -> exp.Lambda:
    """Return a call's argument that must be a lambda with that many parameters."""
    argument = call.arguments[number]
    if not isinstance(argument, exp.Lambda) or len(argument.expressions) != parameters:
        raise call.error(
            f"Unexpected parameters for function {call.name}: argument {number + 1} must be a lambda of {parameters} "
            f"parameter{'s' if parameters > 1 else ''}.",
            code="FUNCTION_NOT_FOUND",
        )
    return argument


def fresh(name: str, inside: exp.Expr) -> str:
    """Return a name for a parameter of ours that no lambda ``inside`` uses. Nested ones need names of their own."""
    start = f"trino_{name}_"
    used = (node.name.removeprefix(start) for node in inside.find_all(exp.Identifier) if node.name.startswith(start))
    return f"{start}{max(map(int, used), default=0) + 1}"


def function(parameter: str, expression: exp.Expr) -> exp.Lambda:
    """Return the engine's lambda of one parameter."""
    return exp.Lambda(this=expression, expressions=[exp.to_identifier(parameter)])


def body(function_: exp.Lambda, *values: exp.Expr) -> exp.Expr:
    """Return the lambda's expression with ``values`` in the place of its parameters, in brackets."""
    names = {expression.name.lower(): value for expression, value in zip(function_.expressions, values, strict=True)}
    return exp.Paren(this=_replaced(function_.this.copy(), names))


def applied(function_: exp.Lambda, value: exp.Expr) -> exp.Expr:
    """Return the lambda of one parameter applied to ``value``, which is computed once."""
    if (
        isinstance(function_.this, exp.Identifier | exp.Column)
        and function_.this.name.lower() == function_.expressions[0].name.lower()
    ):
        return value
    listed = exp.Anonymous(this="list_value", expressions=[value])
    mapped = exp.Anonymous(this="list_transform", expressions=[listed, function_])
    return exp.Anonymous(this="list_extract", expressions=[mapped, exp.Literal.number(1)])


def _replaced(node: exp.Expr, names: Mapping[str, exp.Expr]) -> exp.Expr:
    if not names:
        return node
    if _is_name(node) and node.name.lower() in names:
        return names[node.name.lower()].copy()
    if isinstance(node, exp.Column) and node.table and node.parts[0].name.lower() in names:
        return _field_of(node, names)
    inner = names
    if isinstance(node, exp.Lambda):
        own = {expression.name.lower() for expression in node.expressions}
        inner = {name: value for name, value in names.items() if name not in own}
        node.set("this", _replaced(node.this, inner))
        return node
    for key, value in list(node.args.items()):
        if isinstance(value, list):
            node.set(key, [_replaced(item, inner) if isinstance(item, exp.Expr) else item for item in value])
        elif isinstance(value, exp.Expr) and not _is_label(node, key):
            node.set(key, _replaced(value, inner))
    return node


def _is_name(node: exp.Expr) -> bool:
    return isinstance(node, exp.Identifier) or (isinstance(node, exp.Column) and not node.table)


def _is_label(node: exp.Expr, key: str) -> bool:
    """Whether the child is a name of something, and no value: a field, an alias, a type."""
    return (isinstance(node, exp.Dot) and key == "expression") or key in {"alias", "to", "kind", "unit"}


def _field_of(node: exp.Column, names: Mapping[str, exp.Expr]) -> exp.Expr:
    first, *fields = node.parts
    result: exp.Expr = names[first.name.lower()].copy()
    for field in fields:
        result = exp.Anonymous(this="struct_extract", expressions=[result, exp.Literal.string(field.name)])
    return result
