"""How rules are measured: the parts of a plan, and what the plans of several rules share."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import NumericType

from penstock.glue.quality.outcomes import Outcome, failed, outcome_of
from penstock.glue.quality.rulesets import Condition, Number, Rule

__all__ = [
    "ALL",
    "Context",
    "Group",
    "Grouped",
    "Membership",
    "Plan",
    "Unmeasurable",
    "Values",
    "check_columns",
    "check_where",
    "counted",
    "empty",
    "entity",
    "selected",
    "share_of",
    "source_of",
]

ALL = Condition("=", (Number(1.0),))
"""The condition of rules that hold if every row passes."""


class Unmeasurable(Exception):
    """A rule that cannot be measured on this data; the text is its reason of failure."""


@dataclass(frozen=True, slots=True)
class Group:
    """Columns whose equal values are counted, over the rows that ``where`` selects."""

    columns: tuple[str, ...]
    where: str | None


@dataclass(frozen=True, slots=True)
class Grouped:
    """Of a :class:`Group`: rows with a value, values that are there once, different values, and the entropy in nats."""

    rows: int
    unique: int
    distinct: int
    entropy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """A row passes if ``other`` has a row with its values: pairs of its columns' names and of ``other``'s."""

    name: str
    """The name of the column with the rows' results."""
    other: DataFrame
    pairs: Sequence[tuple[str, str]]
    null_safe: bool = False


@dataclass(frozen=True, slots=True)
class Values:
    """The measured values: a plan's aggregates by their names, and groups."""

    aggregates: Mapping[str, float | int | None]
    groups: Mapping[Group, Grouped]

    def count(self, name: str) -> int:
        """Return a number of rows."""
        return int(self.aggregates[name] or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a rule is measured and judged. ``row`` is true, false or NULL (left out) for each row."""

    conclude: Callable[[Values], Outcome]
    aggregates: Mapping[str, Column] = field(default_factory=dict)
    groups: Sequence[Group] = ()
    row: Column | Membership | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The data: the frame itself, the frames that rules can name, and the time of the evaluation (with its zone)."""

    frame: DataFrame
    sources: Mapping[str, DataFrame]
    now: datetime.datetime
    name: str = ""
    """A name for a column of the rule's own."""


def check_where(where: str, context: Context) -> None:
    try:
        context.frame.filter(where)
    except PySparkException:
        raise Unmeasurable("The provided where clause is invalid") from None


def check_columns(rule: Rule, context: Context, *, numeric: bool = False) -> None:
    types = {struct_field.name.lower(): struct_field.dataType for struct_field in context.frame.schema}
    for name in rule.parameters:
        data_type = types.get(name.lower())
        if data_type is None:
            raise Unmeasurable(f"Input data does not include column {name}!")
        if numeric and not isinstance(data_type, NumericType):
            raise Unmeasurable(
                f"Expected type of column {name} to be numeric, but found {type(data_type).__name__} instead!"
            )


def source_of(name: str, context: Context) -> DataFrame:
    frame = context.sources.get(name)
    if frame is None:
        raise Unmeasurable(f"{name} not found in additional sources")
    return frame


def empty(rule: Rule) -> Outcome:
    names = ",".join(rule.parameters) or "*"
    return failed(rule, f"Empty state for analyzer {rule.type}({names}), all input values were NULL.")


def counted(rule: Rule, condition: Column | None = None) -> Column:
    parts = [column for column in (F.expr(rule.where) if rule.where is not None else None, condition) if column is not None]
    if not parts:
        return F.count(F.lit(1))
    whole = parts[0] if len(parts) == 1 else parts[0] & parts[1]
    return F.count(F.when(whole, F.lit(1)))


def selected(rule: Rule, value: Column) -> Column:
    return F.when(F.expr(rule.where), value) if rule.where is not None else value


def entity(rule: Rule) -> str:
    scope = "Column" if len(rule.parameters) == 1 else "Multicolumn"
    return f"{scope}.{','.join(rule.parameters)}"


def share_of(
    rule: Rule,
    metric: str,
    row: Column | Membership,
    reason: Callable[[float], str] | None = None,
    condition: Condition | None = None,
) -> Plan:
    """Return the plan of a rule that holds if enough rows pass: as ``condition`` or its threshold says, or all."""
    passing = F.col(row.name) if isinstance(row, Membership) else row

    def conclude(values: Values) -> Outcome:
        rows = values.count("rows")
        if rows == 0:
            return empty(rule)
        share = values.count("passing") / rows
        outcome = outcome_of(rule, share, {metric: share}, condition or rule.threshold or ALL)
        if reason is None or outcome.passed or rule.threshold is not None:
            return outcome
        return replace(outcome, reason=reason(share))

    aggregates = {"rows": counted(rule), "passing": counted(rule, passing)}
    return Plan(conclude=conclude, aggregates=aggregates, row=row if isinstance(row, Membership) else selected(rule, row))
