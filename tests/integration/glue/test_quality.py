"""EvaluateDataQuality over a real Spark session: every rule type in one evaluation, and what AWS's documents print."""

import datetime
import json
import math
from pathlib import Path
from typing import Any

import pytest

from awsglue import DynamicFrame
from awsglue.context import GlueContext
from awsgluedq.transforms import EvaluateDataQuality
from penstock.errors import InvalidInput, NotFound
from penstock.glue.quality.rulesets import RulesetError

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

NOW = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
SCHEMA = "`order-id` INT, country STRING, age INT, amount DECIMAL(10,2), day DATE, text STRING, seen TIMESTAMP"
ORDERS = [
    (1, "US", 30, "10.00", datetime.date(2024, 1, 1), "01-02-2024", NOW),
    (2, "CA", 40, "20.00", datetime.date(2024, 1, 2), "31-12-2023", NOW - datetime.timedelta(hours=30)),
    (3, "US", 50, "30.00", NOW.date(), "2024", NOW - datetime.timedelta(days=3)),
    (4, None, None, "40.00", NOW.date() - datetime.timedelta(days=1), " ", NOW),
]
VALUE = "Value: {} does not meet the constraint requirement!"

# Rule, whether it passes, the reason of its failure (None for any), a metric and its value.
RULES: list[tuple[str, bool, str | None, str, float | None]] = [
    ("RowCount = 4", True, None, "Dataset.*.RowCount", 4.0),
    ("RowCount > 4", False, VALUE.format("4"), "Dataset.*.RowCount", 4.0),
    ("RowCount = 2 where \"country = 'US'\"", True, None, "Dataset.*.RowCount", 2.0),
    ("ColumnCount = 7", True, None, "Dataset.*.ColumnCount", 7.0),
    ('ColumnExists "AGE"', True, None, "", None),
    ('ColumnExists "nothing"', False, "Column nothing does not exist in the dataset", "", None),
    ('ColumnNamesMatchPattern "^[a-z]+$"', False, "Columns that do not match the pattern: order-id", "", None),
    ('IsComplete "order-id"', True, None, "Column.order-id.Completeness", 1.0),
    ('IsComplete "country"', False, VALUE.format("0.75"), "Column.country.Completeness", 0.75),
    ('IsComplete "country" where "age > 0"', True, None, "Column.country.Completeness", 1.0),
    ('IsComplete "nothing"', False, "Input data does not include column nothing!", "", None),
    ('IsComplete "age" where "no such"', False, "The provided where clause is invalid", "", None),
    ('Completeness "country" >= 0.7', True, None, "Column.country.Completeness", 0.75),
    ('IsUnique "order-id"', True, None, "Column.order-id.Uniqueness", 1.0),
    ('IsUnique "country"', False, VALUE.format("0.3333333333333333"), "Column.country.Uniqueness", 1 / 3),
    ('Uniqueness "country" "age" = 1', True, None, "Multicolumn.country,age.Uniqueness", 1.0),
    ('UniqueValueRatio "country" = 0.5', True, None, "Column.country.UniqueValueRatio", 0.5),
    ('DistinctValuesCount "country" = 2', True, None, "Column.country.DistinctValuesCount", 2.0),
    ('Entropy "country" between 0.6 and 0.7', True, None, "Column.country.Entropy", math.log(3) - 2 / 3 * math.log(2)),
    ('IsPrimaryKey "order-id"', True, None, "Column.order-id.Uniqueness", 1.0),
    ('IsPrimaryKey "country"', False, VALUE.format("0.3333333333333333"), "Column.country.Completeness", 0.75),
    ('Mean "age" = 40', True, None, "Column.age.Mean", 40.0),
    ('Sum "amount" = 100', True, None, "Column.amount.Sum", 100.0),
    ('StandardDeviation "amount" < 12', True, None, "Column.amount.StandardDeviation", math.sqrt(125)),
    ('Mean "country" > 1', False, "Expected type of column country to be numeric, but found StringType instead!", "", None),
    ('Mean "age" > 1 where "age > 99"', False, None, "", None),
    ('ColumnCorrelation "age" "amount" > 0.99', True, None, "Multicolumn.age,amount.ColumnCorrelation", 1.0),
    ('ColumnLength "country" <= 2', True, None, "Column.country.MaximumLength", 2.0),
    ('ColumnLength "country" >= 1', False, VALUE.format("0.0"), "Column.country.MinimumLength", 0.0),
    ('ColumnLength "country" = 2 with threshold >= 0.7', True, None, "Column.country.LengthCompliance", 0.75),
    ('ColumnDataType "text" = "Integer" with threshold > 0.2', True, None, "Column.text.ColumnDataType.Compliance", 0.25),
    (
        'ColumnDataType "text" = "Date" with threshold >= 0.5 with "format" = "dd-MM-yyyy"',
        True,
        None,
        "Column.text.ColumnDataType.Compliance",
        0.5,
    ),
    ('ColumnDataType "age" = "Fruit"', False, "Unrecognized data type: Fruit", "", None),
    ('ColumnValues "age" >= 30', False, "Value: NULL does not meet the constraint requirement!", "Column.age.Minimum", 30.0),
    ('ColumnValues "age" > 30 where "age is not null"', False, VALUE.format("30.0"), "Column.age.Minimum", 30.0),
    ('ColumnValues "amount" < 41', True, None, "Column.amount.Maximum", 40.0),
    ('ColumnValues "amount" between 10 and 41', False, VALUE.format("10.0"), "Column.amount.Minimum", 10.0),
    ('ColumnValues "amount" between 9 and 41', True, None, "Column.amount.Maximum", 40.0),
    ('ColumnValues "age" not between 31 and 49 with threshold > 0.4', True, None, "Column.age.ColumnValues.Compliance", 0.5),
    ('ColumnValues "age" != 30', False, VALUE.format("0.75"), "Column.age.ColumnValues.Compliance", 0.75),
    ('ColumnValues "age" in [30,40,50]', False, VALUE.format("0.75"), "Column.age.ColumnValues.Compliance", 0.75),
    ('ColumnValues "age" in [30,40,50,NULL]', True, None, "Column.age.ColumnValues.Compliance", 1.0),
    ('ColumnValues "age" not in [60]', True, None, "Column.age.ColumnValues.Compliance", 1.0),
    ('ColumnValues "age" not in [60,NULL]', False, VALUE.format("0.75"), "", None),
    ('ColumnValues "country" in ["US","CA",NULL]', True, None, "", None),
    ('ColumnValues "country" != NULL', False, VALUE.format("0.75"), "", None),
    ('ColumnValues "text" != WHITESPACES_ONLY', False, VALUE.format("0.75"), "", None),
    ('ColumnValues "text" != EMPTY', True, None, "", None),
    ('ColumnValues "country" matches "[A-Z]{2}" with threshold > 0.7', True, None, "", None),
    (
        'ColumnValues "country" not matches "U." where "country is not null"',
        False,
        VALUE.format("0.3333333333333333"),
        "",
        None,
    ),
    ('ColumnValues "country" matches "("', False, "Invalid regex pattern '('", "", None),
    ('ColumnValues "day" > (now() - 2 days) with threshold = 0.5', True, None, "", None),
    ('ColumnValues "day" in ["2024-01-01","2024-01-02"] with threshold = 0.5', True, None, "", None),
    ('ColumnValues "day" >= "2024-01-01"', True, None, "", None),
    ('DataFreshness "seen" <= 24 hours', False, "50.00% of rows passed", "Column.seen.DataFreshness.Compliance", 0.5),
    ('DataFreshness "seen" < 4 days', True, None, "", None),
    ('CustomSql "select count(*) from primary where age > 35" = 2', True, None, "Dataset.*.CustomSQL", 2.0),
    ('CustomSql "select 1" > 1', False, "Custom SQL response failed to satisfy the threshold", "", None),
    ('CustomSql "drop table primary"', False, "Custom SQL must be a query: SELECT or WITH", "", None),
    (
        'CustomSql "select age from primary where age > 35" with threshold = 0.5',
        True,
        None,
        "Dataset.*.CustomSQL.Compliance",
        0.5,
    ),
    ('CustomSql "select 1 as other"', False, None, "", None),
    ('RowCountMatch "known" >= 1.3', True, None, "Dataset.known.RowCountMatch", 4 / 3),
    ('RowCountMatch "absent" = 1', False, "absent not found in additional sources", "", None),
    ('SchemaMatch "known" = 1.0', False, "Column counts do not match", "", None),
    ('SchemaMatch "primary_again" = 1.0', True, None, "Dataset.primary_again.SchemaMatch", 1.0),
    ('ReferentialIntegrity "country" "known.{code}" = 0.75', True, None, "Column.known.ReferentialIntegrity", 0.75),
    ('ReferentialIntegrity "text" "known.id" < 0.1', True, None, "Column.known.ReferentialIntegrity", 0.0),
    ('ReferentialIntegrity "age" "known.code" < 0.1', True, None, "Column.known.ReferentialIntegrity", 0.0),
    ('DatasetMatch "known" "order-id->id" "country->code" = 0.5', True, None, "Dataset.known.DatasetMatch", 0.5),
    ('DatasetMatch "known" "country->code" "age->id" = 0.5', False, "The key columns country are not unique", "", None),
    ('AggregateMatch "sum(order-id)" "avg(known.id)" = 5', True, None, "Column.order-id,id.AggregateMatch", 5.0),
    ('(IsComplete "country") OR (RowCount > 1)', True, VALUE.format("0.75"), "Dataset.*.RowCount", 4.0),
    ('(ColumnValues "age" > 35) AND (IsComplete "country")', False, None, "Column.age.Minimum", 30.0),
    ("RowCount > avg(last(3))", False, "A dynamic rule cannot be evaluated: there are no earlier values.", "", None),
]


