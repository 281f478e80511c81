"""A ruleset of DQDL as a value: rules, what they compare with, and how AWS writes each rule.

Source: AWS Glue Developer Guide, "Data Quality Definition Language (DQDL) reference".
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from penstock.errors import InvalidInput

__all__ = [
    "COMPARISONS",
    "Analyzer",
    "Call",
    "Composite",
    "Condition",
    "Duration",
    "Keyword",
    "Moment",
    "Number",
    "Operand",
    "Operation",
    "Rule",
    "Ruleset",
    "RulesetError",
    "Text",
]

COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
"""The operators of conditions with one operand, for numbers and for columns alike."""


class RulesetError(InvalidInput):
    """A ruleset that cannot be read, or a rule that cannot be served; the message names line and column."""

    def __init__(self, message: str, line: int, column: int, *, remedy: str | None = None) -> None:
        super().__init__(f"Ruleset, line {line}, column {column}: {message}", remedy=remedy)
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the ruleset."""

    value: float


@dataclass(frozen=True, slots=True)
class Call:
    """A function over earlier results, as ``avg(last(10))``."""

    name: str
    arguments: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """``left + right``, ``-``, ``*`` or ``/``."""

    sign: str
    left: "Expression"
    right: "Expression"


Expression = Number | Call | Operation


@dataclass(frozen=True, slots=True)
class Text:
    """A text in double quotes."""

    value: str


@dataclass(frozen=True, slots=True)
class Keyword:
    """``NULL``, ``EMPTY`` or ``WHITESPACES_ONLY``."""

    name: str


@dataclass(frozen=True, slots=True)
class Moment:
    """A date: ``2024-01-31``, or the time of the evaluation and ``hours`` from it (of ``now() - 3 days`` -72)."""

    date: str | None = None
    hours: float = 0


@dataclass(frozen=True, slots=True)
class Duration:
    """A span of time of so many ``hours``."""

    hours: float


Operand = Number | Call | Operation | Text | Keyword | Moment | Duration


@dataclass(frozen=True, slots=True)
class Condition:
    """What a value is compared with.

    ``operand_type`` is that of the operands: numbers, dates, durations or texts; keywords can be among each but durations.
    """

    operator: Literal["=", "!=", ">", ">=", "<", "<=", "between", "in", "matches"]
    operands: tuple[Operand, ...]
    negated: bool = False
    """Of ``between``, ``in`` and ``matches``."""

    @property
    def operand_type(self) -> Literal["number", "date", "duration", "text"]:
        """The type of the operands."""
        others = [operand for operand in self.operands if not isinstance(operand, Keyword)]
        if others and all(isinstance(item, Number | Call | Operation) for item in others):
            return "number"
        if others and all(isinstance(item, Moment) for item in others):
            return "date"
        return "duration" if others and all(isinstance(item, Duration) for item in others) else "text"

    @property
    def is_dynamic(self) -> bool:
        """Whether it needs results of earlier evaluations."""
        return any(isinstance(operand, Call | Operation) for operand in self.operands)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule. ``text`` is the rule as AWS's results name it."""

    type: str
    parameters: tuple[str, ...] = ()
    condition: Condition | None = None
    threshold: Condition | None = None
    where: str | None = None
    tags: tuple[tuple[str, str], ...] = ()
    """Names and values of ``with "name" = "value"``."""
    subject: str = ""
    """The part of ``text`` before the condition."""
    text: str
    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Composite:
    """Rules in parentheses with ``and`` or ``or`` between them."""

    operator: Literal["AND", "OR"]
    rules: tuple["Rule | Composite", ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Analyzer:
    """A statistic that is computed without a rule."""

    type: str
    parameters: tuple[str, ...]
    text: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Ruleset:
    """Rules and analyzers, in the order of the document."""

    rules: Sequence[Rule | Composite]
    analyzers: Sequence[Analyzer] = ()
