"""What an expression of MEASURES or DEFINE refers to: rows of the match, which navigation functions find.

Source: Trino's documentation, "MATCH_RECOGNIZE" (row pattern recognition expressions), and the errors of its analyzer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from penstock.sql.errors import StatementError
from penstock.sql.functions.table import row_of
from penstock.sql.patterns.recognition import MODE, Labels, Variables
from penstock.sql.positions import position_of

__all__ = ["Navigation", "References", "error_at", "is_aggregate", "is_call", "without_children"]

_LOGICAL = ("first", "last")
_PHYSICAL = ("prev", "next")


@dataclass(frozen=True, slots=True)
class Navigation:
    """A row of the match, or one of the partition at a distance from it."""

    labels: Labels
    first: bool = False
    """Whether rows of ``labels`` are counted from the first one, and not back from the last one."""
    logical: int = 0
    """How many rows of ``labels`` are passed."""
    physical: int = 0
    """How many rows of the partition are passed from there, to the back if it is negative."""
    final: bool = False
    """Whether the whole match is seen, and not its rows up to the current one."""


def error_at(node: exp.Expr, code: str, message: str) -> StatementError:
    """Return the error about ``node``."""
    return StatementError(code, message, position=position_of(node))


def is_call(node: exp.Expr, *names: str) -> bool:
    """Return whether ``node`` calls one of the functions ``names``."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in names


def is_aggregate(node: exp.Expr) -> bool:
    """Return whether ``node`` calls an aggregate function."""
    row = row_of(node)
    return row is not None and row.kind == "aggregate"


def without_children(node: exp.Expr) -> bool:
    """Return whether what is in ``node`` belongs to a query of its own."""
    return isinstance(node, exp.Query)


class References:
    """Finds in expressions what refers to the match, by the variables of one clause."""

    def __init__(self, variables: Variables, *, defining: bool) -> None:
        self._variables = variables
        self._defining = defining

    @property
    def universal(self) -> Labels:
        """All primary variables."""
        return self._variables.primary

    def rows_of(self, node: exp.Column) -> tuple[Labels, Sequence[exp.Expr]]:
        """Return the variables whose rows a column is of, and its name without them."""
        parts = list(node.parts)
        labels = self._variables.find(parts[0]) if len(parts) > 1 else None
        return (self._variables.primary, parts) if labels is None else (labels, parts[1:])

    def classified(self, node: exp.Expr) -> Labels:
        """Return the variables whose rows a call of CLASSIFIER is about. Raises :class:`StatementError`."""
        if not node.expressions:
            return self._variables.primary
        (argument, *more) = node.expressions
        labels = self._variables.find(argument.this) if isinstance(argument, exp.Column) and not argument.table else None
        if labels is None or more:
            raise error_at(node, "INVALID_FUNCTION_ARGUMENT", "CLASSIFIER function argument should be a pattern variable")
        return labels

    def all_rows(self, node: exp.Expr) -> Labels | None:
        """Return the variables that all columns and classifiers of ``node`` are of, None if there are none of them.

        Raises :class:`StatementError` if they are of several variables.
        """
        labels = dict.fromkeys(self._labels(node, frozenset()))
        if len(labels) > 1:
            message = "Columns and CLASSIFIER in a navigation or aggregate function must refer to one pattern variable"
            raise error_at(node, "INVALID_ARGUMENTS", message)
        return next(iter(labels), None)

    def _labels(self, node: exp.Expr, parameters: frozenset[str]) -> Iterator[Labels]:
        if without_children(node):
            return
        if isinstance(node, exp.Column):
            if node.parts[0].name.lower() not in parameters:
                yield self.rows_of(node)[0]
            return
        if is_call(node, "classifier"):
            yield self.classified(node)
            return
        if isinstance(node, exp.Lambda):
            parameters |= {expression.name.lower() for expression in node.expressions}
        for child in node.iter_expressions():
            yield from self._labels(child, parameters)

    def navigation(self, node: exp.Expr) -> tuple[Navigation, exp.Expr]:
        """Return the row that a call of FIRST, LAST, PREV or NEXT goes to, and what is evaluated there.

        Raises :class:`StatementError`.
        """
        name = node.name.lower()
        inner, distance = self._arguments(node, 1 if name in _PHYSICAL else 0)
        physical, logical = 0, node
        if name in _PHYSICAL:
            physical = -distance if name == "prev" else distance
            if MODE in node.meta:
                raise error_at(
                    node, "INVALID_PROCESSING_MODE", f"{node.meta[MODE]} semantics is not supported with {name.upper()}"
                )
            logical = inner
        passed, first, mode = 0, False, None
        if is_call(logical, *_LOGICAL):
            inner, passed = self._arguments(logical, 0)
            first, mode = logical.name.lower() == "first", logical.meta.get(MODE)
        if mode == "FINAL" and self._defining:
            raise error_at(logical, "INVALID_PROCESSING_MODE", "FINAL semantics is not supported in DEFINE clause")
        self._check_inside(node, inner)
        labels = self.all_rows(inner)
        if labels is None:
            message = f"Pattern navigation function '{node.name}' must contain at least one column reference or CLASSIFIER()"
            raise error_at(node, "INVALID_ARGUMENTS", message)
        return Navigation(labels, first, passed, physical, mode == "FINAL"), inner

    def _arguments(self, node: exp.Expr, default: int) -> tuple[exp.Expr, int]:
        arguments = node.expressions
        if not 1 <= len(arguments) <= 2:
            raise error_at(
                node, "INVALID_FUNCTION_ARGUMENT", f"{node.name} pattern recognition function requires 1 or 2 arguments"
            )
        if len(arguments) == 1:
            return arguments[0], default
        offset = arguments[1]
        if not (isinstance(offset, exp.Literal) and not offset.is_string and offset.name.isdigit()):
            message = f"{node.name} pattern recognition navigation function requires a number as the second argument"
            raise error_at(node, "INVALID_FUNCTION_ARGUMENT", message)
        number = int(offset.name[:20])
        if number > 2**31 - 1:
            message = f"The second argument of {node.name} must not exceed {2**31 - 1}"
            raise error_at(offset, "NUMERIC_VALUE_OUT_OF_RANGE", message)
        return arguments[0], number

    def _check_inside(self, outer: exp.Expr, node: exp.Expr) -> None:
        if without_children(node):
            return
        if is_call(node, *_LOGICAL, *_PHYSICAL):
            message = f"Cannot nest {node.name} pattern navigation function inside {outer.name} pattern navigation function"
            raise error_at(node, "INVALID_NAVIGATION_NESTING", message)
        if is_aggregate(node):
            message = f"Cannot nest {node.name} aggregate function inside {outer.name} function"
            raise error_at(node, "NESTED_AGGREGATION", message)
        for child in node.iter_expressions():
            self._check_inside(outer, child)