@pytest.fixture
def orders(glue_context: GlueContext) -> DynamicFrame:
    rows = [(*row[:3], row[3], *row[4:]) for row in ORDERS]
    frame = glue_context.createDataFrame(rows, SCHEMA.replace("DECIMAL(10,2)", "STRING"))
    return DynamicFrame.fromDF(frame.withColumn("amount", frame.amount.cast("decimal(10,2)")), glue_context, "orders")


@pytest.fixture
def known(glue_context: GlueContext) -> DynamicFrame:
    frame = glue_context.createDataFrame([(1, "US"), (2, "CA"), (3, "MX")], "id INT, code STRING")
    return DynamicFrame.fromDF(frame, glue_context, "known")


def ruleset(rules: list[str]) -> str:
    return f"Rules = [ {', '.join(rule.replace(chr(92), chr(92) * 2) for rule in rules)} ]"


def test_every_rule_has_its_outcome(orders: DynamicFrame, known: DynamicFrame, lake: Path) -> None:
    result = EvaluateDataQuality.apply(
        frame=orders,
        ruleset=ruleset([rule for rule, *_ in RULES]),
        publishing_options={"dataQualityEvaluationContext": "all", "resultsS3Prefix": "s3://lk/quality/none/"},
        additional_data_sources={"known": known, "primary_again": orders},
    )
    assert result.toDF().columns == ["Rule", "Outcome", "FailureReason", "EvaluatedMetrics", "EvaluatedRule"]
    outcomes = result.toDF().collect()
    assert [row.Rule for row in outcomes] == [rule for rule, *_ in RULES]
    wrong = []
    for row, (_, passes, reason, metric, value) in zip(outcomes, RULES, strict=True):
        problems = [
            row.Outcome != ("Passed" if passes else "Failed"),
            reason is not None and row.FailureReason != reason,
            passes and reason is None and row.FailureReason is not None,
            value is not None and not math.isclose(row.EvaluatedMetrics.get(metric, math.nan), value),
        ]
        if any(problems):
            wrong.append(f"{row.Rule}: {row.Outcome} {row.FailureReason} {row.EvaluatedMetrics}")
    assert not wrong, "\n".join(wrong)


