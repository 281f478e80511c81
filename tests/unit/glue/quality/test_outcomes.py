"""Numbers against conditions, and the outcomes of rules."""

from collections.abc import Sequence

import pytest

from penstock.glue.quality.outcomes import (
    NoHistory,
    Outcome,
    combined,
    evaluated_text,
    holds,
    outcome_of,
    shown,
    with_numbers,
)
from penstock.glue.quality.parsing import parse
from penstock.glue.quality.rulesets import Condition, Number, Rule


def rule(text: str) -> Rule:
    (found,) = parse(f"Rules = [ {text} ]").rules
    assert isinstance(found, Rule)
    return found


def condition(text: str) -> Condition:
    result = rule(f"RowCount {text}").condition
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("text", "fulfil", "others"),
    [
        ("between 1 and 3", [1.5, 2], [1, 3, 0]),  # both bounds are excluded
        ("not between 1 and 3", [1, 3, 0], [2]),
        ("> 2", [2.5], [2]),
        (">= 2", [2], [1.9]),
        ("< 2", [1.9], [2]),
        ("<= 2", [2], [2.1]),
        ("= 2", [2.0], [2.1]),
        ("!= 2", [2.1], [2]),
        ("in [1,2]", [1, 2.0], [3]),
        ("not in [1,2]", [3], [1]),
    ],
)
def test_numbers_fulfil_conditions(text: str, fulfil: Sequence[float], others: Sequence[float]) -> None:
    assert [holds(condition(text), item) for item in fulfil] == [True] * len(fulfil)
    assert [holds(condition(text), item) for item in others] == [False] * len(others)
    assert not holds(condition(text), float("nan"))


def test_a_failure_has_deequs_words() -> None:
    failed = outcome_of(rule('Completeness "a" > 0.9'), 0.75, {"Column.a.Completeness": 0.75})
    assert (failed.status, failed.reason) == ("Failed", "Value: 0.75 does not meet the constraint requirement!")
    assert outcome_of(rule("RowCount > 5"), 3, {}).reason == "Value: 3 does not meet the constraint requirement!"
    assert outcome_of(rule("RowCount > 5"), 6, {}).reason is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (3.0, "3.0"),
        (0.1, "0.1"),
        (12345678.0, "1.2345678E7"),
        (1e10, "1.0E10"),
        (0.0005, "5.0E-4"),
        (1e-7, "1.0E-7"),
        (-2.5e20, "-2.5E20"),
        (0.0, "0.0"),
    ],
)
def test_numbers_are_shown_as_java_prints_them(value: float, text: str) -> None:
    assert shown(value) == text


def test_composites_have_the_reasons_and_metrics_of_all() -> None:
    one = Outcome(rule="A", passed=True, metrics={"a": 1.0}, evaluated="A")
    two = Outcome(rule="B", passed=False, reason="no", metrics={"b": 2.0}, evaluated="B")
    either, both = combined("(A) OR (B)", "OR", [one, two]), combined("(A) AND (B)", "AND", [one, two])
    assert (either.status, both.status) == ("Passed", "Failed")
    assert (both.reason, both.metrics, both.evaluated) == ("no", {"a": 1.0, "b": 2.0}, "(A) AND (B)")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("> avg(last(3)) * 0.5", 2.0),
        ("> max(last(2)) + 1", 6.0),
        ("> (min(last(3)) - 1) / 2", 1.0),
        ("> sum(last(10))", 12.0),
        ("> median(last(3))", 4.0),
        ("> std(last(2))", 0.5),
        ("> index(last(3),0)", 5.0),
        ("> -1 * avg(last(1))", -5.0),
    ],
)
def test_earlier_values_make_numbers(text: str, number: float) -> None:
    history = [5.0, 4.0, 3.0]
    assert with_numbers(condition(text), lambda count: history[:count]).operands == (Number(number),)


@pytest.mark.parametrize(
    "text", ["> last(3)", "> last(0)", "> last(1,2)", "> avg(3)", "> nothing(last(3))", "> avg(last(3)) / 0", "> last(1.5)"]
)
def test_expressions_that_cannot_be_are_errors(text: str) -> None:
    with pytest.raises(ValueError, match=r"last\(\)|earlier values|divides by zero"):
        with_numbers(condition(text), lambda _: [1.0, 2.0])


def test_without_earlier_values_there_is_no_number() -> None:
    for text in ("> avg(last(3))", "> index(last(3), 2)"):
        with pytest.raises(NoHistory):
            with_numbers(condition(text), lambda _: [])


def test_a_dynamic_rule_is_evaluated_with_its_numbers() -> None:
    result = rule('RowCount between 0.5 * avg(last(2)) and 10 where "a > 1"')
    assert result.condition is not None
    known = with_numbers(result.condition, lambda _: [4.0, 6.0])
    assert evaluated_text(result, known) == 'RowCount between 2.5 and 10.0 where "a > 1"'
