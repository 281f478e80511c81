"""DQDL's documents as values: rules in AWS's own words, and errors with their places."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.glue.quality.evaluation import TYPES
from penstock.glue.quality.parsing import parse
from penstock.glue.quality.rule_types import ANALYZERS, RULE_TYPES
from penstock.glue.quality.rulesets import (
    Call,
    Composite,
    Condition,
    Duration,
    Keyword,
    Moment,
    Number,
    Operation,
    Rule,
    RulesetError,
    Text,
)

LINES = Path(__file__).with_name("rules.txt").read_text(encoding="utf-8").splitlines()[1:]


def only(text: str) -> Rule:
    (rule,) = parse(f"Rules = [ {text} ]").rules
    assert isinstance(rule, Rule)
    return rule


@pytest.mark.parametrize("text", LINES)
def test_a_rule_is_written_as_aws_writes_it(text: str) -> None:
    (rule,) = parse(f"Rules = [ {text} ]").rules
    assert rule.text == text


def test_a_rule_has_its_parts() -> None:
    rule = only('Completeness  of  col_1\n not between 0.5\n and 0.8 where "a > \\"x\\""')
    assert rule.text == 'Completeness of col_1 not between 0.5 and 0.8 where "a > \\"x\\""'
    assert (rule.type, rule.parameters, rule.where) == ("Completeness", ("col_1",), 'a > "x"')
    assert rule.condition == Condition("between", (Number(0.5), Number(0.8)), negated=True)
    assert rule.subject == "Completeness of col_1"
    assert only('IsPrimaryKey "a" "b"').parameters == ("a", "b")
    assert only('ColumnCorrelation of a and "b c" > -0.5').parameters == ("a", "b c")
    matched = only('ColumnValues "a" matches "[a-z]+\\d" with threshold >= 0.9')
    assert matched.condition == Condition("matches", (Text("[a-z]+\\d"),))
    assert matched.threshold == Condition(">=", (Number(0.9),))
    assert only('ColumnDataType "a" = "Date" with "format" = "dd-MM-yyyy"').tags == (("format", "dd-MM-yyyy"),)


@pytest.mark.parametrize(
    ("text", "operand", "kind"),
    [
        ("> 5", Number(5.0), "number"),
        ("> -5.25", Number(-5.25), "number"),
        ('> "2024-01-31"', Moment("2024-01-31"), "date"),
        ("> now()", Moment(), "date"),
        ("> (now() - 3 days)", Moment(None, -72.0), "date"),
        ("> (now() + 30 minutes)", Moment(None, 0.5), "date"),
        ('= "x"', Text("x"), "text"),
        ("= NULL", Keyword("NULL"), "text"),
        ("!= whitespaces_only", Keyword("WHITESPACES_ONLY"), "text"),
    ],
)
def test_conditions_know_the_type_of_their_operands(text: str, operand: object, kind: str) -> None:
    condition = only(f'ColumnValues "a" {text}').condition
    assert condition is not None
    assert (condition.operands, condition.operand_type) == ((operand,), kind)


def test_lists_and_durations() -> None:
    values = only('ColumnValues "a" not in [ 1, 2, NULL ]').condition
    assert values == Condition("in", (Number(1.0), Number(2.0), Keyword("NULL")), negated=True)
    fresh = only('DataFreshness "a" between 2 days and 90 hours').condition
    assert fresh == Condition("between", (Duration(48.0), Duration(90.0)))


def test_dynamic_expressions_keep_their_order() -> None:
    condition = only("RowCount > 2 + 3 * avg(last(10)) - 1").condition
    average = Call("avg", (Call("last", (Number(10.0),)),))
    product = Operation("*", Number(3.0), average)
    assert condition == Condition(">", (Operation("-", Operation("+", Number(2.0), product), Number(1.0)),))
    assert condition.is_dynamic


def test_composites_nest() -> None:
    (rule,) = parse('Rules = [ (RowCount > 0) or ((IsComplete "a") and (IsUnique "a")) ]').rules
    assert isinstance(rule, Composite)
    assert (rule.operator, rule.text) == ("OR", '(RowCount > 0) OR ((IsComplete "a") AND (IsUnique "a"))')
    assert isinstance(rule.rules[1], Composite)


def test_a_document_has_sections_comments_and_analyzers() -> None:
    ruleset = parse(
        """
        # which frames there are is said by the script
        DataSources = { "primary": "orders", "additional": [ "customers", { "x": "y" } ] }
        Rules = [
            IsComplete "id", # the key
            RowCount > 0,
        ],
        Analyzers = [ Completeness "id", ColumnCorrelation "a" "b", RowCount ]
        """
    )
    assert [rule.text for rule in ruleset.rules] == ['IsComplete "id"', "RowCount > 0"]
    assert [analyzer.text for analyzer in ruleset.analyzers] == [
        'Completeness "id"',
        'ColumnCorrelation "a" "b"',
        "RowCount",
    ]
    assert parse("Rules = [ ]").rules == ()


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ('Rules = [ IsComplet "a" ]', "line 1, column 11: 'IsComplet' is not a rule type. Is IsComplete meant?"),
        ("Rules = [\n  RowCount >\n]", "line 3, column 1: a value is expected, not ']'."),
        ('Rules = [ DetectAnomalies "RowCount" ]', "line 1, column 11: DetectAnomalies is not supported: anomalies"),
        ("Rules = [ FileSize > 1 MB ]", "line 1, column 11: FileSize is not supported: rules about files"),
        ('Rules = [ IsComplete "a" "b" ]', "line 1, column 11: IsComplete takes 1 parameters, not 2."),
        ("Rules = [ RowCount ]", "line 1, column 11: RowCount needs a condition. Write RowCount > 0."),
        ('Rules = [ IsComplete "a" > 3 ]', "line 1, column 11: IsComplete takes no condition."),
        ('Rules = [ RowCount > "x" ]', "line 1, column 11: RowCount is not compared with a text."),
        ('Rules = [ DataFreshness "a" > 3 ]', "line 1, column 11: DataFreshness is not compared with a number."),
        ("Rules = [ RowCount > 1 with threshold > 0.5 ]", "line 1, column 11: RowCount takes no threshold."),
        ('Rules = [ ColumnExists "a" where "b" ]', "line 1, column 11: ColumnExists takes no where clause."),
        ('Rules = [ RowCount > 1 with "k" = "v" ]', 'line 1, column 11: RowCount takes no with "k".'),
        ('rules = [ IsComplete "a" ]', "line 1, column 1: 'rules' is not a section."),
        ('Rules = [ IsComplete "a', "line 1, column 22: a text without an end"),
        ("Rules = [ RowCount ~ 3 ]", "line 1, column 20: the character '~' is not expected"),
        ("Rules = [ RowCount > 1 RowCount > 2 ]", "line 1, column 24: ',' or ']' is expected, not 'RowCount'."),
        (
            "Rules = [ (RowCount > 1) and (RowCount < 3) or (RowCount = 2) ]",
            "line 1, column 45: 'and' and 'or' are mixed.",
        ),
        ('Rules = [ ColumnValues "a" in [] ]', "line 1, column 28: a list of values is expected."),
        ("Analyzers = [ IsComplete ]", "line 1, column 15: 'IsComplete' is not an analyzer that is supported."),
        ("", "line 1, column 1: a list of rules is expected."),
        (f"Rules = [ {'(' * 30} ]", "parentheses nest deeper than 20 levels."),
        (f"Rules = [ RowCount > {'(' * 30} ]", "parentheses nest deeper than 20 levels."),
        (f"Sources = {'{' * 30}", "parentheses nest deeper than 20 levels."),
        (f"Rules = [ RowCount > {'1 + ' * 60}1 ]", "a rule has more than 50 operations."),
        ("x" * 70_000, "the ruleset has 70000 characters; the limit is 65536"),
        (f"Rules = [ {', '.join(['RowCount > 1'] * 2_001)} ]", "there are more than 2000 rules."),
    ],
)
def test_what_is_wrong_is_named_with_its_place(document: str, message: str) -> None:
    with pytest.raises(RulesetError) as error:
        parse(document)
    assert message in str(error.value)


_WORDS = [
    *(
        "Rules",
        "Analyzers",
        "=",
        "[",
        "]",
        "(",
        ")",
        ",",
        "RowCount",
        "IsComplete",
        "ColumnValues",
        "and",
        "or",
        "not",
        "in",
    ),
    *(
        "between",
        "matches",
        "with",
        "threshold",
        "where",
        "of",
        "now",
        "now()",
        "last",
        "avg",
        '"a"',
        '"2024-01-01"',
        "3",
        "-",
    ),
    *("0.5", "days", "NULL", ">", "!=", "{", "}", "#", "\n", '"', "*", "/", "+", "DataSources", ":"),
]


@given(st.lists(st.sampled_from(_WORDS), max_size=60).map(" ".join) | st.text(max_size=200))
def test_any_text_is_a_ruleset_or_an_error_with_a_place(text: str) -> None:
    places = []
    for document in (text, f"Rules = [ {text} ]"):
        try:
            parse(document)
        except RulesetError as error:
            places.append((error.line, error.column))
    assert all(line >= 1 and column >= 1 for line, column in places)


def test_rulesets_of_published_scripts_are_read() -> None:
    guard = "(((Mean SALDO >= (avg(last(10)) - (2 * std(last(10))) - 0.01)) AND (Mean SALDO <= 3)) OR (RowCount > 0))"
    for rules in (
        "ColumnCount > 0",
        'ColumnValues "age" between 0 and 120, ColumnValues "Survived" in [0, 1]',
        'ColumnValues "code" matches "[A-Z][0-9]{2}(\\\\.[0-9]+)?", ColumnDataType "order_date" = "date"',
        'CustomSql "SELECT COUNT(*) FROM primary WHERE a < b" = 0, DataFreshness "timestamp" <= 4 hours',
        'UniqueValueRatio "run" > 0.9, ReferentialIntegrity "run,name" "Source_1.{run,name}" = 1.0',
        guard,
    ):
        assert parse(f"Rules = [ {rules} ]").rules


def test_every_rule_type_is_planned_or_refused() -> None:
    assert {name for name, kind in RULE_TYPES.items() if not kind.refused} == set(TYPES)
    assert all(kind.remedy for kind in RULE_TYPES.values() if kind.refused)
    assert set(TYPES) >= ANALYZERS
