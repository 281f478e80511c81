"""What a call's operands compute is computed once, however often the call's row writes them.

A row may write an operand several times: the engine computes equal expressions of a row's columns once, but not a subquery,
and a call such as ``random()`` has another value each time. So a row gets a stand-in for an operand with one of them inside.
If the stand-in is in the row's expression more than once, the operand becomes the argument of a lambda around it.

An aggregate or a window's value is such an operand too: the engine chooses a macro's overload before it knows their types,
and refuses them inside TRY. The parameter of a lambda has its type, and is an ordinary value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from penstock.sql.functions.nested.lambdas import applied, fresh, function
from penstock.sql.functions.rows import STAND_IN, Call, Write, call_engine

__all__ = ["Costly", "has_rows_value", "note_rows_value", "tried", "written_once"]

_OF_ROWS = "penstock_of_rows"
"""In the ``meta`` of the engine's expression of an aggregate or a window: a value of several rows."""


class Costly:
    """The costly parts of the operands of the calls that are being translated, from the outside to the inside."""

    def __init__(self) -> None:
        self._found: list[exp.Expr] = []

    def mark(self) -> int:
        """Return the place from which on the parts of a call will be that begins here."""
        return len(self._found)

    def add(self, node: exp.Expr, mark: int) -> None:
        """Note that ``node``, which has all parts since ``mark`` inside, is costly."""
        self._found[mark:] = [node]

    def forget(self, mark: int) -> None:
        """Forget the parts since ``mark``, which cannot be computed outside of what they are in."""
        del self._found[mark:]

    def since(self, mark: int) -> Sequence[exp.Expr]:
        """Return the parts since ``mark``."""
        return self._found[mark:]


def written_once(write: Write, call: Call, costly: Sequence[exp.Expr]) -> exp.Expr:
    """Return what ``write`` makes of ``call`` with each of ``costly``, parts of its operands, in it once.

    Returns the engine's expression. Raises what ``write`` raises.
    """
    stand_ins = [_stand_in(number) for number in range(len(costly))]
    by_id = {id(node): stand_in for node, stand_in in zip(costly, stand_ins, strict=True)}
    arguments = [by_id.get(id(argument), argument) for argument in call.arguments]
    for item, stand_in in zip(costly, stand_ins, strict=True):
        item.replace(stand_in)
    result = write(replace(call, arguments=arguments))
    uses = [node for node in result.find_all(exp.Column) if STAND_IN in node.meta]
    numbers = [node.meta[STAND_IN] for node in uses]
    if len(set(numbers)) == len(numbers) and not any(_is_repeated(node) for node in uses):
        return _filled(result, uses, dict(enumerate(costly)))
    return _given(result, uses, costly, "once")


def _given(result: exp.Expr, uses: Sequence[exp.Expr], values: Sequence[exp.Expr], name: str) -> exp.Expr:
    """Return ``result`` in a lambda over ``values``: its parameter is in the places of the stand-ins ``uses``."""
    name = fresh(name, exp.Tuple(expressions=[node.copy() for node in (result, *values)]))
    if len(values) == 1:
        parameters: Mapping[int, exp.Expr] = {0: exp.to_identifier(name)}
        value = values[0]
    else:
        parameters = {
            at: call_engine("struct_extract_at", exp.to_identifier(name), exp.Literal.number(at + 1))
            for at in range(len(values))
        }
        value = call_engine("row", *values)
    return applied(function(name, _filled(result, uses, parameters)), value)


def note_rows_value(node: exp.Expr) -> None:
    """Note that ``node`` is the engine's expression of an aggregate or of a window's value."""
    node.meta[_OF_ROWS] = True


def has_rows_value(node: exp.Expr) -> bool:
    """Return whether an aggregate or a window's value is in ``node``, and not in a subquery of its own."""
    return next(_rows_values(node), None) is not None


def tried(node: exp.Expr) -> exp.Expr:
    """Return ``node``; if it is TRY, in a lambda, with its aggregates, windows and subqueries computed outside of it.

    So they are in Trino, which plans them before the expression; the engine refuses them inside. Parts that TRY has twice
    the engine computes once, before TRY and in spite of it, but not those of a lambda.
    """
    if not (isinstance(node, exp.Anonymous) and node.name == "try"):
        return node
    values = list(_rows_values(node, subqueries=True))
    if not values:
        return _given(node, [], [exp.Literal.number(1)], "tried") if node.find(exp.Column) is not None else node
    uses = [_stand_in(number) for number in range(len(values))]
    for item, stand_in in zip(values, uses, strict=True):
        item.replace(stand_in)
    return _given(node, uses, values, "tried")


def _rows_values(node: exp.Expr, *, subqueries: bool = False) -> Iterator[exp.Expr]:
    """Yield the aggregates and windows, and the ``subqueries``, in a translated expression, without what is in them."""
    query = isinstance(node, exp.Query | exp.Exists) or (isinstance(node, exp.In) and node.args.get("query") is not None)
    if _OF_ROWS in node.meta or (query and subqueries):
        yield node
    elif not query:
        for child in node.iter_expressions():
            yield from _rows_values(child, subqueries=subqueries)


def _stand_in(number: int) -> exp.Expr:
    column = exp.column(f"trino_operand_{number}")
    column.meta[STAND_IN] = number
    return column


def _is_repeated(node: exp.Expr) -> bool:
    """Whether what stands here may be computed several times: in a lambda, or as the argument of a macro."""
    above = node.parent
    while above is not None:
        if isinstance(above, exp.Lambda) or (isinstance(above, exp.Anonymous) and above.name.startswith("trino_")):
            return True
        above = above.parent
    return False


def _filled(result: exp.Expr, uses: Sequence[exp.Expr], values: Mapping[int, exp.Expr]) -> exp.Expr:
    """Return ``result`` with the values in the places of the stand-ins; a value that has a place already is copied."""
    for node in uses:
        value = values[node.meta[STAND_IN]]
        if value.parent is not None:
            value = value.copy()
        if node is result:
            return value
        node.replace(value)
    return result
