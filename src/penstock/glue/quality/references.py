"""Rules about another frame beside the own one, and about a query over both."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from penstock.glue.quality.measuring import (
    Context,
    Membership,
    Plan,
    Unmeasurable,
    Values,
    counted,
    share_of,
    source_of,
)
from penstock.glue.quality.outcomes import Outcome, outcome_of
from penstock.glue.quality.predicates import column_of
from penstock.glue.quality.rulesets import Rule

__all__ = ["PLANS"]


def _compare(rule: Rule, metric: str, share: float) -> Plan:
    return Plan(conclude=lambda _: outcome_of(rule, share, {metric: share}))


def _row_count_match(rule: Rule, context: Context) -> Plan:
    other = source_of(rule.parameters[0], context).count()

    def conclude(values: Values) -> Outcome:
        rows = values.count("rows")
        ratio = rows / other if other else 1.0 if rows == 0 else float("inf")
        return outcome_of(rule, ratio, {f"Dataset.{rule.parameters[0]}.RowCountMatch": ratio})

    return Plan(conclude=conclude, aggregates={"rows": counted(rule)})


def _schema_match(rule: Rule, context: Context) -> Plan:
    other = source_of(rule.parameters[0], context)
    mine, others = (
        {struct_field.name: struct_field.dataType.typeName() for struct_field in frame.schema}
        for frame in (context.frame, other)
    )
    if len(mine) != len(others):
        raise Unmeasurable("Column counts do not match")
    share = sum(others.get(name) == type_name for name, type_name in mine.items()) / max(len(mine), 1)
    return _compare(rule, f"Dataset.{rule.parameters[0]}.SchemaMatch", share)


_AGGREGATE = re.compile(r"\s*(sum|avg)\((.*)\)\s*", re.IGNORECASE)


def _aggregate_match(rule: Rule, context: Context) -> Plan:
    values, names = [], []
    for parameter in rule.parameters:
        match = _AGGREGATE.fullmatch(parameter)
        if match is None:
            raise Unmeasurable(f"'{parameter[:100]}' is not sum(column) or avg(column)")
        source, _, name = match[2].replace('"', "").rpartition(".")
        frame = source_of(source, context) if source else context.frame
        if name.lower() not in {column.lower() for column in frame.columns}:
            raise Unmeasurable(f"Input data does not include column {name}!")
        measure = F.sum if match[1].lower() == "sum" else F.avg
        row = frame.agg(measure(column_of(name).try_cast("double"))).first()
        values.append(float(row[0]) if row is not None and row[0] is not None else 0.0)
        names.append(name)
    ratio = 1.0 if values == [0.0, 0.0] else values[0] / values[1] if values[1] else 0.0
    return _compare(rule, f"Column.{','.join(dict.fromkeys(names))}.AggregateMatch", ratio)


def _referential_integrity(rule: Rule, context: Context) -> Plan:
    mine = [part.strip() for part in rule.parameters[0].split(",")]
    match = re.fullmatch(r"(.+)\.\{(.+)\}|(.+)\.([^.{}]+)", rule.parameters[1])
    if match is None:
        raise Unmeasurable("Could not parse ReferenceDatasetColumns parameter")
    name, others = match[1] or match[3], [part.strip() for part in (match[2] or match[4]).split(",")]
    other = source_of(name, context)
    _check_pairs(list(zip(mine, others, strict=False)), len(mine) == len(others), context.frame, other)
    pairs = list(zip(mine, others, strict=True))
    return share_of(
        rule,
        f"Column.{name}.ReferentialIntegrity",
        Membership(name=context.name, other=other, pairs=pairs),
        condition=rule.condition,
    )


def _check_pairs(pairs: Sequence[tuple[str, str]], same: bool, frame: DataFrame, other: DataFrame) -> None:
    if not same:
        raise Unmeasurable("The two datasets are named with different numbers of columns")
    for names, side in ((frame.columns, 0), (other.columns, 1)):
        columns = {name.lower() for name in names}
        for pair in pairs:
            if pair[side].lower() not in columns:
                raise Unmeasurable(f"Input data does not include column {pair[side]}!")


def _mapped(text: str) -> list[tuple[str, str]]:
    pairs = [part.split("->") for part in text.replace('"', "").split(",")]
    return [(pair[0].strip(), pair[-1].strip()) for pair in pairs]


def _dataset_match(rule: Rule, context: Context) -> Plan:
    other = source_of(rule.parameters[0], context)
    keys = _mapped(rule.parameters[1])
    key_names = {mine.lower() for mine, _ in keys}
    rest = [(column, column) for column in context.frame.columns if column.lower() not in key_names]
    pairs = [*keys, *(_mapped(rule.parameters[2]) if len(rule.parameters) == 3 else rest)]
    _check_pairs(pairs, True, context.frame, other)
    for frame, side in ((context.frame, 0), (other, 1)):
        names = [column_of(pair[side]) for pair in keys]
        if frame.groupBy(*names).count().filter("count > 1").limit(1).count():
            raise Unmeasurable(f"The key columns {', '.join(pair[side] for pair in keys)} are not unique")
    metric = f"Dataset.{rule.parameters[0]}.DatasetMatch"
    return share_of(
        rule, metric, Membership(name=context.name, other=other, pairs=pairs, null_safe=True), condition=rule.condition
    )


def _custom_sql(rule: Rule, context: Context) -> Plan:
    queried = _queried(rule.parameters[0], context)
    if rule.condition is not None:
        rows = queried.limit(2).collect()
        value = rows[0][0] if len(rows) == 1 and len(queried.columns) == 1 else None
        if isinstance(value, bool) or value is None or not _is_number(value):
            raise Unmeasurable("Custom SQL did not return exactly 1 value, a number")
        outcome = outcome_of(rule, float(value), {"Dataset.*.CustomSQL": float(value)})
        if not outcome.passed:
            outcome = replace(outcome, reason="Custom SQL response failed to satisfy the threshold")
        return Plan(conclude=lambda _: outcome)
    own = {column.lower() for column in context.frame.columns}
    others = [column for column in queried.columns if column.lower() not in own]
    if others:
        raise Unmeasurable(
            "The columns returned from the SQL statement should only belong to the primary table. "
            f"Columns not found: {', '.join(others)}"
        )
    membership = Membership(
        name=context.name, other=queried, pairs=[(column, column) for column in queried.columns], null_safe=True
    )
    return share_of(rule, "Dataset.*.CustomSQL.Compliance", membership, condition=rule.condition)


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def _queried(sql: str, context: Context) -> DataFrame:
    """Run the query over views of the frames, which are there only meanwhile."""
    if re.match(r"\s*\(*\s*(select|with)\b", sql, re.IGNORECASE) is None:
        raise Unmeasurable("Custom SQL must be a query: SELECT or WITH")
    session = context.frame.sparkSession
    views = {"primary": context.frame, **context.sources}
    try:
        for name, frame in views.items():
            frame.createOrReplaceTempView(f"`{name.replace('`', '``')}`")
        return session.sql(sql)
    except PySparkException as error:
        raise Unmeasurable(f"Error executing SQL statement: {str(error)[:500]}") from None
    finally:
        for name in views:
            session.catalog.dropTempView(name)


PLANS: Mapping[str, Callable[[Rule, Context], Plan]] = {
    "AggregateMatch": _aggregate_match,
    "CustomSql": _custom_sql,
    "DatasetMatch": _dataset_match,
    "ReferentialIntegrity": _referential_integrity,
    "RowCountMatch": _row_count_match,
    "SchemaMatch": _schema_match,
}