def test_rows_have_the_rules_that_they_pass_fail_and_skip(orders: DynamicFrame, known: DynamicFrame) -> None:
    rules = [
        'ColumnValues "age" > 35',
        'IsComplete "country" where "age < 45"',
        'IsUnique "country"',
        'ReferentialIntegrity "order-id" "known.id" > 0.5',
        '(ColumnValues "age" = 30) OR (ColumnValues "age" = NULL)',
        "RowCount > 0",
    ]
    age, complete, unique, reference, either, count = rules
    process_rows = EvaluateDataQuality().process_rows(
        frame=orders,
        ruleset=ruleset(rules),
        publishing_options={"dataQualityEvaluationContext": "rows", "enableDataQualityCloudWatchMetrics": True},
        additional_options={"performanceTuning.caching": "CACHE_NOTHING", "observations.scope": "ALL"},
        additional_data_sources={"known": known},
    )
    assert sorted(process_rows.keys()) == ["originalData", "rowLevelOutcomes", "ruleOutcomes"]
    assert process_rows["originalData"] is orders
    assert [row.Outcome for row in process_rows["ruleOutcomes"].toDF().collect()] == [
        *("Failed", "Passed", "Failed", "Passed", "Failed", "Passed")
    ]
    rows = {row["order-id"]: row.asDict() for row in process_rows["rowLevelOutcomes"].toDF().collect()}

    def lists(number: int) -> list[Any]:
        return [rows[number][f"DataQualityRules{name}"] for name in ("Pass", "Fail", "Skip")]

    assert lists(1) == [[complete, reference, either], [age, unique], [count]]
    assert lists(2) == [[age, complete, unique, reference], [either], [count]]
    assert lists(3) == [[age, reference], [unique, either], [count, complete]]
    assert lists(4) == [[either], [age, reference], [count, complete, unique]]
    assert {row["DataQualityEvaluationResult"] for row in rows.values()} == {"Failed"}
    assert list(rows[1])[:7] == orders.toDF().columns


