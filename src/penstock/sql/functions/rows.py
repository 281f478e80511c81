"""The port of the table of functions: one :class:`Row` for each function and operator of Trino's reference.

An area's module has ``ROWS``, a sequence of rows, and ``DEFINITIONS``, what the engine needs beside its own functions.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from sqlglot import exp

from penstock.sql.errors import StatementError
from penstock.sql.positions import position_of
from penstock.sql.trino_types import Type

__all__ = [
    "STAND_IN",
    "ArrowFunction",
    "Call",
    "Definition",
    "Macro",
    "Returns",
    "Row",
    "Types",
    "Write",
    "call_engine",
    "fail",
    "first_type",
    "refuse",
    "renamed",
    "same",
    "strict",
]

Types = Sequence[Type | None]
"""The types of a call's arguments, in order; None where the type is not known."""

Returns = Type | Callable[[Types], Type | None] | None
"""The type of a result: always the same, by the types of the arguments, or not known."""


STAND_IN = "penstock_operand"
"""In the ``meta`` of a node that stands for an operand which is computed once; see :mod:`penstock.sql.once`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call in a query. Its arguments are translated already; ``types`` are Trino's types of them.

    What stands around an aggregate is kept apart: DISTINCT, ORDER BY, FILTER, IGNORE NULLS, OVER. :meth:`engine` puts it
    back around the engine's function.
    """

    name: str
    arguments: Sequence[exp.Expr]
    types: Types
    node: exp.Expr
    """The call's own node: its further args (of CAST, EXTRACT, JSON_VALUE), and its position."""
    distinct: bool = False
    order: Sequence[exp.Expr] = ()
    around: Sequence[exp.Expr] = ()
    """Filter, IgnoreNulls and Window nodes, from the inside to the outside."""
    beside: Types = ()
    """The types of what the row's ``beside`` names."""

    def engine(self, name: str, *arguments: exp.Expr) -> exp.Expr:
        """Return the call of the engine's aggregate or window function ``name`` with everything around it."""
        if any(isinstance(node, exp.IgnoreNulls | exp.RespectNulls) for node in self.around):
            raise self.error(
                f"Cannot specify null treatment clause for {self.name} function", code="NULL_TREATMENT_NOT_ALLOWED"
            )
        inside = list(arguments)
        if self.distinct and inside:
            inside = [exp.Distinct(expressions=inside)]
        if self.order and inside:
            inside[-1] = exp.Order(this=inside[-1], expressions=[node.copy() for node in self.order])
        result: exp.Expr = exp.Anonymous(this=name, expressions=inside)
        for node in self.around:
            outer = node.copy()
            outer.set("this", result)
            result = outer
        return result

    @property
    def is_windowed(self) -> bool:
        """Whether the call has OVER."""
        return any(isinstance(node, exp.Window) for node in self.around)

    def text(self, number: int) -> str | None:
        """Return the value of an argument that is a string literal, else None."""
        if number >= len(self.arguments):
            return None
        literal = self.arguments[number]
        return literal.name if isinstance(literal, exp.Literal) and literal.is_string else None

    def known_type(self, number: int = 0) -> Type:
        """Return the type of an argument; raise :class:`StatementError` where it is not known."""
        type_ = self.types[number]
        if type_ is None:
            raise self.error(
                f"{self.name} is not supported for a value whose type is not known.",
                code="NOT_SUPPORTED",
                remedy="CAST the argument to its type.",
            )
        return type_

    def error(self, message: str, *, code: str = "INVALID_FUNCTION_ARGUMENT", remedy: str | None = None) -> StatementError:
        """Return the error to raise about this call, with its position."""
        return StatementError(code, message, position=position_of(self.node), remedy=remedy)

    def unexpected(self, expected: str) -> StatementError:
        """Return Trino's error for arguments whose types do not fit."""
        types = ", ".join(str(type_) if type_ else "unknown" for type_ in self.types)
        return self.error(
            f"Unexpected parameters ({types}) for function {self.name}. Expected: {expected}", code="FUNCTION_NOT_FOUND"
        )


Write = Callable[[Call], exp.Expr]
"""Returns the engine's expression for a call."""


Arity = int | tuple[int, int | None]
"""A number of arguments, or the least and the greatest; None is any number."""


