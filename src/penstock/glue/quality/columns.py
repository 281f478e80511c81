"""Rules about the frame itself: its rows, its columns, and the values in them.

Source of metrics' names: AWS Glue Developer Guide, "DQDL rule type reference".
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, Window
from pyspark.sql import functions as F  # noqa: N812

from penstock.glue.quality import predicates
from penstock.glue.quality.measuring import (
    ALL,
    Context,
    Group,
    Grouped,
    Plan,
    Unmeasurable,
    Values,
    check_columns,
    counted,
    empty,
    entity,
    selected,
    share_of,
)
from penstock.glue.quality.outcomes import Outcome, failed, holds, outcome_of
from penstock.glue.quality.predicates import column_of
from penstock.glue.quality.rulesets import Rule

__all__ = ["PLANS"]


# The whole frame


def _row_count(rule: Rule, _: Context) -> Plan:
    def conclude(values: Values) -> Outcome:
        return outcome_of(rule, values.count("rows"), {"Dataset.*.RowCount": float(values.count("rows"))})

    return Plan(conclude=conclude, aggregates={"rows": counted(rule)})


def _column_count(rule: Rule, context: Context) -> Plan:
    count = len(context.frame.columns)
    return Plan(conclude=lambda _: outcome_of(rule, float(count), {"Dataset.*.ColumnCount": float(count)}))


def _column_exists(rule: Rule, context: Context) -> Plan:
    if rule.parameters[0].lower() not in {column.lower() for column in context.frame.columns}:
        raise Unmeasurable(f"Column {rule.parameters[0]} does not exist in the dataset")
    return Plan(conclude=lambda _: Outcome(rule=rule.text, passed=True, evaluated=rule.text))


def _names_match(rule: Rule, context: Context) -> Plan:
    try:
        pattern = re.compile(rule.parameters[0])
    except (re.error, RecursionError, OverflowError) as error:
        raise Unmeasurable(f"Invalid regex pattern '{rule.parameters[0][:100]}': {error}") from None
    names = context.frame.columns
    others = [name for name in names if pattern.search(name) is None]
    metrics = {"Dataset.*.ColumnNamesPatternMatchRatio": (len(names) - len(others)) / max(len(names), 1)}
    reason = f"Columns that do not match the pattern: {', '.join(others)}" if others else None
    outcome = Outcome(rule=rule.text, passed=not others, reason=reason, metrics=metrics, evaluated=rule.text)
    return Plan(conclude=lambda _: outcome)


# Numbers of columns


def _statistic(measure: Callable[..., Column], metric: str) -> Callable[[Rule, Context], Plan]:
    def build(rule: Rule, context: Context) -> Plan:
        check_columns(rule, context, numeric=True)
        columns = [selected(rule, column_of(name).cast("double")) for name in rule.parameters]

        def conclude(values: Values) -> Outcome:
            value = values.aggregates["value"]
            return (
                outcome_of(rule, float(value), {f"{entity(rule)}.{metric}": float(value)})
                if value is not None
                else empty(rule)
            )

        return Plan(conclude=conclude, aggregates={"value": measure(*columns)})

    return build


def _completeness(rule: Rule, context: Context) -> Plan:
    check_columns(rule, context)
    present = column_of(rule.parameters[0]).isNotNull()

    def conclude(values: Values) -> Outcome:
        rows = values.count("rows")
        if rows == 0:
            return empty(rule)
        share = values.count("present") / rows
        return outcome_of(rule, share, {f"{entity(rule)}.Completeness": share}, rule.condition or ALL)

    aggregates = {"rows": counted(rule), "present": counted(rule, present)}
    return Plan(conclude=conclude, aggregates=aggregates, row=selected(rule, present))


def _grouped(value: Callable[[Grouped], float], metric: str, *, rows: bool = False) -> Callable[[Rule, Context], Plan]:
    def build(rule: Rule, context: Context) -> Plan:
        check_columns(rule, context)
        group = Group(rule.parameters, rule.where)

        def conclude(values: Values) -> Outcome:
            values_of_group = values.groups[group]
            if values_of_group.rows == 0:
                return empty(rule)
            return outcome_of(
                rule, value(values_of_group), {f"{entity(rule)}.{metric}": value(values_of_group)}, rule.condition or ALL
            )

        return Plan(conclude=conclude, groups=[group], row=_is_single(rule) if rows else None)

    return build


def _is_single(rule: Rule) -> Column:
    """Return whether a row's value is there once; NULL for a row without a value."""
    columns = [column_of(name) for name in rule.parameters]
    some = F.coalesce(*(column.cast("string") for column in columns)).isNotNull()
    same = F.count(selected(rule, F.lit(1))).over(Window.partitionBy(*columns))
    return selected(rule, F.when(some, same == 1))


