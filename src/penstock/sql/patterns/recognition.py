"""A MATCH_RECOGNIZE as a value, and its variables.

Source of the errors: Trino's analyzer (PatternRecognitionAnalyzer).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from penstock.sql.errors import StatementError
from penstock.sql.patterns.pattern import Pattern, check_quantifiers, label_of
from penstock.sql.positions import position_of

__all__ = ["FAULT", "MODE", "RECOGNIZED", "REST", "Labels", "Recognition", "RowsPerMatch", "Skip", "Variables"]

RowsPerMatch = Literal["ONE", "SHOW", "OMIT", "UNMATCHED"]
Skip = Literal["PAST", "NEXT", "FIRST", "LAST"]

MODE = "penstock_mode"
"""In the ``meta`` of a call with RUNNING or FINAL before it."""
RECOGNIZED = "penstock_recognized"
"""In the ``meta`` of the subquery that a MATCH_RECOGNIZE became, and of the call in it."""
FAULT = "penstock_fault"
"""In the ``meta`` of such a subquery: the error's code, message, position and remedy, if it cannot be computed."""
REST = "penstock_rest"
"""In the ``meta`` of a star: the names (lower case) of the columns that it does not mean."""


@dataclass(frozen=True, slots=True)
class Recognition:
    """A MATCH_RECOGNIZE as it was written."""

    source: exp.Expr
    partition: Sequence[exp.Expr]
    order: Sequence[exp.Expr]
    measures: Sequence[tuple[exp.Identifier, exp.Expr]]
    rows: RowsPerMatch
    skip: tuple[Skip, exp.Identifier | None]
    pattern: Pattern
    subsets: Sequence[tuple[exp.Identifier, Sequence[exp.Identifier]]]
    definitions: Sequence[tuple[exp.Identifier, exp.Expr]]


Labels = tuple[str, ...]
"""Primary variables in the order of the pattern."""


class Variables:
    """The variables of a clause. Raises :class:`StatementError` for names that do not fit to each other."""

    def __init__(self, clause: Recognition) -> None:
        check_quantifiers(clause.pattern)
        self.primary: Labels = tuple(clause.pattern.labels())
        self._sets: dict[str, Labels] = {label: (label,) for label in self.primary}
        for name, members in clause.subsets:
            self._add_union(name, members)
        self._definitions: dict[str, exp.Expr] = {}
        for name, condition in clause.definitions:
            self._define(name, condition)
        if clause.rows == "UNMATCHED" and (excluded := clause.pattern.first("exclude")) is not None:
            raise StatementError(
                "INVALID_ROW_PATTERN",
                "Pattern exclusion syntax is not allowed when ALL ROWS PER MATCH WITH UNMATCHED ROWS is specified",
                position=excluded.position,
            )
        target = clause.skip[1]
        if target is not None and self.find(target) is None:
            raise _invalid(target, f"{target.name} is not a primary or union pattern variable")

    @property
    def definitions(self) -> Mapping[str, exp.Expr]:
        """The conditions of those primary variables that have one."""
        return self._definitions

    def find(self, name: exp.Expr) -> Labels | None:
        """Return the primary variables that an identifier stands for, None if it is not a variable."""
        return self._sets.get(_label(name)) if isinstance(name, exp.Identifier) else None

    def _add_union(self, name: exp.Identifier, members: Iterable[exp.Identifier]) -> None:
        label = _label(name)
        if label in self.primary:
            message = f"union pattern variable name: {name.name} is a duplicate of primary pattern variable name"
            raise _invalid(name, message)
        if label in self._sets:
            raise _invalid(name, f"union pattern variable name: {name.name} is declared twice")
        labels = set()
        for member in members:
            if _label(member) not in self.primary:
                raise _invalid(member, f"subset element: {member.name} is not a primary pattern variable")
            labels.add(_label(member))
        self._sets[label] = tuple(item for item in self.primary if item in labels)

    def _define(self, name: exp.Identifier, condition: exp.Expr) -> None:
        label = _label(name)
        if label not in self.primary:
            raise _invalid(name, f"defined variable: {name.name} is not a primary pattern variable")
        if label in self._definitions:
            raise _invalid(name, f"pattern variable with name: {name.name} is defined twice")
        self._definitions[label] = condition


def _label(name: exp.Expr) -> str:
    return label_of(name.name, quoted=bool(name.args.get("quoted")))


def _invalid(name: exp.Expr, message: str) -> StatementError:
    return StatementError("INVALID_LABEL", message, position=position_of(name))