@dataclass(frozen=True, slots=True)
class Row:
    """A function or operator: how it is served, or why not."""

    name: str
    """Trino's name in lower case, or the sign of an operator."""
    _: KW_ONLY
    arity: Arity = (0, None)
    returns: Returns = None
    node_type: Callable[[exp.Expr], Type | None] | None = None
    """The type of a result that the parser's node tells, such as that of a CAST; it is used instead of ``returns``."""
    write: Write | None = None
    """The engine's expression for a call; None calls the engine's function of the same name."""
    refused: str | None = None
    """Why it is refused."""
    remedy: str | None = None
    note: str = ""
    """For the documentation: where the result may differ."""
    nodes: tuple[type[exp.Expr], ...] = ()
    """The parser's nodes of an operator or of a call with a syntax of its own; a plain call is found by its name."""
    operands: Callable[[exp.Expr], Sequence[exp.Expr]] | None = None
    """Which of the parts of a parser's node are the arguments; all of them if it is None."""
    beside: Callable[[exp.Expr], Sequence[exp.Expr]] | None = None
    """Further parts of the node, whose types have no part in the result's."""
    repeatable: bool = True
    """Whether the same arguments always give the same result."""
    volatile: bool = False
    """Whether each evaluation has a result of its own, even within a statement."""
    kind: Literal["scalar", "aggregate", "window"] = "scalar"
    lambdas: Callable[[Types], Sequence[Types]] | None = None
    """For the types of the arguments that are not lambdas, the types of each lambda's parameters."""
    distinct: bool = True
    """Whether an aggregate accepts DISTINCT."""

    @property
    def bounds(self) -> tuple[int, int | None]:
        """The least and the greatest number of arguments; None is any number."""
        return (self.arity, self.arity) if isinstance(self.arity, int) else self.arity

    def result(self, call: Call) -> Type | None:
        """Return the type of the result of ``call``."""
        if self.node_type is not None:
            return self.node_type(call.node)
        return self.returns(call.types) if callable(self.returns) else self.returns


class Macro:
    """A SQL macro of the engine: ``name`` begins with ``trino_``; one text ``(parameters) AS expression`` an overload."""

    def __init__(self, name: str, *overloads: str) -> None:
        self.name, self.overloads = name, overloads

    @property
    def sql(self) -> str:
        """The statement that creates it, if it is not there."""
        return f"CREATE MACRO IF NOT EXISTS {self.name}{', '.join(self.overloads)}"


@dataclass(frozen=True, slots=True)
class ArrowFunction:
    """A function in Python over Arrow arrays: for what the engine's SQL cannot express. NULLs are the function's to treat.

    ``function`` gets one :class:`pyarrow.ChunkedArray` or array for each of ``parameters`` (the engine's types) and
    returns an array of ``returns``. None as ``parameters`` takes any number of values of any types.
    """

    name: str
    parameters: Sequence[str] | None
    returns: str
    function: Callable[..., Any]


Definition = Macro | ArrowFunction


def same(names: str, arity: Arity = (0, None), returns: Returns = None, **others: Any) -> Iterable[Row]:
    """Return a row for each of the ``names`` (with blanks between) that the engine's function of that name computes."""
    return [Row(name, arity=arity, returns=returns, **others) for name in names.split()]


def renamed(name: str, engine: str, arity: Arity = (0, None), returns: Returns = None, **others: Any) -> Row:
    """Return the row of a function that the engine's function, or our macro, ``engine`` computes from the same arguments."""
    return Row(name, arity=arity, returns=returns, write=lambda call: call.engine(engine, *call.arguments), **others)


def refuse(names: str, why: str, remedy: str | None = None, **others: Any) -> Iterable[Row]:
    """Return a row for each of the ``names`` that is refused."""
    return [Row(name, refused=why, remedy=remedy, **others) for name in names.split()]


def first_type(types: Types) -> Type | None:
    """Return the type of a result that is the first argument's."""
    return types[0]


def call_engine(name: str, *arguments: exp.Expr) -> exp.Expr:
    """Return the call of the engine's scalar function, or of a macro."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def strict(parameters: str, expression: str) -> str:
    """Return a macro's overload whose result is NULL if one of its arguments is, as that of Trino's functions is."""
    not_null = " AND ".join(f"{part.split()[0]} IS NOT NULL" for part in parameters.split(","))
    return f"({parameters}) AS CASE WHEN {not_null} THEN {expression} END"


def fail(message: str, type_: str = "INTEGER", *, code: str = "INVALID_FUNCTION_ARGUMENT") -> str:
    """Return SQL for a macro that fails with Athena's ``code``, as an expression of the engine's type ``type_``.

    A cast that cannot succeed, and not the engine's ``error``: that one is volatile, which TRY does not accept.
    """
    text = f"TRINO[{code}] {message}".replace("'", "''")
    return f"CAST(CAST('{text}' AS INTEGER) AS {type_})"