def _primary_key(rule: Rule, context: Context) -> Plan:
    check_columns(rule, context)
    group = Group(rule.parameters, rule.where)
    present = {f"present{at}": column_of(name).isNotNull() for at, name in enumerate(rule.parameters)}

    def conclude(values: Values) -> Outcome:
        rows, keys = values.count("rows"), values.groups[group]
        if rows == 0 or keys.rows == 0:
            return empty(rule)
        unique = keys.unique / keys.rows
        shares = [values.count(name) / rows for name in present]
        metrics = {f"{entity(rule)}.Uniqueness": unique}
        metrics |= {f"Column.{name}.Completeness": share for name, share in zip(rule.parameters, shares, strict=True)}
        worst = next((share for share in (unique, *shares) if share != 1.0), 1.0)
        return outcome_of(rule, worst, metrics, ALL)

    aggregates = {"rows": counted(rule), **{name: counted(rule, column) for name, column in present.items()}}
    whole = F.lit(True)
    for column in present.values():
        whole = whole & column
    row = selected(rule, whole & F.coalesce(_is_single(rule), F.lit(False)))
    return Plan(conclude=conclude, aggregates=aggregates, groups=[group], row=row)


# Each row


def _checked(build: Callable[[], Column]) -> Column:
    try:
        return build()
    except ValueError as error:
        raise Unmeasurable(str(error)) from None


def _data_type(rule: Rule, context: Context) -> Plan:
    check_columns(rule, context)
    row = _checked(lambda: predicates.data_type(rule))
    return share_of(rule, f"{entity(rule)}.ColumnDataType.Compliance", row)


def _freshness(rule: Rule, context: Context) -> Plan:
    check_columns(rule, context)
    row = _checked(lambda: predicates.freshness(rule, context.now))
    metric = f"{entity(rule)}.DataFreshness.Compliance"
    return share_of(rule, metric, row, lambda share: f"{share * 100:.2f}% of rows passed")


def _values(rule: Rule, context: Context) -> Plan:
    check_columns(rule, context)
    assert rule.condition is not None
    if rule.condition.operator == "matches":
        _check_pattern(rule, context)
    row = _checked(lambda: predicates.values(rule, context.now))
    ends = _ENDS.get(rule.condition.operator, ())
    if not ends or rule.condition.negated or rule.condition.operand_type != "number" or rule.threshold is not None:
        return share_of(rule, f"{entity(rule)}.ColumnValues.Compliance", row)
    return _extremes(rule, row, ends)


_ENDS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys((">", ">="), ("Minimum",)),
    **dict.fromkeys(("<", "<="), ("Maximum",)),
    **dict.fromkeys(("=", "between"), ("Minimum", "Maximum")),
}
"""The metrics of a comparison of all values with numbers."""