def test_results_are_written_and_read_by_dynamic_rules(orders: DynamicFrame, lake: Path) -> None:
    options = {"dataQualityEvaluationContext": "daily", "resultsS3Prefix": "s3://lk/quality/"}
    text = 'Rules = [ RowCount >= avg(last(3)) ] Analyzers = [ ColumnValues "age", Completeness "age" ]'
    first = EvaluateDataQuality.apply(
        frame=orders, ruleset="Rules = [ RowCount >= avg(last(3)) ]", publishing_options=options
    )
    assert first.toDF().first()["Outcome"] == "Failed"
    (path,) = (lake / "lk" / "quality").glob("part-*")
    document = json.loads(path.read_text())
    document["RuleResults"][0]["EvaluatedMetrics"] = {"Dataset.*.RowCount": 3.0}
    path.with_name("earlier.txt").write_text(json.dumps(document) + "\n")
    second = EvaluateDataQuality.apply(frame=orders, ruleset=text, publishing_options=options).toDF().first()
    assert second is not None
    assert (second.Outcome, second.EvaluatedRule) == ("Passed", "RowCount >= 3.0")
    written = [json.loads(item.read_text()) for item in (lake / "lk" / "quality").glob("part-*")]
    newest = max(written, key=lambda item: str(item["CompletedOn"]))
    assert newest["RuleResults"][0]["Result"] == "PASS"
    assert newest["AnalyzerResults"][0]["EvaluatedMetrics"] == {"Column.age.Minimum": 30.0, "Column.age.Maximum": 50.0}
    assert newest["AnalyzerResults"][1]["EvaluatedMetrics"] == {"Column.age.Completeness": 0.75}


def test_a_composite_can_be_evaluated_for_each_row(orders: DynamicFrame) -> None:
    # AWS's example: each row fulfils one of the rules, and no rule holds for the whole frame.
    rules = ruleset(['(ColumnValues "age" > 35) OR (ColumnValues "age" in [30,NULL])'])
    options = {"compositeRuleEvaluation.method": "ROW"}
    by_rows = EvaluateDataQuality.apply(frame=orders, ruleset=rules, additional_options=options).toDF().first()
    by_frame = EvaluateDataQuality.apply(frame=orders, ruleset=rules).toDF().first()
    assert by_rows is not None
    assert by_frame is not None
    assert (by_rows.Outcome, by_frame.Outcome) == ("Passed", "Failed")


def test_what_cannot_be_is_an_error(orders: DynamicFrame) -> None:
    with pytest.raises(RulesetError, match="line 1, column 11: 'IsFull' is not a rule type"):
        EvaluateDataQuality.apply(frame=orders, ruleset='Rules = [ IsFull "a" ]')
    with pytest.raises(RulesetError, match="line 1, column 11: nothing\\(\\) is not a function"):
        EvaluateDataQuality.apply(frame=orders, ruleset="Rules = [ RowCount > nothing(3) ]")
    with pytest.raises(NotFound, match="no-such-bucket"):
        EvaluateDataQuality.apply(orders, "Rules = [RowCount > 0]", {"resultsS3Prefix": "no-such-bucket"})
    with pytest.raises(InvalidInput, match=r"needs earlier results.*resultsS3Prefix"):
        EvaluateDataQuality.apply(frame=orders, ruleset="Rules = [ RowCount > avg(last(3)) ]")
    with pytest.raises(InvalidInput, match="caching is 'SOME'"):
        EvaluateDataQuality.apply(
            frame=orders, ruleset="Rules = [ ]", additional_options={"performanceTuning.caching": "SOME"}
        )
