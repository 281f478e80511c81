"""What a rule says of each row, as a column that is true, false, or NULL for a row that its ``where`` leaves out.

Source: AWS Glue Developer Guide, "ColumnValues" (NULL fails every condition but ``!=`` and ``not in``), "ColumnLength",
"ColumnDataType", "DataFreshness".
"""

import datetime
import re
from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from penstock.errors import DataProblem
from penstock.glue.quality.rulesets import COMPARISONS, Condition, Duration, Keyword, Moment, Number, Rule, Text
from penstock.spark.types import spark_type

__all__ = ["column_of", "data_type", "freshness", "length", "values"]

_TYPES = {"boolean", "date", "timestamp", "integer", "double", "float", "long"}
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)")
_FORMATS = {
    *("dd-MM-yyyy", "MM-dd-yyyy", "yyyy-MM-dd", "dd/MM/yyyy", "MM/dd/yyyy", "yyyy/MM/dd"),
    *("MM-yyyy", "dd-MM", "MM-dd", "yyyy-MM", "MM/yyyy", "dd/MM", "MM/dd", "yyyy/MM"),
}


def column_of(name: str) -> Column:
    """Return the column, whatever characters its name has."""
    return F.col(f"`{name.replace('`', '``')}`")


def values(rule: Rule, now: datetime.datetime) -> Column:
    """Return ColumnValues' predicate. Raises ``ValueError`` for a condition that cannot be."""
    condition, column = _condition(rule), column_of(rule.parameters[0])
    plain = [operand for operand in condition.operands if not isinstance(operand, Keyword)]
    if condition.operator == "matches":
        return _or_false(_matches(column, str(getattr(plain[0], "value", "")), negated=condition.negated))
    if condition.operand_type == "number":
        holds = _compared(condition, column.try_cast("double"), [F.lit(_number(item)) for item in plain])
    elif condition.operand_type == "date":
        holds = _compared(
            condition, F.try_to_timestamp(column.cast("string")).cast("date"), [_day(item, now) for item in plain]
        )
    else:
        holds = _compared(condition, column.cast("string"), [F.lit(_text(item)) for item in plain])
    return _with_keywords(condition, column, holds)


def length(rule: Rule) -> Column:
    """Return ColumnLength's predicate; NULL has the length 0."""
    size = F.coalesce(F.length(column_of(rule.parameters[0]).cast("string")), F.lit(0))
    condition = _condition(rule)
    return _or_false(_compared(condition, size, [F.lit(_number(operand)) for operand in condition.operands]))


def freshness(rule: Rule, now: datetime.datetime) -> Column:
    """Return DataFreshness' predicate, over the age in hours."""
    moment = F.try_to_timestamp(column_of(rule.parameters[0]).cast("string"))
    age = F.round((F.lit(now.timestamp()).cast("double") - moment.cast("double")) / 3600, 2)
    condition = _condition(rule)
    return _or_false(
        _compared(condition, age, [F.lit(operand.hours) for operand in condition.operands if isinstance(operand, Duration)])
    )


def data_type(rule: Rule) -> Column:
    """Return ColumnDataType's predicate: whether a value can be of the type. Raises ``ValueError`` for another type."""
    condition, column = _condition(rule), column_of(rule.parameters[0])
    if condition.operator not in {"=", "!=", "in"}:
        raise ValueError("Unsupported operator")
    pattern = dict(rule.tags).get("format")
    fits = [_castable(column, _text(operand), pattern) for operand in condition.operands]
    matching = fits[0]
    for fit in fits[1:]:
        matching = matching | fit
    return ~matching if condition.negated or condition.operator == "!=" else matching


def _castable(column: Column, name: str, pattern: str | None) -> Column:
    type_name = name.strip().lower()
    try:
        cast_type = spark_type(type_name) if type_name in _TYPES or _DECIMAL.fullmatch(type_name) else None
    except DataProblem:
        cast_type = None
    if cast_type is None:
        raise ValueError(f"Unrecognized data type: {name[:60]}")
    if pattern is None:
        return column.try_cast(cast_type).isNotNull()
    if type_name != "date" or pattern not in _FORMATS:
        raise ValueError("Unsupported rule format")
    text = column.cast("string")
    sign = "-" if "-" in pattern else "/"
    if "yyyy" not in pattern:
        text, pattern = F.concat(text, F.lit(f"{sign}2000")), f"{pattern}{sign}yyyy"
    elif "dd" not in pattern:
        text, pattern = F.concat(F.lit(f"01{sign}"), text), f"dd{sign}{pattern}"
    return F.try_to_timestamp(text, F.lit(pattern)).isNotNull()


def _condition(rule: Rule) -> Condition:
    assert rule.condition is not None
    return rule.condition


def _compared(condition: Condition, value: Column, operands: Sequence[Column]) -> Column | None:
    """Return the comparison with plain operands; None if there are only keywords."""
    if not operands:
        return None
    if condition.operator == "between":
        inside = (value > operands[0]) & (value < operands[1])
        return ~inside if condition.negated else inside
    if condition.operator == "in":
        inside = value.isin(*operands)
        return ~inside if condition.negated else inside
    compared: Column = COMPARISONS[condition.operator](value, operands[0])
    return compared


def _with_keywords(condition: Condition, column: Column, holds: Column | None) -> Column:
    names = [operand.name for operand in condition.operands if isinstance(operand, Keyword)]
    if names and condition.operator not in {"=", "!=", "in"}:
        raise ValueError(f"{names[0]} is compared by =, !=, in and not in.")
    if condition.operator == "!=" or (condition.operator == "in" and condition.negated):
        # NULL is unlike every value.
        unlike = F.coalesce(holds, F.lit(True)) if holds is not None else F.lit(True)
        for name in names:
            unlike = unlike & ~_is_keyword(name, column)
        return unlike
    result = _or_false(holds)
    for name in names:
        result = result | _is_keyword(name, column)
    return result


def _is_keyword(name: str, column: Column) -> Column:
    text = column.cast("string")
    if name == "NULL":
        return column.isNull()
    if name == "EMPTY":
        return _or_false(text == "")
    return _or_false((F.length(text) > 0) & (F.length(F.trim(text)) == 0))


def _matches(column: Column, pattern: str, *, negated: bool) -> Column:
    holds = column.cast("string").rlike(f"^(?:{pattern})$")
    return ~holds if negated else holds


def _or_false(column: Column | None) -> Column:
    return F.coalesce(column, F.lit(False)) if column is not None else F.lit(False)


def _number(operand: object) -> float:
    if not isinstance(operand, Number):
        raise ValueError("earlier values are not compared with the values of rows.")
    return operand.value


def _text(operand: object) -> str:
    if isinstance(operand, Text):
        return operand.value
    if isinstance(operand, Moment) and operand.date is not None:
        return operand.date
    if isinstance(operand, Number):
        return str(int(operand.value)) if operand.value % 1 == 0 else str(operand.value)
    raise ValueError("a list has values of different kinds.")


def _day(operand: object, now: datetime.datetime) -> Column:
    assert isinstance(operand, Moment)
    if operand.date is not None:
        return F.lit(datetime.date.fromisoformat(operand.date))
    return F.lit((now + datetime.timedelta(hours=operand.hours)).date())