def _extremes(rule: Rule, row: Column, ends: Sequence[str]) -> Plan:
    """Return the plan of ``ColumnValues "a" > 5``: its metric is the least value, or the greatest, or both."""
    number = selected(rule, column_of(rule.parameters[0]).try_cast("double"))

    def conclude(values: Values) -> Outcome:
        extremes = {name: values.aggregates[name] for name in ends}
        metrics = {f"{entity(rule)}.{name}": float(value) for name, value in extremes.items() if value is not None}
        if not metrics:
            return empty(rule)
        assert rule.condition is not None
        condition = rule.condition
        failing = next((value for value in metrics.values() if not holds(condition, value)), None)
        if failing is None and values.count("passing") < values.count("rows"):
            reason = "Value: NULL does not meet the constraint requirement!"
            return replace(failed(rule, reason), metrics=metrics)
        return outcome_of(rule, next(iter(metrics.values())) if failing is None else failing, metrics)

    aggregates = {
        "rows": counted(rule),
        "passing": counted(rule, row),
        "Minimum": F.min(number),
        "Maximum": F.max(number),
    }
    return Plan(conclude=conclude, aggregates=aggregates, row=selected(rule, row))


def _length(rule: Rule, context: Context) -> Plan:
    check_columns(rule, context)
    size = selected(rule, F.coalesce(F.length(column_of(rule.parameters[0]).cast("string")), F.lit(0)))
    shares = share_of(rule, f"{entity(rule)}.LengthCompliance", _checked(lambda: predicates.length(rule)))

    def conclude(values: Values) -> Outcome:
        outcome = shares.conclude(values)
        ends = {"Minimum": values.aggregates["least"], "Maximum": values.aggregates["most"]}
        lengths = {f"{entity(rule)}.{name}Length": float(value) for name, value in ends.items() if value is not None}
        own = dict(outcome.metrics) if rule.threshold is not None else {}
        reason = outcome.reason
        if reason is not None and rule.threshold is None and lengths:
            assert rule.condition is not None
            failing = next((length for length in lengths.values() if not holds(rule.condition, length)), None)
            reason = f"Value: {failing} does not meet the constraint requirement!" if failing is not None else reason
        return replace(outcome, reason=reason, metrics=lengths | own)

    return Plan(
        conclude=conclude, aggregates={**shares.aggregates, "least": F.min(size), "most": F.max(size)}, row=shares.row
    )


def _check_pattern(rule: Rule, context: Context) -> None:
    assert rule.condition is not None
    pattern = str(getattr(rule.condition.operands[0], "value", ""))
    java = context.frame.sparkSession.sparkContext._jvm
    assert java is not None
    try:
        java.java.util.regex.Pattern.compile(pattern)
    except IllegalArgumentException:
        raise Unmeasurable(f"Invalid regex pattern '{pattern[:100]}'") from None


PLANS: Mapping[str, Callable[[Rule, Context], Plan]] = {
    "ColumnCorrelation": _statistic(F.corr, "ColumnCorrelation"),
    "ColumnCount": _column_count,
    "ColumnDataType": _data_type,
    "ColumnExists": _column_exists,
    "ColumnLength": _length,
    "ColumnNamesMatchPattern": _names_match,
    "ColumnValues": _values,
    "Completeness": _completeness,
    "DataFreshness": _freshness,
    "DistinctValuesCount": _grouped(lambda found: float(found.distinct), "DistinctValuesCount"),
    "Entropy": _grouped(lambda found: found.entropy, "Entropy"),
    "IsComplete": _completeness,
    "IsPrimaryKey": _primary_key,
    "IsUnique": _grouped(lambda found: found.unique / found.rows, "Uniqueness", rows=True),
    "Mean": _statistic(F.avg, "Mean"),
    "RowCount": _row_count,
    "StandardDeviation": _statistic(F.stddev_pop, "StandardDeviation"),
    "Sum": _statistic(F.sum, "Sum"),
    "UniqueValueRatio": _grouped(lambda found: found.unique / found.distinct, "UniqueValueRatio", rows=True),
    "Uniqueness": _grouped(lambda found: found.unique / found.rows, "Uniqueness", rows=True),
}
