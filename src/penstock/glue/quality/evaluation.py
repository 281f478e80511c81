"""A ruleset evaluated on a frame: one aggregation for all rules, one for each group of columns, then the outcomes.

Source: AWS Glue Developer Guide, "Evaluating data quality for ETL jobs in AWS Glue Studio" (the frames and their columns).
"""

import datetime
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from penstock.glue.quality import columns, references
from penstock.glue.quality.measuring import Context, Group, Grouped, Membership, Plan, Unmeasurable, Values, check_where
from penstock.glue.quality.outcomes import NoHistory, Outcome, combined, evaluated_text, failed, with_numbers
from penstock.glue.quality.predicates import column_of
from penstock.glue.quality.rulesets import Composite, Rule, Ruleset, RulesetError

__all__ = ["TYPES", "Evaluation", "evaluate"]

_PLANS = {**columns.PLANS, **references.PLANS}

TYPES = frozenset(_PLANS)
"""The rule types that have a plan."""

_PREFIX = "__penstock_rule_"
_AT_ONCE = 500  # aggregates of one job
# AWS leaves these out of the results of rows of a composite rule (rules-config.json of awslabs/dqdl).
_NOT_IN_COMPOSITES = frozenset({"Completeness", "Uniqueness", "ReferentialIntegrity", "DatasetMatch"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Outcomes in the order of the rules; the frame with results of rows under Penstock's own names, by the rule's text."""

    outcomes: Sequence[Outcome]
    rows: DataFrame
    results: Mapping[str, Column]
    """For each rule that has results of rows, its column over ``rows``: true, false or NULL."""


Last = Callable[[Rule, int], Sequence[float]]
"""Returns the newest values of a rule's metric, as many as are asked for at most."""


@dataclass(frozen=True, slots=True)
class _Entry:
    rule: Rule
    plan: Plan | None
    outcome: Outcome | None

    @property
    def row(self) -> Column | None:
        """The result of each row, as a column of the marked frame."""
        row = self.plan.row if self.plan is not None else None
        return column_of(row.name) if isinstance(row, Membership) else row


def evaluate(
    ruleset: Ruleset, frame: DataFrame, sources: Mapping[str, DataFrame], *, last: Last, row_level: bool = False
) -> Evaluation:
    """Evaluate the rules. ``row_level``: a composite rule holds if each row fulfils it, if its rules have results of rows.

    Raises :class:`RulesetError` for an expression over earlier values that cannot be.
    """
    context = Context(frame=frame, sources=sources, now=datetime.datetime.now(datetime.UTC))
    entries: dict[int, _Entry] = {}
    marked = frame
    for at, rule in enumerate(_leaves(ruleset.rules)):
        entry = _entry(rule, replace(context, name=f"{_PREFIX}{at}"), last)
        entries[id(rule)] = entry
        if entry.plan is not None and isinstance(entry.plan.row, Membership):
            marked = _marked(marked, entry.plan.row)
    whole = {rule.text: column for rule in ruleset.rules if (column := _result(rule, entries)) is not None}
    composites = {
        composite.text: whole.get(composite.text)
        for composite in ruleset.rules
        if isinstance(composite, Composite) and row_level
    }
    whole_rows = {name: row for name, row in composites.items() if row is not None}
    measured = _Measured(list(entries.values()), frame, marked, whole_rows)
    return Evaluation(
        outcomes=[_outcome(rule, entries, measured) for rule in ruleset.rules],
        rows=marked,
        results=whole,
    )


def _leaves(rules: Sequence[Rule | Composite]) -> Iterator[Rule]:
    for rule in rules:
        if isinstance(rule, Composite):
            yield from _leaves(rule.rules)
        else:
            yield rule


def _entry(rule: Rule, context: Context, last: Last) -> _Entry:
    try:
        condition = with_numbers(rule.condition, lambda count: last(rule, count)) if rule.condition is not None else None
        plan = _plan(replace(rule, condition=condition), context)
    except ValueError as error:
        raise RulesetError(str(error), rule.line, rule.column) from None
    except NoHistory as missing:
        return _Entry(rule, None, failed(rule, f"A dynamic rule cannot be evaluated: {missing}."))
    except Unmeasurable as reason:
        return _Entry(rule, None, failed(rule, str(reason)))
    if condition is None or condition == rule.condition:
        return _Entry(rule, plan, None)
    text, conclude = evaluated_text(rule, condition), plan.conclude
    return _Entry(rule, replace(plan, conclude=lambda values: replace(conclude(values), evaluated=text)), None)


def _marked(frame: DataFrame, membership: Membership) -> DataFrame:
    """Add the column that says whether the other frame has a row's values."""
    name = membership.name
    other = membership.other.select(
        *(column_of(theirs).alias(f"{name}_{at}") for at, (_, theirs) in enumerate(membership.pairs)),
        F.lit(True).alias(name),
    ).distinct()
    same = F.lit(True)
    for at, (mine, _) in enumerate(membership.pairs):
        own, theirs = column_of(mine), F.col(f"{name}_{at}")
        data_type = next(struct_field.dataType for struct_field in frame.schema if struct_field.name.lower() == mine.lower())
        if other.schema[f"{name}_{at}"].dataType != data_type:  # a cast of Spark's own would fail for some values
            theirs = theirs.try_cast(data_type)
        same = same & (own.eqNullSafe(theirs) if membership.null_safe else own == theirs)
    joined = frame.join(other, same, "left").withColumn(name, F.col(name).isNotNull())
    return joined.drop(*(f"{name}_{at}" for at in range(len(membership.pairs))))


def _result(rule: Rule | Composite, entries: Mapping[int, _Entry]) -> Column | None:
    if isinstance(rule, Rule):
        return entries[id(rule)].row
    parts = [_result(item, entries) for item in rule.rules if not _is_left_out(item)]
    columns = [part for part in parts if part is not None]
    if len(columns) < len(rule.rules):
        return None
    result = columns[0]
    for column in columns[1:]:
        result = result & column if rule.operator == "AND" else result | column
    return result


def _is_left_out(rule: Rule | Composite) -> bool:
    return isinstance(rule, Rule) and rule.type in _NOT_IN_COMPOSITES


class _Measured:
    """Every value that the rules need."""

    def __init__(
        self, entries: Sequence[_Entry], frame: DataFrame, marked: DataFrame, composites: Mapping[str, Column]
    ) -> None:
        aggregates: dict[tuple[int, str], Column] = {}
        groups: dict[Group, None] = {}
        for entry in entries:
            if entry.plan is not None:
                aggregates |= {(id(entry.rule), name): column for name, column in entry.plan.aggregates.items()}
                groups |= dict.fromkeys(entry.plan.groups)
        aggregates |= {
            (0, name): F.count(F.when(F.coalesce(~column, F.lit(False)), F.lit(1))) for name, column in composites.items()
        }
        self._found: dict[tuple[int, str], float | int | None] = {}
        keys = list(aggregates)
        for at in range(0, len(keys), _AT_ONCE):
            some = keys[at : at + _AT_ONCE]
            row = marked.agg(*(aggregates[key].alias(f"m{number}") for number, key in enumerate(some))).first()
            assert row is not None
            self._found |= dict(zip(some, row, strict=True))
        self._groups = {group: _grouped(frame, group) for group in groups}

    def values(self, rule: Rule) -> Values:
        """Return what a rule's plan asked for."""
        return Values({name: value for (key, name), value in self._found.items() if key == id(rule)}, self._groups)

    def failing(self, text: str) -> int | None:
        """Return how many rows fail a composite rule, None if it has no results of rows."""
        count = self._found.get((0, text))
        return int(count) if count is not None else None


def _grouped(frame: DataFrame, group: Group) -> Grouped:
    columns = [column_of(name) for name in group.columns]
    rows = frame.filter(group.where) if group.where is not None else frame
    some = F.lit(False)
    for column in columns:
        some = some | column.isNotNull()
    counts = rows.filter(some).groupBy(*columns).agg(F.count(F.lit(1)).cast("double").alias("n"))
    grouped = counts.agg(
        F.sum("n"), F.count(F.when(F.col("n") == 1, F.lit(1))), F.count(F.lit(1)), F.sum(F.col("n") * F.log("n"))
    ).first()
    assert grouped is not None
    total = float(grouped[0] or 0)
    entropy = max(math.log(total) - float(grouped[3]) / total, 0.0) if total else 0.0
    return Grouped(int(total), int(grouped[1]), int(grouped[2]), entropy)


def _outcome(rule: Rule | Composite, entries: Mapping[int, _Entry], measured: _Measured) -> Outcome:
    if isinstance(rule, Rule):
        entry = entries[id(rule)]
        if entry.outcome is not None:
            return entry.outcome
        assert entry.plan is not None
        return entry.plan.conclude(measured.values(rule))
    outcome = combined(rule.text, rule.operator, [_outcome(part, entries, measured) for part in rule.rules])
    failing = measured.failing(rule.text)
    if failing is None:
        return outcome
    return replace(outcome, passed=failing == 0, reason=f"{failing} rows fail the rule" if failing else None)


def _plan(rule: Rule, context: Context) -> Plan:
    """Return the plan of a rule whose condition has plain numbers. Raises :class:`Unmeasurable`."""
    if rule.where is not None:
        check_where(rule.where, context)
    return _PLANS[rule.type](rule, context)
