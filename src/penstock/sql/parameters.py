"""The parameters of a prepared statement that has no values yet: which they are, and the types that they take.

A parameter is a NULL of unknown type. What stands beside it tells its type, as in Trino's analysis, where it is coerced to
the common type of an operator's operands. Source: Trino's documentation, "DESCRIBE INPUT".
"""

from collections.abc import Sequence

from sqlglot import exp

from penstock.sql.queries import parameter_places
from penstock.sql.trino_types import BIGINT, Type, common

__all__ = ["infer", "numbered", "parameter_types"]

STATEMENT_PARAMETER = "penstock_parameter"
"""The function that stands for a question mark in a text, and in the ``meta`` of the NULL that it becomes: its types, and
its number."""


def numbered(text: str) -> tuple[str, int]:
    """Return ``text`` with a call of its number for each question mark, and how many there are."""
    places = parameter_places(text)
    for number, place in reversed(list(enumerate(places))):
        text = f"{text[: place.start]} {STATEMENT_PARAMETER}({number}) {text[place.end + 1 :]}"
    return text, len(places)


def parameter_types(tree: exp.Expr, count: int) -> list[Type | None]:
    """Make NULLs of the calls that :func:`numbered` wrote; return their types, which translating ``tree`` fills in."""
    types: list[Type | None] = [None] * count
    for node in [node for node in tree.find_all(exp.Anonymous) if node.name == STATEMENT_PARAMETER]:
        number = int(node.expressions[0].name)
        if isinstance(node.parent, exp.Limit | exp.Offset | exp.Fetch):
            types[number] = BIGINT
        null = exp.Null()
        null.meta[STATEMENT_PARAMETER] = (_Noted(types), number)
        node.replace(null)
    return types


class _Noted:
    """A list of types that copies of a node share."""

    def __init__(self, types: list[Type | None]) -> None:
        self.types = types

    def __deepcopy__(self, _: object) -> "_Noted":
        return self


def infer(arguments: Sequence[exp.Expr], types: Sequence[Type | None]) -> None:
    """Note the types of the parameters among an operator's ``arguments``, whose types are ``types``."""
    for number, argument in enumerate(arguments):
        noted = argument.unnest().meta.get(STATEMENT_PARAMETER)
        if noted is not None:
            shared = common([type_ for at, type_ in enumerate(types) if at != number and type_ is not None])
            if shared is not None and shared.name != "unknown":
                noted[0].types[noted[1]] = shared
