"""What a call's operands compute is computed once, however often the call's row writes them.

A row may write an operand several times: the engine computes equal expressions of a row's columns once, but not a subquery,
and a call such as ``random()`` has another value each time. So a row gets a stand-in for an operand with one of them inside.
If the stand-in is in the row's expression more than once, the operand becomes the argument of a lambda around it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from penstock.query.dialect.functions.nested.lambdas import applied, fresh, function
from penstock.query.dialect.functions.rows import STAND_IN, Call, Write, call_engine

__all__ = ["Costly", "written_once"]


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
    by_id = {id(each): stand_in for each, stand_in in zip(costly, stand_ins, strict=True)}
    arguments = [by_id.get(id(each), each) for each in call.arguments]
    for each, stand_in in zip(costly, stand_ins, strict=True):
        each.replace(stand_in)
    result = write(replace(call, arguments=arguments))
    uses = [node for node in result.find_all(exp.Column) if STAND_IN in node.meta]
    numbers = [node.meta[STAND_IN] for node in uses]
    if len(set(numbers)) == len(numbers) and not any(_is_repeated(node) for node in uses):
        return _filled(result, uses, dict(enumerate(costly)))
    name = fresh("once", exp.Tuple(expressions=[each.copy() for each in (result, *costly)]))
    if len(costly) == 1:
        values: Mapping[int, exp.Expr] = {0: exp.to_identifier(name)}
        given = costly[0]
    else:
        values = {
            at: call_engine("struct_extract_at", exp.to_identifier(name), exp.Literal.number(at + 1))
            for at in range(len(costly))
        }
        given = call_engine("row", *costly)
    return applied(function(name, _filled(result, uses, values)), given)


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
