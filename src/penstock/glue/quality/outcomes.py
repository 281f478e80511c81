"""Numbers against conditions, and the outcome of a rule, without Spark.

Source: AWS Glue Developer Guide, "Expressions" (``between`` excludes both bounds), "Dynamic rules"; the texts of failures
are those of deequ, which AWS Glue Data Quality is built on.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from penstock.glue.quality.rulesets import COMPARISONS, Call, Condition, Expression, Number, Operand, Operation, Rule

__all__ = ["NoHistory", "Outcome", "combined", "evaluated_text", "failed", "holds", "outcome_of", "shown", "with_numbers"]

Last = Callable[[int], Sequence[float]]
"""Returns the newest values of a rule's metric, as many as are asked for at most."""


class NoHistory(Exception):
    """A dynamic rule has no earlier value; the text says what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one rule, as AWS's frame of rule outcomes has it."""

    rule: str
    passed: bool
    reason: str | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    evaluated: str | None = None
    """The rule with the numbers that it was compared with."""

    @property
    def status(self) -> Literal["Passed", "Failed"]:
        """The column Outcome."""
        return "Passed" if self.passed else "Failed"


def failed(rule: Rule, reason: str) -> Outcome:
    """Return the outcome of a rule that cannot be measured."""
    return Outcome(rule=rule.text, passed=False, reason=reason, evaluated=rule.text)


def outcome_of(rule: Rule, value: float, metrics: Mapping[str, float], condition: Condition | None = None) -> Outcome:
    """Return the outcome of a rule whose metric has ``value``; ``condition`` instead of the rule's own."""
    used = condition or rule.condition
    assert used is not None
    passed = holds(used, value)
    reason = None if passed else f"Value: {shown(value)} does not meet the constraint requirement!"
    return Outcome(rule=rule.text, passed=passed, reason=reason, metrics=metrics, evaluated=rule.text)


def combined(text: str, operator: str, outcomes: Sequence[Outcome]) -> Outcome:
    """Return the outcome of rules with ``and`` or ``or`` between them; reasons and metrics are those of all."""
    reasons = [outcome.reason for outcome in outcomes if outcome.reason]
    metrics = {name: value for outcome in outcomes for name, value in outcome.metrics.items()}
    parts = [outcome.evaluated for outcome in outcomes if outcome.evaluated is not None]
    evaluated = f" {operator} ".join(f"({part})" for part in parts) if len(parts) == len(outcomes) else None
    states = [outcome.passed for outcome in outcomes]
    passed = all(states) if operator == "AND" else any(states)
    return Outcome(rule=text, passed=passed, reason="\n".join(reasons) or None, metrics=metrics, evaluated=evaluated)


def holds(condition: Condition, value: float) -> bool:
    """Return whether ``value`` fulfils a condition whose operands are plain numbers; NaN fulfils none."""
    numbers = [operand.value for operand in condition.operands if isinstance(operand, Number)]
    if value != value:  # noqa: PLR0124 NaN
        return False
    if condition.operator == "between":
        result = numbers[0] < value < numbers[1]
    elif condition.operator == "in":
        result = value in numbers
    else:
        result = bool(COMPARISONS[condition.operator](value, numbers[0]))
    return result is not condition.negated


def with_numbers(condition: Condition, last: Last) -> Condition:
    """Return the condition with numbers instead of expressions. Raises :class:`NoHistory`, ``ValueError``."""
    if not condition.is_dynamic:
        return condition
    return Condition(
        condition.operator, tuple(_with_number(operand, last) for operand in condition.operands), condition.negated
    )


def _with_number(operand: Operand, last: Last) -> Operand:
    return Number(_number(operand, last)) if isinstance(operand, Call | Operation) else operand


def _number(node: Expression, last: Last) -> float:
    number = _value(node, last)
    if isinstance(number, float):
        return number
    raise ValueError("last() is a list: write avg(last(10)), or another function around it.")


def _value(node: Expression, last: Last) -> float | Sequence[float]:
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Operation):
        return _computed(node.sign, _number(node.left, last), _number(node.right, last))
    arguments = [_value(argument, last) for argument in node.arguments]
    if node.name == "last":
        count = arguments[0] if arguments else 1.0
        if len(arguments) > 1 or not isinstance(count, float) or not 1 <= count <= 1_000 or count % 1:
            raise ValueError("last() takes a whole number from 1 to 1000.")
        return last(int(count))
    return _called(node.name, arguments)


def _computed(sign: str, left: float, right: float) -> float:
    if sign == "/" and right == 0:
        raise ValueError("a condition divides by zero.")
    return {"+": left + right, "-": left - right, "*": left * right, "/": left / right if right else 0.0}[sign]


_FUNCTIONS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "avg": statistics.fmean,
    "average": statistics.fmean,
    "sum": sum,
    "min": min,
    "max": max,
    "median": statistics.median,
    "std": statistics.pstdev,
}


def _called(name: str, arguments: Sequence[float | Sequence[float]]) -> float:
    values = arguments[0] if arguments else ()
    if name == "index" and len(arguments) == 2 and not isinstance(values, float) and isinstance(arguments[1], float):
        index = int(arguments[1])
        if not 0 <= index < len(values):
            raise NoHistory(f"index {index} of {len(values)} earlier values")
        return float(values[index])
    function = _FUNCTIONS.get(name)
    if function is None or len(arguments) != 1 or isinstance(values, float):
        names = ", ".join(sorted({*_FUNCTIONS, "index"}))
        raise ValueError(f"{name}() is not a function of earlier values. Functions are {names}, each of last(n).")
    if not values:
        raise NoHistory("there are no earlier values")
    return float(function(values))


def evaluated_text(rule: Rule, condition: Condition) -> str:
    """Return a dynamic rule's text with ``condition``, whose expressions have become numbers."""
    where = f' where "{rule.where}"' if rule.where is not None else ""
    return f"{rule.subject} {_compared(condition)}{where}"


def _compared(condition: Condition) -> str:
    """Return a condition over numbers as text."""
    numbers = [shown(operand.value) for operand in condition.operands if isinstance(operand, Number)]
    negated = "not " if condition.negated else ""
    if condition.operator == "between":
        return f"{negated}between {numbers[0]} and {numbers[1]}"
    if condition.operator == "in":
        return f"{negated}in [{','.join(numbers)}]"
    return f"{condition.operator} {numbers[0]}"


def shown(value: float) -> str:
    """Return a number as Java prints it: whole numbers of type int as they are, doubles as 1.0, 1.0E10."""
    if isinstance(value, int):
        return str(value)
    size = abs(value)
    if value % 1 == 0 and size < 1e7:
        return f"{value:.1f}"
    if size >= 1e7 or (0 < size < 1e-3):
        digits, _, exponent = f"{value!r}".partition("e") if "e" in repr(value) else _exponent(value)
        return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"
    return repr(value)


def _exponent(value: float) -> tuple[str, str, str]:
    digits, _, exponent = f"{value:.16e}".partition("e")
    for digits_behind in range(1, 17):
        shorter = f"{value:.{digits_behind}e}"
        if float(shorter) == value:
            digits, _, exponent = shorter.partition("e")
            break
    return digits, "e", exponent
